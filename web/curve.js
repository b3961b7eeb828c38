// Step curves without a DOM: the value at a moment, fewer points without losing a peak, and a compact byte form for links.
// A curve is {timeMs, bytes}: the value holds from its time until the next one's.

/** @typedef {import("./state.js").Curve} Curve */

const VALUE_STEPS = 1000; // of the highest value: finer than the pixels of a chart
const TIME_STEPS = 1500;
const CURVE_POINTS_LIMIT = 2000;

/** Index of the point that holds at a time, -1 before the first. @param {Curve} curve @param {number} timeMs */
export function indexAt(curve, timeMs) {
  let low = 0;
  let high = curve.timeMs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (curve.timeMs[middle] <= timeMs) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** At most `most` points: first, last, and the lowest and highest of each slice of time. @param {Curve} curve @param {number} most @returns {Curve} */
export function reduceCurve(curve, most) {
  const { timeMs, bytes } = curve;
  const count = timeMs.length;
  const kept = [];
  if (count <= most) {
    for (let i = 0; i < count; i++) kept.push(i);
  } else {
    const slices = Math.max(1, Math.floor((most - 2) / 2));
    const widthMs = (timeMs[count - 1] - timeMs[0]) / slices || 1;
    kept.push(0);
    for (let i = 1; i < count - 1; ) {
      const slice = Math.min(slices - 1, Math.floor((timeMs[i] - timeMs[0]) / widthMs));
      let low = i;
      let high = i;
      for (; i < count - 1 && Math.min(slices - 1, Math.floor((timeMs[i] - timeMs[0]) / widthMs)) === slice; i++) {
        if (bytes[i] < bytes[low]) low = i;
        if (bytes[i] > bytes[high]) high = i;
      }
      kept.push(Math.min(low, high));
      if (low !== high) kept.push(Math.max(low, high));
    }
    kept.push(count - 1);
  }
  return { timeMs: kept.map((i) => timeMs[i]), bytes: kept.map((i) => bytes[i]) };
}

/** Curves as bytes: times and values in steps of one `scale`, each as a difference to the one before. Points that change nothing go.
 * @param {Curve[]} curves @param {{endMs: number, highestBytes: number}} scale @returns {number[]} */
export function packCurves(curves, scale) {
  const out = [];
  for (const curve of curves) {
    const points = [];
    for (let i = 0; i < curve.timeMs.length; i++) {
      const time = clamp(Math.round((curve.timeMs[i] / scale.endMs) * TIME_STEPS) || 0, TIME_STEPS);
      const value = clamp(Math.round((curve.bytes[i] / scale.highestBytes) * VALUE_STEPS) || 0, VALUE_STEPS);
      const isLast = i === curve.timeMs.length - 1;
      if (!points.length || isLast || value !== points[points.length - 1][1]) points.push([Math.max(time, points.length ? points[points.length - 1][0] : 0), value]);
    }
    writeNumber(out, points.length);
    let before = 0;
    for (const [time] of points) before = (writeNumber(out, time - before), time);
    before = 0;
    for (const [, value] of points) before = (writeNumber(out, value >= before ? 2 * (value - before) : 2 * (before - value) - 1), value);
  }
  return out;
}

/** The reverse of packCurves; null if the bytes are no such curves. @param {Uint8Array} bytes @param {number} curveCount
 * @param {{endMs: number, highestBytes: number}} scale @returns {Curve[] | null} */
export function unpackCurves(bytes, curveCount, scale) {
  const reader = { bytes, at: 0 };
  const curves = [];
  for (let c = 0; c < curveCount; c++) {
    const count = readNumber(reader);
    if (count === null || count > CURVE_POINTS_LIMIT) return null;
    const curve = { timeMs: [], bytes: [] };
    for (let i = 0, time = 0; i < count; i++) {
      time += readNumber(reader) ?? Infinity;
      if (time > TIME_STEPS) return null;
      curve.timeMs.push((time / TIME_STEPS) * scale.endMs);
    }
    for (let i = 0, value = 0; i < count; i++) {
      const step = readNumber(reader);
      if (step === null) return null;
      value += step % 2 ? -(step + 1) / 2 : step / 2;
      if (value < 0 || value > VALUE_STEPS) return null;
      curve.bytes.push((value / VALUE_STEPS) * scale.highestBytes);
    }
    curves.push(curve);
  }
  return reader.at === bytes.length ? curves : null;
}

/** The highest point made exact again after rounding. @param {Curve} curve @param {number} peakBytes */
export function restorePeak(curve, peakBytes) {
  const highest = Math.max(0, ...curve.bytes);
  return { timeMs: curve.timeMs, bytes: curve.bytes.map((value) => (value === highest ? peakBytes : Math.min(value, peakBytes))) };
}

function clamp(value, highest) {
  return Math.min(Math.max(value, 0), highest);
}

/** Seven bits a byte, the lowest first; the top bit says that more follow. */
export function writeNumber(out, value) {
  for (; value > 127; value = Math.floor(value / 128)) out.push((value % 128) + 128);
  out.push(value);
}

/** @param {{bytes: Uint8Array, at: number}} reader @returns {number | null} null where the bytes end or the number is too large */
export function readNumber(reader) {
  let value = 0;
  for (let factor = 1; factor < 2 ** 35; factor *= 128) {
    if (reader.at >= reader.bytes.length) return null;
    const byte = reader.bytes[reader.at++];
    value += (byte & 127) * factor;
    if (byte < 128) return value;
  }
  return null;
}
