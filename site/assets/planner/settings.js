// What a reader changes, as flags to copy and as the fragment of an address.

const FLAGS = {
  n_gpu_layers: "-ngl",
  n_cpu_moe: "-ncmoe",
  n_ctx: "-c",
  n_batch: "-b",
  n_ubatch: "-ub",
  n_parallel: "-np",
  kv_unified: "-kvu",
  type_k: "-ctk",
  type_v: "-ctv",
  flash_attn: "-fa",
};

// Gives the flags of settings in the recipe's order, each with its value; what the recipe does not set comes behind, where it differs
// from what the engine does by itself.
export function command(data, changed) {
  const written = data.flags.map(([name, ...words]) => (name in changed ? wordsOf(name, changed[name]) : words));
  const own = new Set(data.flags.map(([name]) => name));
  for (const name of Object.keys(FLAGS)) {
    if (name in changed && !own.has(name) && changed[name] !== data.settings[name]) written.push(wordsOf(name, changed[name]));
  }
  return written.filter((each) => each.length);
}

function wordsOf(name, value) {
  if (value === null) return [];
  if (name === "kv_unified") return [value ? "-kvu" : "-no-kvu"];
  return [FLAGS[name], String(value)];
}

// --- the fragment of an address: name=value pairs of what differs from the recipe, such as n_ctx=65536&type_k=q8_0

const WHOLE = new Set(["n_cpu_moe", "n_ctx", "n_batch", "n_ubatch"]);

export function printState(data, changed) {
  const pairs = Object.keys(FLAGS).filter((name) => name in changed && changed[name] !== data.settings[name]);
  return pairs.map((name) => `${name}=${changed[name] === null ? "auto" : changed[name]}`).join("&");
}

// Gives the settings that a fragment names; what is not understood is left out.
export function parseState(data, text) {
  const changed = {};
  for (const pair of text.replace(/^#/, "").split("&")) {
    const [name, value, ...more] = pair.split("=");
    const read = value !== undefined && !more.length ? valueOf(data, name, value) : undefined;
    if (read !== undefined) changed[name] = read;
  }
  return changed;
}

function valueOf(data, name, value) {
  const number = /^\d{1,9}$/.test(value) ? Number(value) : undefined;
  if (WHOLE.has(name)) return number;
  if (name === "n_parallel") return value === "auto" ? null : number || undefined;
  if (name === "n_gpu_layers") return ["auto", "all"].includes(value) ? value : number;
  if (name === "kv_unified") return { true: true, false: false }[value];
  if (name === "flash_attn") return ["on", "off", "auto"].includes(value) ? value : undefined;
  if (name === "type_k" || name === "type_v") return data.engine.types.includes(value) ? value : undefined;
  return undefined;
}
