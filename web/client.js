// The page's side of the Worker: load, simulate, cancel. Every load gets a Worker of its own and replaces the one before only when it
// has succeeded, so a failed or cancelled load changes nothing. Of several simulations asked for in a row only the newest is answered.

/** @typedef {{code: string, message: string, profile: number}} Failure code: a status of the core, or unreadable, failed, crash, cancelled */

/** A failure as an Error. */
class ClientError extends Error {
  /** @param {Failure} failure */
  constructor({ code, message, profile = -1 }) {
    super(message);
    this.code = code;
    this.profile = profile;
  }
}

const CRASHED = "The estimator stopped unexpectedly (a fault in oomcast, or the browser ran out of memory). The page is still usable: open the file again.";
const NOT_STARTED = "The estimator could not start: the browser did not load worker.js or wasm/oomcast.wasm from where this page came from.";

export class Client {
  #url;
  #spare = null; // started, without a session
  #loading = null;
  #live = null; // holds the session that the page shows
  #nextId = 1;
  #running = null; // the simulation in the Worker
  #waiting = null; // the newest one behind it

  /** @param {string} workerUrl absolute: a Worker that starts from a blob has no other base */
  constructor(workerUrl) {
    this.#url = workerUrl;
  }

  /** Starts a Worker ahead of the first file. @returns {Promise<object[]>} the GPU catalogue */
  start() {
    this.#spare ??= new Connection(this.#url);
    return this.#spare.started;
  }

  /** Reads profiles and simulates once. @param {import("./state.js").Input[]} inputs
   * @param {object} options @param {object} fallback options that any profile supports
   * @param {(progress: {stage: string, index?: number, readBytes?: number, totalBytes?: number}) => void} onProgress */
  async load(inputs, options, fallback, onProgress) {
    this.cancel();
    const connection = this.#spare ?? new Connection(this.#url);
    this.#spare = null;
    this.#loading = connection;
    try {
      await connection.started;
      const plain = inputs.map(({ file, url, sizeBytes, batch }) => ({ file, url, sizeBytes, batch }));
      const answer = await connection.ask({ type: "load", id: this.#nextId++, inputs: plain, options, fallback }, onProgress);
      this.close();
      this.#live = connection;
      return answer;
    } catch (error) {
      connection.end(error);
      throw error;
    } finally {
      if (this.#loading === connection) this.#loading = null;
    }
  }

  /** Stops the load that is going on, if any: its promise is rejected with code "cancelled". */
  cancel() {
    this.#loading?.end(new ClientError({ code: "cancelled", message: "cancelled" }));
    this.#loading = null;
  }

  /** Forgets the loaded job. */
  close() {
    this.#live?.end(new ClientError({ code: "cancelled", message: "closed" }));
    this.#live = null;
  }

  get isLive() {
    return this.#live !== null;
  }

  /** @param {object} options @returns {Promise<object | null>} null if a newer question has replaced this one */
  simulate(options) {
    return new Promise((resolve, reject) => {
      this.#waiting?.resolve(null);
      this.#waiting = { options, resolve, reject };
      this.#next();
    });
  }

  async #next() {
    if (this.#running || !this.#waiting) return;
    const question = (this.#running = this.#waiting);
    this.#waiting = null;
    try {
      if (!this.#live) throw new ClientError({ code: "cancelled", message: "no profile is loaded" });
      const answer = await this.#live.ask({ type: "simulate", id: this.#nextId++, options: question.options });
      question.resolve(this.#waiting ? null : answer);
    } catch (error) {
      if (error.code === "crash") this.close();
      question.reject(error);
    } finally {
      this.#running = null;
      this.#next();
    }
  }
}

/** One Worker and the questions it has not answered yet. */
class Connection {
  #worker;
  #open = new Map(); // id -> {resolve, reject, onProgress}
  #ended = null;

  constructor(url) {
    // From a blob, because such a Worker inherits the policy of the page's meta tag; one that is started from a URL does not.
    const blobUrl = URL.createObjectURL(new Blob([`import ${JSON.stringify(url)};`], { type: "text/javascript" }));
    this.#worker = new Worker(blobUrl, { type: "module", name: "oomcast" });
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onmessageerror = () => this.end(new ClientError({ code: "crash", message: CRASHED }));
    this.started = new Promise((resolve, reject) => this.#open.set(0, { resolve, reject }));
    this.started.catch(() => {}); // whoever loads awaits it
    this.started.finally(() => URL.revokeObjectURL(blobUrl)).catch(() => {});
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.end(new ClientError({ code: "crash", message: this.#open.has(0) ? NOT_STARTED : CRASHED }));
    };
    this.#worker.postMessage({ type: "start", id: 0 });
  }

  /** @param {{id: number}} message @param {(progress: object) => void} [onProgress] */
  ask(message, onProgress) {
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(this.#ended);
      this.#open.set(message.id, { resolve, reject, onProgress });
      this.#worker.postMessage(message);
    });
  }

  end(error) {
    this.#ended ??= error;
    this.#worker.terminate();
    for (const question of this.#open.values()) question.reject(error);
    this.#open.clear();
  }

  #receive(data) {
    const id = data.type === "started" ? 0 : data.id;
    const question = this.#open.get(id);
    if (!question) return;
    if (data.type === "progress") return question.onProgress(data);
    this.#open.delete(id);
    if (data.type !== "failed") return question.resolve(data.type === "started" ? data.gpus : data);
    question.reject(new ClientError(data.error.code === "crash" ? { code: "crash", message: `${CRASHED} (${data.error.message})` } : data.error));
  }
}
