// The verdict card: words, icon and colour, the four figures, and the bar from tensors to what nvidia-smi would show.

import { formatBoth, formatBytes, formatExact, formatRange } from "../format.js";
import { parseSize } from "../state.js";
import { byId, el } from "./dom.js";
import { deviceLimit, gpuText, jobLine, PARTS, shortBytes, verdictReason, verdictText } from "./words.js";

export function createVerdictView() {
  return {
    /** @param {import("../state.js").State} state @param {import("../state.js").State} old */
    render(state, old) {
      if (state.result === old.result || !state.result) return;
      const { summary, settings } = state.result;
      showVerdict(summary);
      showFigures(summary);
      showStack(summary, settings.reserveText.trim() ? (parseSize(settings.reserveText) ?? 0) : 0);
    },
  };
}

function showVerdict(summary) {
  const verdict = summary.verdict ?? "none";
  const [title, text] = verdictText(summary);
  const box = byId("verdict");
  box.dataset.verdict = verdict;
  byId("verdict-icon").setAttribute("href", `#i-${verdict}`);
  byId("verdict-title").textContent = title;
  const reason = verdictReason(summary);
  byId("verdict-text").replaceChildren(
    el("strong", {}, text), el("span", {}, jobLine(summary)), ...(reason ? [el("span", { class: "reason" }, reason)] : []));
}

function figure(id, bytes, small) {
  const data = byId(id);
  data.textContent = formatBytes(bytes);
  data.value = String(bytes);
  data.dataset.bytes = String(bytes);
  data.title = formatExact(bytes);
  if (small !== null) byId(`${id}-exact`).textContent = small;
}

function showFigures(summary) {
  const { verdict, peak, need, gpu, band } = summary;
  figure("peak-reserved", peak.reserved_bytes, formatExact(peak.reserved_bytes));
  figure("peak-allocated", peak.allocated_bytes, formatExact(peak.allocated_bytes));
  figure("peak-device", Math.min(peak.device_bytes, deviceLimit(summary)), null);
  const note = byId("band");
  note.textContent = deviceRange(summary);
  note.title = `Range of the estimate: ${band.why}. Without the context: ${formatBoth(band.low_bytes)} to ${formatBoth(band.high_bytes)}.`;
  byId("need-figure").hidden = verdict !== "oom" && verdict !== "tight";
  figure("need", need.reserved_bytes, formatExact(need.reserved_bytes));
  byId("usable-figure").hidden = !gpu;
  if (gpu) figure("usable", gpu.usable_bytes, `of ${formatBytes(gpu.total_bytes)} in total`);
}

/** Where the estimate of the whole process lies; libraries are not part of the limit, so the sum can go beyond the card. */
function deviceRange(summary) {
  const { gpu, band, outside } = summary;
  const limitBytes = deviceLimit(summary);
  const lowBytes = band.low_bytes + outside.context_bytes;
  const highBytes = band.high_bytes + outside.context_bytes;
  if (highBytes < limitBytes) return formatRange(lowBytes, highBytes);
  const all = limitBytes < gpu.total_bytes ? "all but what is kept for others" : "all of the card";
  return lowBytes < limitBytes ? `${formatBytes(lowBytes)} to ${all}` : all;
}

/** Parts of the bar: [class, label, bytes, explanation] */
function partsOf(summary, reserveBytes) {
  const parts = PARTS.map(([key, name, label, why]) => [name, label, summary.at_peak[key], why]);
  const outsideBytes = Math.min(summary.outside.context_bytes + summary.outside.library_bytes, deviceLimit(summary) - summary.peak.reserved_bytes);
  parts.push(["context", "CUDA context, libraries", outsideBytes, "of the process, outside PyTorch"]);
  if (summary.gpu && reserveBytes) parts.push(["reserve", "Kept for others", reserveBytes, "as you asked"]);
  return parts.filter((part) => part[2] > 0);
}

function showStack(summary, reserveBytes) {
  const parts = partsOf(summary, reserveBytes);
  const used = parts.reduce((sum, part) => sum + part[2], 0);
  const total = summary.gpu ? summary.gpu.total_bytes : used;
  const missing = summary.verdict === "oom" ? shortBytes(summary) : 0;
  const free = Math.max(0, total - used);
  if (missing) parts.push(["missing", "Missing", missing, "at least, beyond what the card has"]);
  const stack = byId("stack");
  const segments = parts.map(([name, label, bytes, why]) => segment(name, bytes, `${label}: ${formatBoth(bytes)}, ${why}`));
  if (free > 0) segments.splice(missing ? segments.length - 1 : segments.length, 0, segment("free", free, `Free: ${formatBoth(free)}`));
  stack.replaceChildren(...segments);
  stack.setAttribute("aria-label", `Memory at the peak${summary.gpu ? ` on ${gpuText(summary.gpu)}` : ""}: ${parts.map((part) => `${part[1]} ${formatBytes(part[2])}`).join(", ")}`);
  const items = parts.map(([name, label, bytes, why]) =>
    el("li", { title: `${formatExact(bytes)}; ${why}` }, el("i", { class: `swatch c-${name}` }), el("span", {}, label), el("b", { class: "number" }, formatBytes(bytes))));
  if (free > 0) items.push(el("li", { title: formatExact(free) }, el("i", { class: "swatch c-free" }), el("span", {}, "Free"), el("b", { class: "number" }, formatBytes(free))));
  byId("stack-legend").replaceChildren(...items);
}

function segment(name, bytes, title) {
  const part = el("span", { class: `c-${name}`, title });
  part.style.flexGrow = String(bytes / 1048576);
  return part;
}
