// What is alive at the peak (a table of owners) and the highest values of each phase.

import { formatBytes, formatCount, formatExact, formatShare, formatTime } from "../format.js";
import { byId, el } from "./dom.js";
import { categoryClass, placeText } from "./words.js";

const SHORT_LIST = 8;
const PHASE_LIMIT = 40;

/** The rows of an owner table. @param {any[]} owners @param {number} allBytes what the shares are of */
export function ownerRows(owners, allBytes) {
  const head = el("thead", {}, el("tr", {},
    el("th", { scope: "col" }, "What"), el("th", { scope: "col" }, "Module and operator"), el("th", { scope: "col", class: "number" }, "Size"),
    el("th", { scope: "col", class: "number" }, "Share")));
  const rows = owners.map((owner) => {
    const share = el("i", { class: `share-bar c-${categoryClass(owner.category)}` });
    share.style.width = `${Math.max(1, (100 * owner.bytes) / (allBytes || 1))}%`;
    return el("tr", {},
      el("td", { class: "category" }, el("i", { class: `swatch c-${categoryClass(owner.category)}` }), owner.category),
      el("td", { class: "where" }, moduleLine(owner.module), el("span", { class: "op", title: owner.op }, opText(owner))),
      el("td", { class: "number", title: formatExact(owner.bytes) }, formatBytes(owner.bytes)),
      el("td", { class: "number share" }, el("span", {}, formatShare(owner.bytes, allBytes)), el("span", { class: "share-track" }, share)));
  });
  return [head, el("tbody", {}, ...rows)];
}

/** A path with its last part in front of the eye; the whole of it on hover. */
function moduleLine(module) {
  if (!module) return el("span", { class: "module none" }, "outside any module");
  const cut = module.lastIndexOf("/") + 1;
  return el("span", { class: "module", title: module }, cut ? el("span", { class: "path" }, module.slice(0, cut)) : null, el("b", {}, module.slice(cut)));
}

function opText(owner) {
  const tensors = owner.count > 1 ? `${formatCount(owner.count)} tensors` : "";
  return [owner.op, tensors].filter(Boolean).join(" · ") || "one tensor";
}

export function createPeakView() {
  let isLong = false;
  const show = (summary) => {
    const { owners, peak } = summary;
    const tensorBytes = peak.allocated_bytes - summary.at_peak.rounding_bytes; // at that moment; peak.tensor_bytes may have its own
    byId("peak-text").textContent = peak.at
      ? `Highest allocated: ${formatBytes(peak.allocated_bytes)} ${placeText(peak.at)}. Shares are of the ${formatBytes(tensorBytes)} that tensors asked for.`
      : "Nothing is allocated.";
    const shown = isLong ? owners : owners.slice(0, SHORT_LIST);
    byId("owners").replaceChildren(...ownerRows(shown, tensorBytes));
    const more = byId("owners-more");
    more.hidden = owners.length <= SHORT_LIST;
    more.textContent = isLong ? "Show fewer" : `Show ${owners.length}`;
    more.setAttribute("aria-expanded", String(isLong));
    showPhases(summary);
  };
  let summary = null;
  byId("owners-more").addEventListener("click", () => {
    isLong = !isLong;
    show(summary);
  });
  return {
    /** @param {import("../state.js").State} state @param {import("../state.js").State} old */
    render(state, old) {
      if (state.result === old.result || !state.result) return;
      summary = state.result.summary;
      show(summary);
    },
  };
}

/** One row per iteration, the phases beside each other. */
function showPhases({ phases, peak, oom, job }) {
  const names = ["forward", "backward", "optimizer step"].filter((name) => phases.some((phase) => phase.phase === name));
  const iterations = [...new Set(phases.filter((phase) => names.includes(phase.phase)).map((phase) => phase.iteration))].sort((a, b) => a - b);
  const cell = (phase) => {
    if (!phase || !phase.peak_allocated_bytes) return el("td", { class: "number dim" }, "–");
    const isPeak = phase.peak_allocated_bytes === peak.allocated_bytes;
    const title = `allocated ${formatExact(phase.peak_allocated_bytes)}, reserved ${formatExact(phase.peak_reserved_bytes)}; ${formatTime(phase.start_ms)} to ${formatTime(phase.end_ms)}`;
    return el("td", { class: `number${isPeak ? " highest" : ""}`, title }, formatBytes(phase.peak_allocated_bytes), el("small", {}, `${formatBytes(phase.peak_reserved_bytes)} reserved`));
  };
  const rows = iterations.slice(0, PHASE_LIMIT).map((iteration) =>
    el("tr", {}, el("th", { scope: "row" }, `iteration ${iteration}`), ...names.map((name) => cell(phases.find((phase) => phase.phase === name && phase.iteration === iteration)))));
  byId("phases").replaceChildren(
    el("thead", {}, el("tr", {}, el("td", {}, ""), ...names.map((name) => el("th", { scope: "col", class: "number" }, name)))), el("tbody", {}, ...rows),
    ...(oom ? [el("caption", {}, "The run ends where memory runs out; later phases are not reached.")]
      : rows.length < job.iterations ? [el("caption", {}, `${rows.length} of ${job.iterations} iterations`)] : []));
  byId("phases-card").hidden = !rows.length;
}
