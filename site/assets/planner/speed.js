// Ceilings on speed by what a token reads on either side of the bus (generator/guide/numbers/speed.py), in whole fractions: what a page
// shows is rounded, half to even, from the exact figure.

import { cellBytes, contextOf, HOST, Placement, stateBytes, sum } from "./memory.js";
import { weightsOf } from "./plan.js";

const EXPERT = 1, INPUT = 2;

// Gives the tokens a second that memory allows at the most: for each kind of system memory by itself, where a token reads there, and
// for each depth of context the cards' with it. `kind` is null where system memory has no part.
export function ceilings(data, changed, depths = null) {
  const settings = { ...data.settings, ...changed };
  const weights = weightsOf(data);
  const context = contextOf(data, settings);
  const placement = new Placement(data, weights, settings);
  const [host, card] = sides(data, settings, context, placement);
  const { kinds, bandwidth, unified, count } = data.speed;
  const shares = BigInt(count || 1);
  const alone = host(0)
    ? kinds.map(([name, rate]) => ({ kind: name, rate: rounded(BigInt(rate) * shares, BigInt(host(0))) }))
    : [];
  if (bandwidth === null) return { host: unified ? [] : alone, card: [] };
  const rows = [];
  for (const depth of depths ?? data.speed.depths ?? [0, Math.floor(context.asked / 2), context.asked]) {
    const onHost = BigInt(host(depth));
    const onCard = BigInt(card(depth));
    const rate = BigInt(bandwidth);
    if (!onHost || unified) {
      rows.push({ depth, kind: null, rate: rounded(rate * shares, onCard + onHost) });
      continue;
    }
    for (const [name, other] of kinds) {
      const slower = BigInt(other);
      rows.push({ depth, kind: name, rate: rounded(rate * slower * shares, onCard * slower + onHost * rate) });
    }
  }
  return { host: unified ? [] : alone, card: rows };
}

// Gives what a token reads on the host and on the cards at a depth, each times the number of experts, so that it is whole.
function sides(data, settings, context, placement) {
  const { used, count } = data.speed;
  const shares = count || 1;
  const offload = offloadOf(data, settings);
  const loaded = placement.placed.filter(([tensor]) => tensor.flags & EXPERT && tensor.block < data.model.loaded);
  const bytes = (pairs) => sum(pairs.map(([tensor]) => tensor.size));
  const onHost = ([, device]) => device === HOST;
  const others = placement.placed.filter(([tensor]) => !(tensor.flags & EXPERT));

  const moved = bytes(loaded.filter(([tensor]) => tensor.block < settings.n_cpu_moe));
  const expertsOnHost = offload === "experts" ? moved : placement.expertBytes(HOST);
  let host = expertsOnHost * used;
  let hostCells = [];
  if (offload !== "experts" || !expertsOnHost) {
    const whole = bytes(others.filter((pair) => onHost(pair) && !(pair[0].flags & INPUT)));
    host += (offload === "whole" ? 0 : whole) * shares + stateBytes(data, context, placement, HOST) * shares;
    hostCells = cells(data, settings, placement, (device) => device === HOST);
  }

  const dense = data.engine.published && offload !== "layers" && data.model.experts;
  let card = dense ? data.speed.dense : bytes(others.filter((pair) => !onHost(pair)));
  const states = Array.from({ length: data.gpus }, (_, device) => stateBytes(data, context, placement, device));
  card = (card + sum(states)) * shares;
  if (data.model.experts) {
    const all = bytes(loaded);
    const stored = offload === "layers" ? bytes(placement.placed.filter((pair) => pair[0].flags & EXPERT && !onHost(pair))) : all;
    card += (offload === "experts" ? all - moved : stored) * used;
  }
  const cardCells = cells(data, settings, placement, (device) => device !== HOST);
  return [at(host, hostCells, shares), at(card, cardCells, shares)];
}

function offloadOf(data, settings) {
  if (typeof settings.n_gpu_layers === "number" && settings.n_gpu_layers <= data.model.blocks) return "layers";
  return settings.n_cpu_moe && data.model.experts ? "experts" : "whole";
}

function cells(data, settings, placement, isHere) {
  return data.model.caches.map((cache) => {
    const rows = cache.blocks.map((index, place) => (isHere(placement.cacheDevice(index)) ? cellBytes(cache, place, settings) : 0));
    return [sum(rows), cache.window];
  });
}

function at(fixed, rows, shares) {
  return (depth) => fixed + shares * sum(rows.map(([row, window]) => row * (window === null ? depth : Math.min(depth, window))));
}

// A quotient as the nearest whole number, the even one of two that are as near.
function rounded(above, below) {
  const whole = above / below;
  const rest = (above % below) * 2n;
  const up = rest > below || (rest === below && whole % 2n === 1n);
  return Number(up ? whole + 1n : whole);
}
