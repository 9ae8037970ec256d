// node-llama-cpp's answers to the jobs of estimators.py: node estimators.mjs PEERS JOBS
//
// It is asked through its public GgufInsights: what it calculates from a header (estimateModelResourceRequirements,
// estimateContextResourceRequirements). The V2 of both loads the model into the engine it ships instead and asks that, which
// takes the device in question; the two here are what it falls back to, and what there is for a card one has not got.
//
// A context's figure is one sum. What its own _estimateContextCacheMemorySplitInBytes put into it is the context term, the rest compute.
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

const [peers, file] = process.argv.slice(2);
const home = join(peers, 'node_modules', 'node-llama-cpp');
const {readGgufFileInfo, GgufInsights, GgmlType} = await import(pathToFileURL(join(home, 'dist', 'index.js')));
const {models, jobs} = JSON.parse(readFileSync(file, 'utf8'));
const TIMES = 3;

async function open(path) {
  const insights = await GgufInsights.from(await readGgufFileInfo(path, {logWarnings: false}));
  const split = insights._estimateContextCacheMemorySplitInBytes;
  insights._estimateContextCacheMemorySplitInBytes = (...args) => (insights.lastSplit = split.apply(insights, args));
  return insights;
}

function estimate(insights, {arguments: asked}) {
  const gpuLayers = Math.min(asked.gpuLayers, insights.totalLayers);
  const contextSize = asked.contextSize ?? Math.ceil(insights.trainContextSize / asked.sequences);
  const weights = insights.estimateModelResourceRequirements({gpuLayers, useMmap: true, gpuSupportsMmap: false});
  const context = insights.estimateContextResourceRequirements({
    ...asked, contextSize, modelGpuLayers: gpuLayers,
    kvCacheKeyType: GgmlType[asked.kvCacheKeyType], kvCacheValueType: GgmlType[asked.kvCacheValueType]
  });
  const {gpuKVCacheSize, cpuKVCacheSize, gpuRecurrentStateSize, cpuRecurrentStateSize} = insights.lastSplit;
  const gpuContext = gpuKVCacheSize + gpuRecurrentStateSize, hostContext = cpuKVCacheSize + cpuRecurrentStateSize;
  // Its output buffer is in both sums. On the device it stands for the logits of the graph; on the host it is real too, but no part of
  // what the engine reports as compute there, unless the host calculates the logits.
  const outputs = gpuLayers === 0 ? 0 : outputBuffer(insights, asked);
  return {
    host: {weights: weights.cpuRam, context: hostContext, compute: context.cpuRam - hostContext - outputs},
    gpu0: {weights: weights.gpuVram, context: gpuContext, compute: context.gpuVram - gpuContext}
  };
}

function outputBuffer(insights, {batchSize, sequences}) {
  const {architectureMetadata, metadata} = insights.ggufFileInfo;
  const vocabulary = architectureMetadata.vocab_size ?? metadata.tokenizer?.ggml?.tokens?.length ?? 0;
  return 4 * vocabulary * Math.max(batchSize, sequences) + 4 * batchSize;
}

const answers = {}, whole = {};
for (const [name, path] of Object.entries(models)) {
  const mine = jobs.filter((job) => job.model === name);
  if (mine.length === 0) continue;
  let insights;
  try {
    const seconds = [];
    for (let n = 0; n < TIMES; n++) {
      const start = performance.now();
      insights = await open(path);
      estimate(insights, mine[0]);
      seconds.push((performance.now() - start) / 1000);
    }
    whole[name] = Math.min(...seconds);
  } catch (error) {
    for (const {id} of mine) answers[id] = {error: String(error)};
    continue;
  }
  for (const job of mine) {
    const start = performance.now();
    let answer;
    try {
      answer = estimate(insights, job);
      if (Object.values(answer).some((terms) => Object.values(terms).some((value) => !Number.isFinite(value))))
        answer = {error: 'not a number'};
    } catch (error) {
      answer = {error: String(error)};
    }
    answers[job.id] = {...answer, seconds: (performance.now() - start) / 1000};
  }
}
const {version} = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
process.stdout.write(JSON.stringify({version, answers, whole}), () => process.exit(0));
