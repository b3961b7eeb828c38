// The memory curve: what the chart shows, its switches, the values under the pointer, and the same in words.

import { canDrag, createChart } from "../charts.js";
import { indexAt } from "../curve.js";
import { axisUnit, formatBoth, formatBytes, formatTime } from "../format.js";
import { byId, el, saveUrl } from "./dom.js";
import { gpuText, momentText } from "./words.js";

const LIMIT_IN_SIGHT = 3; // the limit is drawn at first if it is at most this many peaks high
const LABEL_LIMIT = 12;
const NARROW = 560; // pixels
const SERIES = [["allocated", "allocated"], ["reserved", "reserved"], ["tensor", "tensor"], ["need", "need without limit"], ["limit", "limit of the card"]];
const labelOf = (key, label, { recording }) => (key === "need" && recording ? "reserved as recorded" : label);

/** @param {{zoom: (fromMs: number, toMs: number) => void, resetZoom: () => void}} actions */
export function createTimelineView(actions) {
  const element = byId("chart");
  const tip = byId("chart-tip");
  const chosen = {}; // switches that the person has touched
  let state = null;
  let drawn = Promise.resolve();
  let drawNumber = 0;
  const chart = createChart(element, { onHover: showTip, onReset: actions.resetZoom, onZoom });
  let width = 0;
  new ResizeObserver(([entry]) => {
    const before = width || entry.contentRect.width;
    width = entry.contentRect.width;
    if (state?.result && width && before < NARROW !== width < NARROW) draw();
  }).observe(element);
  byId("zoom-reset").addEventListener("click", actions.resetZoom);
  byId("zoom-in").addEventListener("click", () => zoomBy(0.5));
  byId("zoom-out").addEventListener("click", () => zoomBy(2));
  byId("chart-png").addEventListener("click", async () => saveUrl("oomcast-memory.png", await chart.picture()));

  function onZoom(fromMs, toMs) {
    const end = endOf(state.result);
    if (fromMs <= 0 && toMs >= end) actions.resetZoom();
    else actions.zoom(Math.max(0, fromMs), Math.min(end, toMs));
  }

  /** Around the middle of what is shown, or around the peak if all is shown. */
  function zoomBy(factor) {
    const end = endOf(state.result);
    const { fromMs, toMs } = state.zoom ?? { fromMs: 0, toMs: end };
    const middleMs = state.zoom ? (fromMs + toMs) / 2 : (state.result.summary.peak.at?.time_ms ?? end / 2);
    const halfMs = ((toMs - fromMs) * factor) / 2;
    onZoom(middleMs - halfMs, middleMs + halfMs);
  }

  /** In the next frame, so that the figures are painted first and a moving slider draws only what can be seen. */
  function draw() {
    const number = ++drawNumber;
    drawn = new Promise((resolve) => (document.hidden ? setTimeout(resolve) : requestAnimationFrame(() => setTimeout(resolve)))).then(() => (number === drawNumber ? drawNow() : drawn));
  }

  async function drawNow() {
    if (!state.result) return;
    const model = modelOf(state, chosen, (width || element.clientWidth) < NARROW);
    showSwitches(model);
    byId("timeline-text").textContent = textOf(state.result.summary, canDrag(model.isNarrow));
    try {
      await chart.draw(model);
      delete element.dataset.missing;
    } catch (error) {
      element.textContent = `The chart cannot be drawn: ${error.message}. All figures are still right.`;
      element.dataset.missing = "true";
    }
  }

  function showSwitches(model) {
    const has = (key) => (key === "limit" ? model.limit !== null : model.curves[key].timeMs.length > 0);
    const switches = SERIES.filter(([key]) => has(key)).map(([key, label]) =>
      el("button", { type: "button", class: "toggle", "data-series": key, "aria-pressed": String(model.isShown[key]), onclick: () => flip(key, model) },
        el("i", { class: `stroke s-${key}` }), labelOf(key, label, state.result.summary)));
    const focused = /** @type {any} */ (document.activeElement)?.dataset?.series;
    byId("series").replaceChildren(...switches, ...[["backward", "backward"], ["step", "optimizer step"]].filter(([kind]) => model.bands.some((band) => band.kind === kind))
      .map(([kind, label]) => el("span", { class: "key" }, el("i", { class: `swatch band-${kind}` }), label)));
    if (focused) switches.find((button) => button.dataset.series === focused)?.focus();
  }

  function flip(key, model) {
    chosen[key] = !model.isShown[key];
    draw();
  }

  function showTip(timeMs, event) {
    tip.hidden = timeMs === null || !state?.result;
    if (tip.hidden) return;
    const { summary } = state.result;
    const curves = state.zoom?.curves ?? state.result.curves;
    const rows = SERIES.filter(([key]) => key !== "limit" && curves[key].timeMs.length).map(([key, label]) => [key, labelOf(key, label, summary), curves[key].bytes[indexAt(curves[key], timeMs)]])
      .filter((row) => row[2] !== undefined && timeMs <= lastOf(curves[row[0]]));
    const at = summary.phases.find((phase) => phase.start_ms <= timeMs && timeMs <= phase.end_ms);
    tip.replaceChildren(el("b", {}, formatTime(timeMs)), el("span", { class: "dim" }, at ? ` ${momentText(at)}` : ""),
      ...rows.map(([key, label, bytes]) => el("div", {}, el("i", { class: `stroke s-${key}` }), `${label} `, el("span", { class: "number" }, state.link ? `about ${formatBytes(bytes)}` : formatBoth(bytes)))));
    const box = tip.parentElement.getBoundingClientRect();
    const left = event.clientX - box.left;
    tip.style.left = `${left + 16 + tip.offsetWidth > box.width ? Math.max(0, left - 16 - tip.offsetWidth) : left + 16}px`;
    tip.style.top = `${Math.max(0, event.clientY - box.top - tip.offsetHeight / 2)}px`;
  }

  return {
    /** @param {import("../state.js").State} next @param {import("../state.js").State} old */
    render(next, old) {
      state = next;
      if (!state.result || (state.result === old.result && state.zoom === old.zoom)) return;
      byId("zoom-reset").disabled = byId("zoom-out").disabled = !state.zoom;
      tip.hidden = true;
      draw();
    },
    /** The colours have changed. */
    redraw() {
      chart.forgetColours();
      if (state?.result) draw();
    },
    /** When the chart shows the state, or could not be drawn. */
    whenDrawn: () => drawn,
  };
}

const lastOf = (curve) => curve.timeMs[curve.timeMs.length - 1] ?? 0;

function endOf({ summary, curves }) {
  return Math.max(1e-3, lastOf(curves.allocated), lastOf(curves.need), ...summary.phases.map((phase) => phase.end_ms));
}

/** @returns {import("../charts.js").ChartModel} */
function modelOf({ result, zoom }, chosen, isNarrow) {
  const { summary } = result;
  const { peak, gpu, oom, phases } = summary;
  const endMs = endOf(result);
  const curves = { ...(zoom?.curves ?? result.curves) };
  const fromMs = zoom ? zoom.fromMs : 0;
  const toMs = zoom ? zoom.toMs : endMs;
  if (oom) curves.need = after(curves.need, Math.max(fromMs, oom.at.time_ms));
  const hasNeed = curves.need.timeMs.length > 0;
  const highest = Math.max(peak.reserved_bytes, hasNeed ? summary.need.reserved_bytes : 0);
  const isShown = { allocated: true, reserved: true, tensor: false, need: true, limit: Boolean(gpu) && gpu.usable_bytes <= LIMIT_IN_SIGHT * highest, ...chosen };
  const top = Math.max(highest, isShown.limit && gpu ? gpu.usable_bytes : 0) * 1.08 || 1;
  const [unitBytes, unitName] = axisUnit(top);
  const isCrowded = oom !== null && peak.at && Math.abs(oom.at.time_ms - peak.at.time_ms) < (toMs - fromMs) / 3; // then the text of the failure is enough
  const marks = [];
  if (peak.at) marks.push({ kind: "peak", timeMs: peak.at.time_ms, bytes: peak.allocated_bytes, text: isCrowded ? "" : `peak ${formatBytes(peak.allocated_bytes)}${isNarrow || peak.at.phase === "other" ? "" : `: ${peak.at.phase}`}` });
  if (oom) marks.push({ kind: "oom", timeMs: oom.at.time_ms, bytes: gpu.usable_bytes, text: `out of memory: ${formatBytes(oom.bytes)} more` });
  const starts = new Map();
  for (const phase of phases) if (phase.phase !== "parameters") starts.set(phase.iteration, Math.min(starts.get(phase.iteration) ?? Infinity, Math.max(0, phase.start_ms)));
  const inSight = [...starts].filter(([, timeMs]) => timeMs >= fromMs && timeMs < toMs).sort((a, b) => a[0] - b[0]);
  const iterations = inSight.length > (isNarrow ? 4 : LABEL_LIMIT) ? [] : inSight.map(([number, timeMs]) => ({ timeMs, text: `${isNarrow ? "it." : "iteration"} ${number}` }));
  const bands = phases.filter((phase) => phase.phase === "backward" || phase.phase === "optimizer step")
    .map((phase) => ({ fromMs: phase.start_ms, toMs: phase.end_ms, kind: phase.phase === "backward" ? "backward" : "step" }));
  const limit = gpu ? { bytes: gpu.usable_bytes, text: `${isNarrow ? "" : `${gpuText(gpu)}: `}${formatBytes(gpu.usable_bytes)} usable` } : null;
  return { curves, fromMs, toMs, unitBytes, unitName, topBytes: top, bottomBytes: 0, limit, marks, bands, iterations, isShown, isNarrow };
}

/** The part of a curve from a moment on. */
function after(curve, timeMs) {
  const at = Math.max(0, indexAt(curve, timeMs));
  return { timeMs: Array.from(curve.timeMs.slice(at)).map((time) => Math.max(time, timeMs)), bytes: Array.from(curve.bytes.slice(at)) };
}

function textOf({ peak, gpu, oom, need, recording }, isDraggable) {
  if (!peak.at) return "Nothing is allocated in this recording.";
  const parts = [`Allocated peaks at ${formatBytes(peak.allocated_bytes)} ${momentText(peak.at)}, ${formatTime(peak.at.time_ms)} into the recording; reserved reaches ${formatBytes(peak.reserved_bytes)}.`];
  const moment = oom && momentText(oom.at);
  if (oom) parts.push(`${moment.charAt(0).toUpperCase()}${moment.slice(1)} (${formatTime(oom.at.time_ms)}) a request for ${formatBytes(oom.bytes)} finds no place any more; without a limit reserved would go on to ${formatBytes(need.reserved_bytes)}.`);
  else if (gpu) parts.push(`The limit for it is ${formatBytes(gpu.usable_bytes)}.`);
  if (!recording) parts.push("Times are those of the CPU: on a GPU the order is the same, the speed is not.");
  parts.push(`${isDraggable ? "Drag to zoom, double click to see all." : "The buttons above zoom."}`);
  return parts.join(" ");
}
