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

// Gives the command that works the same figures out beside the browser, where a page cannot.
export function genPlan(data, changed) {
  const names = Object.keys(FLAGS).filter((name) => name in changed && changed[name] !== data.settings[name]);
  const words = names.flatMap((name) => (name === "n_parallel" && changed[name] === null ? ["-np", "-1"] : wordsOf(name, changed[name])));
  return ["gen", "plan", data.source, ...words];
}

function wordsOf(name, value) {
  if (value === null) return [];
  if (name === "kv_unified") return [value ? "-kvu" : "-no-kvu"];
  return [FLAGS[name], String(value)];
}

// --- the fragment of an address: name=value pairs of what differs from the recipe, such as n_ctx=65536&type_k=q8_0

// Digits that a number may have, so that no figure made of it leaves what a double holds exactly.
const DIGITS = { n_ctx: 7, n_batch: 5, n_ubatch: 5, n_cpu_moe: 4, n_gpu_layers: 4, n_parallel: 4 };

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
  if (name === "n_parallel" && value === "auto") return null;
  if (name === "n_gpu_layers" && ["auto", "all"].includes(value)) return value;
  if (Object.hasOwn(DIGITS, name)) {
    const isNumber = /^\d+$/.test(value) && value.length <= DIGITS[name] && !(name === "n_parallel" && Number(value) === 0);
    return isNumber ? Number(value) : undefined;
  }
  if (name === "kv_unified") return value === "true" || (value === "false" ? false : undefined);
  if (name === "flash_attn") return ["on", "off", "auto"].includes(value) ? value : undefined;
  if (name === "type_k" || name === "type_v") return data.engine.types.includes(value) ? value : undefined;
  return undefined;
}
