// The largest batch: it runs, and what lies above it does not.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cli, estimate, examples } from "./run.js";

const CNN = examples("cnn-b4.json.gz", "cnn-b8.json.gz"), TRANSFORMER = examples("transformer-b4.json.gz", "transformer-b8.json.gz");

function largest(files, ...options) {
  const { status, stdout, stderr } = cli(["max-batch", ...files, ...options, "--json"]);
  assert.notEqual(status, 2, stderr);
  return JSON.parse(stdout);
}

describe("the largest batch", () => {
  for (const [files, ...options] of [[CNN, "--gpu", "RTX 4060"], [CNN, "--gpu", "T4", "--optimizer", "Adam"], [TRANSFORMER, "--gpu", "RTX 4060"],
    [TRANSFORMER, "--capacity", "2GiB", "--alloc-conf", "expandable_segments:True"]]) {
    it(options.join(" "), () => {
      const result = largest(files, ...options);
      const { batch, next, failing_below: below } = result.max_batch;
      assert.equal(result.job.batch_size, batch);
      assert.notEqual(result.verdict, "oom");
      assert.deepEqual({ ...estimate(files, ...options, "--batch", batch), max_batch: null }, { ...result, max_batch: null }, "it is that batch's report");
      for (let above = 1; above <= 16; above++) assert.equal(estimate(files, ...options, "--batch", batch + above).verdict, "oom", `${batch + above}`);
      const failing = estimate(files, ...options, "--batch", batch + 1).oom;
      assert.deepEqual(next, { bytes: failing.bytes, iteration: failing.at.iteration, phase: failing.at.phase, op: failing.at.op, module: failing.at.module });
      const smaller = [];
      for (let less = 1; less <= 16 && less < batch; less++) if (estimate(files, ...options, "--batch", batch - less).verdict === "oom") smaller.push(batch - less);
      assert.equal(below, smaller[0] ?? null);
    });
  }
  it("none at all is a result", () => {
    const { status, stdout } = cli(["max-batch", ...CNN, "--capacity", "400MiB"]);
    assert.match(stdout, /^No batch size runs on this card, not even 1:\nDOES NOT FIT/);
    assert.equal(status, 1);
    assert.equal(largest(CNN, "--capacity", "400MiB").max_batch.batch, 0);
  });
  it("in words", () => {
    assert.match(cli(["max-batch", ...CNN, "--gpu", "RTX 4060"]).stdout, /^Largest batch: \d+\. At \d+ a request for .* fails in backward of iteration 1, aten::\w+\.\n/);
  });
});

describe("what it needs", () => {
  for (const [name, args, message] of [
    ["two profiles", [CNN[0], "--gpu", "T4"], "oomcast: the largest batch needs two profiles of the same job at different batch sizes: one tells only its own\n"],
    ["a card", CNN, "oomcast: the largest batch is one on a card: give a GPU or a capacity\n"],
  ]) {
    it(name, () => {
      const { status, stderr } = cli(["max-batch", ...args]);
      assert.equal(stderr, message);
      assert.equal(status, 2);
    });
  }
});
