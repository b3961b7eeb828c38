// The theme button: as the system, light, dark. theme.js beside index.html applies the remembered choice before the first paint.

import { byId } from "./dom.js";

const THEMES = ["system", "light", "dark"];
const LABELS = { system: "as the system", light: "light", dark: "dark" };

/** @param {() => void} onChange called when the colours have changed, also by the system */
export function createThemeButton(onChange) {
  const button = byId("theme");
  const root = document.documentElement;
  const current = () => root.dataset.theme ?? "system";
  const show = () => {
    button.setAttribute("aria-label", `Theme: ${LABELS[current()]}`);
    button.title = `Theme: ${LABELS[current()]}`;
  };
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      if (next === "system") localStorage.removeItem("oomcast-theme");
      else localStorage.setItem("oomcast-theme", next);
    } catch {
      // not remembered, then
    }
    show();
    onChange();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", onChange);
  show();
}
