// Ways in: drop anywhere, the file button, Ctrl/Cmd+O, paste of files. Turns them into a list of files, or a helpful refusal.

import { plural } from "../format.js";
import { byId } from "./dom.js";

/** @param {{openFiles: (files: File[], place: number | null) => void, refuse: (title: string, message: string) => void, hasOne: () => boolean}} actions */
export function createIntake(actions) {
  const input = byId("file");
  const overlay = byId("drop-overlay");
  let place = null; // what the next choice of the file button is for

  const take = (files, folder) => {
    if (folder !== null)
      return actions.refuse(`${folder} is a folder`, "Drop the profile itself: a .json or .json.gz file that torch.profiler exported, or two of them from the same job.");
    if (files.length > 2)
      return actions.refuse(`${plural(files.length, "file")} at once`, "oomcast looks at one profile, or at two of the same job recorded at different batch sizes. Drop one or two of these.");
    if (files.length) actions.openFiles(files, place);
    place = null;
  };
  input.addEventListener("change", () => {
    const files = [...input.files];
    input.value = ""; // so that the same file can be opened again
    take(files, null);
  });
  input.addEventListener("cancel", () => (place = null));

  let depth = 0;
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const hide = () => {
    depth = 0;
    overlay.hidden = true;
  };
  addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth++;
    byId("drop-text").textContent = actions.hasOne() ? "Drop the same job at another batch size, or two new profiles" : "Drop one or two profiles";
    overlay.hidden = false;
  });
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  });
  addEventListener("dragleave", (event) => {
    if (--depth <= 0 || event.relatedTarget === null) hide();
  });
  addEventListener("drop", (event) => {
    hide();
    if (!hasFiles(event)) return;
    event.preventDefault();
    const folder = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).find((entry) => entry?.isDirectory);
    take([...event.dataTransfer.files], folder ? folder.name : null);
  });
  addEventListener("blur", hide);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "o") {
      event.preventDefault();
      input.click();
    }
  });
  addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length) take(files, null);
  });

  return {
    /** Opens the file dialog. @param {number | null} wanted 0 or 1 for a place, null for a new job or the drop rules */
    choose(wanted) {
      place = wanted;
      input.click();
    },
  };
}
