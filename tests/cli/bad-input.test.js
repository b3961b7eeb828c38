// Files that are no profile: one exact line and exit status 2 on the command line, the same message from the wasm core.
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { CASES, SURVIVORS, example } from "./cases.js";
import { cli, estimate, examples, openSession } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "oomcast-"));
after(() => rmSync(folder, { recursive: true }));

function write(contents, name) {
  return contents.map((bytes, index) => {
    const path = join(folder, `${name.replaceAll(/\W/g, "-")}-${index}`);
    writeFileSync(path, bytes);
    return path;
  });
}

function assertMessage(actual, expected) {
  if (expected instanceof RegExp) assert.match(actual, expected);
  else assert.equal(actual, expected);
}

for (const { name, make, message, file = 0 } of CASES) {
  test(`refused: ${name}`, async () => {
    const contents = make();
    const paths = write(contents, name);
    const { status, stdout, stderr } = cli(["estimate", ...paths, "--json"]);
    assert.equal(status, 2);
    assert.equal(stdout, "");
    assert.equal(stderr.trimEnd().split("\n").length, 1, "one line");
    const prefix = file === null ? "oomcast: " : `oomcast: ${paths[file]}: `;
    assert.ok(stderr.startsWith(prefix), stderr);
    assertMessage(stderr.slice(prefix.length).trimEnd(), message);
    await assert.rejects(openSession(contents), (error) => {
      assertMessage(error.message, message);
      assert.equal(error.profile, file === null ? -1 : file);
      return true;
    });
  });
}

const expected = estimate(examples("cnn-b4.json.gz"));
const FIGURES = ["peak", "need", "minimum_capacity_bytes", "job", "at_peak"];

for (const { name, make, code, loses } of SURVIVORS) {
  test(`loads with the same figures: ${name}`, () => {
    const result = estimate(write([make()], name));
    for (const key of FIGURES) assert.deepEqual(result[key], expected[key], key);
    if (code) assert.ok(result.warnings.some((warning) => warning.code === code && warning.count >= 1), JSON.stringify(result.warnings));
    else assert.deepEqual(result.warnings, []);
    assert.ok(!loses || result.job.batch_size === 4);
  });
}

test("cut off inside the last iteration's memory events: the iterations before it tell the same need", () => {
  const whole = gunzipSync(example("cnn-b4.json.gz"));
  const result = estimate(write([whole.subarray(0, whole.lastIndexOf('"[memory]"') - 20000)], "cut in memory"));
  assert.deepEqual(result.need, expected.need);
  assert.deepEqual(result.job.gradient_bytes, expected.job.gradient_bytes);
  assert.deepEqual(result.warnings.map(({ code }) => code), ["truncated"]);
  assert.match(result.warnings[0].message, /^the file is cut off at byte \d+, inside its memory events: only what was recorded before the last of them is used$/);
});

test("a folder, a missing file, a file without permission", (context) => {
  assert.match(cli(["estimate", folder]).stderr, /^oomcast: .+: Is a directory\n$/);
  const missing = cli(["estimate", join(folder, "nothing.json")]);
  assert.match(missing.stderr, /^oomcast: .+nothing\.json: No such file or directory\n$/);
  assert.equal(missing.status, 2);
  const [path] = write([example("cnn-b4.json.gz")], "locked");
  chmodSync(path, 0);
  if (process.getuid() === 0) return context.diagnostic("skipped: permission, because root may read everything");
  assert.match(cli(["estimate", path]).stderr, /^oomcast: .+: Permission denied\n$/);
});

const WRONG_ARGUMENTS = [
  [[], "no profile given (oomcast --help)"],
  [["a", "b", "c"], "c: two profiles at most, the same job at two batch sizes"],
  [["a", "--bach", "3"], "--bach: unknown option (oomcast --help)"],
  [["a", "--batch"], "--batch: a value is missing (oomcast --help)"],
  [["a", "--batch", "many"], "--batch many: expected a whole number"],
  [["a", "--capacity", "12 parsecs"], "--capacity 12 parsecs: expected a size such as 8318222336, 12GiB or 24GB"],
];
for (const [args, message] of WRONG_ARGUMENTS) {
  test(`wrong arguments: ${args.join(" ") || "none"}`, () => {
    const { status, stderr } = cli(["estimate", ...args]);
    assert.equal(stderr, `oomcast: ${message}\n`);
    assert.equal(status, 2);
  });
}

const WRONG_OPTIONS = [
  [["--gpu", "RTX 9999"], /^unknown GPU "RTX 9999": did you mean .+; `oomcast gpus` lists all, a capacity in bytes works for any other$/],
  [["--gpu", "A100"], /^unknown GPU "A100": did you mean A100-SXM4-40GB, A100-PCIE-40GB, A100-SXM4-80GB, A100 80GB PCIe; /],
  [["--gpu", "T4", "--capacity", "16GiB"], /^give a GPU or a capacity, not both$/],
  [["--optimizer", "Sophia"], /^unknown optimizer "Sophia": known are recorded, SGD, SGD\+momentum, Adam, .+, RMSprop, Adagrad, Adafactor$/],
  [["--batch", "0"], /^option "batch": expected a whole number from 1 to 100000000$/],
  [["--batch", "2.5"], /^option "batch": expected a whole number from 1 to 100000000$/],
  [["--batch", "64"], /^batch 64: one profile tells only its own batch size, 4; give a second profile of the same job at another batch size$/],
  [["--capacity", "300MiB"], /^a capacity of 314572800 bytes leaves nothing after the CUDA context \(367001600\) and the reserve \(0\)$/],
  [["--foreach", "maybe"], /^option "foreach": expected auto, on, off or fused$/],
  [["--optimizer", "RMSprop", "--foreach", "fused"], /^RMSprop has no fused form: use foreach on or off$/],
  [["--zero-grad", "never"], /^option "zero_grad": expected recorded, start, after-forward or after-step$/],
  [["--torch", "latest"], /^option "torch": expected a version of PyTorch such as 2.6$/],
];
for (const [options, message] of WRONG_OPTIONS) {
  test(`options that do not suit: ${options.join(" ")}`, () => {
    const { status, stderr } = cli(["estimate", ...examples("cnn-b4.json.gz"), ...options]);
    assert.match(stderr.replace(/^oomcast: /, "").trimEnd(), message);
    assert.equal(status, 2);
  });
}

test("standard input, help, version", () => {
  const piped = cli(["estimate", "-", "--json"], example("cnn-b4.json.gz"));
  assert.deepEqual(JSON.parse(piped.stdout), expected);
  assert.equal(cli(["--help"]).status, 0);
  assert.match(cli(["--version"]).stdout, /^oomcast \d+\.\d+\.\d+\n$/);
  assert.equal(cli(["estmate"]).status, 2);
});
