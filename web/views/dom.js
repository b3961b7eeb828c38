// Small helpers over the DOM. Text always arrives as textContent; nothing here parses HTML.

/** @param {string} id @returns {any} an element of index.html; a missing one is our own mistake */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no #${id}`);
  return element;
}

/** el("td", {class: "number", title: "…"}, "12", other) @param {string} tag @param {Record<string, any>} [attributes] @param {...(Node | string | null)} children */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** An icon of index.html's symbols, for decoration. @param {string} name */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/** Text into the clipboard; falls back where the clipboard API is missing (plain http). @returns {Promise<boolean>} */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "covered", "aria-hidden": "true", tabindex: -1 });
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    focused?.focus();
    return isCopied;
  }
}

let toastTimer = 0;

/** A short word at the bottom of the page. @param {string} text */
export function toast(text) {
  const box = byId("toast");
  box.textContent = text;
  box.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = window.setTimeout(() => box.classList.remove("shown"), Math.max(4000, 70 * text.length));
}

/** A file for the person to keep. @param {string} name @param {string} text @param {string} type */
export function saveText(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  saveUrl(name, url);
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** The same from a blob: or data: URL. @param {string} name @param {string} url */
export function saveUrl(name, url) {
  const link = el("a", { href: url, download: name, class: "covered" });
  document.body.append(link);
  link.click();
  link.remove();
}
