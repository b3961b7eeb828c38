// Seeds for the fuzzer: small profiles cut from the bundled examples so that every kind of event occurs, plain and as pairs.
// Usage: node seeds.js FOLDER
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";

const folder = process.argv[2];

/** The first events of each name and category of an example, as a whole small profile. */
function cut(name, perName) {
  const profile = JSON.parse(gunzipSync(readFileSync(new URL(`../../examples/${name}`, import.meta.url))));
  const seen = new Map();
  profile.traceEvents = profile.traceEvents.filter((event) => {
    const key = `${event.cat} ${event.name.replace(/[0-9]+$/, "")}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    return seen.get(key) <= (event.name === "[memory]" ? 12 * perName : perName);
  });
  return profile;
}

/** The profile with every n-th number of a kind at an edge of what 64 bits or a double hold. */
function extreme(profile) {
  const edges = { Bytes: ["9223372036854775807", "-9223372036854775808", "70368744177663", "-70368744177663", "70368744177664", "0"],
    ts: ["1e300", "-1e300", "2305843009213693.951", "-2305843009213693.951", "9223372036854775807", "0.001"],
    dur: ["1e300", "-1", "2305843009213693.951", "0"], Addr: ["18446744073709551615", "0"], "Sequence number": ["9223372036854775807", "-2"] };
  let seen = 0;
  return JSON.stringify(profile).replaceAll(/"(Bytes|ts|dur|Addr|Sequence number)":-?[\d.]+/g, (pair, key) =>
    seen++ % 7 ? pair : `"${key}":${edges[key][Math.floor(seen / 7) % edges[key].length]}`).replaceAll("[[4,", "[[4611686018427387904,");
}

const save = (name, first, ...parts) => writeFileSync(join(folder, name), Buffer.concat([Buffer.from([first]), ...parts.map((part) => Buffer.from(part))]));
for (const name of ["cnn-b4.json.gz", "cnn-b8.json.gz", "transformer-b4.json.gz", "transformer-b4-scheduled.json.gz"]) {
  const profile = cut(name, 1);
  const indented = JSON.stringify(profile, null, 1);
  save(`${name}-line`, 64, JSON.stringify(profile));
  save(`${name}-indented`, 7, indented);
  save(`${name}-gzip`, 0, gzipSync(JSON.stringify(cut(name, 2))));
  save(`${name}-gpu`, 64, JSON.stringify(profile).replaceAll('"Device Type":0', '"Device Type":1').replaceAll('"Device Id":-1', '"Device Id":0'));
  save(`${name}-extreme`, 64, extreme(profile));
  save(`${name}-extreme-pair`, 64, JSON.stringify(profile), "\n====\n", extreme(profile));
  save(`${name}-pair`, 200, JSON.stringify(profile), "\n====\n", JSON.stringify(profile).replaceAll("[4,", "[8,"));
}
