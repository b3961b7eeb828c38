// The wasm core in Chromium beside JSON.parse there, in one page: the same text, each the best of three. Prints a table; asserts nothing.
// Usage: OOMCAST_SITE=SITE OOMCAST_CLI=BINARY node reader_chromium.js [PROFILE.json.gz]; default as in reader.js, whose twin is used.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { SITE, launch } from "../browser/kit.js";
import { profile, validTwin } from "./profile.js";

const zipped = profile(process.argv[2]), text = gunzipSync(zipped);
const files = {
  "/": ["text/html", "<!doctype html>"], "/engine.js": ["text/javascript", readFileSync(join(SITE, "wasm/engine.js"))],
  "/oomcast.wasm": ["application/wasm", readFileSync(join(SITE, "wasm/oomcast.wasm"))], "/plain": ["text/plain", text], "/gzip": ["text/plain", zipped], "/twin": ["text/plain", validTwin(text)],
};
const server = createServer((request, response) => {
  const [type, body] = files[request.url] ?? ["text/plain", ""];
  response.writeHead(200, { "content-type": `${type}; charset=latin1` }).end(body);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const browser = await launch();
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(0);
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const seconds = await page.evaluate(async () => {
    const { Engine } = await import("/engine.js");
    const engine = await Engine.load(await (await fetch("/oomcast.wasm")).arrayBuffer());
    const best = (action) => Math.min(...[1, 2, 3].map(() => {
      const start = performance.now();
      action();
      return (performance.now() - start) / 1000;
    }));
    const bytes = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());
    const read = (input) => {
      const session = engine.open();
      session.feed(input);
      session.finish();
      session.close();
    };
    const plain = await bytes("/plain"), gzip = await bytes("/gzip");
    const wasm = best(() => read(plain)), wasmGzip = best(() => read(gzip));
    const twin = await (await fetch("/twin")).text();
    return { parse: best(() => JSON.parse(twin)), wasm, wasmGzip };
  });
  const row = (name, took) => console.log(`| ${name} | ${(text.length / 1e6 / took).toFixed(0)} | ${(seconds.parse / took).toFixed(1)} |`);
  console.log(`${(text.length / 1e6).toFixed(0)} MB of JSON in ${await browser.version()}\n\n| reader | MB/s of JSON | times JSON.parse |\n|---|---|---|`);
  row("JSON.parse (text in memory)", seconds.parse);
  row("oomcast, wasm in Chromium, plain", seconds.wasm);
  row("oomcast, wasm in Chromium, gzip", seconds.wasmGzip);
} finally {
  await browser.close();
  server.close();
}
