// The address bar: puts a link into it, opens the link it holds, and goes back from one to what it had covered. A link covers the
// loaded job without closing it, so that going back needs no file.

import { decodeLink, encodeLink } from "./share.js";
import { copyText, toast } from "./views/dom.js";

/** @param {ReturnType<import("./state.js").createStore>} store @param {import("./client.js").Client} client @param {{clear: () => void}} job */
export function createAddress(store, client, job) {
  let linkedResult = null; // what the address shows
  let covered = null; // {url, shown}: the address and the state that a link was opened over
  let linkError = null;
  let opening = 0;

  store.subscribe((state, old) => {
    if (state.result !== old.result && state.result !== linkedResult && location.hash) history.replaceState(null, "", location.pathname + location.search);
    if (!state.link) covered = null;
  });
  addEventListener("hashchange", ({ oldURL, newURL }) => {
    if (covered?.url === newURL) uncover();
    else open(oldURL);
  });

  /** Shows the link that the address holds, if any. @param {string} [urlBefore] where the page is, if it shows something */
  async function open(urlBefore) {
    const number = ++opening;
    try {
      const opened = await decodeLink(location.hash);
      if (number !== opening) return;
      if (!opened) return leave();
      const state = store.get();
      client.cancel();
      if (!state.link) covered = urlBefore ? { url: urlBefore, shown: state } : null;
      const { inputs, example, result } = opened;
      linkedResult = result;
      store.update({ inputs: [], link: { inputs, example }, example, settings: result.settings, result, zoom: null, facts: null, error: null, settingsError: null, isBusy: false });
    } catch (error) {
      if (number !== opening) return;
      linkError = { title: "This link cannot be opened", message: error.message };
      store.update({ error: linkError });
    }
  }

  /** The address holds no link any more. */
  function leave() {
    const { link, error } = store.get();
    if (link) job.clear();
    else if (error && error === linkError) store.update({ error: null });
  }

  function uncover() {
    opening++;
    const { inputs, example, settings, result, zoom, facts } = covered.shown;
    linkedResult = result;
    store.update({
      inputs, example, settings: result ? result.settings : settings, result, zoom, facts: facts && { ...facts }, link: null, load: null, error: null, settingsError: null, isBusy: false,
    });
  }

  /** Puts a link to what is shown into the address bar and the clipboard. */
  async function share() {
    const { inputs, link, example, result } = store.get();
    const fragment = await encodeLink({ inputs: link ? link.inputs : inputs, example: link ? link.example : example, result });
    await decodeLink(fragment); // a link that cannot be opened must not leave this page
    linkedResult = result;
    history.replaceState(null, "", `#${fragment}`);
    const isCopied = await copyText(location.href);
    const length = location.href.length.toLocaleString("en-US");
    toast(isCopied ? `Link copied (${length} characters). It shows this result without the file.` : `The address bar holds the link now (${length} characters): copy it from there.`);
  }

  return { open, share };
}
