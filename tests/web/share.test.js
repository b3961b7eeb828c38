// share.js and curve.js: what goes into a link comes out again, and whatever else stands in an address is refused in plain words.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { indexAt, packCurves, reduceCurve, unpackCurves } from "../../web/curve.js";
import { carried, OPTIMIZER_WORDS } from "../../web/share-fields.js";
import { crc32, decodeLink, encodeLink, fromBase64url, LinkError, toBase64url } from "../../web/share.js";
import { DEFAULTS, FOREACH, OPTIMIZERS, ZERO_GRAD } from "../../web/state.js";
import { oomResult, sawtooth, summaryOf } from "./samples.js";

const open = async (shown) => decodeLink(`#${await encodeLink(shown)}`);
const shownOf = (summary, settings = DEFAULTS, inputs = [{ name: "job-b2.json.gz", sizeBytes: 12345 }]) => ({ inputs, example: "", result: { summary, text: "{}", settings, curves: sawtooth(summary) } });

test("a result survives the link: verdict, figures, owners, texts, settings, files", async () => {
  const { summary } = oomResult();
  const settings = { gpu: "T4", capacityText: "24GiB", batch: 300, optimizer: "AdamW", foreach: "off", zeroGrad: "start", reserveText: "500MiB", torch: "2.6", allocConf: "expandable_segments:True" };
  const inputs = [{ name: "job-b2.json.gz", sizeBytes: 12345 }, { name: "jöb «4».json.gz", sizeBytes: 2 ** 40, batch: 32 }];
  const opened = await open(shownOf(summary, settings, inputs));
  assert.deepEqual(opened.inputs, [{ ...inputs[0], batch: null }, inputs[1]]);
  assert.deepEqual(opened.result.settings, settings);
  for (const key of ["verdict", "peak", "need", "minimum_capacity_bytes", "band", "outside", "gpu", "job", "at_peak", "oom", "warnings", "assumptions", "owners", "phases"])
    assert.deepEqual(opened.result.summary[key], summary[key], key);
});

test("a link to a GPU recording tells that it is one", async () => {
  const { summary } = oomResult();
  assert.equal((await open(shownOf(summary))).result.summary.recording, null);
  const recording = { device: "hip", device_id: 3, devices: 4, events: 26770, before_bytes: 2 ** 33, is_simulated: true };
  assert.deepEqual((await open(shownOf({ ...summary, recording }))).result.summary.recording, recording);
});

test("the curve of a link has the exact peaks and stays close everywhere else", async () => {
  const { summary } = oomResult();
  const shown = shownOf(summary);
  const { curves } = (await open(shown)).result;
  assert.equal(Math.max(...curves.allocated.bytes), summary.peak.allocated_bytes);
  assert.equal(Math.max(...curves.reserved.bytes), summary.peak.reserved_bytes);
  assert.equal(Math.max(...curves.need.bytes), summary.need.reserved_bytes);
  const scale = summary.need.reserved_bytes;
  const original = shown.result.curves.reserved;
  for (let i = 0; i < original.timeMs.length; i += 7) {
    if (Math.abs(original.timeMs[i] - 33) < 2) continue; // the one jump
    const at = indexAt(curves.reserved, original.timeMs[i] + 1);
    assert.ok(Math.abs(curves.reserved.bytes[at] - original.bytes[i]) <= scale / 900, `at ${original.timeMs[i]} ms`);
  }
});

test("a phase that begins before the first event survives the link, as scheduled recordings have it", async () => {
  const { summary } = oomResult();
  summary.phases[0].start_ms = -0.061;
  assert.equal((await open(shownOf(summary))).result.summary.phases[0].start_ms, -0.06);
});

test("a link is short", async () => {
  const { summary } = oomResult();
  const fragment = await encodeLink(shownOf(summary));
  assert.ok(fragment.length < 2200, `${fragment.length} characters`);
  assert.match(fragment, /^r=1\.[A-Za-z0-9_-]+$/);
});

test("a link of the first version still opens: words and fields have only been added", async () => {
  const opened = await decodeLink(readFileSync(new URL("./old-link.txt", import.meta.url), "utf8").trim());
  const { summary } = oomResult();
  assert.deepEqual(opened.inputs, [{ name: "job-b2.json.gz", sizeBytes: 12345, batch: null }, { name: "job-b4.json.gz", sizeBytes: 23456, batch: null }]);
  assert.deepEqual(opened.result.settings, { gpu: "T4", capacityText: "24GiB", batch: 300, optimizer: "Adafactor", foreach: "off", zeroGrad: "start", reserveText: "500MiB", torch: "2.6", allocConf: "" });
  assert.deepEqual(opened.result.summary.peak, summary.peak);
  assert.deepEqual(opened.result.summary.oom, summary.oom);
  assert.deepEqual(OPTIMIZER_WORDS.slice(0, 7), ["recorded", "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adafactor"]);
  assert.deepEqual([...OPTIMIZER_WORDS].sort(), [...OPTIMIZERS].sort(), "a link can carry every optimizer of the list");
});

test("any settings and any plausible figures come back as they were", async () => {
  const bytes = fc.integer({ min: 0, max: 2 ** 45 });
  const text = fc.string({ maxLength: 60 }).map((value) => value.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, ""));
  const settingsOf = fc.record({
    gpu: text, capacityText: fc.constantFrom("12GiB", "", "x"), batch: fc.option(fc.integer({ min: 1, max: 1e8 })), optimizer: fc.constantFrom(...OPTIMIZERS),
    foreach: fc.constantFrom(...FOREACH), zeroGrad: fc.constantFrom(...ZERO_GRAD), reserveText: fc.constantFrom("", "1GB"), torch: fc.constantFrom("", "2.6"),
    allocConf: fc.constantFrom("", "max_split_size_mb:128,roundup_power2_divisions:[256:1,>:4]"),
  }, { noNullPrototype: true });
  const well = (value) => (value.isWellFormed ? value.isWellFormed() : !/[\ud800-\udfff]/.test(value));
  await fc.assert(fc.asyncProperty(settingsOf, bytes, bytes, bytes, text, async (settings, activation, cached, more, module) => {
    fc.pre(well(settings.gpu) && well(module));
    const summary = summaryOf({ activation, cached, more, module });
    const opened = await open(shownOf(summary, settings));
    assert.deepEqual(opened.result.settings, settings);
    assert.deepEqual(opened.result.summary.peak, summary.peak);
    assert.deepEqual(opened.result.summary.owners, summary.owners);
    assert.deepEqual(opened.result.summary.at_peak, summary.at_peak);
  }), { numRuns: 60 });
});

test("an address without a link is none", async () => {
  assert.equal(await decodeLink(""), null);
  assert.equal(await decodeLink("#"), null);
});

test("whatever else stands behind the # is refused with a sentence, never a crash", async () => {
  const good = await encodeLink(shownOf(oomResult().summary));
  const refuse = (fragment, pattern = /damaged/) => assert.rejects(decodeLink(fragment), (error) => {
    assert.ok(error instanceof LinkError, `${error}`);
    assert.match(error.message, pattern);
    assert.match(error.message, /[.]$/);
    return true;
  });
  await refuse("#garbage", /no link of oomcast/);
  await refuse("#r=2.AAAA", /format 2/);
  await refuse("#r=99999999999999999999.AAAA", /format 999999999,/);
  await refuse(`#r=1.${"A".repeat(70000)}`, /too long/);
  await refuse("#r=1.");
  await refuse("#r=1.AAAAAAAAAAAA");
  await refuse("#r=1.%3Cscript%3E");
  await refuse(`#${good.slice(0, -1)}`);
  await refuse(`#${good.slice(0, good.length / 2)}`);
});

test("a link changed in one character is refused, or it says the same: only the bits that fill up its last byte are free", async () => {
  const good = await encodeLink(shownOf(oomResult().summary));
  const same = await decodeLink(good);
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  await fc.assert(fc.asyncProperty(fc.integer({ min: 4, max: good.length - 1 }), fc.constantFrom(...alphabet), async (at, character) => {
    fc.pre(good[at] !== character);
    const opened = await decodeLink(`#${good.slice(0, at)}${character}${good.slice(at + 1)}`).catch((error) => error);
    if (!(opened instanceof LinkError)) assert.deepEqual(opened, same);
    if (at < good.length - 2) assert.ok(opened instanceof LinkError);
  }), { numRuns: 150 });
});

test("random bytes are never a link", async () => {
  await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => assert.rejects(decodeLink(`#r=1.${toBase64url(bytes)}`), LinkError)));
});

/** A link with a right checksum around a payload of one's own, as an attacker would make it. */
function forge(json, curves = [0, 0, 0]) {
  const text = Buffer.from(typeof json === "string" ? json : JSON.stringify(json));
  const length = text.length < 128 ? [text.length] : [(text.length % 128) + 128, Math.floor(text.length / 128)];
  const payload = Buffer.concat([Buffer.from(length), text, Buffer.from(curves)]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(payload));
  return `#r=1.${Buffer.concat([sum, deflateRawSync(payload)]).toString("base64url")}`;
}

test("a forged link with a right checksum is refused for every wrong field", async () => {
  const packed = () => carried.pack({ inputs: [], example: "", settings: DEFAULTS, summary: summaryOf({ activation: 1000, cached: 24, more: 0, module: "m" }), endMs: 100 });
  assert.ok(await decodeLink(forge(packed())), "the forger's own link is good");
  const changes = [
    (p) => (p[0] = "files"), (p) => (p[0] = [["name", -1]]), (p) => (p[0] = [["x".repeat(300), 1]]), (p) => (p[0] = Array(3).fill(["a", 1])), (p) => (p[0] = [["a"]]), (p) => (p[0] = [["a", 1, "8"]]), (p) => (p[0] = [["a", 1, 8, 8]]), (p) => (p[1] = 77),
    (p) => (p[2][2] = 1.5), (p) => (p[2][2] = 0.5), (p) => (p[2][3] = "AdamW"), (p) => (p[2][3] = -1), (p) => (p[3][1] = 9), (p) => (p[3][2][0] = 2 ** 60), (p) => (p[3][2][1] = null),
    (p) => (p[3][2][1] = "1000"), (p) => (p[3][2][2] = 5), (p) => p[3].pop(), (p) => p[3].push(1), (p) => (p[4] = -1), (p) => (p[4] = 1e300), (p) => (p[3] = null), (p) => (p[3][2][4][0] = "soon"),
    (p) => (p[3][9][4] = 5), (p) => (p[3][15] = Array(100).fill("x")), (p) => (p[3][14] = [["code", 1, null, { toString: 1 }]]),
  ];
  for (const change of changes) {
    const bad = packed();
    change(bad);
    await assert.rejects(decodeLink(forge(bad)), LinkError, `${change}`);
  }
  for (const json of ["", "null", "[]", "{}", "[[[[", '{"__proto__":1}', "[1,2,3,4,5]"]) await assert.rejects(decodeLink(forge(json)), LinkError, json);
});

test("curves that lie about their length or leave the chart are refused", async () => {
  const packed = carried.pack({ inputs: [], example: "", settings: DEFAULTS, summary: summaryOf({ activation: 1000, cached: 24, more: 0, module: "m" }), endMs: 100 });
  for (const curves of [[], [1], [5, 0, 0], [255, 255, 255, 255, 15, 0, 0], [1, 255, 255, 255, 127, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 255, 255, 127, 0, 0]])
    await assert.rejects(decodeLink(forge(packed, curves)), LinkError, `${curves}`);
});

test("a small link that inflates to a huge text is stopped", async () => {
  const bomb = Buffer.alloc(30 * 2 ** 20, 0x20);
  const packed = deflateRawSync(bomb, { level: 9 });
  assert.ok(packed.length < 40000);
  await assert.rejects(decodeLink(`#r=1.${Buffer.concat([Buffer.alloc(4), packed]).toString("base64url")}`), LinkError);
});

test("names in a link lose characters that turn text around or break lines", async () => {
  const summary = summaryOf({ activation: 1000, cached: 24, more: 0, module: "a\u202eb\nc<script>" });
  const { result } = await open(shownOf(summary));
  assert.equal(result.summary.owners[0].module, "a b c<script>");
});

test("base64url goes both ways", () => {
  fc.assert(fc.property(fc.uint8Array(), (bytes) => {
    const text = toBase64url(bytes);
    assert.match(text, /^[A-Za-z0-9_-]*$/);
    assert.deepEqual(fromBase64url(text), bytes);
  }));
});

const curveOf = fc.array(fc.tuple(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 2 ** 36 })), { minLength: 1, maxLength: 400 }).map((steps) => {
  let time = 0;
  return { timeMs: steps.map(([step]) => (time += step)), bytes: steps.map(([, value]) => value) };
});

test("a reduced curve keeps its ends, its highest and lowest value and the order of time", () => {
  fc.assert(fc.property(curveOf, fc.integer({ min: 6, max: 100 }), (curve, most) => {
    const less = reduceCurve(curve, most);
    assert.ok(less.timeMs.length <= Math.max(most, Math.min(most, curve.timeMs.length)));
    assert.equal(Math.max(...less.bytes), Math.max(...curve.bytes));
    assert.equal(Math.min(...less.bytes), Math.min(...curve.bytes));
    assert.equal(less.timeMs[0], curve.timeMs[0]);
    assert.equal(less.timeMs.at(-1), curve.timeMs.at(-1));
    assert.ok(less.timeMs.every((time, i) => i === 0 || time >= less.timeMs[i - 1]));
  }));
});

test("packed curves come back within one step of the chart's scale", () => {
  fc.assert(fc.property(curveOf, (curve) => {
    const scale = { endMs: curve.timeMs.at(-1) || 1, highestBytes: Math.max(1, ...curve.bytes) };
    const [back] = unpackCurves(Uint8Array.from(packCurves([curve], scale)), 1, scale);
    assert.ok(Math.abs(Math.max(...back.bytes) - Math.max(...curve.bytes)) <= scale.highestBytes / 1000);
    assert.ok(back.timeMs.every((time, i) => i === 0 || time >= back.timeMs[i - 1]));
    assert.ok(back.timeMs.length <= curve.timeMs.length);
  }));
});

test("the value at a moment is that of the last step before it", () => {
  const curve = { timeMs: [0, 10, 10, 20], bytes: [1, 2, 3, 4] };
  assert.deepEqual([-1, 0, 9, 10, 19, 20, 99].map((time) => indexAt(curve, time)), [-1, 0, 0, 2, 2, 3, 3]);
});
