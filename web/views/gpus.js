// The GPU field: a native select grouped by class, a search that fills it, and the size of a custom card.

import { formatBytes } from "../format.js";
import { parseSize } from "../state.js";
import { byId, el } from "./dom.js";

const GROUPS = [["data-centre", "Data centre"], ["workstation", "Workstation"], ["consumer", "Consumer"], ["amd", "AMD"]];
const FOUND_LIMIT = 8;
const SMALLEST_CARD_BYTES = 2 ** 30;
const CERTAINTY = {
  measured: "measured", confirmed: "as published by people who ran it", derived: "derived from cards of the same kind", recalled: "from memory, unconfirmed",
};

const BRANDS = new Set(["nvidia", "amd", "geforce", "quadro", "tesla", "instinct", "rtx", "gtx"]);
const EMPTY_WORDS = new Set(["gpu", "generation", "graphics", "card"]); // CUDA: "NVIDIA RTX 6000 Ada Generation", "... Laptop GPU"

/** "NVIDIA A100-SXM4, 80 GB" -> ["nvidia", "a100", "sxm4", "80gb"] @param {string} text */
function wordsOf(text) {
  return text.toLowerCase().replace(/(\d)\s*(?:gi?b|g)(?![a-z])/g, "$1gb").split(/[^a-z0-9]+/).filter((word) => word && !EMPTY_WORDS.has(word));
}

/** Cards whose names, class or size have all words of the text, the likeliest first: the very name or alias, then the same without
 * brands ("3090", "tesla t4"), then those that have the words whole, then the rest; of equals the shorter name, then as in the catalogue.
 * @param {any[]} gpus @param {string} text */
export function findGpus(gpus, text) {
  const words = wordsOf(text);
  const whole = words.join("");
  const bare = bareName(words);
  const rankOf = (gpu) => {
    const names = [gpu.name, ...gpu.aliases.split("|").filter(Boolean)].map(wordsOf);
    if (names.some((name) => name.join("") === whole)) return 0;
    if (bare && names.some((name) => bareName(name) === bare)) return 1;
    const brands = gpu.group === "data-centre" ? "tesla data center" : "";
    const about = [...names.flat(), ...wordsOf(`${gpu.group} ${gpu.architecture} ${gpu.vendor} ${brands} ${Math.round(gpu.marketed_gib)}gb`)];
    if (words.every((word) => about.includes(word))) return 2;
    const parts = [...about, ...names.map((name) => name.join(""))];
    return words.every((word) => (/^\d+gb$/.test(word) ? about.includes(word) : parts.some((part) => part.includes(word)))) ? 3 : null;
  };
  const found = words.length ? gpus.map((gpu) => ({ gpu, rank: rankOf(gpu) })).filter(({ rank }) => rank !== null) : [];
  return found.sort((a, b) => a.rank - b.rank || a.gpu.name.length - b.gpu.name.length).map(({ gpu }) => gpu);
}

const bareName = (words) => words.filter((word) => !BRANDS.has(word)).join("").replace(/^(?:rtx|gtx)(?=\d)/, "");

/** "GeForce RTX 4060 · 8 GB"; a name that tells the size stays as it is. @param {any} gpu */
function cardName(gpu) {
  return /\d ?GB/.test(gpu.name) ? gpu.name : `${gpu.name} · ${Math.round(gpu.marketed_gib)} GB`;
}

/** @param {{changeSettings: (change: object) => void}} actions */
export function createGpuField(actions) {
  const select = byId("gpu");
  const capacity = byId("capacity");
  const search = byId("gpu-search");
  const found = byId("gpu-found");
  let gpus = [];
  let active = -1;

  const close = () => {
    found.hidden = true;
    active = -1;
    search.setAttribute("aria-expanded", "false");
    search.removeAttribute("aria-activedescendant");
  };
  const pick = (name) => {
    search.value = "";
    close();
    actions.changeSettings({ gpu: name });
  };
  const mark = (index) => {
    const items = [...found.querySelectorAll("[role=option]")];
    active = items.length ? (index + items.length) % items.length : -1;
    items.forEach((item, i) => item.setAttribute("aria-selected", String(i === active)));
    if (active >= 0) search.setAttribute("aria-activedescendant", items[active].id);
    items[active]?.scrollIntoView({ block: "nearest" });
  };
  const open = () => {
    const matches = findGpus(gpus, search.value);
    if (!search.value.trim()) return close();
    const items = matches.slice(0, FOUND_LIMIT).map((gpu, i) =>
      el("li", { role: "option", id: `gpu-found-${i}`, "aria-selected": "false", "data-name": gpu.name, onpointerdown: (event) => (event.preventDefault(), pick(gpu.name)) },
        el("span", {}, gpu.name), el("span", { class: "dim number" }, `${Math.round(gpu.marketed_gib)} GB`)));
    if (matches.length > FOUND_LIMIT) items.push(el("li", { class: "dim", role: "presentation" }, `${matches.length - FOUND_LIMIT} more: type on`));
    if (!matches.length) items.push(el("li", { role: "option", "aria-disabled": "true", "aria-selected": "false", id: "gpu-found-none", class: "dim" }, "no such card; choose “custom size” in the list"));
    found.replaceChildren(...items);
    found.hidden = false;
    search.setAttribute("aria-expanded", "true");
    mark(0);
  };
  search.addEventListener("input", open);
  search.addEventListener("blur", close);
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (found.hidden) open();
      else mark(active + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") {
      const name = /** @type {any} */ (found.children[active])?.dataset.name;
      event.preventDefault();
      if (name && !found.hidden) pick(name);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      search.value = "";
      close();
    }
  });
  select.addEventListener("change", () => actions.changeSettings({ gpu: select.value }));
  const takeCapacity = () => actions.changeSettings({ capacityText: capacity.value });
  capacity.addEventListener("input", () => parseSize(capacity.value) >= SMALLEST_CARD_BYTES && takeCapacity()); // half a size is not worth a complaint
  capacity.addEventListener("change", takeCapacity);

  const fill = (wanted) => {
    const groups = GROUPS.map(([key, label]) =>
      el("optgroup", { label }, ...gpus.filter((gpu) => gpu.group === key).map((gpu) => el("option", { value: gpu.name }, cardName(gpu)))));
    groups.push(el("optgroup", { label: "Other" }, el("option", { value: "custom" }, "custom size…"), el("option", { value: "none" }, "none: only what it needs")));
    select.replaceChildren(...groups);
    if (![...select.options].some((option) => option.value === wanted)) select.prepend(el("option", { value: wanted }, wanted)); // a link knows a card that we do not
  };

  return {
    /** @param {import("../state.js").State} state @param {import("../state.js").State} old */
    render(state, old) {
      const { settings } = state;
      if (state.gpus !== old.gpus || !select.options.length || ![...select.options].some((option) => option.value === settings.gpu)) {
        gpus = state.gpus;
        fill(settings.gpu);
      }
      if (select.value !== settings.gpu) select.value = settings.gpu;
      byId("capacity-field").hidden = settings.gpu !== "custom";
      if (capacity.value !== settings.capacityText && document.activeElement !== capacity) capacity.value = settings.capacityText;
      const gpu = gpus.find(({ name }) => name === settings.gpu);
      const usable = state.result?.summary.gpu;
      byId("gpu-hint").textContent = gpu
        ? `${formatBytes(gpu.total_bytes)} as CUDA reports it (${CERTAINTY[gpu.certainty] ?? gpu.certainty})`
        : settings.gpu === "custom" && usable && state.result.settings.capacityText === settings.capacityText ? `${formatBytes(usable.usable_bytes)} of it usable` : "";
    },
  };
}
