// The two places for profiles: A, and B for the same job at another batch size. Each can be replaced or removed.

import { formatMegabytes } from "../format.js";
import { byId, el, icon } from "./dom.js";

/** @param {{choose: (place: number) => void, remove: (place: number) => void}} actions */
export function createPlacesView(actions) {
  return {
    /** @param {import("../state.js").State} state @param {import("../state.js").State} old */
    render(state, old) {
      if (state.result === old.result && state.inputs === old.inputs && state.link === old.link) return;
      const shown = state.link ? state.link.inputs : state.inputs;
      byId("subject").textContent = shown.map((input) => input.name).join(" + ");
      byId("subject").title = shown.map((input) => `${input.name}, ${formatMegabytes(input.sizeBytes)}`).join("\n");
      if (!state.result) return;
      const { job, recording } = state.result.summary;
      const rows = shown.map((input, place) => row(input, shown[1 - place]?.name, place, job.recorded_batch_sizes[place], state.link ? null : actions));
      if (shown.length === 1 && !state.link && !recording) rows.push(emptyPlace(actions));
      byId("places").replaceChildren(el("h2", {}, shown.length > 1 ? "Profiles" : "Profile"), ...rows);
    },
  };
}

function row(input, other, place, batch, actions) {
  const letter = "AB"[place];
  const facts = [batch ? `batch ${batch}` : null, formatMegabytes(input.sizeBytes)].filter(Boolean).join(" · ");
  return el("div", { class: "slot" }, el("span", { class: "letter", "aria-label": `Profile ${letter}` }, letter),
    el("div", { class: "slot-text" }, nameLine(input.name, other), el("span", { class: "dim" }, facts)),
    ...(actions ? [
      el("button", { type: "button", class: "plain small", "aria-label": `Replace profile ${letter}, ${input.name}`, title: "Replace", onclick: () => actions.choose(place) }, icon("open")),
      el("button", { type: "button", class: "plain small", "aria-label": `Remove profile ${letter}, ${input.name}`, title: "Remove", onclick: () => actions.remove(place) }, icon("close")),
    ] : []));
}

/** Without its ending; a long one loses what comes before the part that tells it from the other. @param {string} name @param {string} [other] */
function nameLine(name, other) {
  const bare = bareName(name) || name;
  let same = 0;
  while (other && same < bare.length && bare[same] === bareName(other)[same]) same++;
  const cut = bare.length <= 20 ? bare.length : Math.max(0, Math.min(same - 1, bare.length - 9));
  return el("span", { class: "name", title: name }, el("span", {}, bare.slice(0, cut)), el("span", {}, bare.slice(cut)));
}

const bareName = (name) => name.replace(/(\.pt\.trace)?\.json(\.gz)?$/, "");

function emptyPlace(actions) {
  return el("button", { type: "button", class: "slot vacant", onclick: () => actions.choose(1) }, el("span", { class: "letter", "aria-hidden": "true" }, "B"),
    el("span", { class: "slot-text" }, el("span", {}, "Add profile B"), el("span", { class: "dim" }, "the same job at another batch size")));
}
