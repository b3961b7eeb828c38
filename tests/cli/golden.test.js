// What is promised about the bundled examples, in numbers: golden.json holds them; `node tests/cli/golden.test.js --update` rewrites it,
// to be read in review. And facts that need no golden file: extrapolation equals the recording, both recording styles agree.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { estimate, examples } from "./run.js";

const GOLDEN = new URL("../data/golden.json", import.meta.url);
const SHARED = new URL("../../../shared/", import.meta.url);
const QUESTIONS = {
  "cnn as recorded at 4": [["cnn-b4.json.gz"]],
  "cnn at 256 on an RTX 4060": [["cnn-b4.json.gz", "cnn-b8.json.gz"], "--batch", 256, "--gpu", "RTX 4060"],
  "cnn at 400 on an RTX 4060, tight": [["cnn-b4.json.gz", "cnn-b8.json.gz"], "--batch", 400, "--gpu", "RTX 4060"],
  "cnn at 512 on an RTX 4060, out of memory": [["cnn-b4.json.gz", "cnn-b8.json.gz"], "--batch", 512, "--gpu", "RTX 4060"],
  "cnn at 64 with Adam in a loop": [["cnn-b4.json.gz", "cnn-b8.json.gz"], "--batch", 64, "--optimizer", "Adam", "--foreach", "off"],
  "transformer as recorded at 4": [["transformer-b4.json.gz"]],
  "transformer at 128 on a T4 with SGD": [["transformer-b4.json.gz", "transformer-b8.json.gz"], "--batch", 128, "--gpu", "T4", "--optimizer", "SGD"],
  "transformer at 128 on an H100, Adafactor": [["transformer-b4.json.gz", "transformer-b8.json.gz"], "--batch", 128, "--gpu", "H100 80GB HBM3", "--optimizer", "Adafactor"],
  "transformer recorded on a schedule": [["transformer-b4-scheduled.json.gz"]],
};
const PROMISED = ["verdict", "peak", "need", "minimum_capacity_bytes", "outside", "gpu", "job", "at_peak"];

function ask([names, ...options]) {
  const result = estimate(examples(...names), ...options);
  const kept = Object.fromEntries(PROMISED.map((key) => [key, result[key]]));
  delete kept.peak.at.time_ms; // of the recording, not of the job
  kept.warnings = result.warnings.map(({ code, count }) => `${code}: ${count}`);
  kept.oom = result.oom && { bytes: result.oom.bytes, op: result.oom.at.op, phase: result.oom.at.phase };
  return kept;
}

if (process.argv.includes("--update")) {
  writeFileSync(GOLDEN, JSON.stringify(Object.fromEntries(Object.entries(QUESTIONS).map(([name, question]) => [name, ask(question)])), null, 1) + "\n");
} else {
  const golden = JSON.parse(readFileSync(GOLDEN));
  for (const [name, question] of Object.entries(QUESTIONS)) test(`golden: ${name}`, () => assert.deepEqual(ask(question), golden[name]));
}

const FIGURES = ["need", "minimum_capacity_bytes", "at_peak"];

function assertSame(a, b) {
  for (const key of FIGURES) assert.deepEqual(a[key], b[key], key);
  for (const key of ["tensor_bytes", "allocated_bytes", "reserved_bytes"]) assert.equal(a.peak[key], b.peak[key], key);
}

test("two small batches extrapolate to the recorded big one, to the byte", () => {
  assertSame(estimate(examples("cnn-b4.json.gz", "cnn-b8.json.gz"), "--batch", 48), estimate(examples("cnn-b48.json.gz")));
  assertSame(estimate(examples("cnn-b8.json.gz", "cnn-b48.json.gz"), "--batch", 4), estimate(examples("cnn-b4.json.gz")));
  assertSame(estimate(examples("cnn-b48.json.gz", "cnn-b4.json.gz"), "--batch", 8), estimate(examples("cnn-b8.json.gz")));
});

test("a profile on a schedule, begun after the model was built, gives the figures of the whole one", () => {
  const whole = estimate(examples("transformer-b4.json.gz")), scheduled = estimate(examples("transformer-b4-scheduled.json.gz"));
  for (const key of FIGURES) assert.deepEqual(scheduled[key], whole[key], key);
  assert.equal(scheduled.job.parameter_bytes, whole.job.parameter_bytes);
  assert.equal(scheduled.job.optimizer_state_bytes, whole.job.optimizer_state_bytes);
});

const BIG = [
  ["MobileNetV2_SGD", "16 32", "MobileNetV2_SGD_b298", 298, "SGD"],
  ["ResNet101_SGD", "16 32", "ResNet101_SGD_b351", 351, "SGD"],
  ["MnasNet_SGD", "16 32", "MnasNet_Adam_b403", 403, "Adam"],
  ["ConvNeXtTiny_SGD", "16 32", "ConvNeXtTiny_Adam_b230", 230, "Adam"],
  ["VGG16_SGD", "16 32", "VGG16_Adagrad_b480", 480, "Adagrad"],
  ["opt-125m_AdamW", "2 4", "opt-125m_AdamW_b15", 15, "AdamW"],
];
const profile = (name) => new URL(`profiles/${name}_z0_full.json.gz`, SHARED).pathname;

for (const [small, batches, big, batch, optimizer] of BIG) {
  test(`extrapolation equals the recording: ${big}`, (context) => {
    if (!existsSync(SHARED)) {
      assert.ok(!process.env.OOMCAST_NEEDS_SHARED, `${SHARED.pathname} is missing`);
      return context.skip("needs ../shared");
    }
    const files = batches.split(" ").map((b) => profile(`${small}_b${b}`));
    assertSame(estimate(files, "--batch", batch, "--optimizer", optimizer), estimate([profile(big)]));
  });
}

test("a profile of 341 MB with damaged frame names gives the figures of its clean twin", (context) => {
  if (!existsSync(SHARED)) {
    assert.ok(!process.env.OOMCAST_NEEDS_SHARED, `${SHARED.pathname} is missing`);
    return context.skip("needs ../shared");
  }
  const naive = estimate([new URL("profiles/big/naive-distilgpt2.json.gz", SHARED).pathname]);
  assertSame(naive, estimate([profile("distilgpt2_AdamW_b4")]));
  assert.ok(naive.warnings.some(({ code }) => code === "damaged_frame") && naive.warnings.some(({ code }) => code === "unescaped_name"));
});
