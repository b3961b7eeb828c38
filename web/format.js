// The only place that rounds numbers and turns them into words. Pure functions, English, the same rounding as the command line:
// GiB with two decimals from 1 GiB on, MiB with one below. What must be exact is given as exact bytes beside it.

const KIB = 1024;
const MIB = 1024 * KIB;
export const GIB = 1024 * MIB;
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** 7838315315 -> "7,838,315,315" @param {number} value */
export function formatCount(value) {
  return whole.format(value);
}

/** "7.30 GiB", "141.4 MiB", "17.6 KiB", "512 bytes" @param {number} bytes */
export function formatBytes(bytes) {
  const size = Math.abs(bytes);
  if (size >= GIB) return `${(bytes / GIB).toFixed(2)} GiB`;
  if (size >= MIB) return `${(bytes / MIB).toFixed(1)} MiB`;
  if (size >= KIB) return `${(bytes / KIB).toFixed(1)} KiB`;
  return `${whole.format(bytes)} bytes`;
}

/** "7,838,315,315 bytes" @param {number} bytes */
export function formatExact(bytes) {
  return `${whole.format(bytes)} ${bytes === 1 ? "byte" : "bytes"}`;
}

/** "7.30 GiB (7,838,315,315 bytes)" @param {number} bytes */
export function formatBoth(bytes) {
  return Math.abs(bytes) < KIB ? formatExact(bytes) : `${formatBytes(bytes)} (${formatExact(bytes)})`;
}

/** Two sizes in words that differ if the sizes do: more digits where "7.41 GiB" would stand for both. @param {number} first @param {number} second
 * @returns {[string, string]} */
export function formatApart(first, second) {
  if (first === second || formatBytes(first) !== formatBytes(second)) return [formatBytes(first), formatBytes(second)];
  for (const [unit, name, digits] of [[GIB, "GiB", 3], [MIB, "MiB", 1], [MIB, "MiB", 3]]) {
    const [a, b] = [first, second].map((bytes) => `${(bytes / unit).toFixed(digits)} ${name}`);
    if (a !== b && second >= unit) return [a, b];
  }
  return [formatExact(first), formatExact(second)];
}

/** "7.41 – 7.45 GiB" @param {number} low @param {number} high */
export function formatRange(low, high) {
  return high >= GIB ? `${(low / GIB).toFixed(2)} – ${(high / GIB).toFixed(2)} GiB` : `${(low / MIB).toFixed(1)} – ${(high / MIB).toFixed(1)} MiB`;
}

/** Megabytes as file managers show them: "12.4 MB" @param {number} bytes */
export function formatMegabytes(bytes) {
  return bytes < 1e5 && bytes > 0 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** How far a file is read: "12.4 of 161.0 MB", "12.4 MB" @param {number} readBytes @param {number} totalBytes 0 if unknown */
export function formatProgress(readBytes, totalBytes) {
  return totalBytes ? `${(Math.min(readBytes, totalBytes) / 1e6).toFixed(1)} of ${(totalBytes / 1e6).toFixed(1)} MB` : `${(readBytes / 1e6).toFixed(1)} MB`;
}

/** "393.8 ms", "12.41 s" @param {number} timeMs */
export function formatTime(timeMs) {
  return Math.abs(timeMs) < 10000 ? `${trim(timeMs.toFixed(timeMs < 10 ? 2 : 1))} ms` : `${(timeMs / 1000).toFixed(2)} s`;
}

/** "46.8 %" @param {number} part @param {number} all */
export function formatShare(part, all) {
  return all > 0 ? `${((100 * part) / all).toFixed(1)} %` : "–";
}

/** As torch's own messages write sizes: two decimals, GiB above 1 GiB, then MiB, KiB, bytes. @param {number} bytes */
export function formatTorch(bytes) {
  if (bytes <= KIB) return `${bytes} bytes`;
  if (bytes <= MIB) return `${(bytes / KIB).toFixed(2)} KiB`;
  if (bytes <= GIB) return `${(bytes / MIB).toFixed(2)} MiB`;
  return `${(bytes / GIB).toFixed(2)} GiB`;
}

/** The unit an axis should use: [bytes per unit, name] @param {number} highestBytes */
export function axisUnit(highestBytes) {
  return highestBytes >= GIB ? [GIB, "GiB"] : [MIB, "MiB"];
}

/** "one profile", "two profiles" @param {number} count @param {string} noun */
export function plural(count, noun) {
  return `${count === 1 ? "one" : count === 2 ? "two" : whole.format(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function trim(text) {
  return text.replace(/\.0+$/, "");
}
