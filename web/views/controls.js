// The settings: batch size, optimizer and the rest; the GPU has a file of its own. Shows what the state holds, tells what a person
// changes. A setting that the core refuses keeps its text, with the reason below.

import { formatCount } from "../format.js";
import { DEFAULTS, LARGEST_BATCH, OPTIMIZERS, parseSize } from "../state.js";
import { byId, el } from "./dom.js";
import { createGpuField } from "./gpus.js";

const OPTIMIZER_LABELS = { recorded: "as recorded", SGD: "SGD, no momentum" };

/** @param {{changeSettings: (change: object) => void, resetSettings: () => void, chooseSecond: () => void, giveBatches: (text: string) => void, findLargest: () => void}} actions */
export function createControlsView(actions) {
  const batch = byId("batch");
  const slider = byId("batch-slider");
  const gpuField = createGpuField(actions);
  let sliderTop = 1024;
  byId("settings").addEventListener("submit", (event) => event.preventDefault());
  byId("optimizer").replaceChildren(...OPTIMIZERS.map((name) => el("option", { value: name }, OPTIMIZER_LABELS[name] ?? name)));

  const change = (id, key, isWhole) => {
    const take = ({ target }) => actions.changeSettings({ [key]: target.value });
    byId(id).addEventListener("change", take);
    if (isWhole) byId(id).addEventListener("input", (event) => isWhole(event.target.value) && take(event)); // half a word is not worth a complaint
  };
  change("optimizer", "optimizer");
  change("foreach", "foreach");
  change("zero-grad", "zeroGrad");
  change("reserve", "reserveText", (text) => parseSize(text) !== null);
  change("torch", "torch", (text) => /^\d+\.\d+/.test(text));
  change("alloc-conf", "allocConf");
  byId("reset").addEventListener("click", actions.resetSettings);
  const recorded = byId("recorded-batch");
  recorded.addEventListener("change", () => actions.giveBatches(recorded.value));

  const readBatch = () => {
    const value = Number(batch.value);
    const isValid = batch.value !== "" && Number.isInteger(value) && value >= 1 && value <= LARGEST_BATCH;
    batch.setAttribute("aria-invalid", String(!isValid));
    return isValid ? value : null;
  };
  batch.addEventListener("input", () => {
    const value = readBatch();
    if (value === null) return;
    slider.value = toSlider(value, sliderTop);
    actions.changeSettings({ batch: value });
  });
  batch.addEventListener("change", () => {
    if (readBatch() === null) actions.refuseSettings("batch", `A batch size is a whole number from 1 to ${formatCount(LARGEST_BATCH)}.`);
  });
  const slide = (value) => {
    batch.value = String(value);
    batch.removeAttribute("aria-invalid");
    actions.changeSettings({ batch: value });
  };
  slider.addEventListener("input", () => slide(fromSlider(Number(slider.value), sliderTop)));
  slider.addEventListener("keydown", (event) => { // by batch sizes, not by the thousandth parts that the pointer moves in
    const value = keyedBatch(event.key, readBatch() ?? fromSlider(Number(slider.value), sliderTop), sliderTop);
    if (value === null) return;
    event.preventDefault();
    slider.value = toSlider(value, sliderTop);
    slide(value);
  });

  const showBatch = (state) => {
    const { job } = state.result.summary;
    const isFree = job.recorded_batch_sizes.length > 1;
    const shown = isFree ? (state.settings.batch ?? job.batch_size) : job.batch_size;
    batch.disabled = slider.disabled = !isFree;
    sliderTop = 2 ** Math.ceil(Math.log2(Math.max(1024, 128 * Math.max(1, ...job.recorded_batch_sizes), 2 * (job.batch_size ?? 1))));
    if (Number(batch.value) !== shown && document.activeElement !== batch) batch.value = shown ?? "";
    if (document.activeElement !== slider) slider.value = toSlider(shown ?? 1, sliderTop);
    slider.setAttribute("aria-valuetext", `batch ${shown ?? "unknown"}`);
    const hadFocus = document.activeElement?.id === "find-largest"; // its button is made anew
    byId("batch-hint").replaceChildren(...batchHint(state.result.summary, isFree, state, actions));
    if (hadFocus) document.getElementById("find-largest")?.focus();
  };

  /** Asked for where the core sees no batch size, or a person has said it. */
  const showRecorded = ({ inputs, link, result, settingsError }) => {
    const shown = link ? link.inputs : inputs;
    const given = shown.filter((input) => input.batch);
    byId("recorded-field").hidden = Boolean(result.summary.recording) || (result.summary.job.batch_size !== null && !given.length);
    byId("recorded-label").textContent = shown.length > 1 ? "Recorded at batch sizes, of A and B" : "Recorded at batch size";
    recorded.placeholder = shown.length > 1 ? "16, 32" : "16";
    if (settingsError?.field !== "recorded-batch") recorded.value = given.length ? result.summary.job.recorded_batch_sizes.join(", ") : "";
  };

  return {
    /** @param {import("../state.js").State} state @param {import("../state.js").State} old */
    render(state, old) {
      gpuField.render(state, old);
      if (state.settings === old.settings && state.result === old.result && state.settingsError === old.settingsError && state.link === old.link) return;
      if (!state.result) return;
      const { settings, settingsError } = state;
      byId("fields").disabled = Boolean(state.link);
      showBatch(state);
      for (const id of ["optimizer", "foreach", "zero-grad"]) byId(id).disabled = Boolean(state.result.summary.recording); // it is what it was
      if (state.result !== old.result || state.settingsError !== old.settingsError) showRecorded(state);
      const { optimizer } = state.result.summary.job;
      const first = byId("optimizer").options[0];
      first.textContent = settings.optimizer === "recorded" && optimizer ? `as recorded: ${optimizer}` : "as recorded";
      for (const [id, key] of [["optimizer", "optimizer"], ["foreach", "foreach"], ["zero-grad", "zeroGrad"], ["reserve", "reserveText"], ["torch", "torch"], ["alloc-conf", "allocConf"]])
        if (byId(id).value !== settings[key]) byId(id).value = settings[key];
      const changed = ["foreach", "zeroGrad", "reserveText", "torch", "allocConf"].filter((key) => settings[key].trim() !== DEFAULTS[key]);
      byId("more-changed").textContent = changed.length ? `${changed.length} changed` : "";
      byId("reset").disabled = Boolean(state.link) || !isChanged(settings);
      const problem = byId("settings-error");
      problem.hidden = !settingsError;
      problem.textContent = settingsError ? `${/[.!?]$/.test(settingsError.message) ? settingsError.message : `${settingsError.message}.`} The figures are still those of the last settings that worked.` : "";
      for (const id of ["batch", "recorded-batch", "capacity", "reserve"]) byId(id).toggleAttribute("data-bad", settingsError?.field === id);
    },
  };
}

function isChanged(settings) {
  return ["batch", "optimizer", "foreach", "zeroGrad", "reserveText", "torch", "allocConf"].some((key) => settings[key] !== DEFAULTS[key]);
}

function batchHint({ job, recording, gpu }, isFree, state, actions) {
  if (recording) return ["Recorded on a GPU and taken as it was. To try other batch sizes and optimizers, record the job on a CPU."];
  const recorded = job.recorded_batch_sizes;
  if (isFree) {
    const find = el("button", { type: "button", class: "inline", id: "find-largest", onclick: actions.findLargest }, "Find the largest that runs");
    return [`Recorded at ${recorded.join(" and ")}; any other is computed from the two. `, ...(gpu && !state.link ? [find] : [])];
  }
  if (state.link) return [recorded.length ? `Recorded at ${recorded[0]}.` : "Not seen in the profile."];
  const second = el("button", { type: "button", class: "inline", onclick: actions.chooseSecond }, "Add a second profile");
  return [recorded.length ? `Recorded at ${recorded[0]}. ` : "The batch size cannot be seen in this profile: give it below. ", second, " of this job at another batch size, and every size can be estimated."];
}

/** The slider is logarithmic: 1 at the left, `top` at the right. */
function toSlider(value, top) {
  return String(Math.round((1000 * Math.log2(Math.min(value, top))) / Math.log2(top)));
}

function fromSlider(position, top) {
  const value = 2 ** ((position / 1000) * Math.log2(top));
  return Math.max(1, Math.round(value / stepAt(value)) * stepAt(value));
}

/** Even figures where a pixel is many sizes wide. */
function stepAt(batch) {
  return batch < 64 ? 1 : 2 ** Math.floor(Math.log2(batch) - 5);
}

/** Where a key takes the slider: arrows by one step (one batch size up to 64), pages by half and double; null for other keys.
 * @param {string} key @param {number} batch @param {number} top */
export function keyedBatch(key, batch, top) {
  const up = () => (Math.floor(batch / stepAt(batch)) + 1) * stepAt(batch);
  const down = () => (Math.ceil(batch / stepAt(batch - 1)) - 1) * stepAt(batch - 1);
  const move = { ArrowRight: up, ArrowUp: up, ArrowLeft: down, ArrowDown: down, PageUp: () => 2 * batch, PageDown: () => Math.floor(batch / 2), Home: () => 1, End: () => top }[key];
  return move ? Math.min(top, Math.max(1, move())) : null;
}
