// The compute buffers of a run: its worst-case graph made, scheduled and allocated (generator/memory/graph/buffers.py, flash.py).

import { allocate } from "./allocate.js";
import { blockBytes, graphOf } from "./graph.js";
import { cellsOf, CELL_PADDING, HOST, roundedUp } from "./memory.js";
import { schedule } from "./schedule.js";
import { allocated, attends, computes } from "./support.js";
import { block } from "./tensor.js";

const COPIES = 4;

// Thrown where no traced graph holds: the page says so, and names `gen plan`.
export class Uncovered extends Error {}

// One run: what is needed of it to make its graphs.
export class Run {
  constructor(data, weights, settings, context, placement) {
    Object.assign(this, { data, weights, settings, context, placement });
    this.types = { K: settings.type_k.toUpperCase(), V: settings.type_v.toUpperCase() };
    this.host = data.gpus;
  }

  // Gives the most that each device's compute buffer takes, the host's last.
  peaks() {
    const flash = this.attendsAtOnce();
    const each = this.batches().map((batch) => {
      const planned = this.scheduled(batch, flash);
      return allocate(planned.leafs, planned.nodes, this.data.engine.alignments, allocated(this.data.backend));
    });
    return each[0].map((_, device) => Math.max(...each.map((peaks) => peaks[device])));
  }

  // A micro-batch in whole shares of the sequences, and one token a sequence where that keeps more logits.
  batches() {
    const { sequences, micro, total } = this.context;
    const asked = Math.min(micro, total);
    const outputs = Math.min(asked, Math.min(this.settings.n_batch, sequences));
    const batch = { each: roundedUp(asked, sequences) / sequences, outputs };
    return outputs < sequences ? [batch, { each: 1, outputs: sequences }] : [batch];
  }

  attendsAtOnce() {
    const { settings, placement } = this;
    const chooses = settings.flash_attn === "auto" && block(this.types.V)[0] === 1;
    if (!chooses) return settings.flash_attn !== "off";
    const { attends: blocks, heads } = this.data.model;
    const types = [settings.type_k, settings.type_v];
    const on = blocks.every(
      (index, place) =>
        placement.layers[index] === HOST || attends(this.data.backend, ...heads[place], types, this.data.engine.paired),
    );
    const byHand = placement.movesByHand || !placement.keepsCaches || placement.layers.includes(HOST);
    return on && byHand && this.data.gpus ? this.flashStays() : on;
  }

  // Tells whether each block's flash attention is computed where the block is, in a graph of one token a sequence.
  flashStays() {
    const planned = this.scheduled({ each: 1, outputs: this.context.sequences }, true);
    const nodes = planned.nodes.filter((node) => node.op === "FLASH_ATTN_EXT");
    return nodes.every((node) => node.device === this.index(this.placement.layers[node.block]));
  }

  scheduled({ each, outputs }, flash) {
    const { data, context, placement, types } = this;
    const values = { N: each, S: context.sequences, O: outputs, k: blockBytes(types.K), v: blockBytes(types.V) };
    data.model.caches.forEach((cache, place) => {
      values[`C${place}`] = cellsOf(data, cache, context) / context.streams / CELL_PADDING;
    });
    const graph = graphOf(
      data.graphs,
      this.weights,
      this.manner(flash),
      values,
      types,
      (role, index) => this.index(placement.homeOf(role, index)),
      (index) => this.index(placement.cacheDevice(index)),
      (index) => this.index(placement.layers[index]),
      this.host,
    );
    if (graph === null) throw new Uncovered(`no graph of ${context.sequences} sequences of ${each} tokens is in this page's data`);
    return schedule(graph.leafs, graph.nodes, {
      host: this.host,
      offloads: data.engine.offloads,
      copies: this.worksAsPipeline() ? COPIES : 1,
      computes: computes(data.backend, this.host, data.engine),
    });
  }

  worksAsPipeline() {
    const { placement } = this;
    const whole = [...placement.layers, placement.output].every((device) => device !== HOST);
    return whole && this.data.engine.pipelines && !placement.movesByHand;
  }

  // The name of what decides which operations the graph has (generator/planner/trace.py, Manner).
  manner(flash) {
    const kind = (type) => (type === "F32" ? "w" : block(type)[0] > 1 ? "q" : "h");
    const attention = flash ? "f" : this.settings.flash_attn === "off" ? "t" : "u";
    const values = flash ? kind(this.types.V) : "h";
    const keys = flash || block(this.types.K)[0] > 1 ? kind(this.types.K) : "h";
    return `${attention}${keys}${values}${this.context.streams > 1 ? "s" : "u"}`;
  }

  index(device) {
    return device === HOST ? this.host : device;
  }
}
