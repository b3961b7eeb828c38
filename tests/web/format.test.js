// format.js: the page's figures are rounded as the command line rounds them, and exact where they say so.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as f from "../../web/format.js";

const GIB = 2 ** 30;

test("bytes in words change unit at 1 KiB, 1 MiB and 1 GiB", () => {
  assert.equal(f.formatBytes(0), "0 bytes");
  assert.equal(f.formatBytes(1023), "1,023 bytes");
  assert.equal(f.formatBytes(1024), "1.0 KiB");
  assert.equal(f.formatBytes(18040), "17.6 KiB");
  assert.equal(f.formatBytes(2 ** 20), "1.0 MiB");
  assert.equal(f.formatBytes(148307968), "141.4 MiB");
  assert.equal(f.formatBytes(GIB), "1.00 GiB");
  assert.equal(f.formatBytes(7838315315), "7.30 GiB");
  assert.equal(f.formatBytes(-2 * GIB), "-2.00 GiB");
});

test("exact bytes keep every digit", () => {
  assert.equal(f.formatBoth(7838315315), "7.30 GiB (7,838,315,315 bytes)");
  assert.equal(f.formatBoth(12), "12 bytes");
  assert.equal(f.formatExact(1), "1 byte");
  assert.equal(f.formatExact(Number.MAX_SAFE_INTEGER), "9,007,199,254,740,991 bytes");
});

test("ranges share one unit", () => {
  assert.equal(f.formatRange(7954497536, 7992246272), "7.41 – 7.44 GiB");
  assert.equal(f.formatRange(2 ** 20, 3.5 * 2 ** 20), "1.0 – 3.5 MiB");
});

test("sizes of files are decimal, as file managers show them", () => {
  assert.equal(f.formatMegabytes(165022), "0.2 MB");
  assert.equal(f.formatMegabytes(16944281), "16.9 MB");
  assert.equal(f.formatMegabytes(33), "0.0 kB");
  assert.equal(f.formatProgress(4500000, 16944281), "4.5 of 16.9 MB");
  assert.equal(f.formatProgress(99, 10), "0.0 of 0.0 MB");
  assert.equal(f.formatProgress(4500000, 0), "4.5 MB");
});

test("times", () => {
  assert.equal(f.formatTime(393.76), "393.8 ms");
  assert.equal(f.formatTime(4), "4 ms");
  assert.equal(f.formatTime(4.126), "4.13 ms");
  assert.equal(f.formatTime(12410), "12.41 s");
});

test("shares of nothing are no number", () => {
  assert.equal(f.formatShare(1, 0), "–");
  assert.equal(f.formatShare(468, 1000), "46.8 %");
});

test("sizes in a message of torch are worded as torch does it", () => {
  assert.equal(f.formatTorch(512), "512 bytes");
  assert.equal(f.formatTorch(2048), "2.00 KiB");
  assert.equal(f.formatTorch(160677888), "153.23 MiB");
  assert.equal(f.formatTorch(2097152000), "1.95 GiB");
});

test("an axis is in GiB from 1 GiB on", () => {
  assert.deepEqual(f.axisUnit(GIB), [GIB, "GiB"]);
  assert.deepEqual(f.axisUnit(GIB - 1), [2 ** 20, "MiB"]);
});

test("small counts are words", () => {
  assert.equal(f.plural(1, "file"), "one file");
  assert.equal(f.plural(2, "file"), "two files");
  assert.equal(f.plural(1200, "file"), "1,200 files");
});
