// Names and sentences that several views use, so that the page says the same thing everywhere. From result JSON to English; no DOM.

import { formatBytes, formatTime } from "../format.js";

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

/** "backward of iteration 2" @param {{phase: string, iteration: number}} at */
export function momentText(at) {
  return at.phase === "parameters" ? "while the model is built" : `${at.phase} of iteration ${at.iteration}`;
}

/** "backward of iteration 2, in aten::mm of Decoder_0/Linear_16, at 393.8 ms" @param {any} at */
export function placeText(at) {
  const parts = [momentText(at)];
  if (at.op) parts.push(`in ${at.op}${at.module ? ` of ${at.module}` : ""}`);
  else if (at.module) parts.push(`in ${at.module}`);
  parts.push(`at ${formatTime(at.time_ms)}`);
  return parts.join(", ");
}

/** "GeForce RTX 4060", "a card of 12.00 GiB" @param {any} gpu of the result, not null */
export function gpuText(gpu) {
  return gpu.name ?? `a card of ${formatBytes(gpu.total_bytes)}`;
}

/** What is missing when it does not fit: to the smallest limit with which the job still runs. @param {any} summary */
export function shortBytes(summary) {
  const missing = summary.minimum_capacity_bytes - summary.gpu.usable_bytes;
  return missing > 0 ? missing : Math.max(0, summary.need.reserved_bytes - summary.gpu.usable_bytes);
}

/** [title, rest of the line] @param {any} summary */
export function verdictText(summary) {
  const { verdict, gpu, need, peak } = summary;
  if (!gpu) return ["No GPU chosen", `The job needs ${formatBytes(need.reserved_bytes)} for PyTorch. Choose a GPU to see whether it fits.`];
  const spare = formatBytes(gpu.usable_bytes - peak.reserved_bytes);
  if (verdict === "fits") return ["Fits", `${spare} to spare on ${gpuText(gpu)}`];
  if (verdict === "oom") return ["Does not fit", `short by ${formatBytes(shortBytes(summary))} on ${gpuText(gpu)}`];
  return ["Tight", `only just: ${spare} to spare on ${gpuText(gpu)}`];
}

/** Why a verdict is not plainly "fits"; empty where there is nothing to say. @param {any} summary */
export function verdictReason(summary) {
  const { verdict, gpu, need, minimum_capacity_bytes: minimum, band } = summary;
  if (verdict === "oom")
    return `PyTorch needs at least ${formatBytes(minimum)} here; ${formatBytes(gpu.usable_bytes)} of the card are usable.`;
  if (verdict !== "tight") return "";
  return need.reserved_bytes > gpu.usable_bytes
    ? `Without a limit it would reserve ${formatBytes(need.reserved_bytes)}; here the allocator must give cached memory back and try again, which costs time, and a little more would not fit.`
    : `The high end of the estimate, ${formatBytes(band.high_bytes)}, is above the ${formatBytes(gpu.usable_bytes)} that are usable.`;
}

/** "batch 64, SGD" @param {any} summary */
export function jobText({ job }) {
  const parts = [];
  if (job.batch_size) parts.push(`batch ${job.batch_size}`);
  if (job.optimizer) parts.push(job.optimizer);
  return parts.join(", ");
}

/** The command that answers the same. @param {{name: string}[]} inputs @param {import("../state.js").Settings} settings */
export function commandText(inputs, settings) {
  const quote = (text) => (/^[\w./+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const words = ["oomcast", "estimate", ...inputs.map((input) => input.name)];
  const add = (flag, value, usual) => value !== usual && words.push(flag, String(value).trim());
  if (inputs.length > 1) add("--batch", settings.batch, null);
  if (settings.gpu === "custom") words.push("--capacity", settings.capacityText.trim());
  else add("--gpu", settings.gpu, "none");
  add("--optimizer", settings.optimizer, "recorded");
  add("--foreach", settings.foreach, "auto");
  add("--zero-grad", settings.zeroGrad, "recorded");
  add("--reserve", settings.reserveText.trim(), "");
  add("--torch", settings.torch.trim(), "");
  return words.map(quote).join(" ");
}

/** How the sizes came about. @param {any} summary */
export function scalingText({ job }) {
  const recorded = job.recorded_batch_sizes.join(" and ");
  if (!job.batch_size) return "the batch size cannot be seen in the profile";
  return job.scaling === "recorded" ? "as recorded" : `from the recordings at batch ${recorded}`;
}
