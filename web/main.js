// Wires the page: store, Worker client, views, address. Holds the rules of what happens when; draws nothing itself.

import { createAddress } from "./address.js";
import { loadPlotly } from "./charts.js";
import { Client } from "./client.js";
import { createJob } from "./job.js";
import { createStore, forNewJob, pageState } from "./state.js";
import { createControlsView } from "./views/controls.js";
import { byId, copyText, saveText, toast } from "./views/dom.js";
import { createIntake } from "./views/intake.js";
import { createNotesView } from "./views/notes.js";
import { createOomView } from "./views/oom.js";
import { createPeakView } from "./views/peak.js";
import { createPlacesView } from "./views/places.js";
import { createStatusView } from "./views/status.js";
import { createThemeButton } from "./views/theme.js";
import { createTimelineView } from "./views/timeline.js";
import { createVerdictView } from "./views/verdict.js";
import { largestText } from "./views/words.js";

const CHART_PATIENCE_MS = 4000; // a page whose chart does not come is ready without it

const root = document.documentElement;
const store = createStore();
const client = new Client(new URL("./worker.js", import.meta.url).href);
const job = createJob(store, client, () => loadPlotly().catch(() => {})); // while the file is read; the chart tells if it failed
const intake = createIntake({
  openFiles: job.openFiles, refuse: (title, message) => store.update({ error: { title, message } }),
  hasOne: () => store.get().inputs.length === 1 && Boolean(store.get().result),
});
const timeline = createTimelineView({ zoom: job.zoom, resetZoom: () => store.get().zoom && store.update({ zoom: null }) });
const views = [
  createStatusView({ dismissError: () => store.update({ error: null }), cancel: () => client.cancel(), openExample: job.openExample, clear: job.clear }),
  createPlacesView({ choose: (place) => intake.choose(place), remove: job.removeInput }),
  createControlsView({
    changeSettings: job.changeSettings, refuseSettings: (field, message) => store.update({ settingsError: { field, message } }), chooseSecond: () => intake.choose(1), giveBatches: job.giveBatches,
    findLargest: async () => {
      const text = largestText(await job.findLargest());
      if (text) toast(text);
    },
    resetSettings: () => job.changeSettings(forNewJob(store.get().settings)),
  }),
  createVerdictView(), createOomView(), timeline, createPeakView(), createNotesView(),
];
const address = createAddress(store, client, job);

// ---- what the page's root tells ----

let settling = 0;

store.subscribe((state, old) => {
  for (const view of views) view.render(state, old);
  if (state.isBusy) root.dataset.busy = "true";
  settle(state);
});

/** data-state and data-busy change when the page shows it, the chart included. */
async function settle(state) {
  const number = ++settling;
  if (pageState(state) === "ready") await Promise.race([timeline.whenDrawn(), new Promise((resolve) => setTimeout(resolve, CHART_PATIENCE_MS))]);
  if (number !== settling) return;
  root.dataset.state = pageState(state);
  if (!state.isBusy) delete root.dataset.busy;
}

// ---- start ----

function missing() {
  if (typeof WebAssembly !== "object") return "This browser has WebAssembly switched off or lacks it, and oomcast runs in it.";
  if (typeof Worker !== "function") return "This browser has no Workers, and oomcast reads files in one.";
  if (typeof CompressionStream !== "function") return "This browser lacks CompressionStream.";
  return "";
}

byId("example").addEventListener("click", () => job.openExample("cnn"));
byId("example-transformer").addEventListener("click", () => job.openExample("transformer"));
byId("choose").addEventListener("click", () => intake.choose(null));
byId("share").addEventListener("click", () => address.share().catch((error) => toast(`No link could be made of this result: ${error.message}`)));
byId("download").addEventListener("click", () => saveText("oomcast-result.json", store.get().result.text, "application/json"));
byId("copy-snippet").addEventListener("click", async () => toast((await copyText(byId("snippet").textContent)) ? "Copied." : "Select the text and copy it."));
createThemeButton(() => timeline.redraw());

/** The catalogue of GPUs, and the proof that the core runs, before the first file. */
async function startEngine() {
  try {
    store.update({ gpus: await client.start() });
  } catch (error) {
    if (error.code === "cancelled") return startEngine(); // a load took this Worker and was cancelled
    store.update({ error: { title: "oomcast could not start", message: error.message } });
  }
}

const lack = missing();
if (lack) store.update({ error: { title: "This browser cannot run oomcast", message: `${lack} Use a current Firefox, Chrome, Edge or Safari, or the command line.` } });
else startEngine();
await address.open();
store.update({});
