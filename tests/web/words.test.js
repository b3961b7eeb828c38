// views/words.js, views/oom.js, views/gpus.js and views/controls.js where they need no DOM: what the page says about a result.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { keyedBatch } from "../../web/views/controls.js";
import { findGpus } from "../../web/views/gpus.js";
import { explain, torchMessage } from "../../web/views/oom.js";
import { largestText, commandText, deviceLimit, fractionCall, jobLine, momentText, placeText, shortBytes, verdictReason, verdictText } from "../../web/views/words.js";
import { DEFAULTS, OPTIMIZERS } from "../../web/state.js";
import { oomResult, summaryOf } from "./samples.js";

test("verdicts in words", () => {
  const oom = oomResult().summary;
  assert.deepEqual(verdictText(oom), ["Does not fit", "short by 720.5 MiB on T4"]);
  assert.equal(shortBytes(oom), 16.2e9 - 15444475904);
  assert.equal(verdictReason(oom), "PyTorch needs at least 15.09 GiB here (15.37 GiB if it should never have to give cached memory back); 14.38 GiB of the card are usable.");
  const none = summaryOf({ activation: 3 * 2 ** 30, cached: 0, more: 0, module: null });
  assert.match(verdictText(none)[1], /needs 3\.00 GiB/);
  const fits = { ...none, verdict: "fits", gpu: { name: null, total_bytes: 8 * 2 ** 30, usable_bytes: 7 * 2 ** 30 } };
  assert.deepEqual(verdictText(fits), ["Fits", "4.00 GiB to spare on a card of 8.00 GiB"]);
  assert.equal(verdictReason(fits), "");
  const tight = { ...fits, verdict: "tight", need: { allocated_bytes: 0, reserved_bytes: 7.5 * 2 ** 30 } };
  assert.match(verdictReason(tight), /would reserve 7\.50 GiB/);
  assert.match(verdictText(tight)[1], /only by giving cached memory back/);
  const near = { ...tight, need: none.need, band: { ...none.band, high_bytes: 7.2 * 2 ** 30 } };
  assert.match(verdictReason(near), /high end of the estimate, 7\.20 GiB, is above the 7\.00 GiB/);
  assert.match(verdictText(near)[1], /^only just: /);
  assert.match(verdictReason({ ...near, band: none.band }), /order of device addresses/);
});

test("out of memory though less would do is told as fragmentation, never as a lack", () => {
  const { summary } = oomResult();
  const borderline = { ...summary, minimum_capacity_bytes: summary.gpu.usable_bytes - 40 * 2 ** 20 };
  assert.equal(shortBytes(borderline), 0);
  assert.deepEqual(verdictText(borderline), ["Does not fit", "out of memory on T4, by fragmentation alone"]);
  assert.match(verdictReason(borderline), /^With 14\.38 GiB usable it runs out because of fragmentation, though it would run under a limit that is 40\.0 MiB lower \(14\.34 GiB\)/);
  const texts = [verdictText(borderline)[1], verdictReason(borderline), ...explain(borderline, false)].join("\n");
  assert.match(texts, /Fragmentation decides here/);
  assert.doesNotMatch(texts, /short by|must go|not fragmentation|needs at least/);
  assert.match(explain(summary, false).join("\n"), /at least 720\.5 MiB must go/);
  assert.match(explain(summary, false).join("\n"), /simulated at once/);
  assert.doesNotMatch(explain(summary, true).join("\n"), /simulated at once/, "nothing can be changed in a link");
});

test("the call that sets the smallest limit does so within one segment's step", () => {
  for (const [totalBytes, minimumBytes] of [[15811477504, 15402532864], [84987084800, 123456789], [25393364992, 25000000001], [8318222336, 8318222336]]) {
    const fraction = Number(/\((.+)\)$/.exec(fractionCall({ gpu: { total_bytes: totalBytes }, minimum_capacity_bytes: minimumBytes }))[1]);
    const limit = Math.floor(fraction * totalBytes);
    assert.ok(fraction <= 1 && limit >= minimumBytes && limit < minimumBytes + 2 ** 21, `${fraction} of ${totalBytes}`);
  }
});

test("no process shows more than the card has", () => {
  const { summary } = oomResult();
  assert.equal(deviceLimit(summary), summary.gpu.total_bytes, "with nothing kept for others");
  assert.equal(deviceLimit({ ...summary, gpu: { ...summary.gpu, usable_bytes: summary.gpu.usable_bytes - 2 ** 30 } }), summary.gpu.total_bytes - 2 ** 30);
  assert.equal(deviceLimit({ ...summary, gpu: null }), Infinity);
});

test("where the peak is", () => {
  assert.equal(placeText(oomResult().summary.oom.at), "in backward of iteration 1, by aten::_log_softmax_backward_data, at 70.5 ms");
  assert.equal(placeText({ time_ms: 1, iteration: 1, phase: "parameters", op: "aten::empty", module: "M_0" }), "while the model is built, by aten::empty of M_0, at 1 ms");
  assert.equal(momentText({ phase: "other", iteration: 2 }), "in iteration 2, outside its phases");
  const { job } = oomResult().summary;
  assert.equal(jobLine({ job }), "batch 4 (from the recordings at batch 4 and 8), AdamW");
  assert.equal(jobLine({ job: { ...job, scaling: "recorded", optimizer: null } }), "batch 4 (as recorded)");
  assert.equal(jobLine({ job: { ...job, batch_size: null, recorded_batch_sizes: [] } }), "batch size not seen in the profile, AdamW");
});

test("the predicted failure reads like PyTorch's own message", () => {
  assert.equal(torchMessage(oomResult().summary),
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.86 GiB. GPU 0 has a total capacity of 14.73 GiB of which 996.09 MiB is free. Including non-PyTorch memory, " +
    "this process has 13.75 GiB memory in use. Of the allocated memory 13.04 GiB is allocated by PyTorch, and 381.47 MiB is reserved by PyTorch but unallocated.");
});

test("the largest batch, and what stops the next", () => {
  const next = { bytes: 74022912, iteration: 1, phase: "backward", op: "aten::threshold_backward", module: null };
  assert.equal(largestText({ batch: 501, failing_below: null, next }), "Largest batch that runs: 501. At 502 a request for 70.6 MiB fails in backward of iteration 1.");
  assert.match(largestText({ batch: 501, failing_below: 498, next }), /Not every smaller one runs: 498 does not\.$/);
  assert.equal(largestText({ batch: 0, failing_below: null, next }), "No batch size runs on this card, not even 1.");
  assert.equal(largestText({ batch: 1e8, failing_below: null, next: null }), "Largest batch that runs: 100000000.");
  assert.equal(largestText(null), "");
});

test("the command that gives the same answer", () => {
  const files = [{ name: "job-b2.json.gz" }, { name: "it's b4.json.gz" }];
  assert.equal(commandText(files, { ...DEFAULTS, batch: 64, gpu: "GeForce RTX 4060", optimizer: "AdamW", foreach: "off", zeroGrad: "start", reserveText: "1GiB", torch: "2.6", allocConf: "roundup_power2_divisions:[256:1,>:4]" }),
    "oomcast estimate job-b2.json.gz 'it'\\''s b4.json.gz' --batch 64 --gpu 'GeForce RTX 4060' --optimizer AdamW --foreach off --zero-grad start --reserve 1GiB --torch 2.6 --alloc-conf 'roundup_power2_divisions:[256:1,>:4]'");
  assert.equal(commandText([{ name: "a.json" }], { ...DEFAULTS, batch: 64, gpu: "custom", capacityText: "12 GiB" }), "oomcast estimate a.json --capacity '12 GiB'");
  assert.equal(commandText([{ name: "a.json" }], { ...DEFAULTS, gpu: "none" }), "oomcast estimate a.json");
  const given = [{ name: "a.json", batch: null }, { name: "b.json", batch: 32 }];
  assert.equal(commandText(given, { ...DEFAULTS, batch: 64, gpu: "none", optimizer: "SGD+momentum" }, [16, 32]), "oomcast estimate a.json b.json --recorded-batch 16,32 --batch 64 --optimizer SGD+momentum");
});

test("cards are found by name, alias, class and size", () => {
  const gpu = (name, group, marketed_gib, aliases = "", architecture = "Ada", vendor = "NVIDIA") => ({ name, group, marketed_gib, aliases, architecture, vendor });
  const gpus = [gpu("GeForce RTX 4090", "consumer", 24, "NVIDIA GeForce RTX 4090|RTX 4090"), gpu("GeForce RTX 4060", "consumer", 8), gpu("L4", "data-centre", 24), gpu("Instinct MI300X", "amd", 192, "", "CDNA3", "AMD")];
  const names = (text) => findGpus(gpus, text).map(({ name }) => name);
  assert.deepEqual(names("4090"), ["GeForce RTX 4090"]);
  assert.deepEqual(names("24 GB"), ["L4", "GeForce RTX 4090"], "of equals the shorter name first");
  assert.deepEqual(names("24gib data"), ["L4"]);
  assert.deepEqual(names("4GB"), [], "not the end of 24GB");
  assert.deepEqual(names("  "), []);
  assert.deepEqual(names("amd"), ["Instinct MI300X"]);
});

test("of the cards found the likeliest is first: spaces, brands and case do not matter", () => {
  const core = readFileSync(new URL("../../core/gpus.c", import.meta.url), "utf8");
  const rows = [...core.matchAll(/^ {4}\{"([^"]*)", "([^"]*)", "([^"]*)", "([^"]*)", "[^"]*", (\d+), .*"([^"]*)"\},$/gm)];
  const gpus = rows.map(([, name, vendor, group, architecture, size, aliases]) => ({ name, vendor, group, architecture, marketed_gib: Number(size), aliases }));
  assert.ok(gpus.length > 80, "the catalogue of core/gpus.c");
  for (const { name } of gpus) assert.equal(findGpus(gpus, name.toUpperCase())[0].name, name, "every card is first for its own name");
  const wanted = {
    rtx3090: "GeForce RTX 3090", "RTX-3090": "GeForce RTX 3090", "3090 ti": "GeForce RTX 3090 Ti", "tesla t4": "T4", "nvidia tesla t4": "T4", 4090: "GeForce RTX 4090", "a100 80": /^A100.*80GB/,
    "A100 80 GB": /^A100.*80GB/, "3060 12": "GeForce RTX 3060 12GB", "NVIDIA GeForce RTX 4060": "GeForce RTX 4060", gtx1080ti: "GeForce GTX 1080 Ti", "v100 16gb": "V100-SXM2-16GB", l4: "L4", a10: "A10",
    "mi 300x": "Instinct MI300X", "rtx 6000 ada generation": "RTX 6000 Ada",
  };
  for (const [text, name] of Object.entries(wanted)) {
    const [first] = findGpus(gpus, text);
    if (name instanceof RegExp) assert.match(first?.name ?? "", name, text);
    else assert.equal(first?.name, name, text);
  }
});

test("the list of optimizers is that of the core", () => {
  const core = readFileSync(new URL("../../core/optimizers.c", import.meta.url), "utf8");
  const names = [...core.matchAll(/^ {4}\{"([A-Za-z+]+)", -?\d/gm)].map((match) => match[1]);
  assert.ok(names.length >= 13);
  assert.deepEqual([...OPTIMIZERS].sort(), ["recorded", ...names].sort());
});

test("the slider's keys move by batch sizes: one up to 64, even figures above, never beyond its ends", () => {
  const moves = [["ArrowRight", 1, 2], ["ArrowLeft", 1, 1], ["ArrowUp", 63, 64], ["ArrowDown", 64, 63], ["ArrowRight", 64, 66], ["ArrowLeft", 66, 64], ["ArrowRight", 1000, 1008],
    ["PageUp", 5, 10], ["PageDown", 5, 2], ["PageDown", 1, 1], ["PageUp", 700, 1024], ["Home", 500, 1], ["End", 3, 1024], ["ArrowRight", 1024, 1024]];
  for (const [key, batch, next] of moves) assert.equal(keyedBatch(key, batch, 1024), next, `${key} at ${batch}`);
  assert.equal(keyedBatch("Tab", 5, 1024), null);
});
