// The report of a predicted out-of-memory: PyTorch's own message as it would read, what it means, and what was alive.

import { formatBoth, formatBytes, formatTorch } from "../format.js";
import { byId, el } from "./dom.js";
import { ownerRows } from "./peak.js";
import { fractionCall, isBorderline, placeText, shortBytes } from "./words.js";

export function createOomView() {
  return {
    /** @param {import("../state.js").State} state @param {import("../state.js").State} old */
    render(state, old) {
      if (state.result === old.result || !state.result) return;
      const { summary } = state.result;
      byId("oom-card").hidden = !summary.oom;
      if (!summary.oom) return;
      byId("oom-message").textContent = torchMessage(summary);
      byId("oom-text").replaceChildren(...explain(summary, Boolean(state.link), /expandable_segments:\s*True/.test(state.result.settings.allocConf)).map((text) => el("p", {}, text)));
      byId("oom-live").replaceChildren(...ownerRows(summary.oom.live, summary.oom.allocated_bytes));
    },
  };
}

/** As torch.OutOfMemoryError of PyTorch 2.6 words it. @param {any} summary */
export function torchMessage({ oom, gpu, outside }) {
  const outsideBytes = gpu.total_bytes - gpu.usable_bytes; // context and what is kept for others
  const free = gpu.total_bytes - outsideBytes - oom.reserved_bytes;
  return `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${formatTorch(oom.bytes)}. GPU 0 has a total capacity of ${formatTorch(gpu.total_bytes)} ` +
    `of which ${formatTorch(Math.max(0, free))} is free. Including non-PyTorch memory, this process has ${formatTorch(oom.reserved_bytes + outside.context_bytes)} memory in use. ` +
    `Of the allocated memory ${formatTorch(oom.allocated_bytes)} is allocated by PyTorch, and ${formatTorch(oom.cached_bytes)} is reserved by PyTorch but unallocated.`;
}

/** @param {any} summary @param {boolean} isLink its settings cannot be changed @param {boolean} [isExpandable] the allocator has expandable segments */
export function explain(summary, isLink, isExpandable = false) {
  const { oom, gpu, job, need, recording, minimum_capacity_bytes: minimumBytes } = summary;
  const freeBytes = Math.max(0, gpu.usable_bytes - oom.reserved_bytes);
  const texts = [`The request for ${formatBoth(oom.bytes)} fails ${placeText(oom.at)}.`];
  if (oom.released_bytes) texts[0] += ` By then the allocator had given back ${formatBytes(oom.released_bytes)} of cached memory in all.`;
  const tip = isLink || isExpandable ? "" : " Expandable segments avoid most of that: try expandable_segments:True under Allocator settings.";
  if (isBorderline(summary) || oom.bytes <= oom.cached_bytes + freeBytes)
    texts.push(`Fragmentation decides here: ${formatBytes(oom.cached_bytes)} are cached and ${formatBytes(freeBytes)} are free on the card, but the largest free block has ${formatBytes(oom.largest_free_block_bytes)}, and the request needs one piece.${tip}`);
  else
    texts.push(`It is not fragmentation: all cached memory (${formatBytes(oom.cached_bytes)}, largest free block ${formatBytes(oom.largest_free_block_bytes)}) and the card's last ${formatBytes(freeBytes)} together are less than the request.`);
  const batch = job.recorded_batch_sizes.length > 1 || isLink ? "a smaller batch" : "a smaller batch (add a second profile to try it)";
  const ways = recording ? "another card, or other allocator settings" : `${batch}, another card, or another optimizer`;
  const live = isLink ? "" : " Each change of the settings is simulated at once.";
  if (isBorderline(summary)) {
    texts.push(`It would run under a limit of ${formatBoth(minimumBytes)}, which is ${formatBytes(gpu.usable_bytes - minimumBytes)} lower: there the allocator gives cached memory back at other moments. ${fractionCall(summary)} before the first tensor sets it. Without any limit it would reserve ${formatBoth(need.reserved_bytes)}.`);
    texts.push(`So close to the edge a small change decides as well: ${ways}.${live}`);
  } else {
    texts.push(`At least ${formatBoth(minimumBytes)} must be usable for the job to run, with cached memory given back where it must be${need.reserved_bytes > minimumBytes ? `; ${formatBoth(need.reserved_bytes)} for it to run without that` : ""}.`);
    texts.push(`To make it run here, at least ${formatBytes(shortBytes(summary))} must go: ${ways}.${live}`);
  }
  return texts;
}
