// For everyone: axe on every state in both themes, the whole way by keyboard, narrow and wide windows, the theme button.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { EXAMPLES, figures, launch, openPage, serve, settled } from "./kit.js";

const AXE = readFileSync(fileURLToPath(new URL("../node_modules/axe-core/axe.min.js", import.meta.url)), "utf8");
const CNN = ["cnn-b4.json.gz", "cnn-b8.json.gz"].map((name) => EXAMPLES + name);
let server, browser;
before(async () => {
  server = await serve();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

async function noViolations(page, name) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${name}: ${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join(" | ")}`), []);
}

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in any state, ${colorScheme}`, async () => {
    const { page, faults, context } = await openPage(browser, server, { colorScheme, reducedMotion: "reduce" });
    await settled(page, "empty");
    await noViolations(page, "empty");
    await page.setInputFiles("#file", { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("no profile") });
    await settled(page, "error");
    await noViolations(page, "error");
    let release;
    server.gates.set("examples/cnn-b8.json.gz", new Promise((resolve) => (release = resolve)));
    await page.click("#example");
    await page.waitForFunction(() => document.getElementById("loading-title").textContent.includes("cnn-b8"));
    await noViolations(page, "loading");
    server.gates.clear();
    release();
    await settled(page);
    await noViolations(page, "ready");
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    await page.fill("#gpu-search", "4060");
    await noViolations(page, "ready, all open");
    await page.press("#gpu-search", "Escape");
    await page.selectOption("#gpu", "GeForce RTX 4060");
    for (const [batch, verdict] of [["376", "tight"], ["3000", "oom"]]) {
      await page.fill("#batch", batch);
      await settled(page);
      assert.equal((await figures(page)).verdict, verdict);
      await noViolations(page, verdict);
    }
    await page.selectOption("#gpu", "custom");
    await page.fill("#capacity", "plenty");
    await page.press("#capacity", "Tab");
    await page.waitForSelector("#settings-error:not([hidden])");
    await settled(page);
    await noViolations(page, "bad setting");
    await page.click("#share");
    await page.waitForFunction(() => location.hash.length > 100);
    await page.reload();
    await settled(page);
    await noViolations(page, "link");
    await page.setInputFiles("#file", CNN[0]);
    await page.waitForSelector("#link-note", { state: "hidden" });
    await settled(page);
    await noViolations(page, "one profile");
    assert.deepEqual(faults, []);
    await context.close();
  });
}

async function tabTo(page, selector) {
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
  }
  assert.fail(`the Tab key never reaches ${selector}`);
}

test("the whole way by keyboard alone", async () => {
  const { page, faults, context } = await openPage(browser, server);
  await settled(page, "empty");
  await tabTo(page, "#file");
  const outline = await page.evaluate(() => getComputedStyle(document.querySelector("#file + label")).outlineStyle);
  assert.notEqual(outline, "none", "the focus is seen on the button of the hidden input");
  await tabTo(page, "#choose");
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.keyboard.press("Enter")]);
  await chooser.setFiles(CNN);
  await settled(page);
  await tabTo(page, "#batch");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("96");
  await settled(page);
  assert.match(await page.textContent("#verdict-text"), /batch 96/);
  await tabTo(page, "#batch-slider");
  await page.keyboard.press("ArrowRight");
  await settled(page);
  await tabTo(page, "#gpu");
  await page.keyboard.type("T4");
  await page.keyboard.press("Enter");
  await settled(page);
  await tabTo(page, "#gpu-search");
  await page.keyboard.type("h100");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(await page.inputValue("#gpu"), /^H100/);
  await tabTo(page, "#more > summary");
  await page.keyboard.press("Enter");
  await tabTo(page, "#reset");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(await page.textContent("#verdict-text"), /batch 4/);
  await tabTo(page, ".toggle[data-series=tensor]");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".toggle[data-series=tensor][aria-pressed=true]");
  await page.waitForFunction(() => document.activeElement.dataset.series === "tensor");
  await tabTo(page, "#owners-more");
  await page.keyboard.press("Space");
  await tabTo(page, "#share");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.length > 100);
  const [again] = await Promise.all([page.waitForEvent("filechooser"), page.keyboard.press("Control+o")]);
  await again.setFiles(CNN[1]);
  await page.waitForFunction(() => document.getElementById("batch").disabled);
  await settled(page);
  assert.deepEqual(faults, []);
  await context.close();
});

test("the focus never falls to the page's begin: after an example, a cancel, a closed error", async () => {
  const { page, faults, context } = await openPage(browser, server);
  await settled(page, "empty");
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
  let release;
  server.gates.set("examples/cnn-b8.json.gz", new Promise((resolve) => (release = resolve)));
  await page.focus("#example");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.id === "cancel");
  await page.keyboard.press("Enter");
  await settled(page, "empty");
  assert.equal(await focused(), "example", "after a cancel it is where it was");
  server.gates.clear();
  release();
  await page.keyboard.press("Enter");
  await settled(page);
  assert.equal(await focused(), "verdict-title");
  await page.setInputFiles("#file", { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("no profile") });
  await page.waitForSelector("#error:not([hidden])");
  await settled(page);
  await page.focus("#error-close");
  await page.keyboard.press("Enter");
  assert.equal(await focused(), "verdict-title");
  assert.deepEqual(faults, []);
  await context.close();
});

test("the verdict is announced, and the chart is told in words", async () => {
  const { page, context } = await openPage(browser, server);
  await page.click("#example");
  await settled(page);
  assert.equal(await page.getAttribute("#verdict", "aria-live"), "polite");
  assert.match(await page.textContent("#timeline-text"), /Allocated peaks at .* in backward of iteration \d/);
  assert.match(await page.getAttribute("#stack", "aria-label"), /Activations .*iB/);
  await context.close();
});

for (const width of [320, 768, 1320, 3840]) {
  test(`nothing sticks out at ${width} pixels`, async () => {
    const { page, faults, context } = await openPage(browser, server, { viewport: { width, height: 900 } });
    const sticksOut = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    await settled(page, "empty");
    assert.equal(await sticksOut(), 0, "empty");
    await page.click("#example-transformer");
    await settled(page);
    await page.selectOption("#gpu", "GeForce RTX 3060 12GB");
    await page.fill("#batch", "520");
    await settled(page);
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    assert.equal(await sticksOut(), 0, "out of memory");
    await page.setInputFiles("#file", { name: `${"a-very-long-name-".repeat(12)}.json`, mimeType: "x", buffer: Buffer.from("x") });
    await page.waitForSelector("#error:not([hidden])");
    assert.equal(await sticksOut(), 0, "error");
    assert.deepEqual(faults, []);
    await context.close();
  });
}

test("the theme follows the system until the button says otherwise, and is remembered", async () => {
  const { page, faults, context } = await openPage(browser, server, { colorScheme: "light" });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await background();
  assert.notEqual(dark, light);
  await page.click("#theme");
  assert.equal(await background(), light);
  await page.reload();
  assert.equal(await background(), light);
  await page.click("#theme");
  assert.equal(await background(), dark);
  await page.click("#theme");
  await page.emulateMedia({ colorScheme: "light" });
  assert.equal(await background(), light);
  assert.deepEqual(faults, []);
  await context.close();
});
