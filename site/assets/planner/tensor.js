// A tensor of a compute graph: shape and strides, what it is made of, and what it takes (generator/memory/graph/tensor.py).

export const NONE = "NONE";

export const VIEWS = new Set(["VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE"]);

export const IN_PLACE = new Set([
  "FILL", "SCALE", "DIAG_MASK_ZERO", "DIAG_MASK_INF", "ADD", "ADD_ID", "ADD1", "SUB", "MUL", "DIV", "SQR", "SQRT", "LOG",
  "UNARY", "ROPE", "ROPE_BACK", "SILU_BACK", "RMS_NORM", "RMS_NORM_BACK", "CLAMP", "SOFT_MAX", "SOFT_MAX_BACK",
]);

// Elements and bytes of a block, by the type's name; the page's data bring them.
let blocks = {};

export function useBlocks(table) {
  blocks = table;
}

export function block(type) {
  return blocks[type];
}

export function strides(type, ne) {
  const [elements, bytes] = blocks[type];
  const row = bytes * Math.floor(ne[0] / elements);
  return [bytes, row, row * ne[1], row * ne[1] * ne[2]];
}

export class Tensor {
  constructor(op, type, ne, nb, src) {
    this.op = op;
    this.type = type;
    this.ne = ne;
    this.dense = nb === null;
    this.nb = nb === null ? strides(type, ne) : nb;
    this.src = src;
    this.view = null;
    this.home = null;
    this.isWeight = this.isInput = this.isOutput = false;
    this.pinned = null;
    this.device = null;
    this.block = -1;
    this.children = this.views = 0;
    this.held = false;
    this.address = this.place = this.size = 0;
  }

  // Bytes from the first element to the last.
  get nbytes() {
    const { ne, nb } = this;
    if (this.dense) return nb[3] * ne[3];
    if (ne.includes(0)) return 0;
    const [elements, bytes] = blocks[this.type];
    const first = elements === 1 ? bytes + (ne[0] - 1) * nb[0] : Math.floor((ne[0] * nb[0]) / elements);
    return first + (ne[1] - 1) * nb[1] + (ne[2] - 1) * nb[2] + (ne[3] - 1) * nb[3];
  }

  get isContiguous() {
    const wanted = strides(this.type, this.ne);
    return this.ne.every((count, place) => count === 1 || this.nb[place] === wanted[place]);
  }

  hasLayoutOf(other) {
    return this.type === other.type && same(this.ne, other.ne) && same(this.nb, other.nb);
  }
}

function same(a, b) {
  return a[0] === b[0] && a[1] === b[1] && a[2] === b[2] && a[3] === b[3];
}
