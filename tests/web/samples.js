// Results as the core writes them, small and made up, for the tests of this folder.

const moment = (time_ms, phase, op, module) => ({ time_ms, iteration: 1, phase, op, module });
const owner = (bytes, module, op = "aten::mm", category = "activation") => ({ category, module, op, count: 1, bytes });

/** A result that fits, with the given bytes at the peak. */
export function summaryOf({ activation, cached, more, module }) {
  const reserved_bytes = activation + cached;
  return {
    format: "oomcast-result", version: 1, oomcast: "0.1.0", verdict: null,
    peak: { tensor_bytes: activation, allocated_bytes: activation, reserved_bytes, device_bytes: reserved_bytes + 379584512, at: moment(50, "backward", "aten::mm", module) },
    need: { allocated_bytes: activation, reserved_bytes: reserved_bytes + more }, minimum_capacity_bytes: reserved_bytes,
    band: { low_bytes: reserved_bytes, high_bytes: reserved_bytes + 37748736, why: "library memory (0 to 36 MiB)" }, outside: { context_bytes: 367001600, library_bytes: 12582912 }, gpu: null,
    job: { batch_size: 4, recorded_batch_sizes: [4, 8], scaling: "two-profiles", optimizer: "AdamW", parameter_bytes: 5, buffer_bytes: 0, gradient_bytes: 5, optimizer_state_bytes: 10, iterations: 3 },
    at_peak: {
      parameter_bytes: 0, buffer_bytes: 0, gradient_bytes: 0, optimizer_state_bytes: 0, activation_bytes: activation, batch_bytes: 0, temporary_bytes: 0, workspace_bytes: 0, rounding_bytes: 0, cached_bytes: cached,
    },
    phases: [], owners: [owner(activation, module)], oom: null, warnings: [], assumptions: [],
  };
}

/** A result that runs out of memory on a T4. */
export function oomResult() {
  const summary = summaryOf({ activation: 14e9, cached: 5e8, more: 2e9, module: "Model_0/Linear_3" });
  const owners = Array.from({ length: 10 }, (_, i) => owner(2e9 - i * 1e8, `Model_0/Sequential_0/Block_${i}/Linear_${3 * i}`, i % 2 ? "aten::mm" : null));
  Object.assign(summary, {
    verdict: "oom", gpu: { name: "T4", total_bytes: 15811477504, usable_bytes: 15444475904 }, minimum_capacity_bytes: 16.2e9, owners,
    oom: {
      bytes: 2e9, at: moment(70.5, "backward", "aten::_log_softmax_backward_data", null), allocated_bytes: 14e9, reserved_bytes: 14.4e9, cached_bytes: 4e8, largest_free_block_bytes: 3e8, retries: 1,
      released_bytes: 67108864, live: owners.slice(0, 5),
    },
    phases: [["parameters", 0, 5], ["forward", 5, 40], ["backward", 40, 90], ["optimizer step", 90, 100]].map(([phase, start_ms, end_ms]) =>
      ({ phase, iteration: 1, start_ms, end_ms, peak_allocated_bytes: 14e9, peak_reserved_bytes: 14.5e9 })),
    warnings: [{ code: "damaged_frame", count: 162, first_offset: 11339604, message: "python frames were skipped" }], assumptions: ["eager PyTorch on one GPU and one stream, default caching allocator"],
  });
  return { summary, text: "{}", curves: sawtooth(summary) };
}

/** Curves with the peaks of a result. */
export function sawtooth(summary) {
  const times = Array.from({ length: 900 }, (_, i) => i / 9);
  const wave = (peak) => ({ timeMs: times, bytes: times.map((time, i) => (i === 450 ? peak : Math.round((peak * ((i * 37) % 100)) / 101))) });
  const steps = (peak) => ({ timeMs: times, bytes: times.map((_, i) => (i < 300 ? Math.round(peak / 2) : peak)) });
  return { allocated: wave(summary.peak.allocated_bytes), reserved: steps(summary.peak.reserved_bytes), tensor: { timeMs: [], bytes: [] }, need: steps(summary.need.reserved_bytes) };
}
