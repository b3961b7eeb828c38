// Names and sentences that several views use, so that the page says the same thing everywhere. From result JSON to English; no DOM.

import { formatApart, formatBytes, formatTime } from "../format.js";

const SEGMENT_STEP_BYTES = 2 ** 21;

/** What the stacked bar and the tables show, in this order: [key in at_peak, css class, label, explanation] */
export const PARTS = [
  ["parameter_bytes", "parameter", "Parameters", "the model's weights"],
  ["buffer_bytes", "buffer", "Buffers", "running statistics and the like"],
  ["gradient_bytes", "gradient", "Gradients", "of the parameters"],
  ["optimizer_state_bytes", "state", "Optimizer state", "momentum, variances"],
  ["activation_bytes", "activation", "Activations", "saved by forward for backward"],
  ["batch_bytes", "batch", "Batch", "inputs and labels on the device"],
  ["temporary_bytes", "temporary", "Temporaries", "die within the step"],
  ["workspace_bytes", "workspace", "Workspaces", "of cuBLAS"],
  ["rounding_bytes", "rounding", "Rounding", "allocated, but asked for by no tensor"],
  ["cached_bytes", "cached", "Cached, free", "reserved, but not allocated"],
];

/** The css class of a result's category. @param {string} category */
export function categoryClass(category) {
  return category === "optimizer state" ? "state" : category;
}

/** "in backward of iteration 2" @param {{phase: string, iteration: number}} at */
export function momentText(at) {
  if (at.phase === "parameters") return "while the model is built";
  return at.phase === "other" ? `in iteration ${at.iteration}, outside its phases` : `in ${at.phase} of iteration ${at.iteration}`;
}

/** "in backward of iteration 2, by aten::mm of Decoder_0/Linear_16, at 393.8 ms" @param {any} at */
export function placeText(at) {
  const parts = [momentText(at)];
  if (at.op) parts.push(`by ${at.op}${at.module ? ` of ${at.module}` : ""}`);
  else if (at.module) parts.push(`by ${at.module}`);
  parts.push(`at ${formatTime(at.time_ms)}`);
  return parts.join(", ");
}

/** "GeForce RTX 4060", "a card of 12.00 GiB" @param {any} gpu of the result, not null */
export function gpuText(gpu) {
  return gpu.name ?? `a card of ${formatBytes(gpu.total_bytes)}`;
}

/** What is missing to the smallest limit with which the job still runs; 0 if fragmentation decides. @param {any} summary */
export function shortBytes(summary) {
  return Math.max(0, summary.minimum_capacity_bytes - summary.gpu.usable_bytes);
}

/** It runs out, though it would run under a lower limit: which cached blocks the allocator keeps decides. @param {any} summary */
export function isBorderline({ verdict, gpu, minimum_capacity_bytes: minimumBytes }) {
  return verdict === "oom" && minimumBytes <= gpu.usable_bytes;
}

/** The call that makes PyTorch keep to the smallest limit with which the job runs. The limit is the fraction of the total, rounded down,
 * and segments come in steps of 2 MiB: as few digits as stay within one of them. @param {any} summary */
export function fractionCall({ gpu, minimum_capacity_bytes: minimumBytes }) {
  let fraction = 1;
  for (let digits = 2; digits <= 9; digits++) {
    fraction = Math.ceil((minimumBytes / gpu.total_bytes) * 10 ** digits) / 10 ** digits;
    const limitBytes = Math.floor(fraction * gpu.total_bytes);
    if (limitBytes >= minimumBytes && limitBytes < minimumBytes + SEGMENT_STEP_BYTES) break;
  }
  return `torch.cuda.set_per_process_memory_fraction(${fraction})`;
}

/** [title, rest of the line] @param {any} summary */
export function verdictText(summary) {
  const { verdict, gpu, need, peak } = summary;
  if (!gpu) return ["No GPU chosen", `The job needs ${formatBytes(need.reserved_bytes)} for PyTorch. Choose a GPU to see whether it fits.`];
  const spare = formatBytes(gpu.usable_bytes - peak.reserved_bytes);
  if (verdict === "fits") return ["Fits", `${spare} to spare on ${gpuText(gpu)}`];
  if (isBorderline(summary)) return ["Does not fit", `out of memory on ${gpuText(gpu)}, by fragmentation alone`];
  if (verdict === "oom") return ["Does not fit", `short by ${formatBytes(shortBytes(summary))} on ${gpuText(gpu)}`];
  return ["Tight", need.reserved_bytes > gpu.usable_bytes ? `runs on ${gpuText(gpu)}, but only by giving cached memory back` : `only just: ${spare} to spare on ${gpuText(gpu)}`];
}

/** Why a verdict is not plainly "fits"; empty where there is nothing to say. @param {any} summary */
export function verdictReason(summary) {
  const { verdict, gpu, need, minimum_capacity_bytes: minimumBytes, band } = summary;
  const usableBytes = gpu?.usable_bytes;
  if (isBorderline(summary)) {
    const [lower, usable] = formatApart(minimumBytes, usableBytes);
    return `With ${usable} usable it runs out because of fragmentation, though it would run under a limit that is ${formatBytes(usableBytes - minimumBytes)} lower (${lower}), so it is borderline. ${fractionCall(summary)} makes the allocator keep to that limit.`;
  }
  if (verdict === "oom") {
    const [least, usable] = formatApart(minimumBytes, usableBytes);
    const more = need.reserved_bytes > minimumBytes ? ` (${formatApart(need.reserved_bytes, minimumBytes)[0]} if it should never have to give cached memory back)` : "";
    return `PyTorch needs at least ${least} here${more}; ${usable} of the card are usable.`;
  }
  if (verdict !== "tight") return "";
  if (need.reserved_bytes > usableBytes) {
    const [wanted, usable] = formatApart(need.reserved_bytes, usableBytes);
    return `Without a limit it would reserve ${wanted}, and ${usable} are usable: the allocator must give cached memory back and try again, which costs time. The lowest limit under which it runs is ${formatBytes(minimumBytes)}.`;
  }
  if (band.high_bytes > usableBytes) {
    const [high, usable] = formatApart(band.high_bytes, usableBytes);
    return `The high end of the estimate, ${high}, is above the ${usable} that are usable.`;
  }
  return "The order of device addresses decides between equal free blocks, and in one of the two orders that were tried it runs out of memory.";
}

/** The most that nvidia-smi can show for the process: the card's total less what is kept for others. @param {any} summary */
export function deviceLimit({ gpu, outside }) {
  return gpu ? gpu.usable_bytes + outside.context_bytes : Infinity;
}

/** "batch 64, SGD" @param {any} summary */
export function jobText({ job }) {
  const parts = [];
  if (job.batch_size) parts.push(`batch ${job.batch_size}`);
  if (job.optimizer) parts.push(job.optimizer);
  return parts.join(", ");
}

/** The command that answers the same. @param {import("../state.js").Input[]} inputs @param {import("../state.js").Settings} settings
 * @param {number[]} recordedSizes batch sizes of the inputs */
export function commandText(inputs, settings, recordedSizes) {
  const quote = (text) => (/^[\w./+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const words = ["oomcast", "estimate", ...inputs.map((input) => input.name)];
  const add = (flag, value, usual) => value !== usual && words.push(flag, String(value).trim());
  if (inputs.some((input) => input.batch)) words.push("--recorded-batch", recordedSizes.join(","));
  if (inputs.length > 1) add("--batch", settings.batch, null);
  if (settings.gpu === "custom") words.push("--capacity", settings.capacityText.trim());
  else add("--gpu", settings.gpu, "none");
  add("--optimizer", settings.optimizer, "recorded");
  add("--foreach", settings.foreach, "auto");
  add("--zero-grad", settings.zeroGrad, "recorded");
  add("--reserve", settings.reserveText.trim(), "");
  add("--torch", settings.torch.trim(), "");
  add("--alloc-conf", settings.allocConf.trim(), "");
  return words.map(quote).join(" ");
}

/** What was found, and why the next size does not run; empty without an answer. @param {any} largest max_batch of a result */
export function largestText(largest) {
  if (!largest) return "";
  const { batch, next, failing_below: below } = largest;
  if (!batch) return "No batch size runs on this card, not even 1.";
  const why = next ? ` At ${batch + 1} a request for ${formatBytes(next.bytes)} fails ${momentText(next)}.` : "";
  return `Largest batch that runs: ${batch}.${why}${below ? ` Not every smaller one runs: ${below} does not.` : ""}`;
}

/** "batch 64 (from the recordings at batch 4 and 8), SGD" @param {any} summary */
export function jobLine({ job, recording }) {
  if (recording) return `recorded on GPU ${recording.device_id}${recording.is_simulated ? "; its requests simulated again for this card and these settings" : ", as it was"}`;
  const batch = !job.batch_size ? "batch size not seen in the profile"
    : `batch ${job.batch_size} (${job.scaling === "recorded" ? "as recorded" : `from the recordings at batch ${job.recorded_batch_sizes.join(" and ")}`})`;
  return [batch, job.optimizer].filter(Boolean).join(", ");
}
