// What the engine would refuse before it allocates anything, in its own words where it has some (generator/memory/refusals.py).

import { cellsOf, contextOf, rowBytes, rowOf, sequencesOf } from "./memory.js";
import { block } from "./tensor.js";
import { VULKAN_BUFFER_RANGE } from "./support.js";

const FLOATS = ["f32", "f16", "bf16"];
const MAX_SEQUENCES = 256;

export class Refused extends Error {
  constructor(problem, { where, remedy, source = "" }) {
    super(source ? `${problem} (${source})` : problem);
    this.where = where;
    this.remedy = remedy;
  }

  asRow() {
    return { error: "RefusedSettings", problem: this.message, where: this.where, remedy: this.remedy };
  }
}

export function counted(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

export function withThousands(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

// Throws Refused for the first thing the engine would refuse.
export function refuse(data, settings) {
  refuseTypes(data, settings);
  refuseContext(data, settings);
}

export function refuseTypes(data, settings) {
  const { type_k: typeK, type_v: typeV } = settings;
  const source = "src/llama-context.cpp";
  if (typeK !== typeV && data.model.one_type) {
    throw new Refused(
      `K in ${typeK} and V in ${typeV}: the engine says 'model does not support different K and V cache types'`,
      { where: "-ctv", remedy: "give -ctk and -ctv the same type", source },
    );
  }
  if (settings.flash_attn !== "off") {
    refuseBlocks(data, "key", typeK, "-ctk");
    refuseBlocks(data, "value", typeV, "-ctv");
  } else if (!FLOATS.includes(typeV)) {
    throw new Refused(
      `V in ${typeV} without flash attention: the engine says 'quantized V cache requires flash_attn to be enabled'`,
      { where: "-ctv", remedy: "give -ctv f16, or leave -fa on", source },
    );
  } else {
    refuseRows(data, typeK);
  }
}

function refuseBlocks(data, part, type, flag) {
  if (FLOATS.includes(type)) return;
  const [elements] = block(type.toUpperCase());
  for (const length of data.model.lengths[part]) {
    if (length % elements === 0) continue;
    const letter = part[0];
    throw new Refused(
      `a ${part} in ${type}: its blocks of ${elements} elements do not divide the head length of ${length}: the engine says ` +
        `'${letter.toUpperCase()} cache type ${type} with block size ${elements} does not divide n_embd_head_${letter}=${length}'`,
      { where: flag, remedy: `give ${flag} f16`, source: "src/llama-context.cpp" },
    );
  }
}

function refuseRows(data, type) {
  const [elements] = block(type.toUpperCase());
  for (const length of data.model.rows) {
    if (length % elements === 0) continue;
    throw new Refused(`a key row in ${type}: its blocks of ${elements} elements do not divide the row of ${length}`, {
      where: "-ctk",
      remedy: "give -ctk f16",
      source: "ggml/src/ggml.c",
    });
  }
}

function refuseContext(data, settings) {
  const [sequences] = sequencesOf(settings);
  if (sequences > MAX_SEQUENCES) {
    throw new Refused(`${sequences} sequences are more than the engine allows (${MAX_SEQUENCES})`, { where: "-np", remedy: "lower -np" });
  }
  const outputs = Math.min(settings.n_batch, sequences);
  if (outputs < sequences) {
    throw new Refused(
      `${sequences} sequences with logits of ${counted(outputs, "token")}: the engine ends with ` +
        "'GGML_ASSERT(n_outputs_max <= cparams.n_outputs_max) failed'",
      { where: "-b", remedy: `give -b and -c ${sequences} or more, or a smaller -np`, source: "src/llama-context.cpp" },
    );
  }
  if (data.backend === "vulkan" && data.gpus && data.engine.kv_offload) refuseLargeCaches(data, settings, contextOf(data, settings));
}

function refuseLargeCaches(data, settings, context) {
  for (const cache of data.model.caches) {
    const cells = cellsOf(data, cache, context);
    for (const [rows, type, flag] of [[cache.keys, settings.type_k, "-ctk"], [cache.values, settings.type_v, "-ctv"]]) {
      if (rows === null || !cache.blocks.some((_, place) => cells * rowBytes(rowOf(rows, place), type) > VULKAN_BUFFER_RANGE)) continue;
      throw new Refused(`${withThousands(cells)} cells of one block in ${type} are more than the 4 GiB that a Vulkan device can bind`, {
        where: "-c",
        remedy: `lower -c, or give ${flag} a smaller type`,
        source: "ggml/src/ggml-vulkan/ggml-vulkan.cpp",
      });
    }
  }
}
