// Runs the core off the page: streams files or the examples' bytes into a session, then simulates as often as asked. One session per
// Worker; to cancel, the page terminates it. Knows nothing of the page. Messages: see client.js, the only one that talks to it.

import { Engine, OomcastError } from "./wasm/engine.js";

const SLICE_BYTES = 256 * 1024; // between two looks at the clock
const PROGRESS_MS = 80;

let engine;
let session;

self.onmessage = async ({ data: message }) => {
  try {
    if (message.type === "start") await start();
    else if (message.type === "load") await load(message);
    else if (message.type === "simulate") post("simulated", message.id, simulate(message.options));
  } catch (error) {
    self.postMessage({ type: "failed", id: message.id, error: describe(error) });
  }
};

async function start() {
  const response = await fetch(new URL("./wasm/oomcast.wasm", import.meta.url));
  if (!response.ok) throw new Error(`wasm/oomcast.wasm cannot be loaded from this server (HTTP ${response.status}).`);
  engine = await Engine.load(await response.arrayBuffer());
  self.postMessage({ type: "started", gpus: engine.gpus() });
}

/** Reads one or two profiles and answers the first question about them. Options that the new profile cannot support are dropped, with a word. */
async function load({ id, inputs, options, fallback }) {
  session = engine.open();
  for (const [index, input] of inputs.entries()) {
    if (index > 0) session.nextProfile();
    await feed(id, index, input);
  }
  self.postMessage({ type: "progress", id, stage: "analysing" });
  session.finish();
  let settingsError = null;
  let answer;
  try {
    answer = simulate(options);
  } catch (error) {
    if (!(error instanceof OomcastError) || error.code !== "options") throw error;
    settingsError = error.message;
    answer = simulate(fallback);
  }
  post("loaded", id, { ...answer, facts: session.facts(), settingsError });
}

async function feed(id, index, { file, url, sizeBytes, batch }) {
  const { stream, totalBytes } = file ? { stream: file.stream(), totalBytes: file.size } : await openUrl(url, sizeBytes);
  const report = (readBytes) => self.postMessage({ type: "progress", id, stage: "reading", index, readBytes, totalBytes });
  const reader = stream.getReader();
  let readBytes = 0;
  let reportedAt = performance.now();
  report(0);
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    for (let at = 0; at < part.value.length; at += SLICE_BYTES) {
      const slice = part.value.subarray(at, at + SLICE_BYTES);
      try {
        session.feed(slice);
      } catch (error) {
        reader.cancel().catch(() => {});
        throw error;
      }
      readBytes += slice.length;
      const now = performance.now();
      if (now - reportedAt < PROGRESS_MS) continue;
      reportedAt = now;
      report(readBytes);
    }
  }
  if (batch) session.setBatch(batch);
  report(readBytes);
}

async function openUrl(url, sizeBytes) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The example cannot be loaded from this server (HTTP ${response.status} for ${url}).`);
  return { stream: response.body, totalBytes: Number(response.headers.get("content-length")) || sizeBytes || 0 };
}

function simulate(options) {
  session.simulate(options);
  const text = session.summaryText();
  const summary = JSON.parse(text);
  const columns = session.columns(summary.columns.length);
  const curve = (name) => {
    const id = summary.columns.find((column) => column.name === name).id;
    return { timeMs: columns[id - 1], bytes: columns[id] };
  };
  return { summary, text, curves: { allocated: curve("allocated"), reserved: curve("reserved"), tensor: curve("tensor"), need: curve("need reserved") } };
}

function post(type, id, answer) {
  const buffers = Object.values(answer.curves).flatMap(({ timeMs, bytes }) => [timeMs.buffer, bytes.buffer]);
  self.postMessage({ type, id, ...answer }, buffers);
}

function describe(error) {
  if (error instanceof OomcastError) return { code: error.code, message: error.message, profile: error.profile };
  if (error instanceof WebAssembly.RuntimeError) return { code: "crash", message: String(error.message), profile: -1 };
  if (error?.name === "NotReadableError" || error?.name === "NotFoundError")
    return { code: "unreadable", message: "the file cannot be read: no permission, or it was changed, moved or deleted since you chose it. Choose it again.", profile: -1 };
  return { code: "failed", message: String(error?.message ?? error), profile: -1 };
}
