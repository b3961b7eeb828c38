// The request sequence against CUDA logs of real training steps: event by event where there is a CPU profile of the same program, and
// totals of whole steps by replaying what was requested.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { cli } from "./run.js";

const TRUTH = new URL("../../../shared/op-truth/", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "oomcast-truth-"));
after(() => rmSync(folder, { recursive: true }));

function needsShared(context) {
  if (existsSync(TRUTH)) return false;
  assert.ok(!process.env.OOMCAST_NEEDS_SHARED, `${TRUTH} is missing`);
  context.skip("needs ../shared");
  return true;
}

const read = (name) => JSON.parse(readFileSync(join(TRUTH, `${name}.json`), "utf8"));

/** Requests of a truth as {bytes (negative: freed), id, label}. */
function truthEvents({ events, labels }) {
  const labelOf = new Map();
  return events.map(([label, bytes, id]) => {
    if (bytes > 0) labelOf.set(id, labels[label]);
    return { bytes, id, label: labelOf.get(id) };
  });
}

/** Requests of a script in the same form. */
function scriptEvents(text) {
  const bytesOf = new Map();
  return text.split("\n").map((line) => line.split(" ")).filter(([verb]) => verb === "alloc" || verb === "free").map(([verb, id, bytes]) => {
    if (verb === "alloc") bytesOf.set(id, Number(bytes));
    return { bytes: verb === "alloc" ? Number(bytes) : -bytesOf.get(id), id };
  });
}

// What only CUDA does there and no general rule of ours makes: the temporaries of advanced indexing with an index on the host and of its
// backward, the first of two IndexBackward0. A CPU profile cannot tell that index from one on the device.
const HOST_COPY = /^index\/to\/_to_copy$/, INDEX_BACKWARD = /^IndexBackward0: _index_put_impl_/, SORT_SCRATCH = /\[sort scratch\]$/;
const HOST_TEMPORARIES = 8; // ours for that backward, as if both indices were on the device: 2 remainders, 2 products, sorted, original, range, scratch
const FORWARD_WORKSPACE = 32 * 2 ** 20;
const HOST_INDEX = 4096; // the arange that indexes: made without a device, it stays on the host; a CPU profile cannot tell

describe("a step of a 2-layer language model on an H100", () => {
  it("every event but those of an index on the host is equal in order, identity and bytes", (context) => {
    if (needsShared(context)) return;
    const script = join(folder, "job.ops");
    const { status, stderr } = cli(["estimate", join(TRUTH, "op-truth-lm-2layers-ctx128.cpu-profile.json.gz"), "--gpu", "H100 80GB HBM3", "--ops", script, "--json"]);
    assert.equal(status, 0, stderr);
    const truth = read("op-truth-lm-2layers-ctx128");
    const all = truthEvents(truth), isSort = (event) => SORT_SCRATCH.test(event.label);
    const firstSort = all.findIndex(isSort), secondSort = all.findLastIndex((event) => isSort(event) && event.bytes > 0);
    assert.ok(firstSort > 0 && firstSort < secondSort);
    const firstIds = new Set(all.slice(0, firstSort + 1).filter((event) => INDEX_BACKWARD.test(event.label)).map((event) => event.id));
    const expected = all.filter((event) => !HOST_COPY.test(event.label) && !firstIds.has(event.id));
    let ours = scriptEvents(readFileSync(script, "utf8"));
    const parameters = truth.config.param_tensors;
    assert.ok(ours.slice(0, parameters).every((event) => event.bytes > 0));
    ours = ours.slice(parameters); // live before the log begins, as is the forward thread's workspace
    ours.splice(ours.findIndex((event) => event.bytes === FORWARD_WORKSPACE), 1);
    const hostIndex = ours.filter((event) => event.bytes === HOST_INDEX);
    assert.equal(hostIndex.length, 2 + 7 + 5); // the first are the indices of max, behind the second the temporaries of both backwards
    ours = ours.filter((event) => event.id !== hostIndex[1].id);
    const scratch = ours.findIndex((event) => event.bytes === 1);
    const hostIds = new Set(ours.slice(0, scratch + 1).filter((event) => event.bytes > 0).slice(-HOST_TEMPORARIES).map((event) => event.id));
    ours = ours.filter((event) => !hostIds.has(event.id));
    const ids = new Map();
    for (const [i, event] of expected.entries()) {
      const what = `event ${i} (${event.bytes > 0 ? "" : "free of "}${event.label}, ${event.bytes} bytes)`;
      assert.equal(ours[i]?.bytes, event.bytes, what);
      if (event.bytes > 0) ids.set(event.id, ours[i].id);
      assert.equal(ours[i].id, ids.get(event.id), `${what}: another tensor`);
    }
    assert.equal(ours.length, expected.length);
    const cudaOnly = new Set(truth.cuda_only_labels);
    const shared = expected.filter((event) => !cudaOnly.has(event.label)).length;
    context.diagnostic(`${shared} events on tensors of both sides, ${expected.length - shared} of ${all.length - shared} that only CUDA makes`);
    assert.equal(shared, 875);
    assert.equal(expected.length - shared, 43);
  });
});

describe("whole steps: what was requested, replayed from the recorded start", () => {
  for (const name of ["op-truth-lm-fullstep-ctx128", "op-truth-lm-fullstep-ctx256", "op-truth-lm-forward-amp-ctx128", "op-truth-bert-inference"]) {
    it(name, (context) => {
      if (needsShared(context)) return;
      const { initial_segments: segments, events, expect } = read(name);
      const lines = [];
      let address = 2 ** 40, count = 0;
      for (const [size, live] of segments) {
        lines.push(`segment ${address} ${size} 0 ${size === 2 ** 21 ? "small" : "large"}`);
        for (const [offset, block, bytes] of live) lines.push(`used before${count++} ${address + offset} ${block} ${bytes}`);
        address += size + 2 ** 21;
      }
      lines.push(`expect_allocated ${expect.initial_allocated}`, `expect_reserved ${expect.initial_reserved}`);
      for (const [, bytes, id] of events) lines.push(bytes > 0 ? `alloc ${id} ${bytes}` : `free ${id}`);
      lines.push(`expect_requested ${expect.initial_live_requested + expect.end_live_requested_over_initial}`);
      lines.push(`expect_allocated ${expect.final_allocated_simulated}`, `expect_reserved ${expect.final_reserved}`);
      const script = join(folder, `${name}.ops`);
      writeFileSync(script, lines.join("\n"));
      const { status, stdout } = cli(["replay", script]);
      assert.match(stdout, / 0 failed\n$/);
      assert.equal(status, 0);
    });
  }
});
