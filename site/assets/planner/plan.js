// The plan of a page under other settings: the figures that `gen plan MODEL/CARD FLAGS --json` gives, without its notes.

import { Run, Uncovered } from "./compute.js";
import { cacheBytes, contextOf, HOST, Placement, stateBytes, sum, Weights } from "./memory.js";
import { Refused, refuse, refuseTypes } from "./refusals.js";
import { useBlocks } from "./tensor.js";

export const FITS = "fits", BARELY = "fits with nothing in reserve", TOO_LARGE = "does not fit";

const MEBIBYTE = 2 ** 20;

// Gives the plan; `{ refused }` with the engine's reason where it takes no such settings; `{ uncovered }` where this page cannot tell.
export function plan(data, settings) {
  try {
    return planned(data, { ...data.settings, ...settings });
  } catch (error) {
    if (error instanceof Refused) return { refused: error.asRow() };
    if (error instanceof Uncovered) return { uncovered: error.message };
    throw error;
  }
}

const expanded = new WeakMap();

export function weightsOf(data) {
  useBlocks(data.blocks);
  if (!expanded.has(data)) expanded.set(data, new Weights(data));
  return expanded.get(data);
}

function planned(data, settings) {
  const weights = weightsOf(data);
  refuse(data, settings);
  const context = contextOf(data, settings);
  const placement = new Placement(data, weights, settings);
  const peaks = new Run(data, weights, settings, context, placement).peaks();
  const names = ["host", ...Array.from({ length: data.gpus }, (_, index) => `gpu${index}`)];
  const devices = names.map((name, place) => {
    const device = place - 1;
    const row = {
      name,
      weights: placement.bytes(device),
      kv: cacheBytes(data, settings, context, placement, device),
      recurrent: stateBytes(data, context, placement, device),
      compute: peaks[place ? device : data.gpus],
    };
    return { ...row, total: row.weights + row.kv + row.recurrent + row.compute };
  });
  return report(data, settings, context, placement, devices);
}

function report(data, settings, context, placement, devices) {
  const shown = data.gpus ? devices.slice(1) : devices;
  const held = shown.map((device) => device.weights + device.kv + device.recurrent);
  if (data.gpus && data.engine.published) held[fullestOf(held)] += data.model.embedding;
  const fullest = fullestOf(held);
  const { usable, reserve, name } = data.card;
  const ceiling = usable - reserve;
  const verdicts = held.map((total, place) => judged(total, shown[place].compute + (data.excess ?? 0), data.card));
  const verdict = [TOO_LARGE, BARELY, FITS].find((word) => verdicts.includes(word));
  const rows = {
    format: data.format,
    source: data.source,
    architecture: data.architecture,
    program: data.program,
    build: data.build,
    n_ctx: context.total,
    n_ctx_seq: context.cells,
    policy: data.policy,
    devices,
    unknown_graph: null,
    draft: null,
    projector: null,
    host_memory: hostMemory(data, context, devices),
    attention_scores: attentionScores(data, settings, context, placement, fullest),
    on_card: held[fullest],
    fullest: shown[fullest].name,
    on_card_highest: highest(data, placement, held[fullest], shown[fullest], data.gpus ? fullest : HOST),
    card: { name, usable, reserve, ceiling, slack: ceiling - held[fullest], verdict, fits: verdict === FITS },
  };
  if (held.length > 1) {
    rows.cards = held.map((total, place) => ({
      name: shown[place].name,
      held: total,
      slack: ceiling - total,
      verdict: verdicts[place],
    }));
  }
  return rows;
}

function fullestOf(sizes) {
  return sizes.indexOf(Math.max(...sizes));
}

// A compute buffer inside the reserve is part of it; a larger one comes on top.
export function judged(total, compute, { usable, reserve }) {
  const ceiling = usable - reserve;
  if (total > ceiling) return TOO_LARGE;
  if (compute <= reserve || total + compute <= ceiling) return FITS;
  return total + compute <= usable ? BARELY : TOO_LARGE;
}

function hostMemory(data, context, devices) {
  const host = devices[0];
  const taken = {};
  const parts = [
    ["weights", host.weights],
    ["cache and state", host.kv + host.recurrent],
    ["compute buffer", host.compute],
    ["logits", data.model.logits * context.sequences],
  ];
  for (const [name, size] of parts) if (size) taken[name] = size;
  const added = {};
  const { cache_ram: limit, ctx_checkpoints: checkpoints } = data.engine;
  if (limit) added["prompt cache"] = limit < 0 ? null : limit * MEBIBYTE;
  const copies = sum(devices.map((device) => device.recurrent)) * Math.max(checkpoints, 0);
  if (copies) added["context checkpoints"] = copies;
  const least = sum(Object.values(taken));
  const most = Object.values(added).includes(null) ? null : least + sum(Object.values(added));
  return { least, most, taken, may_add: added };
}

function attentionScores(data, settings, context, placement, device) {
  if (settings.flash_attn !== "off" || !data.gpus || !placement.keepsCaches) return null;
  const heads = data.model.scores.filter(([index]) => placement.layers[index] === device).map(([, count]) => count);
  return heads.length ? context.cells * context.micro * Math.max(...heads) * 4 : null;
}

// What the fullest device holds at the upper end of an estimate; null where the tensor table is known.
function highest(data, placement, total, device, index) {
  if (data.estimate === null) return null;
  const [ofExperts, ofRest, file] = data.estimate;
  const weights = device.weights + (data.gpus && data.engine.published ? data.model.embedding : 0);
  const experts = placement.expertBytes(index);
  const hundredths = experts
    ? weights * 100 + data.model.experts * ofExperts + (weights - experts) * ofRest
    : weights * (100 + ofRest);
  return total - weights + Math.ceil(Math.min(hundredths, file * 100) / 100);
}

// --- the ladder (generator/report/planned.py)

const CACHES = [["q8_0", "q8_0"], ["q8_0", "f16"], ["f16", "f16"]];

// Gives the rungs around a plan on one card: depths of expert offload, contexts, and pairs of cache types.
export function ladder(data, changed) {
  if (data.gpus !== 1) return [];
  const settings = { ...data.settings, ...changed };
  const base = planned(data, settings);
  const weights = weightsOf(data);
  const pairs = allowedCaches(data, settings);
  const rungs = [];
  for (const [depth, contexts] of rungsOf(data, settings)) {
    const placement = new Placement(data, weights, { ...settings, n_cpu_moe: depth });
    const fixed = placement.bytes(0) + (data.engine.published ? data.model.embedding : 0) + base.devices[1].recurrent;
    for (const length of contexts) {
      for (const [typeK, typeV] of pairs) {
        const own = { ...settings, n_ctx: length, type_k: typeK, type_v: typeV, n_cpu_moe: depth };
        const total = fixed + cacheBytes(data, own, contextOf(data, own), placement, 0);
        const row = { n_cpu_moe: depth, n_ctx: length, type_k: typeK, type_v: typeV, total };
        rungs.push({ ...row, fits: rungFits(data, base, settings, own, total) });
      }
    }
  }
  return rungs;
}

// A bound on the compute buffer often tells without its graph: it grows no faster than the context, by copies of two experts' tensors,
// and by copies in sixteen bits of a block's cache.
function rungFits(data, base, settings, own, total) {
  const { usable, reserve } = data.card;
  if (total > usable - reserve) return false;
  const asked = contextOf(data, settings).asked;
  const times = Math.max(1, Math.ceil(own.n_ctx / Math.max(asked, 1)));
  const working = base.devices[1].compute + (data.excess ?? 0);
  const bound = working * times + data.model.staged + 2 * (own.n_ctx + 256) * data.model.widest * 2;
  if (bound <= reserve) return true;
  return judged(total, planned(data, own).devices[1].compute + (data.excess ?? 0), data.card) === FITS;
}

function allowedCaches(data, settings) {
  const pairs = [[settings.type_k, settings.type_v]];
  for (const [typeK, typeV] of CACHES) {
    try {
      refuseTypes(data, { ...settings, type_k: typeK, type_v: typeV });
    } catch (error) {
      if (error instanceof Refused) continue;
      throw error;
    }
    if (!pairs.some(([k, v]) => k === typeK && v === typeV)) pairs.push([typeK, typeV]);
  }
  return pairs;
}

function rungsOf(data, settings) {
  const { asked } = contextOf(data, settings);
  const { loaded: last, trained } = data.model;
  const around = [Math.max(Math.floor(asked / 2), 1), asked, Math.min(asked * 2, Math.max(trained || asked, asked))];
  const contexts = [...new Set(around)].sort((a, b) => a - b);
  if (!data.model.experts) return [[0, contexts]];
  const own = Math.min(settings.n_cpu_moe, last);
  const near = new Set();
  for (let depth = Math.max(own - 2, 0); depth <= Math.min(own + 2, last); depth++) near.add(depth);
  const all = new Set(near);
  for (let depth = 0; depth <= last; depth += 4) all.add(depth);
  return [...all].sort((a, b) => a - b).map((depth) => [depth, near.has(depth) ? contexts : [asked]]);
}
