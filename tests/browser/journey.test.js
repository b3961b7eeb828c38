// A person's way through the page, every figure compared with the command line: example, settings, zoom, link, download.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { ask, cliText, estimate, estimateText, EXAMPLES, figures, launch, openPage, serve, settled } from "./kit.js";

const CNN = ["cnn-b4.json.gz", "cnn-b8.json.gz"].map((name) => EXAMPLES + name);
const TRANSFORMER = ["transformer-b4.json.gz", "transformer-b8.json.gz"].map((name) => EXAMPLES + name);
let server, browser;
before(async () => {
  server = await serve();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** Runs a journey on a new page; nothing that must not happen may have happened. */
async function journey(run, options) {
  const { page, faults, context } = await openPage(browser, server, options);
  try {
    await run(page, context);
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
  }
}

test("the empty page tells what it is for, with the files of its own server alone", () => journey(async (page) => {
  await settled(page, "empty");
  assert.match(await page.textContent("h1:visible"), /PyTorch job fit/);
  assert.equal(await page.isVisible("#result"), false);
  assert.equal(await page.isDisabled("#share"), true);
  const link = await page.getAttribute("a[download]", "href");
  assert.equal(readFileSync(`${EXAMPLES}record.py`, "utf8"), await (await page.request.get(new URL(link, page.url()).href)).text());
  assert.equal(await page.evaluate(() => performance.getEntriesByType("resource").some((entry) => entry.name.includes("plotly"))), false, "Plotly waits until it is needed");
}));

test("example, batch, GPU, optimizer and the rest: each answer is the command line's", () => journey(async (page) => {
  await settled(page, "empty");
  await page.click("#example");
  await settled(page);
  const gpu = await page.inputValue("#gpu");
  assert.deepEqual(await figures(page), ask(...CNN, "--gpu", gpu));
  assert.equal(await page.inputValue("#batch"), "4");

  await page.fill("#batch", "64");
  await settled(page);
  assert.deepEqual(await figures(page), ask(...CNN, "--gpu", gpu, "--batch", "64"));
  await page.selectOption("#gpu", "GeForce RTX 4060");
  await settled(page);
  assert.deepEqual(await figures(page), ask(...CNN, "--gpu", "GeForce RTX 4060", "--batch", "64"));
  await page.selectOption("#optimizer", "AdamW");
  await settled(page);
  const options = ["--gpu", "GeForce RTX 4060", "--batch", "64", "--optimizer", "AdamW"];
  assert.deepEqual(await figures(page), ask(...CNN, ...options));
  await page.click("#more > summary");
  await page.selectOption("#foreach", "off");
  await page.selectOption("#zero-grad", "after-step");
  await page.fill("#reserve", "1GiB");
  await settled(page);
  assert.deepEqual(await figures(page), ask(...CNN, ...options, "--foreach", "off", "--zero-grad", "after-step", "--reserve", "1GiB"));
  assert.match(await page.textContent("#more-changed"), /3 changed/);
  await page.fill("#alloc-conf", "expandable_segments:True");
  await page.press("#alloc-conf", "Enter");
  await settled(page);
  assert.deepEqual(await figures(page), ask(...CNN, ...options, "--foreach", "off", "--zero-grad", "after-step", "--reserve", "1GiB", "--alloc-conf", "expandable_segments:True"));
  assert.match(await page.textContent("#assumptions"), /caching allocator with expandable_segments:True/);
  await page.fill("#alloc-conf", "expandable_segments:yes");
  await page.press("#alloc-conf", "Enter");
  await settled(page);
  assert.match(await page.textContent("#settings-error"), /allocator option expandable_segments:yes: expected True or False\. The figures are still those/);
  await page.fill("#alloc-conf", "");
  await page.press("#alloc-conf", "Enter");
  await settled(page);
  const command = await page.textContent("#command");
  assert.equal(command, "oomcast estimate cnn-b4.json.gz cnn-b8.json.gz --batch 64 --gpu 'GeForce RTX 4060' --optimizer AdamW --foreach off --zero-grad after-step --reserve 1GiB");

  await page.click("#reset");
  await settled(page);
  assert.equal(await page.inputValue("#optimizer"), "recorded");
  assert.deepEqual(await figures(page), ask(...CNN, "--gpu", "GeForce RTX 4060", "--reserve", "1GiB"), "the card and what is kept for others stay");
}));

test("fits, tight and out of memory, a custom capacity and no card", () => journey(async (page) => {
  await page.click("#example-transformer");
  await settled(page);
  await page.selectOption("#gpu", "custom");
  for (const [capacity, batch] of [["24GiB", 500], ["12GiB", 500], ["12GB", 400], ["8318222336", 300]]) {
    await page.fill("#capacity", capacity);
    await page.fill("#batch", String(batch));
    await settled(page);
    assert.deepEqual(await figures(page), ask(...TRANSFORMER, "--capacity", capacity, "--batch", String(batch)), `${capacity} at ${batch}`);
  }
  await page.fill("#capacity", "24GiB");
  await page.fill("#batch", "520");
  await page.selectOption("#gpu", "GeForce RTX 3060 12GB");
  await settled(page);
  const answer = estimate(...TRANSFORMER, "--gpu", "GeForce RTX 3060 12GB", "--batch", "520");
  assert.equal(answer.verdict, "oom");
  assert.equal((await figures(page)).verdict, "oom");
  assert.match(await page.textContent("#verdict-title"), /^Does not fit$/);
  assert.equal(await page.textContent("#oom-message"), `torch.OutOfMemoryError: ${answer.oom.message}`, "the page and the command line quote PyTorch alike");
  assert.match(await page.textContent("#oom-text"), new RegExp(answer.oom.bytes.toLocaleString("en-US")));
  assert.deepEqual(await page.evaluate(() => document.getElementById("chart").data.map((trace) => [trace.name, trace.x.length > 0])),
    [["allocated", true], ["tensor", true], ["reserved", true], ["need", true], ["peak", true], ["oom", true]]);
  await page.selectOption("#gpu", "none");
  await settled(page);
  assert.deepEqual(await figures(page), ask(...TRANSFORMER, "--batch", "520"));
  assert.equal((await figures(page)).verdict, "none");
  assert.equal(await page.isVisible("#oom-card"), false);
}));

test("the largest batch that runs on a card is found and set", () => journey(async (page) => {
  await page.click("#example");
  await settled(page);
  await page.selectOption("#gpu", "GeForce RTX 4060");
  await settled(page);
  await page.click("#find-largest");
  const { batch, next } = JSON.parse(cliText("max-batch", ...CNN, "--gpu", "GeForce RTX 4060")).max_batch;
  await page.waitForFunction((wanted) => document.getElementById("batch").value === String(wanted), batch);
  await settled(page);
  assert.match(await page.textContent("#toast"), new RegExp(`^Largest batch that runs: ${batch}\\. At ${batch + 1} a request for .* fails in ${next.phase} of iteration ${next.iteration}\\.`));
  assert.deepEqual(await figures(page), ask(...CNN, "--gpu", "GeForce RTX 4060", "--batch", String(batch)));
  await page.fill("#batch", String(batch + 1));
  await settled(page);
  assert.equal((await figures(page)).verdict, "oom");
}));

test("a setting that cannot be is refused beside the settings, and the last figures stay", () => journey(async (page) => {
  await page.click("#example");
  await settled(page);
  const shown = await figures(page);
  await page.selectOption("#optimizer", "Adafactor");
  await page.click("#more > summary");
  await page.selectOption("#foreach", "fused");
  await settled(page);
  assert.match(await page.textContent("#settings-error"), /Adafactor has no fused form/);
  assert.deepEqual(await figures(page), ask(...CNN, "--gpu", "GeForce RTX 4090", "--optimizer", "Adafactor"));
  await page.click("#reset");
  await settled(page);
  assert.equal(await page.isVisible("#settings-error"), false);
  assert.deepEqual(await figures(page), shown);
  await page.selectOption("#gpu", "custom");
  await page.fill("#capacity", "a lot");
  await page.press("#capacity", "Tab");
  await page.waitForSelector("#settings-error:not([hidden])");
  await settled(page);
  assert.match(await page.textContent("#settings-error"), /"a lot" is no size/);
  await page.fill("#batch", "0");
  await page.press("#batch", "Tab");
  assert.match(await page.textContent("#settings-error"), /whole number/);
  assert.equal(await page.getAttribute("html", "data-state"), "ready");
}));

test("of many quick changes the newest is answered", () => journey(async (page) => {
  await page.click("#example");
  await settled(page);
  await page.evaluate(() => {
    const slider = document.getElementById("batch-slider");
    for (let position = 100; position <= 800; position += 5) {
      slider.value = String(position);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }
  });
  await settled(page);
  const batch = await page.inputValue("#batch");
  assert.ok(Number(batch) > 50);
  assert.deepEqual(await figures(page), ask(...CNN, "--gpu", "GeForce RTX 4090", "--batch", batch));
}));

test("the bar, the owners and the phases add up to the result", () => journey(async (page) => {
  await page.click("#example");
  await settled(page);
  const answer = estimate(...CNN, "--gpu", "GeForce RTX 4090");
  const rows = await page.locator("#owners tbody tr").count();
  assert.ok(rows >= 5 && rows <= answer.owners.length);
  await page.click("#owners-more");
  assert.equal(await page.locator("#owners tbody tr").count(), answer.owners.length);
  assert.equal(await page.locator("#owners tbody tr td.number").first().getAttribute("title"), `${answer.owners[0].bytes.toLocaleString("en-US")} bytes`);
  const widths = await page.evaluate(() => [...document.querySelectorAll("#stack span")].map((part) => Number(part.style.flexGrow)));
  const sum = widths.reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - answer.gpu.total_bytes / 2 ** 20) < 0.01, `the bar is the card: ${sum} MiB`);
  assert.equal(await page.locator("#assumptions li").count(), answer.assumptions.length + 1);
  assert.equal(await page.locator("#phases tbody tr").count(), answer.job.iterations);
}));

test("zoom asks the core for detail, double click shows all again, the keyboard can do both", () => journey(async (page) => {
  await page.click("#example-transformer");
  await settled(page);
  const shape = () => page.evaluate(() => {
    const chart = document.getElementById("chart");
    return { range: chart.layout.xaxis.range, first: chart.data[0].x[0], last: chart.data[0].x.at(-1), points: chart.data[0].x.length };
  });
  const all = await shape();
  const box = await page.locator("#chart").boundingBox();
  await page.mouse.move(box.x + 300, box.y + 150);
  await page.mouse.down();
  await page.mouse.move(box.x + 380, box.y + 160, { steps: 5 });
  await page.mouse.up();
  await page.waitForFunction(() => !document.getElementById("zoom-reset").disabled);
  await settled(page);
  const part = await shape();
  assert.ok(part.range[1] - part.range[0] < (all.range[1] - all.range[0]) / 4);
  assert.ok(Math.abs(part.first - part.range[0]) < 0.01 && Math.abs(part.last - part.range[1]) < 0.01, "the curve is that of the range");
  await page.fill("#batch", "32");
  await settled(page);
  assert.deepEqual((await shape()).range, part.range, "a change keeps the range");
  assert.deepEqual(await figures(page), ask(...TRANSFORMER, "--gpu", "GeForce RTX 4090", "--batch", "32"), "a range changes no figure");
  await page.mouse.dblclick(box.x + 300, box.y + 150);
  await page.waitForFunction(() => document.getElementById("zoom-reset").disabled);
  await settled(page);
  assert.deepEqual((await shape()).range, all.range);
  await page.focus("#zoom-in");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => !document.getElementById("zoom-out").disabled);
  await settled(page);
  const close = await shape();
  const peakMs = estimate(...TRANSFORMER, "--gpu", "GeForce RTX 4090", "--batch", "32").peak.at.time_ms;
  assert.ok(close.range[0] < peakMs && peakMs < close.range[1], "zooming in keeps the peak in sight");
}));

test("the pointer reads the curve", () => journey(async (page) => {
  await page.click("#example");
  await settled(page);
  const box = await page.locator("#chart").boundingBox();
  await page.mouse.move(box.x + 400, box.y + 150);
  await page.mouse.move(box.x + 402, box.y + 150);
  await page.waitForSelector("#chart-tip:not([hidden])");
  assert.match(await page.textContent("#chart-tip"), /ms .*allocated .*bytes\).*reserved .*bytes\)/s);
}));

test("a link opened without the files shows the same, read only; the files make it live with its settings", () => journey(async (page, context) => {
  await page.click("#example-transformer");
  await settled(page);
  await page.selectOption("#gpu", "GeForce RTX 3060 12GB");
  await page.fill("#batch", "520");
  await page.selectOption("#optimizer", "Adam");
  await settled(page);
  const shown = await figures(page);
  await page.click("#share");
  await page.waitForFunction(() => location.hash.length > 100);
  await page.waitForFunction(async () => (await navigator.clipboard.readText()) === location.href);
  const link = page.url();
  assert.ok(link.length < 2200, `${link.length} characters`);

  const fresh = await openPage(browser, server, { fragment: link.slice(server.url.length) });
  await settled(fresh.page);
  assert.deepEqual(await figures(fresh.page), shown);
  assert.equal(await fresh.page.textContent("#verdict-text"), await page.textContent("#verdict-text"));
  assert.match(await fresh.page.textContent("#link-text"), /transformer-b4\.json\.gz.*transformer-b8\.json\.gz/);
  assert.equal(await fresh.page.isDisabled("#batch"), true);
  assert.equal(await fresh.page.inputValue("#gpu"), "GeForce RTX 3060 12GB");
  assert.equal(await fresh.page.inputValue("#batch"), "520");
  assert.ok(await fresh.page.evaluate(() => document.getElementById("chart").data[0].x.length > 20));
  assert.equal(await fresh.page.locator("#oom-live tbody tr").count(), 5);
  await fresh.page.click("#share");
  await fresh.page.waitForFunction(async () => (await navigator.clipboard.readText()).length > 100);
  assert.equal(await fresh.page.evaluate(() => navigator.clipboard.readText()), link, "a link of a link is the same link");

  await fresh.page.setInputFiles("#file", [TRANSFORMER[1], TRANSFORMER[0]]);
  await fresh.page.waitForSelector("#link-note", { state: "hidden" });
  await settled(fresh.page);
  assert.deepEqual(await figures(fresh.page), shown);
  assert.equal(await fresh.page.isDisabled("#batch"), false);
  assert.equal(new URL(fresh.page.url()).hash, "", "an address that no longer fits the page is emptied");
  await fresh.page.fill("#batch", "64");
  await settled(fresh.page);
  assert.deepEqual(await figures(fresh.page), ask(...TRANSFORMER, "--gpu", "GeForce RTX 3060 12GB", "--batch", "64", "--optimizer", "Adam"));
  assert.deepEqual(fresh.faults, []);
  await fresh.context.close();

  await page.reload();
  await settled(page);
  await page.click("text=Load the decoder example");
  await page.waitForSelector("#link-note", { state: "hidden" });
  await settled(page);
  assert.deepEqual(await figures(page), shown, "the example is loaded with the settings of the link");
  assert.equal(context.pages().length, 1);
}));

test("back and forward between a loaded job and pasted links; a job that a link covered answers again", () => journey(async (page) => {
  await page.click("#example");
  await settled(page);
  await page.fill("#batch", "64");
  await settled(page);
  const live = await figures(page);
  await page.click("#share");
  await page.waitForFunction(() => location.hash.length > 100);
  const first = new URL(page.url()).hash;
  await page.fill("#batch", "96");
  await settled(page);
  assert.equal(new URL(page.url()).hash, "", "the link is no longer what is shown");
  const later = await figures(page);
  await page.evaluate((hash) => (location.hash = hash), first);
  await page.waitForSelector("#link-note:not([hidden])");
  await settled(page);
  assert.deepEqual(await figures(page), live);
  await page.goBack();
  await page.waitForSelector("#link-note", { state: "hidden" });
  await settled(page);
  assert.deepEqual(await figures(page), later);
  assert.equal(await page.inputValue("#batch"), "96");
  await page.fill("#batch", "32");
  await settled(page);
  assert.deepEqual(await figures(page), ask(...CNN, "--gpu", "GeForce RTX 4090", "--batch", "32"), "the job of before still answers");
  await page.goForward();
  await page.waitForSelector("#link-note:not([hidden])");
  await settled(page);
  assert.deepEqual(await figures(page), live);
  await page.reload();
  await settled(page);
  assert.deepEqual(await figures(page), live, "a link is opened again by a reload");
  await page.evaluate(() => (location.hash = "#garbage"));
  await page.waitForSelector("#error:not([hidden])");
  assert.deepEqual(await figures(page), live, "a bad link leaves what is shown");
  await page.goBack();
  await page.waitForSelector("#error", { state: "hidden" });
  await page.click("text=Close this result");
  await settled(page, "empty");
  assert.equal(new URL(page.url()).hash, "");
}));

test("a link pasted over the empty page, and back", () => journey(async (page) => {
  await page.click("#example");
  await settled(page);
  await page.click("#share");
  await page.waitForFunction(() => location.hash.length > 100);
  const { hash } = new URL(page.url());
  const fresh = await openPage(browser, server);
  await settled(fresh.page, "empty");
  await fresh.page.evaluate((text) => (location.hash = text), hash);
  await settled(fresh.page);
  await fresh.page.goBack();
  await settled(fresh.page, "empty");
  assert.equal(await fresh.page.isVisible("#empty"), true);
  await fresh.page.goForward();
  await settled(fresh.page);
  assert.deepEqual(await figures(fresh.page), await figures(page));
  assert.deepEqual(fresh.faults, []);
  await fresh.context.close();
}));

test("out of memory by fragmentation alone is never told as a lack, and nvidia-smi shows no more than the card has", () => journey(async (page) => {
  await page.click("#example-transformer");
  await settled(page);
  await page.selectOption("#gpu", "custom");
  const seen = new Set();
  for (let mib = 0; mib < 24 && seen.size < 3; mib++) {
    const batch = String(300 + 7 * mib);
    const capacity = 8 * 2 ** 30;
    const answer = estimate(...TRANSFORMER, "--capacity", String(capacity), "--batch", batch);
    const kind = answer.verdict !== "oom" ? answer.verdict : answer.minimum_capacity_bytes <= answer.gpu.usable_bytes ? "borderline" : "oom";
    if (seen.has(kind)) continue;
    seen.add(kind);
    await page.fill("#capacity", "8G");
    await page.fill("#batch", batch);
    await settled(page);
    const text = `${await page.textContent("#verdict-text")} ${kind === "fits" || kind === "tight" ? "" : await page.textContent("#oom-text")}`;
    if (kind === "oom") assert.match(text, /short by/);
    else assert.doesNotMatch(text, /short by|must go/, `${kind} at ${batch}`);
    if (kind === "borderline") assert.match(text, /by fragmentation alone.*set_per_process_memory_fraction/s);
    assert.ok(Number((await figures(page)).deviceBytes) <= capacity);
  }
  assert.ok(seen.size >= 2, [...seen].join());
}));

test("a scheduled recording, whose first phase begins before its first event, goes through a link too", () => journey(async (page) => {
  const file = `${EXAMPLES}transformer-b4-scheduled.json.gz`;
  await page.setInputFiles("#file", file);
  await settled(page);
  assert.deepEqual(await figures(page), ask(file, "--gpu", "GeForce RTX 4090"));
  await page.click("#share");
  await page.waitForFunction(() => location.hash.length > 100);
  await page.reload();
  await settled(page);
  assert.deepEqual(await figures(page), ask(file, "--gpu", "GeForce RTX 4090"));
}));

test("the download is the command line's JSON, byte for byte", () => journey(async (page) => {
  await page.click("#example");
  await settled(page);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#download")]);
  assert.equal(`${readFileSync(await download.path(), "utf8")}\n`, estimateText(...CNN, "--gpu", "GeForce RTX 4090"));
  const [picture] = await Promise.all([page.waitForEvent("download"), page.click("#chart-png")]);
  assert.deepEqual([...readFileSync(await picture.path()).subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
}));

test("a card is found by searching", () => journey(async (page) => {
  await page.click("#example");
  await settled(page);
  await page.fill("#gpu-search", "a100 80");
  await page.waitForSelector("#gpu-found [role=option]");
  await page.press("#gpu-search", "ArrowDown");
  await page.press("#gpu-search", "Enter");
  await settled(page);
  const gpu = await page.inputValue("#gpu");
  assert.match(gpu, /^A100.*80GB/);
  assert.deepEqual(await figures(page), ask(...CNN, "--gpu", gpu));
  const options = await page.evaluate(() => [...document.getElementById("gpu").options].map((option) => option.value));
  assert.ok(options.length > 90 && options.includes("custom"));
}));
