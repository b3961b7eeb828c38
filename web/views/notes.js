// What to read with the figures: warnings, assumptions, the command that gives the same, facts about the file.

import { formatCount, formatMegabytes } from "../format.js";
import { byId, copyText, el, toast } from "./dom.js";
import { commandText } from "./words.js";

export function createNotesView() {
  byId("copy-command").addEventListener("click", async () => toast((await copyText(byId("command").textContent)) ? "Copied." : "Select the text and copy it."));
  return {
    /** @param {import("../state.js").State} state @param {import("../state.js").State} old */
    render(state, old) {
      if (state.result === old.result || !state.result) return;
      const { summary } = state.result;
      byId("warnings").replaceChildren(...summary.warnings.map((warning) =>
        el("li", {}, el("span", { class: "tag" }, "Warning"), el("span", {}, warning.message, warningFacts(warning)))));
      byId("warnings").hidden = !summary.warnings.length;
      byId("assumptions").replaceChildren(...[...summary.assumptions, `range of the estimate: ${summary.band.why}`].map((text) => el("li", {}, text)));
      byId("version").textContent = `oomcast ${summary.oomcast}`;
      byId("command").textContent = commandText(state.link ? state.link.inputs : state.inputs, state.result.settings);
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
