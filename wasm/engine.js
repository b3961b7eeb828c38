// The JavaScript side of the boundary: the only file that touches wasm memory. Works in a Worker, in a page and in Node.
// A view of wasm memory is made after the last call and copied at once: memory may move whenever C allocates.

export const ABI_VERSION = 1;
const INPUT_BYTES = 1 << 20;

/** What the core refused, with the facts of its error (see oomcast.h, oc_error). */
export class OomcastError extends Error {
  /** @param {{status: number, name: string, profile: number, byte_offset: number | null, event_index: number, message: string}} facts */
  constructor(facts) {
    super(facts.message);
    this.name = "OomcastError";
    this.code = facts.name;
    this.profile = facts.profile;
    this.byteOffset = facts.byte_offset;
    this.eventIndex = facts.event_index;
  }
}

/** The core module; one is enough for any number of sessions. */
export class Engine {
  #exports;

  /** @param {WebAssembly.Instance} instance */
  constructor(instance) {
    this.#exports = instance.exports;
    this.#exports._initialize();
    const version = this.#exports.abi_version();
    if (version !== ABI_VERSION) throw new Error(`oomcast.wasm has ABI ${version}, this page needs ${ABI_VERSION}: reload without cache`);
  }

  /** @param {BufferSource | WebAssembly.Module} source the bytes of oomcast.wasm, or the compiled module */
  static async load(source) {
    const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source);
    return new Engine(await WebAssembly.instantiate(module, { env: { emscripten_notify_memory_growth() {} } }));
  }

  /** Opens a session for one or two profiles. */
  open() {
    const handle = this.#exports.open(INPUT_BYTES) >>> 0;
    if (!handle) throw new OomcastError({ status: 1, name: "memory", profile: -1, byte_offset: null, event_index: 0, message: "out of memory" });
    return new Session(this.#exports, handle);
  }

  /** The GPU catalogue: [{name, group, total_bytes, ...}]. */
  gpus() {
    const address = this.#exports.gpus() >>> 0;
    return JSON.parse(text(this.#exports, address, this.#exports.gpus_len()));
  }

  /** Bytes of wasm memory in use by the module; it only grows. */
  get memoryBytes() {
    return this.#exports.memory.buffer.byteLength;
  }
}

function text(exports, address, length) {
  return new TextDecoder().decode(new Uint8Array(exports.memory.buffer, address >>> 0, length));
}

/** One job: feed a profile, perhaps a second one, finish, then simulate as often as wanted. Close it in the end. */
export class Session {
  #exports;
  #handle;

  constructor(exports, handle) {
    this.#exports = exports;
    this.#handle = handle;
  }

  #check(status) {
    if (status !== 0) throw new OomcastError(JSON.parse(this.#text("error")));
  }

  #text(name) {
    const length = this.#exports[`${name}_len`](this.#handle);
    return text(this.#exports, this.#exports[name](this.#handle), length);
  }

  #write(bytes) {
    const address = this.#exports.input(this.#handle) >>> 0;
    new Uint8Array(this.#exports.memory.buffer, address, bytes.length).set(bytes);
  }

  /** @param {Uint8Array} bytes the next bytes of the profile, of any length */
  feed(bytes) {
    for (let at = 0; at < bytes.length; at += INPUT_BYTES) {
      const part = bytes.subarray(at, at + INPUT_BYTES);
      this.#write(part);
      this.#check(this.#exports.feed(this.#handle, part.length));
    }
  }

  /** The current profile was recorded at this batch size, whatever it seems to be; before nextProfile() or finish(). */
  setBatch(batchSize) {
    this.#check(this.#exports.set_batch(this.#handle, batchSize));
  }

  /** Of a profile recorded on several GPUs, looks at this one instead of the busiest; before finish(). */
  setDevice(deviceId) {
    this.#check(this.#exports.set_device(this.#handle, deviceId));
  }

  /** What is fed from here on is the second profile, the same job at another batch size. */
  nextProfile() {
    this.#check(this.#exports.next_profile(this.#handle));
  }

  finish() {
    this.#check(this.#exports.finish(this.#handle));
  }

  /** @param {object} options see oc_session_simulate in oomcast.h; the answer is in summaryText() and columns() */
  simulate(options) {
    const bytes = new TextEncoder().encode(JSON.stringify(options));
    if (bytes.length > INPUT_BYTES) throw new RangeError("options too long");
    this.#write(bytes);
    this.#check(this.#exports.simulate(this.#handle, bytes.length));
  }

  /** The result JSON as the core wrote it. */
  summaryText() {
    return this.#text("summary");
  }

  /** All columns by their number, copied: Float64Array each. */
  columns(count) {
    const columns = [];
    for (let id = 0; id < count; id++) {
      const length = this.#exports.column_len(this.#handle, id);
      const address = this.#exports.column(this.#handle, id) >>> 0;
      columns.push(length ? new Float64Array(this.#exports.memory.buffer, address, length).slice() : new Float64Array(0));
    }
    return columns;
  }

  /** {text_bytes, events, session_peak_bytes} */
  facts() {
    return JSON.parse(this.#text("facts"));
  }

  close() {
    if (this.#handle) this.#exports.close(this.#handle);
    this.#handle = 0;
  }
}
