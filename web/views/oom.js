// The report of a predicted out-of-memory: PyTorch's own message as it would read, what it means, and what was alive.

import { formatBoth, formatBytes, formatTorch } from "../format.js";
import { byId, el } from "./dom.js";
import { ownerRows } from "./peak.js";
import { placeText, shortBytes } from "./words.js";

export function createOomView() {
  return {
    /** @param {import("../state.js").State} state @param {import("../state.js").State} old */
    render(state, old) {
      if (state.result === old.result || !state.result) return;
      const { summary } = state.result;
      byId("oom-card").hidden = !summary.oom;
      if (!summary.oom) return;
      byId("oom-message").textContent = torchMessage(summary);
      byId("oom-text").replaceChildren(...explain(summary).map((text) => el("p", {}, text)));
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

function explain(summary) {
  const { oom, gpu, job } = summary;
  const free = Math.max(0, gpu.usable_bytes - oom.reserved_bytes);
  const texts = [`The request for ${formatBoth(oom.bytes)} fails in ${placeText(oom.at)}.`];
  if (oom.retries) texts[0] += ` The allocator had given ${formatBytes(oom.released_bytes)} of cached memory back and tried again.`;
  if (oom.bytes <= oom.cached_bytes + free)
    texts.push(`Fragmentation decides here: ${formatBytes(oom.cached_bytes)} are cached and ${formatBytes(free)} are free on the card, but the largest free block has ${formatBytes(oom.largest_free_block_bytes)}, and the request needs one piece.`);
  else
    texts.push(`It is not fragmentation: all cached memory (${formatBytes(oom.cached_bytes)}, largest free block ${formatBytes(oom.largest_free_block_bytes)}) and the card's last ${formatBytes(free)} together are less than the request.`);
  const how = job.recorded_batch_sizes.length > 1 ? "a smaller batch" : "a smaller batch (add a second profile to try it)";
  texts.push(`To make it run, ${formatBytes(shortBytes(summary))} must go: ${how}, another card, or another optimizer. Each change of the settings is simulated at once.`);
  return texts;
}
