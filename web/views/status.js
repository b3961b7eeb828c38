// What is going on: the empty page, the progress of a load, an error, the note of an opened link. Shows and hides the page's parts.

import { formatMegabytes, formatProgress } from "../format.js";
import { byId, el } from "./dom.js";
import { jobText, verdictText } from "./words.js";

const EXAMPLE_NAMES = { cnn: "the CNN example", transformer: "the decoder example" };

/** @param {{dismissError: () => void, cancel: () => void, openExample: (name: string, keepsSettings?: boolean) => void, clear: () => void}} actions */
export function createStatusView(actions) {
  byId("error-close").addEventListener("click", actions.dismissError);
  byId("cancel").addEventListener("click", actions.cancel);
  return {
    /** @param {import("../state.js").State} state @param {import("../state.js").State} old */
    render(state, old) {
      byId("empty").hidden = Boolean(state.result) || Boolean(state.load);
      byId("result").hidden = !state.result;
      byId("result").toggleAttribute("data-waiting", Boolean(state.load));
      byId("result").inert = Boolean(state.load);
      byId("share").disabled = byId("download").disabled = !state.result || Boolean(state.load);
      if (!state.result?.text) byId("download").disabled = true;
      showLoad(state.load, old.load);
      if (state.error !== old.error) showError(state.error);
      if (state.link !== old.link || state.result !== old.result) showLink(state.link, actions);
      if (state.result !== old.result) document.title = titleOf(state.result);
    },
  };
}

function titleOf(result) {
  if (!result) return "oomcast: will this PyTorch job fit the GPU?";
  const [verdict, rest] = verdictText(result.summary);
  return `${verdict}${result.summary.gpu ? `: ${rest}` : ""} · ${jobText(result.summary)} · oomcast`;
}

function showLoad(load, old) {
  byId("loading").hidden = !load;
  if (!load) return;
  const name = load.names[load.index] ?? load.names[0];
  byId("loading-title").textContent = load.stage === "analysing" ? "Analysing" : `Reading ${name}${load.names.length > 1 ? ` (${load.index + 1} of ${load.names.length})` : ""}`;
  byId("loading-text").textContent = load.stage === "analysing" ? "" : formatProgress(load.readBytes, load.totalBytes);
  const bar = byId("loading-bar");
  if (load.stage === "analysing" || !load.totalBytes) bar.removeAttribute("value");
  else bar.value = (load.index + Math.min(1, load.readBytes / load.totalBytes)) / load.names.length;
  if (!old && document.activeElement === document.body) byId("cancel").focus({ preventScroll: true });
}

function showError(error) {
  const box = byId("error");
  box.hidden = !error;
  byId("error-title").textContent = error?.title ?? "";
  byId("error-message").textContent = error?.message ?? "";
  byId("error-actions").replaceChildren(...(error?.actions ?? []).map(({ label, run }) => el("button", { type: "button", class: "button", onclick: run }, label)));
  if (error) box.scrollIntoView({ block: "nearest" });
}

function showLink(link, actions) {
  byId("link-note").hidden = !link;
  if (!link) return;
  const files = link.inputs.map((input) => `${input.name} (${formatMegabytes(input.sizeBytes)})`).join(" and ");
  byId("link-text").textContent = `These figures came with the link. To change anything, drop ${files || "the profile"} here: the settings stay as they are.`;
  const name = EXAMPLE_NAMES[link.example];
  byId("link-actions").replaceChildren(
    ...(name ? [el("button", { type: "button", class: "button", onclick: () => actions.openExample(link.example, true) }, `Load ${name}`)] : []),
    el("button", { type: "button", class: "button", onclick: actions.clear }, "Close this result"));
}
