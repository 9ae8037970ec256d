// A traced graph made again for some settings: its rows read, its terms worked out (generator/planner/encode.py says what they are).

import { block, NONE, Tensor } from "./tensor.js";

const INPUT = 1, OUTPUT = 2, PINNED = 4, HELD = 8, GLOBAL = 16, VIEW_OF = 32;

// Gives leafs and nodes of the graph of a manner, or null where no trace of it holds. `values` are those of the variables, `types`
// the cache types of K and V in upper case; `homeOf(role, block)`, `cacheDevice(block)` and `layerDevice(block)` say
// where weights, caches and blocks are.
export function graphOf(graphs, weights, manner, values, types, homeOf, cacheDevice, layerDevice, host) {
  const terms = graphs.terms.map((text) => evaluated(text, values));
  const found = (graphs.manners[manner] ?? []).find(([conditions]) => conditions.every((each) => holds(each, terms)));
  if (found === undefined) return null;
  const [, pattern, segments] = found;
  const [kinds, blocks] = graphs.patterns[pattern];
  const names = graphs.types.map((name) => (/^[KV]\d+$/.test(name) ? types[name[0]] : name));
  const shapes = graphs.shapes.map((numbers) => numbers.map((number) => terms[number]));
  const leafs = [], nodes = [], order = [], shared = [];
  const made = new Map();

  function weight(role, index) {
    const key = role[0] === "@" ? `${role} ${layerDevice(index)}` : role[0] === "/" || role === "!" ? role : `${index} ${role}`;
    if (!made.has(key)) {
      const [type, shape] = weights.of(role, index);
      const tensor = new Tensor(NONE, type, [...shape, 1, 1, 1].slice(0, 4), null, []);
      tensor.home = homeOf(role, index);
      tensor.isWeight = true;
      made.set(key, tensor);
    }
    return made.get(key);
  }

  function operand(code, self, index) {
    const number = Math.floor(code / 4);
    if (code % 4 === 2) return weight(graphs.roles[number], index);
    if (code % 4 === 1) return shared[number];
    return number === 0 ? self : order[order.length - number];
  }

  function add(row, index) {
    const [op, type, ne, nb, flags, ...codes] = graphs.rows[row];
    const tensor = new Tensor(graphs.operations[op], names[type], shapes[ne], nb ? shapes[nb] : null, []);
    if (flags & GLOBAL) shared.push(tensor);
    tensor.src = codes.map((code) => operand(code, tensor, index));
    tensor.isInput = (flags & INPUT) > 0;
    tensor.isOutput = (flags & OUTPUT) > 0;
    tensor.block = index;
    if (flags & PINNED) tensor.pinned = host;
    if (flags & HELD) tensor.home = cacheDevice(index);
    if (flags >= VIEW_OF) {
      const shown = tensor.src[Math.floor(flags / VIEW_OF) - 1];
      tensor.view = shown.view ?? shown;
    }
    order.push(tensor);
    (tensor.op === NONE ? leafs : nodes).push(tensor);
  }

  kinds.forEach((kind, place) => {
    for (const row of rowsOf(graphs.segments[segments[kind]])) add(row, blocks[place]);
  });
  return { leafs: [...leafs, ...made.values()], nodes };
}

// A segment is a list of rows; a number below 0 says how many more follow the one before it, each the next.
function* rowsOf(segment) {
  let last = 0;
  for (const number of segment) {
    if (number >= 0) yield (last = number);
    else for (let more = 0; more > number; more--) yield ++last;
  }
}

function holds([term, relation, found], terms) {
  return (relation === "=" ? terms[term] === 0 : terms[term] > 0) === Boolean(found);
}

function evaluated(text, values) {
  if (typeof text === "number") return text;
  let sum = 0;
  for (const part of text.split("+")) {
    let made = 1;
    for (const factor of part.split("*")) made *= factor in values ? values[factor] : Number(factor);
    sum += made;
  }
  return sum;
}

// The bytes of a block of the cache types, which are variables of a graph.
export function blockBytes(type) {
  return block(type)[1];
}
