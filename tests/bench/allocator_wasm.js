// Runs a standalone wasm program on this process's standard input and output. Usage: node allocator_wasm.js FILE.wasm
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";

const wasi = new WASI({ version: "preview1" });
const imports = { wasi_snapshot_preview1: wasi.wasiImport, env: { emscripten_notify_memory_growth() {} } };
const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), imports);
wasi.start(instance);
