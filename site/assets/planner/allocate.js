// Where each tensor of a graph is put, and what that takes at most (generator/memory/graph/allocate.py, move for move).

import { IN_PLACE, NONE } from "./tensor.js";

const ENDLESS = 2 ** 52;

class Arena {
  constructor(alignment) {
    this.alignment = alignment;
    this.gaps = [[0, ENDLESS]];
    this.highest = 0;
  }

  padded(size) {
    return Math.ceil(size / this.alignment) * this.alignment;
  }

  take(size) {
    const { gaps } = this;
    let best = gaps.length - 1;
    let bestSize = ENDLESS;
    for (let index = 0; index < gaps.length - 1; index++) {
      const here = gaps[index][1];
      if (size <= here && here <= bestSize) [best, bestSize] = [index, here];
    }
    const gap = gaps[best];
    const address = gap[0];
    gap[0] += size;
    gap[1] -= size;
    if (!gap[1]) gaps.splice(best, 1);
    this.highest = Math.max(this.highest, address + size);
    return address;
  }

  giveBack(address, size) {
    const { gaps } = this;
    for (let index = 0; index < gaps.length; index++) {
      const gap = gaps[index];
      if (gap[0] + gap[1] === address) {
        gap[1] += size;
        if (index + 1 < gaps.length && gap[0] + gap[1] === gaps[index + 1][0]) gap[1] += gaps.splice(index + 1, 1)[0][1];
        return;
      }
      if (address + size === gap[0]) {
        gap[0] = address;
        gap[1] += size;
        return;
      }
    }
    const place = gaps.findIndex((gap) => gap[0] >= address);
    gaps.splice(place < 0 ? gaps.length : place, 0, [address, size]);
  }
}

// Gives the most bytes that each device's memory held; `sizeOf(tensor)` is what a device sets aside for one.
export function allocate(leafs, nodes, alignments, sizeOf) {
  const arenas = alignments.map((alignment) => new Arena(alignment));

  function put(tensor, device) {
    if (tensor.held || tensor.view !== null || tensor.home !== null) return;
    tensor.held = true;
    if (IN_PLACE.has(tensor.op) && takeOver(tensor)) return;
    const arena = arenas[device];
    const size = arena.padded(sizeOf(tensor));
    tensor.address = arena.take(size);
    tensor.place = device;
    tensor.size = size;
  }

  function free(tensor) {
    if (!tensor.held || tensor.isOutput) return;
    arenas[tensor.place].giveBack(tensor.address, tensor.size);
    tensor.held = false;
  }

  function letGo(operand) {
    const root = operand.view;
    if (root === null) {
      free(operand);
      return;
    }
    root.views -= 1;
    if (!root.views && !root.children) free(root);
  }

  for (const leaf of leafs) put(leaf, leaf.device);
  for (const node of nodes) {
    if (node.view !== null && node.op !== NONE) node.view.views += 1;
    if (node.isInput) put(node, node.device);
    for (const operand of node.src) {
      operand.children += 1;
      if (operand.isInput) put(operand, node.device);
    }
  }
  for (const node of nodes) {
    for (const operand of node.src) if (!operand.held) put(operand, node.device);
    put(node, node.device);
    for (const operand of node.src) {
      operand.children -= 1;
      if (!operand.children && !operand.views) letGo(operand);
    }
  }
  return arenas.map((arena) => arena.highest);
}

function takeOver(tensor) {
  for (const operand of tensor.src) {
    const alone = operand.held && operand !== tensor && operand.children === 1 && !operand.views;
    if (alone && !operand.isOutput && operand.hasLayoutOf(tensor)) {
      tensor.address = operand.address;
      tensor.place = operand.place;
      tensor.size = operand.size;
      operand.held = false;
      return true;
    }
  }
  return false;
}
