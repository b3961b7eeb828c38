// Files of every kind, good and bad: one line that helps, and what was shown stays.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { ask, estimate, EXAMPLES, figures, launch, openPage, refusal, serve, settled } from "./kit.js";

const A = `${EXAMPLES}cnn-b4.json.gz`;
const B = `${EXAMPLES}cnn-b8.json.gz`;
const OTHER = `${EXAMPLES}transformer-b8.json.gz`;
const folder = mkdtempSync(join(tmpdir(), "oomcast-"));
const write = (name, bytes) => {
  writeFileSync(join(folder, name), bytes);
  return join(folder, name);
};
const example = readFileSync(A);
const exampleText = gunzipSync(example).toString("latin1");
/** An example without all that tells its batch size: the recorder's note, the DataLoader's name, the shapes. */
const withoutBatch = (path) => gunzipSync(readFileSync(path)).toString("latin1").replace(/"batch_size": \d+, /, "").replaceAll("DataLoader", "DataReader")
  .replace(/"Input Dims": \[\[.*?\]\], "Ev Idx"/g, '"Input Dims": [], "Ev Idx"');
const BLIND_A = write("blind-a.json", withoutBatch(A));
const BLIND_B = write("blind-b.json", withoutBatch(B));

/** Wrong files by name; what the page says must be what the command line says. */
const WRONG = {
  text: write("notes.txt", "a shopping list: milk, bread, 24 GB of memory\n"),
  picture: write("curve.png", Buffer.from("89504e470d0a1a0a0000000d49484452", "hex")),
  snapshot: write("snapshot.pickle", Buffer.from([0x80, 4, 0x95, 1, 2, 3, 0x7d, 0x94])),
  otherJson: write("package.json", '{"name": "x", "version": 1}'),
  empty: write("empty.json", ""),
  noMemory: write("no-memory.json", exampleText.replaceAll('"[memory]"', '"[nothing]"').replaceAll('"profile_memory": 1', '"profile_memory": 0')),
  cutGzip: write("cut.json.gz", example.subarray(0, 40000)),
  badGzip: write("bad.json.gz", Buffer.concat([example.subarray(0, 60000), Buffer.alloc(4000, 0xff), example.subarray(64000)])),
};

let server, browser;
before(async () => {
  server = await serve();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

async function journey(run, options) {
  const { page, faults, context } = await openPage(browser, server, options);
  try {
    await run(page);
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
  }
}

const errorText = async (page) => (await page.waitForSelector("#error:not([hidden])"), { title: await page.textContent("#error-title"), message: await page.textContent("#error-message") });
const sameLine = (message, line) => assert.equal(message.replace(/\.$/, "").toLowerCase(), line.replace(/\.$/, "").toLowerCase());

/** Puts files on the page as a drop does. @param {string[]} paths */
async function drop(page, paths) {
  const files = paths.map((path) => ({ name: path.split("/").pop(), base64: readFileSync(path).toString("base64") }));
  const transfer = await page.evaluateHandle((list) => {
    const data = new DataTransfer();
    for (const { name, base64 } of list) data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name));
    return data;
  }, files);
  await page.dispatchEvent("body", "dragenter", { dataTransfer: transfer });
  assert.equal(await page.isVisible("#drop-overlay"), true);
  await page.dispatchEvent("body", "dragover", { dataTransfer: transfer });
  await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
  assert.equal(await page.isVisible("#drop-overlay"), false);
}

test("every wrong file without a result: state error, the command line's line, and the page goes on", () => journey(async (page) => {
  for (const [kind, path] of Object.entries(WRONG)) {
    await page.setInputFiles("#file", path);
    await page.waitForFunction((name) => document.getElementById("error-title").textContent === name, path.split("/").pop());
    await settled(page, "error");
    const { message } = await errorText(page);
    sameLine(message, refusal(path));
    assert.equal(await page.isVisible("#empty"), true, kind);
  }
  await page.setInputFiles("#file", A);
  await settled(page);
  assert.equal(await page.isVisible("#error"), false);
  assert.deepEqual(await figures(page), ask(A, "--gpu", "GeForce RTX 4090"));
}));

test("every wrong file with a result: state ready, the error is visible, the result stays and still answers", () => journey(async (page) => {
  await page.setInputFiles("#file", [A, B]);
  await settled(page);
  await page.fill("#batch", "40");
  await settled(page);
  const shown = await figures(page);
  for (const path of Object.values(WRONG)) {
    await page.setInputFiles("#file", path);
    await page.waitForFunction((name) => document.getElementById("error-title").textContent === name, path.split("/").pop());
    await settled(page, "ready");
    assert.deepEqual(await figures(page), shown);
    assert.equal(await page.inputValue("#batch"), "40");
    assert.equal(await page.locator("#error-actions button").count(), 0, "what is no profile is not offered on its own");
  }
  await page.fill("#batch", "41");
  await settled(page);
  assert.deepEqual(await figures(page), ask(A, B, "--gpu", "GeForce RTX 4090", "--batch", "41"));
  await page.click("#error-close");
  assert.equal(await page.isVisible("#error"), false);
}));

test("truncated JSON is told with its place", () => journey(async (page) => {
  const path = write("half.json", exampleText.slice(0, 30000));
  await page.setInputFiles("#file", path);
  await settled(page, "error");
  sameLine((await errorText(page)).message, refusal(path));
}));

test("one profile: the batch size is told and fixed; the second one later makes it free", () => journey(async (page) => {
  await page.setInputFiles("#file", A);
  await settled(page);
  assert.equal(await page.isDisabled("#batch"), true);
  assert.match(await page.textContent("#batch-hint"), /second profile/);
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.click("#places .vacant")]);
  await chooser.setFiles(B);
  await page.waitForFunction(() => !document.getElementById("batch").disabled);
  await settled(page);
  await page.fill("#batch", "48");
  await settled(page);
  assert.deepEqual(await figures(page), ask(A, B, "--gpu", "GeForce RTX 4090", "--batch", "48"));
  assert.deepEqual(await page.locator("#places .name").evaluateAll((names) => names.map((name) => name.title)), ["cnn-b4.json.gz", "cnn-b8.json.gz"]);
  await page.click("[aria-label='Remove profile A, cnn-b4.json.gz']");
  await page.waitForFunction(() => document.getElementById("batch").disabled);
  await settled(page);
  assert.deepEqual(await figures(page), ask(B, "--gpu", "GeForce RTX 4090"));
  await page.click("[aria-label='Remove profile A, cnn-b8.json.gz']");
  await settled(page, "empty");
  assert.equal(await page.isVisible("#empty"), true);
}));

test("a dropped file beside one that is loaded is the second batch size", () => journey(async (page) => {
  await drop(page, [A]);
  await settled(page);
  await drop(page, [B]);
  await page.waitForFunction(() => !document.getElementById("batch").disabled);
  await settled(page);
  assert.deepEqual(await figures(page), ask(A, B, "--gpu", "GeForce RTX 4090"));
}));

test("two files dropped at once, in any order", () => journey(async (page) => {
  await drop(page, [B, A]);
  await settled(page);
  await page.fill("#batch", "16");
  await settled(page);
  assert.deepEqual(await figures(page), ask(A, B, "--gpu", "GeForce RTX 4090", "--batch", "16"));
}));

test("profiles of different jobs: where they part, the result stays, and the new one can be opened alone", () => journey(async (page) => {
  await page.setInputFiles("#file", A);
  await settled(page);
  const shown = await figures(page);
  await page.setInputFiles("#file", OTHER);
  const { title, message } = await errorText(page);
  await settled(page, "ready");
  assert.match(title, /cnn-b4\.json\.gz and transformer-b8\.json\.gz/);
  sameLine(message, refusal(A, OTHER));
  assert.deepEqual(await figures(page), shown);
  await page.click("text=Open transformer-b8.json.gz on its own");
  await page.waitForSelector("#error", { state: "hidden" });
  await settled(page);
  assert.deepEqual(await figures(page), ask(OTHER, "--gpu", "GeForce RTX 4090"));
}));

test("twice the same batch size is refused with the core's advice", () => journey(async (page) => {
  await page.setInputFiles("#file", [A, write("copy-of-cnn-b4.json.gz", example)]);
  await settled(page, "error");
  sameLine((await errorText(page)).message, refusal(A, join(folder, "copy-of-cnn-b4.json.gz")).replace("(--recorded-batch)", "below"));
}));

test("a batch size that cannot be seen is asked for, and reaches figures, link and command", () => journey(async (page) => {
  await page.setInputFiles("#file", BLIND_A);
  await settled(page);
  assert.match(await page.textContent("#verdict-text"), /batch size not seen in the profile/);
  assert.match(await page.textContent("#batch-hint"), /cannot be seen in this profile: give it below/);
  assert.equal(await page.isVisible("#recorded-batch"), true);
  await page.fill("#recorded-batch", "some");
  await page.press("#recorded-batch", "Enter");
  await page.waitForSelector("#settings-error:not([hidden])");
  assert.match(await page.textContent("#settings-error"), /"some" is not a batch size/);
  await page.fill("#recorded-batch", "4");
  await page.press("#recorded-batch", "Enter");
  await page.waitForFunction(() => document.getElementById("batch").value === "4");
  await settled(page);
  assert.equal(await page.isVisible("#settings-error"), false);
  assert.equal(await page.evaluate(() => document.activeElement.id), "recorded-batch", "the focus comes back after reading");
  assert.equal(await page.textContent("#command"), "oomcast estimate blind-a.json --recorded-batch 4 --gpu 'GeForce RTX 4090'");
  await page.click("#share");
  await page.waitForFunction(() => location.hash.length > 100);
  await page.reload();
  await settled(page);
  assert.match(await page.textContent("#command"), /--recorded-batch 4 /);
  assert.equal(await page.inputValue("#recorded-batch"), "4");
  assert.equal(await page.isDisabled("#recorded-batch"), true);
  await page.setInputFiles("#file", BLIND_A);
  await page.waitForSelector("#link-note", { state: "hidden" });
  await settled(page);
  assert.match(await page.textContent("#verdict-text"), /batch 4 \(as recorded\)/, "the file of a link is read with the size that was given");

  await page.setInputFiles("#file", BLIND_B);
  await settled(page);
  await page.waitForSelector("#error:not([hidden])");
  await page.fill("#error-answer", "4, 8");
  await page.press("#error-answer", "Enter");
  await page.waitForFunction(() => !document.getElementById("batch").disabled);
  await settled(page);
  assert.equal(await page.inputValue("#recorded-batch"), "4, 8");
  await page.fill("#batch", "48");
  await settled(page);
  assert.deepEqual(await figures(page), ask(BLIND_A, BLIND_B, "--recorded-batch", "4,8", "--gpu", "GeForce RTX 4090", "--batch", "48"));
  assert.equal(await page.textContent("#command"), "oomcast estimate blind-a.json blind-b.json --recorded-batch 4,8 --batch 48 --gpu 'GeForce RTX 4090'");
  await page.click("[aria-label='Remove profile A, blind-a.json']");
  await page.waitForFunction(() => document.getElementById("batch").disabled);
  await settled(page);
  assert.equal(await page.inputValue("#recorded-batch"), "8", "each profile keeps its own");
  await page.fill("#recorded-batch", "");
  await page.press("#recorded-batch", "Tab");
  await page.waitForFunction(() => document.getElementById("verdict-text").textContent.includes("not seen"));
}));

test("two profiles without batch sizes: the error asks for both", () => journey(async (page) => {
  await page.setInputFiles("#file", [BLIND_A, BLIND_B]);
  await settled(page, "error");
  sameLine((await errorText(page)).message, refusal(BLIND_A, BLIND_B).replace("(--recorded-batch)", "below"));
  assert.doesNotMatch(await page.textContent("#error-message"), /--/, "no option of the command line");
  await page.fill("#error-answer", "4");
  await page.click("#error-ask button");
  assert.match(await page.textContent("#error-problem"), /two whole numbers/);
  await page.fill("#error-answer", "4 8");
  await page.click("#error-ask button");
  await settled(page);
  assert.deepEqual(await figures(page), ask(A, B, "--gpu", "GeForce RTX 4090"), "the same job as with its sizes written down");
  assert.equal(await page.isVisible("#error"), false);
}));

test("what matters is a warning beside the verdict, what does not stands dim among the notes", () => journey(async (page) => {
  const frees = [...exampleText.matchAll(/"name": "\[memory\]"/g)].length;
  assert.ok(frees > 100);
  const orphan = exampleText.replace(/"Bytes": (\d+), "Addr": (\d+)|"Addr": (\d+), "Bytes": (\d+)/, (text) => text.replace(/("Bytes": )(\d+)/, "$1-$2"));
  assert.notEqual(orphan, exampleText);
  let steps = 0;
  const single = orphan.replaceAll("Optimizer.step#", (name) => (steps++ ? "Other.thing#" : name));
  await page.setInputFiles("#file", write("odd.json", single));
  await settled(page);
  const { warnings } = estimate(join(folder, "odd.json"), "--gpu", "GeForce RTX 4090");
  const codes = warnings.map(({ code }) => code);
  assert.ok(codes.includes("free_without_allocation") && codes.includes("one_step"), `${codes}`);
  const shown = await page.locator("#warnings li").allTextContents();
  const remarks = await page.locator("#remarks li").allTextContents();
  assert.equal(shown.length + remarks.length, warnings.length);
  assert.ok(remarks.some((text) => text.includes("free_without_allocation")) && !shown.some((text) => text.includes("free_without_allocation")));
  assert.ok(shown.some((text) => /^Warning.*one optimizer step only/.test(text)));
}));

test("a profile recorded on a GPU: as it was, and simulated again for another card", () => journey(async (page) => {
  const MIB = 2 ** 20;
  let allocated = 0;
  const traceEvents = [[64, 8, 20], [72, 12, 20], [128, 30, 50], [72, -12, 50], [72, 10, 50]].map(([address, size, reserved], i) => ({
    ph: "i", name: "[memory]", pid: 1, tid: 1, ts: 10 * i, args: { "Device Type": 1, "Device Id": 0, Addr: address * MIB, Bytes: size * MIB,
      "Total Allocated": (allocated += size) * MIB, "Total Reserved": reserved * MIB } }));
  await page.setInputFiles("#file", write("gpu.json", JSON.stringify({ traceEvents })));
  await settled(page);
  await page.selectOption("#gpu", "none");
  await settled(page);
  assert.equal((await figures(page)).reservedBytes, String(50 * MIB));
  assert.match(await page.textContent("#verdict-text"), /recorded on GPU 0, as it was/);
  assert.match(await page.textContent("#batch-hint"), /Recorded on a GPU and taken as it was/);
  for (const id of ["#batch", "#optimizer"]) assert.equal(await page.isDisabled(id), true, id);
  await page.click("#more > summary");
  await page.fill("#alloc-conf", "expandable_segments:True");
  await page.press("#alloc-conf", "Enter");
  await settled(page);
  assert.equal((await figures(page)).reservedBytes, String(60 * MIB), "in pages of 20 MiB");
  assert.match(await page.textContent("#verdict-text"), /simulated again/);
  assert.match(await page.textContent("#series"), /reserved as recorded/);
}));

test("three files and a folder are refused kindly", () => journey(async (page) => {
  await drop(page, [A, B, OTHER]);
  assert.match((await errorText(page)).message, /one profile, or at two/);
  await page.evaluate(() => {
    DataTransferItem.prototype.webkitGetAsEntry = () => ({ isDirectory: true, name: "runs" });
  });
  await drop(page, [A]);
  assert.equal((await errorText(page)).title, "runs is a folder");
  await settled(page, "error");
}));

test("the overlay goes when the drag leaves, is given up or the window loses it", () => journey(async (page) => {
  const transfer = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(["x"], "x.json"));
    return data;
  });
  for (const end of [() => page.dispatchEvent("body", "dragleave", { dataTransfer: transfer }), () => page.keyboard.press("Escape"), () => page.evaluate(() => window.dispatchEvent(new Event("blur")))]) {
    await page.dispatchEvent("body", "dragenter", { dataTransfer: transfer });
    assert.equal(await page.isVisible("#drop-overlay"), true);
    await end();
    assert.equal(await page.isVisible("#drop-overlay"), false);
  }
  const words = await page.evaluateHandle(() => new DataTransfer());
  await page.dispatchEvent("body", "dragenter", { dataTransfer: words });
  assert.equal(await page.isVisible("#drop-overlay"), false, "dragged text is none of our business");
}));

test("pasted files load, and the same file can be opened twice", () => journey(async (page) => {
  await page.evaluate((base64) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], "pasted.json.gz"));
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
  }, example.toString("base64"));
  await settled(page);
  assert.deepEqual(await figures(page), ask(A, "--gpu", "GeForce RTX 4090"));
  await page.setInputFiles("#file", WRONG.text);
  await errorText(page);
  await page.click("#error-close");
  await page.setInputFiles("#file", WRONG.text);
  await errorText(page);
}));

test("names and texts of a profile are text, never markup", () => journey(async (page) => {
  const evil = exampleText.replaceAll("SmallResNet_0", "<img src=x onerror=alert(1)>");
  assert.notEqual(evil, exampleText);
  await page.setInputFiles("#file", { name: "<b>evil</b>.json.gz", mimeType: "application/gzip", buffer: gzipSync(Buffer.from(evil, "latin1")) });
  await settled(page);
  assert.equal(await page.locator("main img, main b b").count(), 0);
  assert.match(await page.textContent("#owners"), /<img src=x/);
  assert.match(await page.textContent("#subject"), /<b>evil<\/b>/);
}));

test("cancel while a large file is read: what was shown stays, and the next file loads", () => journey(async (page) => {
  await page.setInputFiles("#file", A);
  await settled(page);
  const shown = await figures(page);
  const seen = await page.evaluate(async (head) => {
    const frame = ` {"ph": "X", "cat": "python_function", "name": "site-packages/torch/nn/modules/module.py(1747): _call_impl", "pid": 7, "tid": 7, "ts": 1.5, "dur": 2.25, "args": {"Python id": 1, "Python parent id": 0, "Ev Idx": 1}},\n`;
    const piece = new Blob([frame.repeat(5000)]);
    const file = new File([head, ...Array(Math.ceil(240e6 / piece.size)).fill(piece)], "large.json");
    const data = new DataTransfer();
    data.items.add(file);
    const texts = [];
    const bar = document.getElementById("loading-bar");
    const done = new Promise((resolve) => {
      new MutationObserver((_, observer) => {
        texts.push(document.getElementById("loading-text").textContent);
        if (!document.getElementById("loading-title").textContent.includes("large.json") || !(bar.value > 0.52)) return;
        observer.disconnect();
        texts.push(document.documentElement.dataset.state, document.getElementById("loading-title").textContent);
        document.getElementById("cancel").click();
        resolve(texts);
      }).observe(document.getElementById("loading-text"), { childList: true, characterData: true, subtree: true });
    });
    const input = document.getElementById("file");
    input.files = data.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    return done;
  }, exampleText.slice(0, exampleText.indexOf('"traceEvents": [') + '"traceEvents": ['.length));
  assert.match(seen.at(-3), /^\d+\.\d of 24\d\.\d MB$/);
  assert.equal(seen.at(-2), "loading");
  assert.match(seen.at(-1), /large\.json/);
  await settled(page, "ready");
  assert.equal(await page.isVisible("#loading"), false);
  assert.equal(await page.isVisible("#error"), false);
  assert.deepEqual(await figures(page), shown);
  await page.selectOption("#gpu", "T4");
  await settled(page);
  assert.deepEqual(await figures(page), ask(A, "--gpu", "T4"), "the session of before still answers");
  await page.setInputFiles("#file", B);
  await page.waitForFunction(() => !document.getElementById("batch").disabled);
  await settled(page);
}));

test("cancel while an example is on its way: the empty page is back, and it can be loaded again", () => journey(async (page) => {
  let release;
  server.gates.set("examples/cnn-b8.json.gz", new Promise((resolve) => (release = resolve)));
  await page.click("#example");
  await page.waitForFunction(() => document.getElementById("loading-title").textContent.includes("cnn-b8"));
  assert.equal(await page.getAttribute("html", "data-state"), "loading");
  await page.click("#cancel");
  await settled(page, "empty");
  assert.equal(await page.isVisible("#error"), false);
  server.gates.delete("examples/cnn-b8.json.gz");
  release();
  await page.click("#example");
  await settled(page);
  assert.deepEqual(await figures(page), ask(A, B, "--gpu", "GeForce RTX 4090"));
}));

test("memory does not grow over 20 loads: one Worker lives", () => journey(async (page) => {
  for (let i = 0; i < 20; i++) {
    await page.setInputFiles("#file", [A, B]);
    await settled(page);
  }
  assert.equal(page.workers().length, 1);
}));
