// views/words.js, views/oom.js and views/gpus.js where they need no DOM: what the page says about a result.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findGpus } from "../../web/views/gpus.js";
import { torchMessage } from "../../web/views/oom.js";
import { commandText, placeText, scalingText, shortBytes, verdictReason, verdictText } from "../../web/views/words.js";
import { DEFAULTS } from "../../web/state.js";
import { oomResult, summaryOf } from "./samples.js";

test("verdicts in words", () => {
  const oom = oomResult().summary;
  assert.deepEqual(verdictText(oom), ["Does not fit", "short by 720.5 MiB on T4"]);
  assert.equal(shortBytes(oom), 16.2e9 - 15444475904);
  assert.equal(verdictReason(oom), "PyTorch needs at least 15.09 GiB here; 14.38 GiB of the card are usable.");
  const none = summaryOf({ activation: 3 * 2 ** 30, cached: 0, more: 0, module: null });
  assert.match(verdictText(none)[1], /needs 3\.00 GiB/);
  const fits = { ...none, verdict: "fits", gpu: { name: null, total_bytes: 8 * 2 ** 30, usable_bytes: 7 * 2 ** 30 } };
  assert.deepEqual(verdictText(fits), ["Fits", "4.00 GiB to spare on a card of 8.00 GiB"]);
  assert.equal(verdictReason(fits), "");
  const tight = { ...fits, verdict: "tight", need: { allocated_bytes: 0, reserved_bytes: 7.5 * 2 ** 30 } };
  assert.match(verdictReason(tight), /would reserve 7\.50 GiB/);
  assert.match(verdictReason({ ...tight, need: none.need }), /high end/);
});

test("where the peak is", () => {
  assert.equal(placeText(oomResult().summary.oom.at), "backward of iteration 1, in aten::_log_softmax_backward_data, at 70.5 ms");
  assert.equal(placeText({ time_ms: 1, iteration: 1, phase: "parameters", op: "aten::empty", module: "M_0" }), "while the model is built, in aten::empty of M_0, at 1 ms");
  assert.equal(scalingText(oomResult().summary), "from the recordings at batch 4 and 8");
});

test("the predicted failure reads like PyTorch's own message", () => {
  assert.equal(torchMessage(oomResult().summary),
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.86 GiB. GPU 0 has a total capacity of 14.73 GiB of which 996.09 MiB is free. Including non-PyTorch memory, " +
    "this process has 13.75 GiB memory in use. Of the allocated memory 13.04 GiB is allocated by PyTorch, and 381.47 MiB is reserved by PyTorch but unallocated.");
});

test("the command that gives the same answer", () => {
  const files = [{ name: "job-b2.json.gz" }, { name: "it's b4.json.gz" }];
  assert.equal(commandText(files, { ...DEFAULTS, batch: 64, gpu: "GeForce RTX 4060", optimizer: "AdamW", foreach: "off", zeroGrad: "start", reserveText: "1GiB", torch: "2.6" }),
    "oomcast estimate job-b2.json.gz 'it'\\''s b4.json.gz' --batch 64 --gpu 'GeForce RTX 4060' --optimizer AdamW --foreach off --zero-grad start --reserve 1GiB --torch 2.6");
  assert.equal(commandText([{ name: "a.json" }], { ...DEFAULTS, batch: 64, gpu: "custom", capacityText: "12 GiB" }), "oomcast estimate a.json --capacity '12 GiB'");
  assert.equal(commandText([{ name: "a.json" }], { ...DEFAULTS, gpu: "none" }), "oomcast estimate a.json");
});

test("cards are found by name, alias, class and size", () => {
  const gpu = (name, group, marketed_gib, aliases = "", architecture = "Ada", vendor = "NVIDIA") => ({ name, group, marketed_gib, aliases, architecture, vendor });
  const gpus = [gpu("GeForce RTX 4090", "consumer", 24, "NVIDIA GeForce RTX 4090|RTX 4090"), gpu("GeForce RTX 4060", "consumer", 8), gpu("L4", "data-centre", 24), gpu("Instinct MI300X", "amd", 192, "", "CDNA3", "AMD")];
  const names = (text) => findGpus(gpus, text).map(({ name }) => name);
  assert.deepEqual(names("4090"), ["GeForce RTX 4090"]);
  assert.deepEqual(names("24 GB"), ["GeForce RTX 4090", "L4"]);
  assert.deepEqual(names("24gib data"), ["L4"]);
  assert.deepEqual(names("4GB"), [], "not the end of 24GB");
  assert.deepEqual(names("  "), []);
  assert.deepEqual(names("amd"), ["Instinct MI300X"]);
});
