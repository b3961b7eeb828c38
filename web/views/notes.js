// What to read with the figures: warnings, assumptions, the command that gives the same, facts about the file.

import { formatCount, formatMegabytes } from "../format.js";
import { byId, copyText, el, toast } from "./dom.js";
import { commandText } from "./words.js";

/** Warnings that are usual and change no figure: told among the notes, not beside the verdict. */
const HARMLESS = new Set(["free_without_allocation", "damaged_frame", "damaged_name", "unescaped_name"]);

export function createNotesView() {
  byId("copy-command").addEventListener("click", async () => toast((await copyText(byId("command").textContent)) ? "Copied." : "Select the text and copy it."));
  return {
    /** @param {import("../state.js").State} state @param {import("../state.js").State} old */
    render(state, old) {
      if (state.result === old.result || !state.result) return;
      const { summary } = state.result;
      const warnings = summary.warnings.filter(({ code }) => !HARMLESS.has(code));
      byId("warnings").replaceChildren(...warnings.map((warning) => el("li", {}, el("span", { class: "tag" }, "Warning"), el("span", {}, warning.message, warningFacts(warning)))));
      byId("warnings").hidden = !warnings.length;
      const remarks = summary.warnings.filter(({ code }) => HARMLESS.has(code));
      byId("remarks").replaceChildren(...remarks.map((warning) => el("li", {}, warning.message, warningFacts(warning))));
      byId("remarks").hidden = !remarks.length;
      byId("assumptions").replaceChildren(...[...summary.assumptions, `range of the estimate: ${summary.band.why}`].map((text) => el("li", {}, text)));
      byId("version").textContent = `oomcast ${summary.oomcast}`;
      byId("command").textContent = commandText(state.link ? state.link.inputs : state.inputs, state.result.settings, summary.job.recorded_batch_sizes);
      byId("facts").textContent = factsText(state);
    },
  };
}

function warningFacts({ code, count, first_offset: offset, message }) {
  const parts = [code];
  if (count > 1) parts.push(`${formatCount(count)} times`);
  if (offset !== null && !message.includes("at byte")) parts.push(`first at byte ${formatCount(offset)}`);
  return el("span", { class: "dim" }, ` (${parts.join(", ")})`);
}

function factsText({ facts, result, link }) {
  const { job } = result.summary;
  const parts = [`${job.iterations === 1 ? "1 iteration" : `${formatCount(job.iterations)} iterations`} in the recording`];
  if (facts && !link) parts.push(`${formatCount(facts.events)} events, ${formatMegabytes(facts.text_bytes)} of JSON read`);
  return `${parts.join("; ")}.`;
}
