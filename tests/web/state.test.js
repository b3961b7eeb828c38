// state.js: settings from anywhere become valid, options say what the settings mean, drops mean what people expect.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkSettings, cleanSettings, createStore, DEFAULTS, forNewJob, FOREACH, OPTIMIZERS, pageState, parseBatches, parseSize, planLoad, toOptions, ZERO_GRAD } from "../../web/state.js";

test("sizes are read as the command line reads them", () => {
  const cases = { "8318222336": 8318222336, "12GiB": 12884901888, "12 gib": 12884901888, "24GB": 24e9, "24 GB": 24e9, "1.5KiB": 1536, "500MiB": 524288000, "7b": 7, "1TB": 1e12, "2.GiB": 2147483648,
    "24G": 24 * 2 ** 30, "24 g": 24 * 2 ** 30, "500M": 500 * 2 ** 20, "64k": 65536, "1T": 2 ** 40 };
  for (const [text, bytes] of Object.entries(cases)) assert.equal(parseSize(text), bytes, text);
  for (const text of ["", "GiB", "-1GiB", "12 parsecs", "1e9", "1e10", "1e3GiB", "0x10", ".5GiB", "12GiB!", "99999999999TiB", "NaN", "Infinity"]) assert.equal(parseSize(text), null, text);
});

test("default settings ask for the default card and nothing else", () => {
  assert.deepEqual(toOptions(DEFAULTS, 1), { gpu: "GeForce RTX 4090" });
});

test("every setting reaches the core under the core's name", () => {
  const settings = { gpu: "custom", capacityText: "12GiB", batch: 64, optimizer: "AdamW", foreach: "off", zeroGrad: "start", reserveText: "500MiB", torch: " 2.4 ", allocConf: " expandable_segments:True" };
  assert.deepEqual(toOptions(settings, 2), {
    capacity_bytes: 12884901888, batch: 64, optimizer: "AdamW", foreach: "off", zero_grad: "start", reserve_bytes: 524288000, torch: "2.4", alloc_conf: "expandable_segments:True",
  });
  assert.deepEqual(toOptions({ ...DEFAULTS, gpu: "none" }, 1), {});
});

test("with one profile no batch size is asked for, it stays in the settings", () => {
  assert.equal("batch" in toOptions({ ...DEFAULTS, batch: 64 }, 1), false);
  assert.equal(toOptions({ ...DEFAULTS, batch: 64 }, 2).batch, 64);
});

test("a size that is none is caught before the core is asked", () => {
  assert.equal(checkSettings(DEFAULTS), null);
  assert.equal(checkSettings({ ...DEFAULTS, gpu: "custom", capacityText: "much" }).field, "capacity");
  assert.equal(checkSettings({ ...DEFAULTS, gpu: "custom", capacityText: "0" }).field, "capacity");
  assert.equal(checkSettings({ ...DEFAULTS, capacityText: "much" }), null, "not used without custom");
  assert.equal(checkSettings({ ...DEFAULTS, reserveText: "a bit" }).field, "reserve");
  assert.match(checkSettings({ ...DEFAULTS, gpu: "custom", capacityText: "1e10" }).message, /^"1e10" is no size: /);
  assert.equal(checkSettings({ ...DEFAULTS, gpu: "custom", capacityText: "24G", reserveText: "500M" }), null);
});

test("recorded batch sizes are one whole number for each profile, or none", () => {
  assert.deepEqual(parseBatches("16, 32", 2), [16, 32]);
  assert.deepEqual(parseBatches(" 8 ", 1), [8]);
  assert.deepEqual(parseBatches("8 16", 2), [8, 16]);
  assert.deepEqual(parseBatches("", 2), [null, null]);
  for (const text of ["0", "-1", "1.5", "1e2", "many", "8, 16", "999999999999"]) assert.equal(parseBatches(text, 1), null, text);
  assert.equal(parseBatches("16", 2), null);
});

test("whatever comes from outside becomes valid settings, and valid settings stay", () => {
  fc.assert(fc.property(fc.anything(), (raw) => {
    const clean = cleanSettings(raw);
    assert.deepEqual(Object.keys(clean).sort(), Object.keys(DEFAULTS).sort());
    assert.ok(OPTIMIZERS.includes(clean.optimizer) && FOREACH.includes(clean.foreach) && ZERO_GRAD.includes(clean.zeroGrad));
    assert.ok(clean.batch === null || (Number.isInteger(clean.batch) && clean.batch > 0));
    assert.deepEqual(cleanSettings(clean), clean);
  }));
  const hostile = { gpu: "x".repeat(1000), batch: -3, optimizer: "__proto__", foreach: ["on"], zeroGrad: {}, reserveText: 7, torch: null, capacityText: "y".repeat(1000) };
  assert.deepEqual(cleanSettings(hostile), { ...DEFAULTS });
});

const input = (name, sizeBytes = 1000) => ({ name, sizeBytes });
const stateWith = (change) => {
  const store = createStore();
  store.update(change);
  return store.get();
};
const result = { summary: {}, text: "{}", curves: {}, settings: DEFAULTS };

test("two files are ordered by the numbers in their names", () => {
  assert.deepEqual(planLoad(stateWith({}), [input("job-b16.json"), input("job-b4.json")]).inputs.map((i) => i.name), ["job-b4.json", "job-b16.json"]);
});

test("a file beside one that is loaded is the other batch size, and the settings stay", () => {
  const settings = { ...DEFAULTS, optimizer: "Adam", batch: 99 };
  const plan = planLoad(stateWith({ inputs: [input("a.json")], result, settings }), [input("b.json")]);
  assert.deepEqual(plan.inputs.map((i) => i.name), ["a.json", "b.json"]);
  assert.deepEqual(plan.settings, settings);
});

test("a file beside two, or two files, is a new job: the card stays, the rest goes", () => {
  const settings = { ...DEFAULTS, gpu: "T4", optimizer: "Adam", batch: 99, foreach: "off", zeroGrad: "start", torch: "2.4", reserveText: "1GiB" };
  const two = { inputs: [input("a.json"), input("b.json")], result, settings };
  assert.deepEqual(planLoad(stateWith(two), [input("c.json")]), { inputs: [input("c.json")], settings: { ...DEFAULTS, gpu: "T4", reserveText: "1GiB" } });
  assert.deepEqual(planLoad(stateWith({ ...two, inputs: [input("a.json")] }), [input("c.json"), input("d.json")]).settings, forNewJob(settings));
});

test("the files of an opened link keep its settings, known by name or size; others do not", () => {
  const settings = { ...DEFAULTS, gpu: "T4", optimizer: "Adam", batch: 99 };
  const state = stateWith({ link: { inputs: [input("a.json", 10), input("b.json", 20)], example: "" }, result, settings });
  assert.deepEqual(planLoad(state, [input("b.json", 5), input("a.json", 6)]).settings, settings);
  assert.deepEqual(planLoad(state, [input("renamed.json", 10)]).settings, settings);
  assert.equal(planLoad(state, [input("other.json", 11)]).settings.batch, null);
});

test("the files of an opened link keep the batch sizes that were given for them", () => {
  const link = { inputs: [{ ...input("a.json", 10), batch: 8 }, { ...input("b.json", 10), batch: 16 }], example: "" };
  const plan = planLoad(stateWith({ link, result, settings: DEFAULTS }), [input("b.json", 10), input("a.json", 10)]);
  assert.deepEqual(plan.inputs.map(({ name, batch }) => [name, batch]), [["a.json", 8], ["b.json", 16]]);
});

test("the page's state", () => {
  assert.equal(pageState(stateWith({})), "empty");
  assert.equal(pageState(stateWith({ error: { title: "", message: "" } })), "error");
  assert.equal(pageState(stateWith({ error: { title: "", message: "" }, result })), "ready");
  assert.equal(pageState(stateWith({ load: {}, result })), "loading");
});

test("the store tells listeners the new and the old state, cleans settings and refuses unknown names", () => {
  const store = createStore();
  const seen = [];
  store.subscribe((next, old) => seen.push([next.isBusy, old.isBusy]));
  store.update({ isBusy: true });
  store.update({ isBusy: false, settings: { batch: "many" } });
  assert.deepEqual(seen, [[true, false], [false, true]]);
  assert.deepEqual(store.get().settings, { ...DEFAULTS });
  assert.throws(() => store.update({ isBussy: true }), TypeError);
});
