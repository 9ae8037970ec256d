// Which device computes each tensor of a graph, and what is copied to it first (generator/memory/graph/schedule.py, move for move).
// Devices are numbered as the engine ranks them: 0 and up, the host last.

import { NONE, Tensor, VIEWS } from "./tensor.js";

const MIN_OFFLOADED_BATCH = 32;
const NO_ROOM_OF_ITS_OWN = new Set(["ROPE", "FLASH_ATTN_EXT"]);

// `devices` has host, offloads, copies and computes(device, node). Gives leafs and nodes in the order they are computed.
export function schedule(leafs, nodes, devices) {
  for (const leaf of leafs) leaf.device = fromCurrent(leaf, devices);
  for (const node of nodes) node.device = node.pinned ?? fromCurrent(node, devices);
  const computed = nodes.filter((node) => !VIEWS.has(node.op));
  const reversed = computed.slice().reverse();
  for (const host of [false, true]) {
    spread(computed, devices, host);
    spread(reversed, devices, host);
  }
  assignRest(nodes, devices);
  return split(leafs, nodes, devices);
}

function fromCurrent(tensor, devices) {
  const home = tensor.view !== null ? tensor.view.home : tensor.home;
  if (home !== null) return home;
  if (tensor.isInput) return devices.host;
  if (NO_ROOM_OF_ITS_OWN.has(tensor.op)) return null;
  for (const operand of tensor.src) {
    if (operand.isWeight && operand.home !== null) return whereWeightIs(tensor, operand.home, devices);
  }
  return null;
}

function whereWeightIs(node, home, devices) {
  const where = devices.computes(home, node) ? home : devices.host;
  if (where === devices.host && where === home && devices.offloads && batchOf(node) >= MIN_OFFLOADED_BATCH) {
    for (let device = 0; device < devices.host; device++) if (devices.computes(device, node)) return device;
  }
  return where;
}

function batchOf(node) {
  if (node.op === "GET_ROWS") return 0;
  if (node.op === "MUL_MAT") return node.ne[1];
  if (node.op === "MUL_MAT_ID" || node.op === "ROPE") return node.ne[2];
  return node.ne[1] * node.ne[2] * node.ne[3];
}

function spread(nodes, devices, host) {
  let current = null;
  for (const node of nodes) {
    if (node.device !== null) current = node.device === devices.host && !host ? null : node.device;
    else if (current !== null && devices.computes(current, node)) node.device = current;
  }
}

function assignRest(nodes, devices) {
  for (const node of nodes) {
    if (node.device === null && !VIEWS.has(node.op)) node.device = mostOperands(node, devices);
  }
  for (const node of nodes) {
    if (node.device === null && node.view !== null) node.device = node.view.device;
    for (const operand of node.src) {
      if (operand.device === null) operand.device = operand.view === null ? node.device : operand.view.device;
    }
    for (let device = 0; node.device === null; device++) if (devices.computes(device, node)) node.device = device;
  }
}

function mostOperands(node, devices) {
  let best = devices.host;
  let most = -1;
  for (let device = 0; device <= devices.host; device++) {
    if (!devices.computes(device, node)) continue;
    const count = node.src.filter((operand) => isOn(operand, device)).length;
    if (count > most) [best, most] = [device, count];
  }
  return best;
}

function isOn(tensor, device) {
  const root = tensor.view ?? tensor;
  return (root.home ?? tensor.device ?? root.device) === device;
}

function takes(part, node) {
  if (node.device !== part.device) return false;
  if (!part.inputs.length) return true;
  return !node.src.some((operand) => operand.isWeight && operand.home !== null && operand.home !== part.device);
}

function split(leafs, nodes, devices) {
  const parts = [];
  const copied = new Map();
  for (const node of nodes) {
    let part = parts.at(-1);
    if (VIEWS.has(node.op)) {
      if (part) part.nodes.push(node);
      continue;
    }
    if (!part || !takes(part, node)) parts.push((part = { device: node.device, inputs: [], nodes: [] }));
    part.nodes.push(node);
    if (node.src.some((operand) => operand.device !== node.device)) {
      node.src = node.src.map((operand) => brought(operand, node, part, copied, devices.copies));
    }
  }
  const ordered = [];
  for (const part of parts) {
    for (const [operand, copies] of part.inputs) ordered.push(dependency(operand), copies[0]);
    ordered.push(...part.nodes);
  }
  const kept = devices.copies > 1 ? pipelineLeafs(leafs, parts, devices.copies) : [];
  return { leafs: [...kept, ...leafs], nodes: ordered };
}

function brought(operand, node, part, copied, count) {
  if (operand === node || operand.device === part.device || isOn(operand, part.device)) return operand;
  if (!copied.has(operand)) copied.set(operand, new Map());
  const of = copied.get(operand);
  if (!of.has(part.device)) {
    const copies = Array.from({ length: count }, () => copyOf(operand, part.device, count > 1));
    of.set(part.device, copies);
    part.inputs.push([operand, copies]);
  }
  return of.get(part.device)[0];
}

function copyOf(tensor, device, kept) {
  const copy = new Tensor(NONE, tensor.type, tensor.ne, tensor.nb, []);
  copy.device = device;
  copy.isInput = copy.isOutput = kept;
  return copy;
}

function dependency(tensor) {
  const kept = new Tensor(NONE, tensor.type, tensor.ne, tensor.nb, [tensor]);
  kept.view = tensor.view ?? tensor;
  kept.device = tensor.device;
  return kept;
}

function pipelineLeafs(leafs, parts, count) {
  const kept = [];
  for (const leaf of leafs) {
    if (!leaf.isInput) continue;
    leaf.isOutput = true;
    kept.push(leaf);
    for (let copy = 1; copy < count; copy++) kept.push(copyOf(leaf, leaf.device, true));
  }
  for (const part of parts) for (const [, copies] of part.inputs) kept.push(...copies);
  return kept;
}
