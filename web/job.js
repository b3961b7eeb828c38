// What happens when a person opens files, changes a setting or zooms: asks the Worker through the client and puts the answer into the
// store. Newest wins everywhere; whatever fails or is cancelled leaves the result that is shown. Draws nothing.

import { checkSettings, DEFAULTS, forNewJob, parseBatches, planLoad, toOptions } from "./state.js";

const EXAMPLES = { cnn: ["cnn-b4.json.gz", "cnn-b8.json.gz"], transformer: ["transformer-b4.json.gz", "transformer-b8.json.gz"] };
const BATCH_HINT = "(--recorded-batch)"; // where the core advises the command line's option

/** @param {ReturnType<import("./state.js").createStore>} store @param {import("./client.js").Client} client @param {() => void} onLoadBegin */
export function createJob(store, client, onLoadBegin) {
  // ---- loading ----

  /** @param {File[]} files @param {number | null} place 0 or 1: replaces that profile; null: as planLoad decides */
  function openFiles(files, place) {
    const dropped = files.map((file) => ({ name: file.name, sizeBytes: file.size, file }));
    const { inputs, settings } = store.get();
    if (place === null || dropped.length > 1 || !inputs.length) return load({ ...planLoad(store.get(), dropped), newcomers: dropped });
    const next = [...inputs];
    next[Math.min(place, inputs.length)] = dropped[0];
    return load({ inputs: next, settings, newcomers: dropped });
  }

  /** @param {string} name @param {boolean} [keepsSettings] of an opened link */
  function openExample(name, keepsSettings = false) {
    const inputs = EXAMPLES[name].map((file) => ({ name: file, sizeBytes: 0, url: new URL(`./examples/${file}`, document.baseURI).href }));
    const { settings } = store.get();
    return load({ inputs, settings: keepsSettings ? settings : forNewJob(settings), example: name });
  }

  function removeInput(place) {
    const { inputs, settings } = store.get();
    const rest = inputs.filter((_, i) => i !== place);
    if (rest.length) return load({ inputs: rest, settings: { ...settings, batch: null } });
    clear();
  }

  /** Reads the profiles again as recorded at these batch sizes. @param {string} text as a person wrote it */
  function giveBatches(text) {
    const { inputs, settings, settingsError } = store.get();
    const batches = parseBatches(text, inputs.length);
    if (!batches) return store.update({ settingsError: { field: "recorded-batch", message: batchesProblem(text, inputs.length) } });
    if (inputs.some((input, i) => (input.batch ?? null) !== batches[i])) return load({ inputs: withBatches(inputs, batches), settings });
    if (settingsError?.field === "recorded-batch") store.update({ settingsError: null });
  }

  /** Back to the empty page. */
  function clear() {
    client.close();
    store.update({ inputs: [], link: null, isBusy: false, result: null, zoom: null, facts: null, example: "", settingsError: null, error: null });
  }

  let loadNumber = 0;

  /** @param {{inputs: import("./state.js").Input[], settings: import("./state.js").Settings, newcomers?: import("./state.js").Input[], example?: string}} wanted
   * newcomers: those that can be opened on their own if the job cannot */
  async function load({ inputs, settings: wanted, newcomers = [], example = "" }) {
    const number = ++loadNumber;
    const before = store.get();
    const settings = checkSettings(wanted) ? forNewJob(DEFAULTS) : wanted;
    const names = inputs.map((input) => input.name);
    store.update({ load: { names, stage: "reading", index: 0, readBytes: 0, totalBytes: inputs[0].sizeBytes }, error: null });
    onLoadBegin();
    const sizes = inputs.map((input) => input.sizeBytes);
    const onProgress = (progress) => {
      if (number !== loadNumber) return;
      if (progress.totalBytes && !sizes[progress.index]) sizes[progress.index] = progress.totalBytes;
      store.update({ load: { ...store.get().load, ...progress, names } });
    };
    try {
      const { summary, text, curves, facts, settingsError } = await client.load(inputs, toOptions(settings, inputs.length), toOptions(DEFAULTS, 1), onProgress);
      if (number !== loadNumber) return;
      const used = settingsError ? forNewJob(DEFAULTS) : settings;
      store.update({
        inputs: inputs.map((input, i) => ({ ...input, sizeBytes: sizes[i] })), settings: used, result: { summary, text, curves, settings: used }, zoom: null, link: null,
        example, load: null, isBusy: false, error: null, facts, settingsError: settingsError ? { field: "", message: settingsError } : null,
      });
    } catch (error) {
      if (number !== loadNumber) return; // a newer load has taken over
      store.update({ load: null, error: error.code === "cancelled" ? before.error : loadError(error, inputs, newcomers) });
    }
  }

  function loadError(error, inputs, newcomers) {
    const named = inputs[error.profile]?.name;
    const alone = (input) => ({ label: `Open ${input.name} on its own`, run: () => load({ inputs: [input], settings: forNewJob(store.get().settings) }) });
    const choices = error.code === "mismatch" ? newcomers.map(alone) : []; // then each is a profile, only not of one job
    const isAbout = error.message.includes(BATCH_HINT);
    const line = error.message.replace(BATCH_HINT, "below");
    const message = line.charAt(0).toUpperCase() + line.slice(1);
    return {
      title: named ?? inputs.map((input) => input.name).join(" and "), message: /[.!?)]$/.test(message) ? message : `${message}.`, actions: choices,
      ...(isAbout ? { ask: { label: `Recorded at batch sizes (${inputs.map((input) => input.name).join(", ")})`, run: (text) => retry(text, inputs, newcomers) } } : {}),
    };
  }

  /** A load that failed for want of batch sizes, again with them. @returns {string} what is wrong with the text, if it is not taken */
  function retry(text, inputs, newcomers) {
    const batches = parseBatches(text, inputs.length);
    if (!batches?.every(Boolean)) return batchesProblem(text, inputs.length);
    load({ inputs: withBatches(inputs, batches), settings: store.get().settings, newcomers });
    return "";
  }

  // ---- settings and zoom ----

  let frame = 0;

  function changeSettings(change) {
    const { settings: current, settingsError } = store.get();
    if (!settingsError && Object.keys(change).every((key) => change[key] === current[key])) return;
    if (!store.get().result || store.get().link) return store.update({ settings: { ...store.get().settings, ...change } });
    store.update({ settings: { ...store.get().settings, ...change }, isBusy: true });
    if (!frame) frame = document.hidden ? window.setTimeout(simulate) : requestAnimationFrame(simulate);
  }

  async function simulate() {
    frame = 0;
    const { settings, inputs, facts, link } = store.get();
    if (link) return; // opened meanwhile
    const isCurrent = () => !frame && store.get().facts === facts; // nothing newer is under way, and still the same job
    const problem = checkSettings(settings);
    if (problem) return store.update({ settingsError: problem, isBusy: false });
    try {
      const answer = await client.simulate(toOptions(settings, inputs.length));
      if (!answer || !isCurrent()) return;
      const { summary, text, curves } = answer;
      const { zoom: zoomed } = store.get();
      store.update({ result: { summary, text, curves, settings }, settingsError: null, isBusy: Boolean(zoomed), zoom: zoomed && { ...zoomed, curves } });
      if (zoomed) await zoom(zoomed.fromMs, zoomed.toMs);
    } catch (error) {
      if (error.code === "cancelled" || store.get().facts !== facts) return;
      if (error.code === "options") store.update({ settingsError: { field: "", message: error.message }, isBusy: frame !== 0 });
      else store.update({ isBusy: false, error: { title: "The simulation failed", message: error.message, actions: [{ label: "Read the files again", run: reload }] } });
    }
  }

  /** Asks the core for the largest batch that runs on the card and sets it. @returns {Promise<object | null>} max_batch of the result; null if there is no answer */
  async function findLargest() {
    const { settings, inputs, facts } = store.get();
    store.update({ isBusy: true });
    try {
      const answer = await client.simulate({ ...toOptions({ ...settings, batch: null }, inputs.length), task: "max_batch" });
      if (!answer || store.get().facts !== facts) return null;
      store.update({ isBusy: frame !== 0 });
      const largest = answer.summary.max_batch;
      changeSettings({ batch: Math.max(1, largest.batch) });
      return largest;
    } catch (error) {
      if (error.code !== "cancelled" && store.get().facts === facts) store.update({ settingsError: { field: "batch", message: error.message }, isBusy: false });
      return null;
    }
  }

  function reload() {
    const { inputs, settings, example } = store.get();
    return load({ inputs, settings, example });
  }

  /** Shows a part of the time axis; the core is asked for it again, so that detail never runs out. A link has only what it carries. */
  async function zoom(fromMs, toMs) {
    const { result, settings, inputs, link } = store.get();
    if (!result || !(toMs - fromMs > 1e-3)) return store.update({ isBusy: false });
    if (link || !client.isLive) return store.update({ zoom: { fromMs, toMs, curves: result.curves } });
    store.update({ isBusy: true });
    try {
      const answer = await client.simulate({ ...toOptions(result.settings, inputs.length), range_ms: [fromMs, toMs] });
      if (answer && store.get().result === result) store.update({ zoom: { fromMs, toMs, curves: answer.curves } });
    } catch {
      // the curve as it is will do
    }
    if (!frame && store.get().settings === settings) store.update({ isBusy: false });
  }

  return { openFiles, openExample, removeInput, giveBatches, clear, changeSettings, findLargest, zoom };
}

const withBatches = (inputs, batches) => inputs.map((input, i) => ({ ...input, batch: batches[i] }));

function batchesProblem(text, count) {
  return `"${text.trim()}" is not ${count === 1 ? "a batch size: write a whole number, such as 16" : "two batch sizes: write two whole numbers in the order of the profiles, such as 16, 32"}.`;
}
