// What only the command line does: its own options, sizes, words and exit status.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { CLI, cli, estimate, examples } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "oomcast-"));
after(() => rmSync(folder, { recursive: true }));
const ONE = examples("cnn-b4.json.gz"), PAIR = examples("cnn-b4.json.gz", "cnn-b8.json.gz");

test("sizes: one letter is binary like the units with i", () => {
  const bytes = (size) => estimate(ONE, "--capacity", size).gpu.total_bytes;
  for (const [size, expected] of [["12G", 12 * 2 ** 30], ["12GiB", 12 * 2 ** 30], ["12 g", 12 * 2 ** 30], ["12GB", 12e9], ["1.5T", 1.5 * 2 ** 40], ["20000M", 20000 * 2 ** 20],
    ["20000000K", 20000000 * 1024], ["8318222336", 8318222336]]) assert.equal(bytes(size), expected, size);
});

for (const size of ["1e10", "0x10", "1e3GiB", "12.5.1G", "-1G", "G", "12GiBs", "inf", "nan"]) {
  test(`no size: ${size}`, () => {
    const { status, stderr } = cli(["estimate", ...ONE, "--reserve", size]);
    assert.equal(stderr, `oomcast: --reserve ${size}: expected a size such as 8318222336, 12GiB or 24GB\n`);
    assert.equal(status, 2);
  });
}

test("recorded batch sizes can be given", () => {
  const doubled = estimate(PAIR, "--recorded-batch", "8,16", "--batch", 32), plain = estimate(PAIR, "--batch", 16);
  assert.deepEqual(doubled.job.recorded_batch_sizes, [8, 16]);
  assert.deepEqual([doubled.peak, doubled.need, doubled.at_peak], [plain.peak, plain.need, plain.at_peak]);
  assert.deepEqual(estimate(PAIR, "--recorded-batch", "2").job.recorded_batch_sizes, [2, 8]);
  assert.deepEqual(estimate(ONE, "--recorded-batch", "100000000").job.recorded_batch_sizes, [100000000]);
});

for (const sizes of ["0", "8,", ",8", "8,16,32", "many", "8,-1", "8 16", "8;16"]) {
  test(`no recorded batch sizes: ${sizes}`, () => {
    const { status, stderr } = cli(["estimate", ...PAIR, "--recorded-batch", sizes]);
    assert.equal(stderr, `oomcast: --recorded-batch ${sizes}: expected one or two whole numbers, such as 8 or 8,16\n`);
    assert.equal(status, 2);
  });
}

test("more recorded batch sizes than profiles are refused", () => {
  const { status, stderr } = cli(["estimate", ...ONE, "--recorded-batch", "4,8"]);
  assert.equal(stderr, "oomcast: --recorded-batch: more sizes than profiles\n");
  assert.equal(status, 2);
});

test("the requests as a script, with version and settings, replay to the same peak", () => {
  const script = join(folder, "requests.ops");
  const { need } = estimate(ONE, "--ops", script, "--torch", "2.12", "--alloc-conf", "large_segment_size_mb:64, per_process_memory_fraction:0.9,roundup_power2_divisions:[1:1,2:2,>:8],max_split_size_mb:80", "--capacity", "24GiB", "--memory-fraction", "0.5");
  const text = readFileSync(script, "utf8");
  assert.match(text, /^note capacity and memory fraction are left out: .*\nconfig torch 2\.12\nconfig alloc_conf large_segment_size_mb:64,roundup_power2_divisions:\[1:1,2:2,>:8\],max_split_size_mb:80\nalloc /);
  writeFileSync(script, `${text}expect_retries 0\nexpect_reserved ${need.reserved_bytes}\n`);
  assert.match(cli(["replay", script]).stdout, /^\d+ lines, 0 addresses, 0 segments, 0 failed\n$/);
});

test("a script has the version that the estimate was made for", () => {
  const script = join(folder, "version.ops"), divisions = ["--alloc-conf", "roundup_power2_divisions:[1:1,2:2,>:8]"];
  for (const torch of [[], ["--torch", "2.13"]]) { // where the last interval begins depends on it
    const { need } = estimate(examples("cnn-b8.json.gz"), "--ops", script, ...divisions, ...torch);
    writeFileSync(script, `${readFileSync(script, "utf8")}expect_reserved ${need.reserved_bytes}\n`);
    assert.match(cli(["replay", script]).stdout, / 0 failed\n$/);
  }
});

test("a recorded batch size beyond all limits is refused", () => {
  for (const size of ["100000001", "99999999999999999999"]) {
    const { status, stderr } = cli(["estimate", ...ONE, "--recorded-batch", size]);
    assert.match(stderr, /a recorded batch size must be from 1 to 100000000/);
    assert.equal(status, 2);
  }
});

test("the curve as CSV, into a file or in place of the words", () => {
  const path = join(folder, "curve.csv");
  const words = cli(["estimate", ...ONE, "--csv", path]);
  assert.equal(words.status, 0);
  assert.match(words.stdout, /^Needs /);
  const piped = cli(["estimate", ...ONE, "--csv", "-"]);
  assert.equal(piped.stdout, readFileSync(path, "utf8"));
  const [head, ...rows] = piped.stdout.trimEnd().split("\n");
  assert.equal(head, "series,time_ms,bytes");
  const highest = Math.max(...rows.map((row) => row.split(",")).filter(([series]) => series === "reserved").map(([, , bytes]) => Number(bytes)));
  assert.equal(highest, estimate(ONE).peak.reserved_bytes);
  assert.ok(!existsSync("-"));
});

test("what cannot be written is trouble, not a verdict", (context) => {
  if (!existsSync("/dev/full")) return context.skip("needs /dev/full");
  for (const args of [["estimate", ...ONE], ["estimate", ...ONE, "--json"], ["estimate", ...ONE, "--csv", "-"], ["gpus"], ["gpus", "--json"], ["--help"], ["--version"],
    ["estimate", ...PAIR, "--batch", "512", "--gpu", "RTX 4060"]]) {
    const full = openSync("/dev/full", "w");
    const { status, stderr } = spawnSync(CLI, args, { stdio: ["ignore", full, "pipe"], encoding: "utf8" });
    closeSync(full);
    assert.equal(status, 2, args.join(" "));
    assert.match(stderr, /^oomcast: (standard output|-): .+\n/);
  }
  assert.equal(cli(["estimate", ...ONE, "--csv", "/dev/full"]).status, 2);
  assert.equal(cli(["estimate", ...ONE, "--csv", join(folder, "no", "such", "folder.csv")]).status, 2);
});

const bytesIn = (words) => [...words.matchAll(/\(([\d,]+) bytes\)/g)].map(([, digits]) => Number(digits.replaceAll(",", "")));

test("out of memory tells the least that would do", () => {
  const flags = ["--batch", 512, "--gpu", "RTX 4060"];
  const { status, stdout } = cli(["estimate", ...PAIR, ...flags]);
  const [headline] = stdout.split("\n"), result = estimate(PAIR, ...flags);
  assert.equal(status, 1);
  assert.match(headline, /^DOES NOT FIT on .+: out of memory\. It needs at least .+, and .+ to run without releasing its cache; usable are .+\.$/);
  assert.deepEqual(bytesIn(headline), [result.minimum_capacity_bytes, result.need.reserved_bytes, result.gpu.usable_bytes]);
  assert.ok(result.minimum_capacity_bytes > result.gpu.usable_bytes);
});

test("no more than the card has is shown as used", () => {
  const line = (stdout) => bytesIn(stdout.split("\n").find((text) => text.includes("as nvidia-smi shows it")))[0];
  const { peak, gpu } = estimate(PAIR, "--batch", 512, "--gpu", "RTX 4060");
  assert.equal(line(cli(["estimate", ...PAIR, "--batch", 512, "--gpu", "RTX 4060"]).stdout), Math.min(peak.device_bytes, gpu.total_bytes));
  const capacity = 400 * 2 ** 20, tight = cli(["estimate", ...PAIR, "--capacity", "400MiB"]).stdout;
  assert.ok(line(tight) <= capacity, tight);
});

test("help is there after a command too", () => {
  const { status, stdout } = cli(["estimate", "--help"]);
  assert.equal(status, 0);
  assert.equal(stdout, cli(["--help"]).stdout);
  assert.equal(cli(["estimate", ...ONE, "-h"]).stdout, stdout);
  for (const word of ["--recorded-batch", "SGD+momentum", "Adadelta"]) assert.ok(stdout.includes(word), word);
});

test("cards are found by what they are called", () => {
  for (const [name, expected] of [["Tesla T4", "T4"], ["rtx3090", "GeForce RTX 3090"], ["4090", "GeForce RTX 4090"], ["nvidia geforce rtx 4060", "GeForce RTX 4060"]]) {
    assert.equal(estimate(ONE, "--gpu", name).gpu.name, expected, name);
  }
});

test("every optimizer of the help can be asked for", () => {
  const copies = { "SGD": 0, "SGD+momentum": 1, "Adam": 2, "Adam+amsgrad": 3, "AdamW": 2, "AdamW+amsgrad": 3, "NAdam": 2, "RAdam": 2, "Adamax": 2, "Adadelta": 2, "RMSprop": 1, "Adagrad": 1 };
  const { parameter_bytes } = estimate(ONE).job;
  for (const [name, count] of Object.entries(copies)) assert.equal(estimate(ONE, "--optimizer", name).job.optimizer_state_bytes, count * parameter_bytes, name);
  assert.ok(estimate(ONE, "--optimizer", "Adafactor").job.optimizer_state_bytes < parameter_bytes);
});
