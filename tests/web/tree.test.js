// The page's own rules, read off its files: imports go one way, one file calls Plotly, nothing is fetched from elsewhere, no HTML is parsed.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const WEB = fileURLToPath(new URL("../../web/", import.meta.url));
const files = [...readdirSync(WEB), ...readdirSync(join(WEB, "views")).map((name) => `views/${name}`)].filter((name) => name.endsWith(".js"));
const source = new Map(files.map((name) => [name, readFileSync(join(WEB, name), "utf8")]));
const html = readFileSync(join(WEB, "index.html"), "utf8");
const importsOf = (name) => [...source.get(name).matchAll(/^(?:import|export) .*?from "(\.[^"]+)";$/gms)].map((match) => normalize(join(dirname(name), match[1])));

function reach(name, seen = new Set()) {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const next of importsOf(name)) if (source.has(next)) reach(next, seen);
  return seen;
}

test("imports go one way: views know neither client nor main, the Worker's side knows no page, state knows nothing", () => {
  assert.ok(files.length > 15);
  for (const name of files) {
    const all = [...reach(name)].filter((other) => other !== name);
    if (name.startsWith("views/") || name === "charts.js") for (const other of all) assert.ok(!["client.js", "job.js", "main.js", "worker.js", "share.js"].includes(other), `${name} reaches ${other}`);
  }
  assert.deepEqual(importsOf("worker.js"), ["wasm/engine.js"]);
  assert.deepEqual(importsOf("client.js"), []);
  assert.deepEqual(importsOf("state.js"), []);
  assert.deepEqual(importsOf("format.js"), []);
});

test("index.html preloads exactly the modules that main.js needs", () => {
  const preloaded = [...html.matchAll(/rel="modulepreload" href="([^"]+)"/g)].map((match) => match[1]);
  assert.deepEqual(preloaded.sort(), [...reach("main.js")].filter((name) => name !== "main.js").sort());
});

test("only charts.js calls Plotly, and it switches the upload off", () => {
  for (const [name, text] of source) assert.equal(/\bPlotly\.\w+\(/.test(text), name === "charts.js", name);
  assert.match(source.get("charts.js"), /showSendToCloud: false, plotlyServerURL: ""/);
});

test("texts never become markup, and nothing comes from elsewhere", () => {
  for (const [name, text] of source) {
    assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, name);
    assert.doesNotMatch(text.replaceAll("http://www.w3.org/2000/svg", ""), /https?:\/\//, name);
  }
  assert.doesNotMatch(html, /(?:src|href)="(?:https?:)?\/\//);
  assert.doesNotMatch(html, / style="| on[a-z]+="/);
});

test("files stay small and say what they are for", () => {
  for (const [name, text] of source) {
    assert.ok(text.split("\n").length <= 200, `${name} has more than 200 lines`);
    assert.match(text, /^\/\/ /, name);
  }
});
