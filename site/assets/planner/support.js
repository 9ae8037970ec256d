// What a backend computes of a graph, and what it sets aside beyond a tensor's own bytes
// (generator/memory/backends.py, generator/memory/graph/support.py and left_to_host.py).

import { block, VIEWS } from "./tensor.js";

const VULKAN_BUFFER_RANGE = 4 * 2 ** 30 - 1;
const STATES_SCANNED = { cuda: [96, 128, 256], vulkan: [128, 256] };
const HEADS_SCANNED = 16;
const ROW_PADDING = 512;
const SUPER_BLOCK = 256;
const TERNARY = ["TQ1_0", "TQ2_0"];

export { VULKAN_BUFFER_RANGE };

// --- flash attention

const ATTENDED_BY_CUDA = ["f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0"];
const ATTENDED_BY_VULKAN = [...ATTENDED_BY_CUDA, "iq4_nl"];
const EQUAL_HEADS = [40, 64, 72, 80, 96, 112, 128, 256];
const GROUPED_HEADS = { 192: [128, 8], 320: [256, 32], 512: [512, 2], 576: [512, 2] };
const PAIRED_TYPES = ["f32", "f16", "bf16", "q8_0", "q4_0"];

// Tells whether a backend computes flash attention for lengths of K and V, query heads a head of K, and cache types.
export function attends(backend, key, value, group, types, paired) {
  if (backend === "vulkan") {
    const even = key % 8 === 0 && value % 8 === 0;
    return even && types.every((type) => ATTENDED_BY_VULKAN.includes(type)) && (types[0] === "bf16") === (types[1] === "bf16");
  }
  if (backend !== "cuda") return true;
  const read = paired
    ? types[0] === types[1] && PAIRED_TYPES.includes(types[0])
    : types.every((type) => ATTENDED_BY_CUDA.includes(type));
  if (!read) return false;
  if (EQUAL_HEADS.includes(key)) return value === key;
  const [wanted, groups] = GROUPED_HEADS[key] ?? [0, 1];
  return value === wanted && group >= 2 && group % groups === 0;
}

// Gives the rule that tells whether a device computes a node; the host, the last device, computes everything.
export function computes(backend, host, engine) {
  return (device, node) => {
    if (device === host) return true;
    if (node.op !== "FLASH_ATTN_EXT") return !engine.missing.includes(node.op) && !leftToHost(backend, node);
    const [q, k, v] = node.src;
    const types = [k.type.toLowerCase(), v.type.toLowerCase()];
    return attends(backend, k.ne[0], v.ne[0], Math.floor(q.ne[2] / k.ne[2]), types, engine.paired);
  };
}

// --- what a device sets aside

export function allocated(backend) {
  return backend === "cuda" ? onCuda : (tensor) => tensor.nbytes;
}

function onCuda(tensor) {
  const size = tensor.nbytes;
  if (tensor.op === "FLASH_ATTN_EXT") {
    const [, k, v] = tensor.src;
    const read = v.view !== null && (v.view === k || v.view === k.view) ? [k] : [k, v];
    return read.reduce((sum, cache) => sum + (cache.type === "F16" ? 0 : product(cache.ne) * 2), size);
  }
  const over = tensor.ne[0] % ROW_PADDING;
  const [elements, bytes] = block(tensor.type);
  return over && elements > 1 ? size + Math.floor((bytes * (ROW_PADDING - over)) / elements) : size;
}

function product(numbers) {
  return numbers.reduce((made, number) => made * number, 1);
}

// --- operations left to the host

function leftToHost(backend, node) {
  if (VIEWS.has(node.op)) return false;
  if (backend === "vulkan" && [node, ...node.src].some((tensor) => tensor.nbytes > VULKAN_BUFFER_RANGE)) return true;
  const rule = RULES[backend]?.[node.op];
  return rule !== undefined && rule(node);
}

function otherStates(backend, states) {
  return !STATES_SCANNED[backend].includes(states.ne[0]) || states.ne[1] % HEADS_SCANNED > 0;
}

function scanOfCuda(node) {
  const [states, , , a, atB] = node.src;
  if (a.ne[0] === 1) return otherStates("cuda", states);
  return states.ne[0] !== 16 || states.ne[1] !== 1 || states.ne[2] % 128 > 0 || atB.ne[1] !== 1;
}

function scanOfVulkan(node) {
  const [states, , , a] = node.src;
  return a.nb[1] !== block("F32")[1] || otherStates("vulkan", states);
}

function productOfCuda(node) {
  const [a, b] = node.src;
  if (a.nb[0] !== block(a.type)[1] || b.nb[0] !== block(b.type)[1]) return true;
  return TERNARY.includes(a.type) || (b.type === "F16" && a.type !== "F16");
}

function productOfVulkan(node) {
  const [a, b] = node.src;
  if ((node.op === "MUL_MAT_ID" ? node.src[2] : a).ne[3] !== b.ne[3]) return true;
  const gaps =
    (!densePlane(a) && !["F32", "F16", "BF16"].includes(a.type)) || (!densePlane(b) && !["F32", "F16"].includes(b.type));
  return gaps || (a.type === "BF16" && b.type === "F16") || (b.type === "BF16" && a.type !== "BF16");
}

function rowsOfCuda(node) {
  const [table] = node.src;
  return TERNARY.includes(table.type) || (["IQ4_NL", "MXFP4"].includes(table.type) && table.ne[0] % SUPER_BLOCK > 0);
}

function densePlane(tensor) {
  const { ne, nb } = tensor;
  const [elements, bytes] = block(tensor.type);
  const row = Math.floor((nb[0] * ne[0]) / elements);
  return nb[0] === bytes && nb[1] === row && (ne[3] === 1 || nb[3] === nb[2] * ne[2]);
}

function hasGaps(node) {
  return !node.src[0].isContiguous;
}

function gapsBeyond(dimension) {
  return (node) => {
    const { ne, nb } = node.src[0];
    let expected = nb[dimension] * ne[dimension];
    for (let place = dimension + 1; place < 4; place++) {
      if (ne[place] !== 1 && nb[place] !== expected) return true;
      expected *= ne[place];
    }
    return rowsHaveGaps(node);
  };
}

function rowsHaveGaps(node) {
  const [a] = node.src;
  return a.ne[0] !== block(a.type)[0] && a.nb[0] !== block(a.type)[1];
}

const RULES = {
  cuda: {
    SSM_SCAN: scanOfCuda,
    SSM_CONV: (node) => node.src[0].ne[1] % 128 > 0,
    MUL_MAT: productOfCuda,
    MUL_MAT_ID: productOfCuda,
    GET_ROWS: rowsOfCuda,
    UNARY: hasGaps,
    GROUP_NORM: hasGaps,
    GLU: gapsBeyond(1),
    ROPE: gapsBeyond(2),
    NORM: rowsHaveGaps,
    RMS_NORM: rowsHaveGaps,
    L2_NORM: rowsHaveGaps,
    SUM_ROWS: rowsHaveGaps,
  },
  vulkan: {
    SSM_SCAN: scanOfVulkan,
    MUL_MAT: productOfVulkan,
    MUL_MAT_ID: productOfVulkan,
    GATED_LINEAR_ATTN: (node) => node.src[0].ne[0] !== 64,
    SCALE: hasGaps,
    SOFT_MAX: hasGaps,
    GROUP_NORM: hasGaps,
    ARGSORT: hasGaps,
    TOP_K: hasGaps,
    SUM_ROWS: rowsHaveGaps,
    CUMSUM: rowsHaveGaps,
    ROPE: rowsHaveGaps,
  },
};
