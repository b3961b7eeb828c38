// The link: state, result and curve in the address's fragment, so that no server ever sees them. `encodeLink` writes it, `decodeLink`
// reads and checks it; any fragment that is not entirely right becomes a LinkError with one plain sentence. No DOM.
// Form: #r=VERSION.BASE64URL( crc32 of the payload, deflate-raw( length of JSON, JSON, curves ) )

import { packCurves, readNumber, reduceCurve, restorePeak, unpackCurves, writeNumber } from "./curve.js";
import { carried, FieldError } from "./share-fields.js";

const LINK_VERSION = 1;
const FRAGMENT_LIMIT = 60000; // characters
const PAYLOAD_LIMIT = 400000; // bytes after inflating
const CURVE_POINTS = [180, 60, 60]; // allocated, reserved, need

/** A link that cannot be used; the message is for people. */
export class LinkError extends Error {}

const damaged = () => new LinkError("This link is damaged: it was probably cut off or changed on its way. Ask for it again, or open the profile itself.");

/** @param {{inputs: import("./state.js").Input[], example: string, result: import("./state.js").Result}} shown
 * @returns {Promise<string>} the fragment without its # */
export async function encodeLink({ inputs, example, result }) {
  const { summary, curves, settings } = result;
  const endMs = endOf(summary, curves);
  const json = new TextEncoder().encode(JSON.stringify(carried.pack({ inputs, example, settings, summary, endMs })));
  const out = [];
  writeNumber(out, json.length);
  const kept = [curves.allocated, curves.reserved, curves.need].map((curve, i) => reduceCurve(curve, CURVE_POINTS[i]));
  const payload = Uint8Array.from([...out, ...json, ...packCurves(kept, { endMs, highestBytes: highestOf(summary) })]);
  const packed = await squeeze(payload, new CompressionStream("deflate-raw"), Infinity);
  const bytes = new Uint8Array(4 + packed.length);
  new DataView(bytes.buffer).setUint32(0, crc32(payload));
  bytes.set(packed, 4);
  return `r=${LINK_VERSION}.${toBase64url(bytes)}`;
}

/** @param {string} fragment with or without its #
 * @returns {Promise<null | {inputs: import("./state.js").Input[], example: string, result: import("./state.js").Result}>} null: no link at all */
export async function decodeLink(fragment) {
  const text = fragment.replace(/^#/, "");
  if (!text) return null;
  if (text.length > FRAGMENT_LIMIT) throw new LinkError("This link is too long to be one of oomcast. Open the profile itself.");
  const match = /^r=(\d+)\.([A-Za-z0-9_-]*)$/.exec(text);
  if (!match) throw /^r=\d+\./.test(text) ? damaged() : new LinkError("What follows the # in this address is no link of oomcast. Open a profile to begin.");
  if (Number(match[1]) !== LINK_VERSION)
    throw new LinkError(`This link has format ${match[1].slice(0, 9)}, this page reads format ${LINK_VERSION}: it was made by another version of oomcast. Open it there, or open the profile itself.`);
  try {
    return await unpack(fromBase64url(match[2]));
  } catch (error) {
    throw error instanceof LinkError ? error : damaged();
  }
}

async function unpack(bytes) {
  if (bytes.length < 6) throw damaged();
  const payload = await squeeze(bytes.subarray(4), new DecompressionStream("deflate-raw"), PAYLOAD_LIMIT);
  if (new DataView(bytes.buffer, bytes.byteOffset).getUint32(0) !== crc32(payload)) throw damaged();
  const reader = { bytes: payload, at: 0 };
  const length = readNumber(reader);
  const raw = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload.subarray(reader.at, reader.at + length)));
  const { inputs, example, settings, summary, endMs } = carried.unpack(raw);
  const curves = unpackCurves(payload.subarray(reader.at + length), 3, { endMs, highestBytes: highestOf(summary) });
  if (endMs < 0 || !curves || !isPlausible(summary)) throw new FieldError();
  const [allocated, reserved, need] = curves;
  return {
    inputs, example,
    result: {
      summary, text: null, settings,
      curves: {
        allocated: restorePeak(allocated, summary.peak.allocated_bytes), reserved: restorePeak(reserved, summary.peak.reserved_bytes),
        tensor: { timeMs: [], bytes: [] }, need: restorePeak(need, summary.need.reserved_bytes),
      },
    },
  };
}

/** Figures that contradict each other come from no oomcast. */
function isPlausible({ verdict, gpu, peak, oom, job, at_peak: atPeak }) {
  const sum = Object.values(atPeak).reduce((a, b) => a + b, 0);
  return (verdict === null) === (gpu === null) && (verdict === "oom") === (oom !== null) && job.batch_size !== 0 && (!gpu || gpu.usable_bytes <= gpu.total_bytes) &&
    peak.tensor_bytes <= peak.allocated_bytes && peak.allocated_bytes <= peak.reserved_bytes && sum === peak.reserved_bytes;
}

function endOf(summary, curves) {
  const last = (curve) => (curve.timeMs.length ? curve.timeMs[curve.timeMs.length - 1] : 0);
  return Math.max(last(curves.allocated), last(curves.reserved), last(curves.need), ...summary.phases.map((phase) => phase.end_ms));
}

function highestOf(summary) {
  return Math.max(summary.peak.reserved_bytes, summary.need.reserved_bytes);
}

/** All bytes through a (de)compression stream; stops at `limit`. */
async function squeeze(bytes, stream, limit) {
  const writer = stream.writable.getWriter();
  writer.write(bytes).catch(() => {});
  writer.close().catch(() => {});
  const reader = stream.readable.getReader();
  const parts = [];
  let length = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.length;
    if (length > limit) {
      reader.cancel().catch(() => {});
      throw damaged();
    }
    parts.push(part.value);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) at = (all.set(part, at), at + part.length);
  return all;
}

export function toBase64url(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function fromBase64url(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
}

export function crc32(bytes) {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
