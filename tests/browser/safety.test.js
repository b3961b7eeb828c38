// What the page must not do, and what it does where something is missing: policy, Worker, Plotly, damaged links, old browsers.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { figures, launch, openPage, serve, settled } from "./kit.js";

let server, browser, foreign, foreignHits;
before(async () => {
  server = await serve();
  browser = await launch();
  foreignHits = 0;
  foreign = createServer((_, response) => {
    foreignHits++;
    response.writeHead(200, { "access-control-allow-origin": "*" }).end("reached");
  });
  await new Promise((resolve) => foreign.listen(0, "127.0.0.1", resolve));
});
after(async () => {
  await browser?.close();
  await server?.close();
  foreign?.closeAllConnections();
  foreign?.close();
});

const foreignUrl = () => `http://127.0.0.1:${foreign.address().port}/`;

test("neither the page nor its Worker can reach another origin", async () => {
  assert.equal(await (await fetch(foreignUrl())).text(), "reached", "it could be reached, were it allowed");
  const hits = foreignHits;
  const { page, context } = await openPage(browser, server);
  await page.click("#example");
  await settled(page);
  const attempt = (url) => fetch(url).then((response) => response.text(), (error) => `refused: ${error.name}`);
  assert.equal(await page.evaluate(attempt, foreignUrl()), "refused: TypeError");
  const [worker] = page.workers();
  assert.match(worker.url(), /^blob:/);
  assert.equal(await worker.evaluate(attempt, foreignUrl()), "refused: TypeError");
  const evil = () => new Promise((resolve) => setTimeout(() => { // from a timer, because the test's own call may evaluate anything
    try {
      resolve(String((0, eval)("1 + 1")));
    } catch (error) {
      resolve(`refused: ${error.name}`);
    }
  }));
  assert.equal(await worker.evaluate(evil), "refused: EvalError");
  assert.equal(foreignHits, hits);
  await context.close();
});

test("the policy stands in the page and allows no inline script and no form", async () => {
  const { page, context } = await openPage(browser, server);
  const policy = await page.getAttribute("meta[http-equiv='Content-Security-Policy']", "content");
  for (const part of ["default-src 'none'", "connect-src 'self'", "form-action 'none'", "base-uri 'none'"]) assert.ok(policy.includes(part), part);
  assert.doesNotMatch(policy, /'unsafe-|https?:|\*/);
  const ran = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.wasRun = true";
    document.head.append(script);
    return window.wasRun === true;
  });
  assert.equal(ran, false);
  await context.close();
});

test("Plotly comes from our folder and offers no upload", async () => {
  const { page, faults, context } = await openPage(browser, server);
  await page.click("#example");
  await settled(page);
  assert.equal(await page.evaluate(() => performance.getEntriesByType("resource").find((entry) => entry.name.includes("plotly")).name), `${server.url}vendor/plotly-basic.min.js`);
  const config = await page.evaluate(() => {
    const { showSendToCloud, plotlyServerURL } = document.getElementById("chart")._context;
    return { showSendToCloud, plotlyServerURL };
  });
  assert.deepEqual(config, { showSendToCloud: false, plotlyServerURL: "" });
  assert.equal(await page.locator("#chart :is(a, button)").count(), 0);
  assert.equal(await page.getByText(/cloud|share chart|edit chart/i).count(), 0);
  assert.deepEqual(faults, []);
  await context.close();
});

test("damaged, foreign, old and huge links: a plain message, and the page works", async () => {
  for (const [fragment, pattern] of [["#r=1.abcdef", /damaged/], ["#r=9.abcdef", /format 9/], ["#whatever", /no link/], [`#r=1.${"A".repeat(61000)}`, /too long/]]) {
    const { page, faults, context } = await openPage(browser, server, { fragment });
    await settled(page, "error");
    assert.match(await page.textContent("#error-message"), pattern);
    assert.equal(await page.isVisible("#empty"), true);
    if (fragment === "#r=1.abcdef") {
      await page.click("#example");
      await settled(page);
      assert.equal((await figures(page)).verdict, "fits");
      assert.equal(await page.isVisible("#error"), false);
      assert.equal(new URL(page.url()).hash, "");
    }
    assert.deepEqual(faults, []);
    await context.close();
  }
});

test("a link pasted over a running page replaces it; a damaged one does not", async () => {
  const { page, faults, context } = await openPage(browser, server);
  await page.click("#example-transformer");
  await settled(page);
  await page.click("#share");
  await page.waitForFunction(() => location.hash.length > 100);
  const link = page.url();
  const shown = await figures(page);
  await page.click("#file + label", { trial: true });
  await page.evaluate(() => document.getElementById("example").click());
  await settled(page);
  assert.notDeepEqual(await figures(page), shown);
  await page.evaluate(() => (location.hash = "#r=1.zzzz"));
  await page.waitForSelector("#error:not([hidden])");
  assert.equal(await page.getAttribute("html", "data-state"), "ready");
  assert.notDeepEqual(await figures(page), shown);
  await page.evaluate((href) => (location.href = href), link);
  await page.waitForSelector("#link-note:not([hidden])");
  await settled(page);
  assert.deepEqual(await figures(page), shown);
  await page.click("text=Close this result");
  await settled(page, "empty");
  assert.deepEqual(faults, []);
  await context.close();
});

async function without(script, pattern) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.addInitScript(script);
  await page.goto(server.url);
  await settled(page, "error");
  assert.match(await page.textContent("#error"), pattern);
  await context.close();
}

test("without WebAssembly, Workers or compression the page says so", async () => {
  await without(() => delete globalThis.WebAssembly, /WebAssembly/);
  await without(() => delete globalThis.Worker, /Workers/);
  await without(() => delete globalThis.CompressionStream, /CompressionStream/);
});

test("a server that lacks a part of the page: the message names it", async () => {
  for (const [missing, pattern] of [["**/worker.js", /worker\.js/], ["**/oomcast.wasm", /oomcast\.wasm.*404/]]) {
    const context = await browser.newContext();
    await context.route(missing, (route) => route.fulfill({ status: 404, body: "" }));
    const page = await context.newPage();
    await page.goto(server.url);
    await settled(page, "error");
    assert.match(await page.textContent("#error"), pattern);
    await context.close();
  }
});

test("without Plotly every figure is there, and the chart says what is missing", async () => {
  const context = await browser.newContext();
  await context.route("**/plotly-basic.min.js", (route) => route.fulfill({ status: 404, body: "" }));
  const page = await context.newPage();
  await page.goto(server.url);
  await page.click("#example");
  await settled(page);
  assert.equal((await figures(page)).verdict, "fits");
  assert.match(await page.textContent("#chart"), /cannot be drawn/);
  await context.close();
});

test("a Worker that dies: a message, the result stays, and one click reads the files again", async () => {
  const { page, context } = await openPage(browser, server);
  await page.click("#example");
  await settled(page);
  const shown = await figures(page);
  await page.workers()[0].evaluate(() => setTimeout(() => { throw new Error("made by the test"); }));
  await page.waitForTimeout(50);
  await page.selectOption("#gpu", "T4");
  await page.waitForSelector("#error:not([hidden])");
  assert.equal(await page.getAttribute("html", "data-state"), "ready");
  assert.deepEqual(await figures(page), shown);
  await page.click("text=Read the files again");
  await page.waitForSelector("#error", { state: "hidden" });
  await settled(page);
  assert.equal(await page.inputValue("#gpu"), "T4");
  assert.match(await page.textContent("#verdict"), /on T4/);
  await context.close();
});
