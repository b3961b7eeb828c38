// What every browser test needs: a static server under a subpath, Chromium with an empty profile, a page that notes whatever must not
// happen (errors, policy violations, requests to another origin), and the command line to compare with.
// Environment: OOMCAST_SITE the installed site folder, OOMCAST_CLI the native binary, CHROMIUM (default /usr/bin/chromium).

import { execFileSync } from "node:child_process";
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const SITE = process.env.OOMCAST_SITE ?? "";
export const CLI = process.env.OOMCAST_CLI ?? "";
export const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));
const SUBPATH = "/docs/oomcast/";
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".wasm": "application/wasm", ".gz": "application/gzip", ".py": "text/x-python", ".txt": "text/plain" };

if (!existsSync(join(SITE, "index.html"))) throw new Error("set OOMCAST_SITE to the installed site folder (cmake --install of the wasm build)");
if (!existsSync(CLI)) throw new Error("set OOMCAST_CLI to the native oomcast binary");

/** Serves the site as a plain static host would; `gates` hold a file back until it is released. */
export async function serve() {
  const gates = new Map();
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://host").pathname;
    const name = path.endsWith("/") ? "index.html" : normalize(path.slice(SUBPATH.length));
    const file = join(SITE, name);
    if (!path.startsWith(SUBPATH) || name.startsWith("..") || !existsSync(file) || !statSync(file).isFile()) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-length": statSync(file).size });
    if (gates.has(name)) {
      response.flushHeaders();
      await gates.get(name);
    }
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return { origin, url: `${origin}${SUBPATH}`, gates, close: () => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))) };
}

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
  });
}

/** A page in an empty profile and the list of what went wrong on it. @returns {Promise<{page: import("playwright-core").Page, faults: string[], context: import("playwright-core").BrowserContext}>} */
export async function openPage(browser, server, { fragment = "", ...options } = {}) {
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"], viewport: { width: 1320, height: 900 }, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && faults.push(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`page error: ${error.stack ?? error}`));
  context.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${server.origin}/`) && !url.startsWith("blob:") && !url.startsWith("data:")) faults.push(`foreign request: ${url}`);
  });
  page.on("requestfailed", (request) => !request.failure()?.errorText.includes("ERR_ABORTED") && faults.push(`request failed: ${request.url()} ${request.failure()?.errorText}`));
  page.on("response", (response) => response.status() >= 400 && faults.push(`HTTP ${response.status()}: ${response.url()}`));
  await page.addInitScript(() => document.addEventListener("securitypolicyviolation", (event) => console.error(`policy violation: ${event.violatedDirective} ${event.blockedURI}`)));
  page.on("filechooser", () => {}); // the browser is told to hand choosers over now, not when a test is about to open one
  await page.goto(server.url + fragment);
  return { page, faults, context };
}

/** Waits until the page shows a state and no simulation is under way. */
export function settled(page, state = "ready") {
  return page.waitForFunction((wanted) => document.documentElement.dataset.state === wanted && !document.documentElement.dataset.busy, state, { timeout: 30000 });
}

export async function figures(page) {
  return page.evaluate(() => ({
    verdict: document.getElementById("verdict").dataset.verdict,
    reservedBytes: document.getElementById("peak-reserved").dataset.bytes,
    allocatedBytes: document.getElementById("peak-allocated").dataset.bytes,
    deviceBytes: document.getElementById("peak-device").dataset.bytes,
  }));
}

/** What the command line says to the same question, in the form of `figures`. @param {string[]} args */
export function ask(...args) {
  const result = estimate(...args);
  const limitBytes = result.gpu ? result.gpu.usable_bytes + result.outside.context_bytes : Infinity; // no process has more of a card
  return {
    verdict: result.verdict ?? "none", reservedBytes: String(result.peak.reserved_bytes), allocatedBytes: String(result.peak.allocated_bytes), deviceBytes: String(Math.min(result.peak.device_bytes, limitBytes)),
  };
}

/** The result JSON of a command as text; out of memory (status 1) is a result too. */
export function cliText(command, ...args) {
  try {
    return execFileSync(CLI, [command, ...args, "--json"], { maxBuffer: 1 << 26, encoding: "utf8" });
  } catch (error) {
    if (error.status === 1) return error.stdout;
    throw error;
  }
}

export const estimateText = (...args) => cliText("estimate", ...args);
export const estimate = (...args) => JSON.parse(estimateText(...args));

/** The one line of the command line for files that it refuses, without "oomcast: " and the file's name. */
export function refusal(...files) {
  try {
    execFileSync(CLI, ["estimate", ...files], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    if (error.status === 2) return files.reduce((line, file) => line.replace(`${file}: `, ""), error.stderr.trim().replace(/^oomcast: /, ""));
    throw error;
  }
  throw new Error(`the command line takes ${files.join(" ")}`);
}
