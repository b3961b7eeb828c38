// What is going on: the empty page, the progress of a load, an error, the note of an opened link. Shows and hides the page's parts, and
// keeps the focus on one that is there.

import { formatMegabytes, formatProgress } from "../format.js";
import { byId, el } from "./dom.js";
import { jobText, verdictText } from "./words.js";

const EXAMPLE_NAMES = { cnn: "the CNN example", transformer: "the decoder example" };

/** @param {{dismissError: () => void, cancel: () => void, openExample: (name: string, keepsSettings?: boolean) => void, clear: () => void}} actions */
export function createStatusView(actions) {
  byId("error-close").addEventListener("click", actions.dismissError);
  byId("cancel").addEventListener("click", actions.cancel);
  let begun = { origin: null, scrollY: 0 }; // what had the focus when a load began, and where the page was
  return {
    /** @param {import("../state.js").State} state @param {import("../state.js").State} old */
    render(state, old) {
      if (state.load && !old.load) begun = { origin: document.activeElement, scrollY: window.scrollY };
      byId("empty").hidden = Boolean(state.result) || Boolean(state.load);
      byId("result").hidden = !state.result;
      byId("result").toggleAttribute("data-waiting", Boolean(state.load));
      byId("result").inert = Boolean(state.load);
      byId("share").disabled = byId("download").disabled = !state.result || Boolean(state.load);
      if (!state.result?.text) byId("download").disabled = true;
      showLoad(state.load);
      if (state.error !== old.error) showError(state.error);
      if (state.link !== old.link || state.result !== old.result) showLink(state.link, actions);
      if (state.result !== old.result) document.title = titleOf(state.result);
      if (old.load && !state.load && !state.result && !state.error) window.scrollTo({ top: begun.scrollY, behavior: "instant" }); // cancelled
      const isMoved = Boolean(state.load) !== Boolean(old.load) || Boolean(state.result) !== Boolean(old.result) || state.error !== old.error || state.link !== old.link;
      if (isMoved) queueMicrotask(() => keepFocus(state, old, begun.origin)); // when all views have drawn
    },
  };
}

function titleOf(result) {
  if (!result) return "oomcast: will this PyTorch job fit the GPU?";
  const [verdict, rest] = verdictText(result.summary);
  return [`${verdict}${result.summary.gpu ? `: ${rest}` : ""}`, jobText(result.summary), "oomcast"].filter(Boolean).join(" · ");
}

function showLoad(load) {
  byId("loading").hidden = !load;
  if (!load) return;
  const name = load.names[load.index] ?? load.names[0];
  byId("loading-title").textContent = load.stage === "analysing" ? "Analysing" : `Reading ${name}${load.names.length > 1 ? ` (${load.index + 1} of ${load.names.length})` : ""}`;
  byId("loading-text").textContent = load.stage === "analysing" ? "" : formatProgress(load.readBytes, load.totalBytes);
  const bar = byId("loading-bar");
  if (load.stage === "analysing" || !load.totalBytes) bar.removeAttribute("value");
  else bar.value = (load.index + Math.min(1, load.readBytes / load.totalBytes)) / load.names.length;
}

/** Where the element that had the focus is gone, the focus goes on to what takes its place; it never falls back to the page's begin. */
function keepFocus(state, old, origin) {
  const holdsFocus = (element) => element && element !== document.body && element.getClientRects().length > 0 && !element.closest("[inert]");
  const isLoadEnd = old.load && !state.load;
  if (holdsFocus(document.activeElement) || (document.activeElement === document.body && !isLoadEnd && !(state.load && !old.load))) return;
  const others = state.load ? [byId("cancel")] : isLoadEnd ? [origin] : [];
  [...others, byId("verdict-title"), byId("choose")].find(holdsFocus)?.focus({ preventScroll: true });
}

function showError(error) {
  const box = byId("error");
  box.hidden = !error;
  byId("error-title").textContent = error?.title ?? "";
  byId("error-message").textContent = error?.message ?? "";
  byId("error-actions").replaceChildren(...(error?.actions ?? []).map(({ label, run }) => el("button", { type: "button", class: "button", onclick: run }, label)));
  byId("error-ask").replaceChildren(...(error?.ask ? askForm(error.ask) : []));
  if (error) box.scrollIntoView({ block: "nearest" });
}

/** A question of an error; an answer that is not taken is told why. */
function askForm({ label, run }) {
  const field = el("input", { type: "text", id: "error-answer", placeholder: "16, 32", autocomplete: "off", spellcheck: "false", "aria-describedby": "error-problem" });
  const problem = el("p", { class: "problem", id: "error-problem", role: "alert" });
  const submit = (event) => {
    event.preventDefault();
    problem.textContent = run(field.value);
    field.setAttribute("aria-invalid", String(problem.textContent !== ""));
  };
  return [el("form", { onsubmit: submit }, el("label", { for: "error-answer" }, label), field, el("button", { class: "button" }, "Read again"), problem)];
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
