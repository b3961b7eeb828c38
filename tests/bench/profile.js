// The profile that the reader's benches read, and a valid twin for readers that need one.
import { existsSync, readFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { examples } from "../cli/run.js";

const BIG = new URL("../../../shared/profiles/big/naive-distilgpt2.json.gz", import.meta.url).pathname;

/** The example with its events repeated by python frames until it has about `bytes` bytes. */
function repeated(bytes) {
  const text = gunzipSync(readFileSync(examples("transformer-b4.json.gz")[0])).toString();
  const frame = (i) => `  {\n    "ph": "X", "cat": "python_function", "name": "torch/nn/modules/module.py(${i}): _call_impl", "pid": 1, "tid": 1,\n` +
    `    "ts": ${5e12 + i}.000, "dur": 2.000,\n    "args": {\n      "Python parent id": ${i}, "Python id": ${i + 1}, "Ev Idx": ${1e6 + i}\n    }\n  },\n`;
  const parts = [];
  for (let i = 0, length = text.length; length < bytes; i++) length += parts[parts.push(frame(i)) - 1].length;
  return Buffer.from(text.replace('"traceEvents": [\n', () => `"traceEvents": [\n${parts.join("")}`));
}

/** The same text as valid JSON: bad bytes replaced one for one. */
export function validTwin(text) {
  const bytes = Buffer.from(text);
  for (let i = 0; i < bytes.length; i++) if ((bytes[i] < 0x20 && bytes[i] !== 0x0a) || bytes[i] >= 0x80) bytes[i] = 0x3f;
  return bytes.toString("latin1").replace(/("cat": "python_function", "name": ")([^\n]*)(", "pid")/g, (_, before, name, after) =>
    before + name.replace(/["\\]/g, "?") + after);
}

/** The bytes of a file, else of the 341 MB profile of ../shared, else of an example made long. */
export function profile(path) {
  return path ? readFileSync(path) : existsSync(BIG) ? readFileSync(BIG) : gzipSync(repeated(120e6), { level: 6 });
}
