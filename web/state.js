// What the page knows: inputs, settings, result, errors; and the rules that need no DOM: which settings are valid, what they mean
// for the core, which state the page is in. Knows neither the DOM nor the Worker. Every change goes through `update`.

/** @typedef {{name: string, sizeBytes: number, file?: File, url?: string, batch?: number | null}} Input batch: recorded, as a person gave it */
/** @typedef {{gpu: string, capacityText: string, batch: number | null, optimizer: string, foreach: string, zeroGrad: string,
 *   reserveText: string, torch: string, allocConf: string}} Settings allocConf: as PYTORCH_CUDA_ALLOC_CONF */
/** @typedef {{timeMs: Float64Array | number[], bytes: Float64Array | number[]}} Curve */
/** @typedef {{allocated: Curve, reserved: Curve, tensor: Curve, need: Curve}} Curves */
/** @typedef {{summary: object, text: string | null, curves: Curves, settings: Settings}} Result text: as the core wrote it, null from a link */
/** @typedef {{title: string, message: string, actions?: {label: string, run: () => void}[], ask?: {label: string, run: (text: string) => string}}} PageError
 *   ask: a question that may help; its answer is taken, or refused with what is wrong */
/** @typedef {{inputs: Input[], settings: Settings, result: Result | null, zoom: {fromMs: number, toMs: number, curves: Curves} | null,
 *   link: {inputs: Input[], example: string} | null, example: string,
 *   load: {names: string[], stage: string, index: number, readBytes: number, totalBytes: number} | null, isBusy: boolean,
 *   error: PageError | null, settingsError: {field: string, message: string} | null, facts: object | null, gpus: object[]}} State */

/** In the order of the list; all but the first are names of core/optimizers.c, each with torch's default arguments. */
export const OPTIMIZERS = [
  "recorded", "SGD", "SGD+momentum", "Adam", "Adam+amsgrad", "AdamW", "AdamW+amsgrad", "NAdam", "RAdam", "Adamax", "Adadelta", "RMSprop", "Adagrad", "Adafactor",
];
export const FOREACH = ["auto", "on", "off", "fused"];
export const ZERO_GRAD = ["recorded", "start", "after-forward", "after-step"];
export const LARGEST_BATCH = 100000000;
export const ALLOC_CONF_LENGTH = 399; // as the core takes it
const LARGEST_BYTES = Number.MAX_SAFE_INTEGER;

/** @type {Readonly<Settings>} */
export const DEFAULTS = Object.freeze({
  gpu: "GeForce RTX 4090", capacityText: "24GiB", batch: null, optimizer: "recorded", foreach: "auto", zeroGrad: "recorded", reserveText: "", torch: "",
  allocConf: "",
});

const UNITS = {
  "": 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3, tib: 1024 ** 4, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12,
};

/** "12GiB", "12G", "24 GB", "8318222336" -> bytes, as the command line reads it; null if it is no size. @param {string} text */
export function parseSize(text) {
  const match = /^(\d+(?:\.\d*)?)\s*([a-z]*)$/i.exec(text.trim());
  const unit = match && UNITS[match[2].toLowerCase()];
  const bytes = unit ? Math.floor(Number(match[1]) * unit + 0.5) : NaN;
  return bytes <= LARGEST_BYTES ? bytes : null;
}

/** "16, 32" -> [16, 32]: the batch sizes that profiles were recorded at, one for each or none at all; null if the text is neither.
 * @param {string} text @param {number} count of profiles @returns {(number | null)[] | null} */
export function parseBatches(text, count) {
  const words = text.split(/[\s,;]+/).filter(Boolean);
  if (!words.length) return Array(count).fill(null);
  const isFine = words.length === count && words.every((word) => /^\d+$/.test(word) && word >= 1 && word <= LARGEST_BATCH);
  return isFine ? words.map(Number) : null;
}

/** Whatever came from outside, as settings that are valid in form; what is not falls back to the default. @returns {Settings} */
export function cleanSettings(raw) {
  const given = raw !== null && typeof raw === "object" ? raw : {};
  const text = (value, fallback, longest) => (typeof value === "string" && value.length <= longest ? value : fallback);
  const word = (value, words) => (words.includes(value) ? value : words[0]);
  return {
    gpu: text(given.gpu, DEFAULTS.gpu, 80),
    capacityText: text(given.capacityText, DEFAULTS.capacityText, 40),
    batch: Number.isInteger(given.batch) && given.batch >= 1 && given.batch <= LARGEST_BATCH ? given.batch : null,
    optimizer: word(given.optimizer, OPTIMIZERS),
    foreach: word(given.foreach, FOREACH),
    zeroGrad: word(given.zeroGrad, ZERO_GRAD),
    reserveText: text(given.reserveText, "", 40),
    torch: text(given.torch, "", 20),
    allocConf: text(given.allocConf, "", ALLOC_CONF_LENGTH),
  };
}

/** What is wrong with the settings before the core is asked, or null. @param {Settings} settings */
export function checkSettings(settings) {
  if (settings.gpu === "custom" && !(parseSize(settings.capacityText) > 0))
    return { field: "capacity", message: `"${settings.capacityText}" is no size: write it like 12GiB, 24GB or 8318222336.` };
  if (settings.reserveText.trim() && parseSize(settings.reserveText) === null)
    return { field: "reserve", message: `"${settings.reserveText}" is no size: write it like 500MiB or 2GB.` };
  return null;
}

/** The options JSON of the core (oomcast.h, oc_session_simulate). A batch size is asked for only where two profiles make it free.
 * @param {Settings} settings @param {number} profileCount */
export function toOptions(settings, profileCount) {
  const options = {};
  if (settings.gpu === "custom") options.capacity_bytes = parseSize(settings.capacityText);
  else if (settings.gpu !== "none") options.gpu = settings.gpu;
  if (settings.batch !== null && profileCount > 1) options.batch = settings.batch;
  if (settings.optimizer !== "recorded") options.optimizer = settings.optimizer;
  if (settings.foreach !== "auto") options.foreach = settings.foreach;
  if (settings.zeroGrad !== "recorded") options.zero_grad = settings.zeroGrad;
  if (settings.reserveText.trim()) options.reserve_bytes = parseSize(settings.reserveText);
  if (settings.torch.trim()) options.torch = settings.torch.trim();
  if (settings.allocConf.trim()) options.alloc_conf = settings.allocConf.trim();
  return options;
}

/** The settings of another job: the card stays, what belongs to the job goes. @param {Settings} settings @returns {Settings} */
export function forNewJob(settings) {
  const { gpu, capacityText, reserveText } = settings;
  return { ...DEFAULTS, gpu, capacityText, reserveText };
}

/** Two profiles in a fixed order, by the numbers in their names: job-b4 before job-b16. @template {{name: string}} T @param {T[]} inputs */
function inOrder(inputs) {
  const collator = new Intl.Collator("en", { numeric: true });
  return [...inputs].sort((a, b) => collator.compare(a.name, b.name));
}

/** What a drop means: a new job, or the other batch size of the one that is there.
 * @param {State} state @param {Input[]} dropped one or two @returns {{inputs: Input[], settings: Settings}} */
export function planLoad(state, dropped) {
  const known = dropped.map((input) => knownAs(state.link?.inputs ?? [], input));
  if (known.every(Boolean)) return { inputs: inOrder(dropped.map((input, i) => ({ ...input, batch: known[i].batch }))), settings: state.settings };
  if (dropped.length === 1 && state.inputs.length === 1 && state.result)
    return { inputs: [state.inputs[0], dropped[0]], settings: state.settings };
  return { inputs: inOrder(dropped), settings: forNewJob(state.settings) };
}

/** Which of the files that a link was made from this one is, by its name or else its size. */
function knownAs(expected, input) {
  return expected.find((known) => known.name === input.name) ?? expected.find((known) => known.sizeBytes === input.sizeBytes);
}

/** @param {State} state @returns {"loading" | "ready" | "error" | "empty"} */
export function pageState(state) {
  if (state.load) return "loading";
  if (state.result) return "ready";
  return state.error ? "error" : "empty";
}

/** A store: `get`, `update(change)`, `subscribe(listener)`. Listeners run after each update with the new and the old state. */
export function createStore() {
  /** @type {State} */
  let state = {
    inputs: [], settings: { ...DEFAULTS }, result: null, zoom: null, link: null, example: "", load: null, isBusy: false,
    error: null, settingsError: null, facts: null, gpus: [],
  };
  const listeners = [];
  return {
    get: () => state,
    /** @param {Partial<State>} change */
    update(change) {
      for (const key of Object.keys(change)) if (!(key in state)) throw new TypeError(`the state has no "${key}"`);
      const old = state;
      state = { ...state, ...change };
      if (change.settings) state.settings = cleanSettings(change.settings);
      for (const listener of listeners) listener(state, old);
    },
    subscribe: (listener) => void listeners.push(listener),
  };
}
