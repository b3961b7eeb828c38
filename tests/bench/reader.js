// Reader speed and memory in one run on one machine: the native program and the wasm core (in Node) beside gunzip, and JSON.parse, Python's json and
// simdjson's on-demand scan of a valid twin of the same text. Prints a table; asserts nothing, machines are noisy. g++, libsimdjson-dev and python3
// are installed by tests/run.sh; what is missing is left out.
// Usage: node reader.js [PROFILE.json.gz]; default: the 341 MB one of ../shared, else a bundled example repeated.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { Engine } from "../../wasm/engine.js";
import { CLI } from "../cli/run.js";
import { profile, validTwin } from "./profile.js";

const WASM = process.env.OOMCAST_WASM ?? new URL("../../build/site/wasm/oomcast.wasm", import.meta.url).pathname;
const ROUNDS = 3;

function best(action) {
  let seconds = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.hrtime.bigint();
    action();
    seconds = Math.min(seconds, Number(process.hrtime.bigint() - start) / 1e9);
  }
  return seconds;
}

const zipped = profile(process.argv[2]);
const text = gunzipSync(zipped);
const folder = mkdtempSync(join(tmpdir(), "oomcast-bench-"));
const [zippedPath, plainPath] = [join(folder, "p.json.gz"), join(folder, "p.json")];
writeFileSync(zippedPath, zipped);
writeFileSync(plainPath, text);

const engine = await Engine.load(readFileSync(WASM));
let facts;
function readByWasm(bytes) {
  const session = engine.open();
  session.feed(bytes);
  session.finish();
  facts = session.facts();
  session.close();
}
const native = (path) => {
  let result;
  for (let round = 0; round < ROUNDS; round++) {
    const one = JSON.parse(execFileSync(CLI, ["bench", path]));
    if (!result || one.read_seconds < result.read_seconds) result = one;
  }
  return result;
};
/** Highest resident set of the native run, by GNU time where it is installed; NaN elsewhere. */
function residentBytes(path) {
  const { stderr, error } = spawnSync("/usr/bin/time", ["-f", "%M", CLI, "bench", path], { encoding: "utf8" });
  return error ? NaN : Number(stderr) * 1024;
}

/** Seconds of a command that measures itself and prints JSON; undefined where it cannot run. */
function measured(command, args) {
  const { stdout, status } = spawnSync(command, args, { encoding: "utf8" });
  return status === 0 ? JSON.parse(stdout).seconds : undefined;
}

const twin = validTwin(text);
const parse = best(() => JSON.parse(twin));
const [twinPath, scanner] = [join(folder, "twin.json"), join(folder, "simdjson")];
writeFileSync(twinPath, twin);
const python = measured("python3", ["-c", `import json, sys, time
text = open(sys.argv[1]).read()
start = time.perf_counter()
json.loads(text)
print(json.dumps({"seconds": time.perf_counter() - start}))`, twinPath]);
const source = new URL("reader_simdjson.cpp", import.meta.url).pathname;
const isBuilt = spawnSync("g++", ["-O3", "-march=native", "-std=c++17", source, "-o", scanner, "-lsimdjson"]).status === 0;
const simdjson = isBuilt ? measured(scanner, [twinPath, String(ROUNDS)]) : undefined;
const gunzip = best(() => gunzipSync(zipped));
const plain = native(plainPath), gz = native(zippedPath);
const wasmPlain = best(() => readByWasm(text)), wasmGz = best(() => readByWasm(zipped));
const resident = residentBytes(zippedPath);
rmSync(folder, { recursive: true });

const mb = text.length / 1e6;
const row = (name, seconds, base, peak) => console.log(`| ${name} | ${(mb / seconds).toFixed(0)} | ${(facts.events / seconds / 1e6).toFixed(2)} | ` +
  `${(base / seconds).toFixed(1)} | ${peak ? (peak / 1e6).toFixed(1) : "-"} |`);
console.log(`${mb.toFixed(0)} MB of JSON in ${(zipped.length / 1e6).toFixed(1)} MB of gzip, ${facts.events} events; best of ${ROUNDS}; whole reading and analysis\n`);
console.log("| reader | MB/s of JSON | million events/s | times JSON.parse of the same text | peak MB |\n|---|---|---|---|---|");
row("JSON.parse (text in memory)", parse, parse);
if (python) row("Python's json.loads (text in memory)", python, parse);
if (simdjson) row("simdjson, on-demand scan (text in memory)", simdjson, parse);
row("oomcast, native, plain", plain.read_seconds, parse, plain.session_peak_bytes);
row("oomcast, wasm in Node, plain", wasmPlain, parse, engine.memoryBytes);
console.log("\n| reader | MB/s of JSON | million events/s | times gunzip + JSON.parse | peak MB |\n|---|---|---|---|---|");
row("gunzip + JSON.parse", gunzip + parse, gunzip + parse);
row("gunzip alone (Node's zlib)", gunzip, gunzip + parse);
row("oomcast, native, gzip", gz.read_seconds, gunzip + parse, gz.session_peak_bytes);
row("oomcast, wasm in Node, gzip", wasmGz, gunzip + parse, engine.memoryBytes);
console.log(`\nsimulation of the recorded job, native: ${gz.simulate_ms.toFixed(1)} ms${Number.isNaN(resident) ? "" : `; resident set of the native run ${(resident / 1e6).toFixed(1)} MB`}`);
