// Runs the command line and the wasm core the same way, for the tests beside it. OOMCAST_CLI and OOMCAST_WASM name the builds.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Engine } from "../../wasm/engine.js";

export const CLI = process.env.OOMCAST_CLI ?? new URL("../../build/native/oomcast", import.meta.url).pathname;
const WASM = process.env.OOMCAST_WASM ?? new URL("../../build/site/wasm/oomcast.wasm", import.meta.url).pathname;

export const examples = (...names) => names.map((name) => new URL(`../../examples/${name}`, import.meta.url).pathname);

/** {status, stdout, stderr} of `oomcast ...args`. */
export function cli(args, input) {
  const { status, stdout, stderr, error } = spawnSync(CLI, args.map(String), { input, encoding: "utf8", maxBuffer: 1 << 28 });
  if (error) throw error;
  return { status, stdout, stderr };
}

/** The result of an estimate; fails the test if the command could not run. */
export function estimate(files, ...options) {
  const { status, stdout, stderr } = cli(["estimate", ...files, ...options, "--json"]);
  if (status === 2 || status === null) throw new Error(`exit status ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

let engine;

/** A finished wasm session over the given files' bytes, after `prepare` if given; throws OomcastError. */
export async function openSession(contents, prepare) {
  engine ??= await Engine.load(readFileSync(WASM));
  const session = engine.open();
  try {
    contents.forEach((bytes, index) => {
      if (index) session.nextProfile();
      session.feed(bytes);
    });
    prepare?.(session);
    session.finish();
  } catch (error) {
    session.close();
    throw error;
  }
  return session;
}
