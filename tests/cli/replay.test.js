// Allocator scripts and logs of real GPUs: every address, every new segment, every counter.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { cli } from "./run.js";

const SCRIPTS = new URL("../data/allocator/", import.meta.url).pathname;
const SNAPSHOTS = new URL("../../../shared/traces/snapshots/", import.meta.url).pathname;
const UNKNOWN_START = /^code_location__/; // expandable segments: the state before the log is not in it

const folder = mkdtempSync(join(tmpdir(), "oomcast-replay-"));
after(() => rmSync(folder, { recursive: true }));

function replay(text, ...flags) {
  const path = join(folder, "script.ops");
  writeFileSync(path, text);
  const { status, stdout, stderr } = cli(["replay", ...flags, path]);
  return { status, stdout: stdout.replaceAll(path, "FILE"), stderr: stderr.replaceAll(path, "FILE") };
}

describe("scripts worked out by hand", () => {
  for (const name of readdirSync(SCRIPTS)) {
    it(name, () => {
      const text = readFileSync(join(SCRIPTS, name), "utf8");
      const { status, stdout } = replay(text);
      assert.match(stdout, /^\d+ lines, \d+ addresses, \d+ segments, 0 failed\n$/);
      assert.equal(status, 0);
      const wrong = text.replace(/^(expect_(?!oom)\w+ (?:\w+ )?)(\d+)$/m, (line, head, value) => head + (Number(value) + 512)); // so the checks check
      assert.equal(replay(wrong).status, 1);
    });
  }
});

describe("logs of real GPUs", () => {
  const isThere = existsSync(SNAPSHOTS);
  const logs = isThere ? readdirSync(SNAPSHOTS).filter((name) => name.endsWith(".alloc.jsonl.gz") && !UNKNOWN_START.test(name)) : [];
  it("14 logs are there", (context) => {
    if (!isThere) {
      assert.ok(!process.env.OOMCAST_NEEDS_SHARED, `${SNAPSHOTS} is missing`);
      return context.skip("14 logs need ../shared");
    }
    assert.equal(logs.length, 14);
  });
  for (const name of logs) {
    it(name, () => {
      const { status, stdout } = cli(["replay", "--log", join(SNAPSHOTS, name)]);
      assert.match(stdout, /^\d+ lines, [1-9]\d+ addresses, \d+ segments, 0 failed\n$/);
      assert.equal(status, 0);
    });
  }

  const header = { kind: "header", expandable: false, settings: { max_split_size: -1 }, initial: {
    segments: [{ addr: 4294967296, size: 20971520, type: "large", stream: 0 }], live: [[4294967296, null, 20971000]] } };
  const log = (...entries) => entries.map((entry) => JSON.stringify(entry)).join("\n");
  it("a live block without a size owns the rest that no split leaves; entries are compared with line numbers", () => {
    const entries = [header, { a: "segment_alloc", addr: 8589934592, size: 20971520 }, { a: "alloc", addr: 8589934592, size: 2097152, stream: 3, reserved: 41943040 },
      { a: "free_completed", addr: 4294967296, size: 20971000 }, { a: "segment_free", addr: 4294967296, size: 20971520 },
      { a: "alloc", addr: 8591966208, size: 1000, stream: 3, reserved: 20971520 }];
    const { status, stdout } = replay(gzipSync(log(...entries)), "--log");
    assert.equal(stdout, "FILE:6: address: expected 8591966208, found 2305843009215791104\nFILE:6: reserved: expected 20971520, found 23068672\n" +
      "6 lines, 2 addresses, 1 segments, 2 failed\n");
    assert.equal(status, 1);
  });
  it("an unknown start is refused", () => {
    const { status, stderr } = replay(log({ ...header, initial: { segments: null, live: [] } }), "--log");
    assert.equal(stderr, "oomcast: FILE:1: the state before the log is unknown (as with expandable segments): it cannot be replayed\n");
    assert.equal(status, 2);
  });
  const divided = (divisions) => replay(log({ ...header, settings: { roundup_power2_divisions: divisions } }, { a: "alloc", addr: 1, size: 5 }), "--log").stderr;
  it("divisions that are none", () => {
    const message = "oomcast: FILE:1: roundup_power2_divisions: expected at most 16 powers of two, or 0\n";
    for (const divisions of [[3, 3, 3, 3], [1e300], [-1], ["4"], Array(17).fill(4)])
      assert.equal(divided(divisions), message);
    assert.equal(divided(Array(16).fill(4)), "");
    assert.equal(divided({ 1: 0, 2: 4 }), "");
  });
  it("an address that is given out twice", () => {
    const twice = { a: "alloc", addr: 4294967296, size: 512 };
    assert.equal(replay(log({ ...header, initial: { segments: [], live: [] } }, twice, twice), "--log").stderr,
      "oomcast: FILE:3: the block at 4294967296 is in use already: the log has no free_completed for it\n");
  });
  it("blank lines are no entries", () => {
    const { status, stdout } = replay(`\n \r\n${log(header)}\n\n${log({ a: "alloc", addr: 8589934592, size: 2097152 })}\n\n`, "--log");
    assert.match(stdout, /^FILE:5: address: [^\n]*\n5 lines, 1 addresses, 0 segments, 1 failed\n$/);
    assert.equal(status, 1);
  });
  it("other JSON, other text, nothing", () => {
    assert.equal(replay('{"a":"alloc","addr":5,"size":5}\n', "--log").stderr, "oomcast: FILE:1: no header: expected the settings and the state at the start\n");
    assert.equal(replay("\n\n", "--log").stderr, "oomcast: FILE: the log is empty\n");
    assert.equal(replay('{"kind":"header","initial":{"segments":[],"live":[]}}\n{"b":1}\n', "--log").stderr,
      "oomcast: FILE:2: no log entry: expected an object with a, addr and size\n");
    assert.equal(replay("alloc a 5\n", "--log").stderr, "oomcast: FILE:1: no JSON object: expected an allocator log as JSON lines\n");
    assert.equal(replay("", "--log").stderr, "oomcast: FILE: the log is empty\n");
  });
});

describe("failures", () => {
  const cases = {
    "a request that fails unexpectedly": ["config device_capacity 1048576\nalloc a 512\n", "FILE:2: request: expected to be served, found out of memory\n"],
    "a request that should have failed": ["alloc a 512\nexpect_oom\n", "FILE:2: out of memory: expected, found the request served\n"],
    "a segment that was not needed": ["alloc a 512\nnext_segment 8589934592 2097152\nalloc b 512\n", "FILE:2: new segment: expected 2097152 bytes, found none made\n"],
    "a segment of another size": ["next_segment 8589934592 20971520\nalloc b 512\n", "FILE:1: new segment: expected 20971520 bytes, found 2097152\n"],
    "a release of a segment in use": ["segment 4294967296 2097152 0 small\nalloc b 512\nrelease 4294967296 2097152\n",
      "FILE:3: release of 2097152 bytes at 4294967296: expected a wholly free segment, found none\n"],
    "a segment where another still is": ["segment 4294967296 20971520 0 large\nused a 4294967296 20971520 20971520\nnext_segment 4305453056 20971520\nalloc b 20971520\n" +
      "free a\nfree b\nempty_cache\nalloc c 20971520\nalloc d 20971520\n", "FILE:3: new segment: expected its addresses to be free, found a segment still there\n"],
    "a segment around another": ["segment 4294967296 2097152 0 small\nnext_segment 4292870144 20971520\nalloc b 20971520\nalloc c 512\nfree c\nfree b\nempty_cache\n",
      "FILE:2: new segment: expected its addresses to be free, found a segment still there\n"],
    "a counter": ["alloc a 513\nexpect_allocated 513\n", "FILE:2: allocated: expected 513, found 1024\n"],
  };
  for (const [name, [text, expected]] of Object.entries(cases)) {
    it(name, () => {
      const { status, stdout } = replay(text);
      assert.equal(stdout.slice(0, expected.length), expected);
      assert.match(stdout, /, 1 failed\n$/);
      assert.equal(status, 1);
    });
  }
});

describe("bad input", () => {
  const cases = {
    "grow a 5": 'unknown step "grow"',
    "alloc a": "expected alloc ID BYTES [STREAM], found 2 fields",
    "alloc a b c d e f": "too many fields",
    "free a": "free of a, which is not in use",
    "alloc a 5\nalloc a 5": "a is in use already: free it first, or give another name",
    "alloc a -5": '"-5": expected a whole number, 0 to 70368744177664',
    "alloc a 99999999999999999999": '"99999999999999999999": expected a whole number, 0 to 70368744177664',
    "alloc a 1e9": '"1e9": expected a whole number, 0 to 70368744177664',
    "config device_capacity 0": "device_capacity: a device without memory has no allocator",
    "alloc a 5\nconfig no_caching 1": "no_caching is for a whole program: give it before the first request",
    "segment 4294967296 2097152 0 small\nused a 4294967297 512 512": "no segment has 512 free bytes at 4294967297",
    "config memory_fraction 1.5": 'memory_fraction "1.5": expected a number above 0, at most 1',
    "config max_split_size_mb 10": "allocator option max_split_size_mb:10 is too small, it must be 20 or more",
    "config torch 2.6\nconfig large_segment_size_mb 32": "PyTorch 2.6 has no allocator option large_segment_size_mb: the earliest version known to have it is 2.12",
    "config memory_fraction 0.5\nalloc a 5": "a memory fraction is one of the device's memory: give config device_total BYTES too",
    "config large_segment_size_mb 30\nconfig max_non_split_rounding_mb 20": "allocator option max_non_split_rounding_mb:20 is too small, it must be 30 or more",
    "next_segment 2305843009213693952 512": "a segment needs an address below 2305843009213693952 and a number of bytes",
    "config colour red": 'unrecognized allocator option "colour" (known: max_split_size_mb, expandable_segments, garbage_collection_threshold, ' +
      "roundup_power2_divisions, max_non_split_rounding_mb, large_segment_size_mb, per_process_memory_fraction, backend)",
    "segment 4294967296 1000 0 large": "a segment needs an address below 2305843009213693952 and a multiple of 512 bytes",
    "segment 4294967296 2097152 0 tiny": '"tiny": expected small or large',
    "segment 4294967296 2097152 0 small\nsegment 4294967808 2097152 0 small": "the segment at 4294967808 overlaps another",
    "used a 4294967296 512 512": "no segment has 512 free bytes at 4294967296",
    "expect_addr a 5": "expect_addr of a, which is not in use",
    "expect_colour 5": 'unknown step "expect_colour"',
    "record_stream a 1": "record_stream of a, which is not in use",
    "note fine\n\n# fine\nalloc \0 5": "the line holds a zero byte: this is no script",
  };
  for (const [text, message] of Object.entries(cases)) {
    it(JSON.stringify(text), () => {
      const { status, stdout, stderr } = replay(text + "\n");
      assert.equal(stderr, `oomcast: FILE:${text.split("\n").length}: ${message}\n`);
      assert.equal(stdout, "");
      assert.equal(status, 2);
    });
  }
  it("no file, no such file, damaged gzip", () => {
    assert.equal(cli(["replay"]).stderr, "oomcast: replay takes one script, or --log and one log (oomcast --help)\n");
    assert.equal(cli(["replay", join(folder, "none.ops")]).stderr, `oomcast: ${join(folder, "none.ops")}: No such file or directory\n`);
    assert.equal(replay(gzipSync("alloc a 5\n").subarray(0, 20)).stderr, "oomcast: FILE: the gzip data end too early: copy the file again\n");
  });
});
