// The command line and the wasm core print the same bytes; the verdict sets the exit status.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { cli, examples, openSession } from "./run.js";

const CNN = ["cnn-b4.json.gz", "cnn-b8.json.gz"], TRANSFORMER = ["transformer-b4.json.gz", "transformer-b8.json.gz"];
const QUESTIONS = [
  [CNN.slice(0, 1), {}, 0],
  [CNN, { batch: 256, gpu: "RTX 4060" }, 0, "fits"],
  [CNN, { batch: 370, gpu: "RTX 4060" }, 0, "tight"],
  [CNN, { batch: 512, gpu: "RTX 4060", optimizer: "Adam" }, 1, "oom"],
  [TRANSFORMER, { batch: 64, capacity_bytes: 12622168064, optimizer: "Adagrad", foreach: "off" }, 0, "fits"],
  [TRANSFORMER, { batch: 333, gpu: "T4", optimizer: "adamw", zero_grad: "after-step", reserve_bytes: 1 << 30 }, 0, "fits"],
  [TRANSFORMER, { batch: 333, gpu: "Tesla T4", optimizer: "SGD+momentum" }, 0, "fits"],
  [TRANSFORMER, { batch: 500, gpu: "Tesla T5" }, 2],
  [TRANSFORMER, { task: "max_batch", gpu: "T4" }, 0, "tight"],
  [["transformer-b4-scheduled.json.gz"], { gpu: "H100 80GB HBM3" }, 0, "fits"],
];
const FLAGS = { batch: "--batch", gpu: "--gpu", capacity_bytes: "--capacity", optimizer: "--optimizer", foreach: "--foreach", zero_grad: "--zero-grad",
  reserve_bytes: "--reserve" };

for (const [names, options, status, verdict] of QUESTIONS) {
  test(`same bytes: ${names.join(" ")} ${JSON.stringify(options)}`, async () => {
    const flags = Object.entries(options).filter(([key]) => key !== "task").flatMap(([key, value]) => [FLAGS[key], value]);
    const native = cli([options.task ? "max-batch" : "estimate", ...examples(...names), ...flags, "--json"]);
    assert.equal(native.status, status);
    const session = await openSession(examples(...names).map((path) => readFileSync(path)));
    if (status === 2) {
      assert.throws(() => session.simulate(options), (error) => native.stderr === `oomcast: ${error.message}\n`);
    } else {
      session.simulate(options);
      assert.equal(`${session.summaryText()}\n`, native.stdout);
      assert.equal(JSON.parse(native.stdout).verdict, verdict ?? null);
    }
    session.close();
  });
}

test("the GPU catalogue is the same", async () => {
  const session = await openSession(examples("cnn-b4.json.gz").map((path) => readFileSync(path)));
  session.close();
  const { Engine } = await import("../../wasm/engine.js");
  const engine = await Engine.load(readFileSync(process.env.OOMCAST_WASM ?? new URL("../../build/site/wasm/oomcast.wasm", import.meta.url)));
  assert.deepEqual(engine.gpus(), JSON.parse(cli(["gpus", "--json"]).stdout));
  assert.ok(engine.gpus().length >= 95);
});

test("a failed question keeps the last answer", async () => {
  const session = await openSession(examples("cnn-b4.json.gz").map((path) => readFileSync(path)));
  session.simulate({ gpu: "T4" });
  const before = session.summaryText();
  assert.throws(() => session.simulate({ gpu: "no such card" }), { code: "options" });
  assert.equal(session.summaryText(), before);
  assert.ok(session.columns(2)[1].length > 10);
  session.close();
});
