// What a run holds whatever it computes: the context as the engine rounds it, where weights go, caches and states
// (generator/memory/context.py, placement.py, kv_cache.py, recurrent.py).

import { block, strides } from "./tensor.js";

export const HOST = -1;
export const CELL_PADDING = 256;

const EXPERT = 1, INPUT = 2, FIRST_LAYER = 4, NOT_COMPUTED = 8;

export function roundedUp(number, step) {
  return Math.ceil(number / step) * step;
}

export function sum(numbers) {
  return numbers.reduce((made, number) => made + number, 0);
}

// --- the context

// Gives the number of sequences and whether they share a cache; without a number llama-server takes four that do.
export function sequencesOf(settings) {
  return settings.n_parallel === null ? [4, true] : [settings.n_parallel, Boolean(settings.kv_unified)];
}

export function contextOf(data, settings) {
  const [sequences, unified] = sequencesOf(settings);
  const asked = settings.n_ctx || data.model.trained;
  const padded = roundedUp(asked, CELL_PADDING);
  const streams = unified ? 1 : sequences;
  const cells = unified || sequences === 1 ? padded : roundedUp(Math.floor(padded / sequences), CELL_PADDING);
  const batch = Math.min(asked, settings.n_batch);
  const micro = Math.min(batch, settings.n_ubatch || settings.n_batch);
  return { asked, cells, streams, sequences, batch, micro, total: cells * streams };
}

// --- where things go

// The tensors of a page: each with role, block (-1 outside of blocks), type, shape, bytes and flags.
export class Weights {
  constructor(data) {
    const { types, shapes, roles } = data.weights;
    this.tensors = [];
    this.byName = new Map();
    for (const [role, flags, ...runs] of roles) {
      for (const [type, shape, first, count, bytes] of runs) {
        const ne = [...shapes[shape], 1, 1, 1].slice(0, 4);
        const size = bytes ?? strides(types[type], ne)[3] * ne[3];
        for (let index = first; index < first + count; index++) {
          const inBlock = role[0] !== "/";
          this.tensors.push({ role, flags, block: inBlock ? index : -1, size });
          this.byName.set(inBlock ? `${index} ${role}` : role, [types[type], shapes[shape]]);
        }
      }
    }
  }

  // Gives type and shape of a weight by what it is to a block (generator/planner/encode.py).
  of(role, index) {
    const name = role === "!" ? "/token_embd.weight" : role[0] === "@" ? `/${role.slice(1)}` : role[0] === "/" ? role : `${index} ${role}`;
    return this.byName.get(name);
  }
}

// Gives the device of each block, and last of the output layer, counted from the last one down, in single precision as the engine does.
export function layerDevices(data, settings) {
  const { used, points } = data.engine;
  const count = data.model.blocks;
  const asked = typeof settings.n_gpu_layers === "number" ? settings.n_gpu_layers : count + 1;
  const moved = used.length ? Math.min(asked, count + 1) : 0;
  const first = count + 1 - moved;
  const devices = Array(first).fill(HOST);
  for (let index = first; index <= count; index++) {
    const position = Math.fround((index - first) / moved);
    devices.push(used[points.filter((point) => point <= position).length]);
  }
  return devices;
}

export class Placement {
  constructor(data, weights, settings) {
    this.layers = layerDevices(data, settings);
    this.output = this.layers.pop();
    this.keepsCaches = data.engine.kv_offload;
    this.depth = settings.n_cpu_moe;
    this.weights = weights;
    this.placed = weights.tensors.map((tensor) => [tensor, this.deviceOf(tensor)]);
    this.head = HOST;
    const tied = weights.tensors.find((tensor) => tensor.role === "/token_embd.weight");
    if (data.model.tied === 2 || (data.model.tied === 1 && this.output !== HOST)) {
      this.placed.push([tied, this.output]);
      this.head = this.output;
    }
    this.homes = new Map(
      weights.tensors.map((tensor, place) => [tensor.block < 0 ? tensor.role : `${tensor.block} ${tensor.role}`, this.placed[place][1]]),
    );
  }

  deviceOf({ flags, block: index }) {
    if (index < 0) return flags & FIRST_LAYER ? this.layers[0] : flags & INPUT ? HOST : this.output;
    if (flags & EXPERT && index < this.depth) return HOST;
    return flags & NOT_COMPUTED ? HOST : this.layers[index];
  }

  bytes(device) {
    return sum(this.placed.filter(([, where]) => where === device).map(([tensor]) => tensor.size));
  }

  expertBytes(device) {
    return sum(this.placed.filter(([tensor, where]) => where === device && tensor.flags & EXPERT).map(([tensor]) => tensor.size));
  }

  // Gives where a graph finds a weight, by what it is to a block.
  homeOf(role, index) {
    if (role === "!") return this.head;
    if (role[0] === "@") return this.layers[index];
    return this.homes.get(role[0] === "/" ? role : `${index} ${role}`);
  }

  // Gives where a block's cache or state is.
  cacheDevice(index) {
    return this.keepsCaches ? this.layers[index] : HOST;
  }

  get movesByHand() {
    return this.depth > 0;
  }
}

// --- caches and states

export function rowBytes(elements, type) {
  const [per, bytes] = block(type.toUpperCase());
  return (elements / per) * bytes;
}

export function rowOf(rows, place) {
  return typeof rows === "number" ? rows : rows[place];
}

// Gives the cells of all streams of a cache together.
export function cellsOf(data, cache, context) {
  if (cache.window === null) return context.total;
  if (data.engine.swa_full) return context.cells * context.streams;
  const seen = context.streams === 1 ? cache.window * context.sequences : cache.window;
  return roundedUp(Math.min(context.cells, seen + context.micro), CELL_PADDING) * context.streams;
}

// Gives the bytes of a block's row of K and of V in a cache.
export function cellBytes(cache, place, settings) {
  const key = rowBytes(rowOf(cache.keys, place), settings.type_k);
  if (cache.values === null) return key;
  const value = rowOf(cache.values, place);
  return key + rowBytes(settings.flash_attn === "off" ? Math.max(value, cache.widest) : value, settings.type_v);
}

export function cacheBytes(data, settings, context, placement, device) {
  return sum(
    data.model.caches.map((cache) => {
      const rows = cache.blocks.map((index, place) => (placement.cacheDevice(index) === device ? cellBytes(cache, place, settings) : 0));
      return sum(rows) * cellsOf(data, cache, context);
    }),
  );
}

export function stateBytes(data, context, placement, device) {
  return sum(
    data.model.states.map(
      ([blocks, bytes]) => bytes * blocks.filter((index) => placement.cacheDevice(index) === device).length * context.sequences,
    ),
  );
}
