#!/usr/bin/env bash
# Requests per second of the allocator, natively and in wasm, beside the same rules over std::set in the same run, on the examples, and
# with ../shared on the largest log of a real GPU and the profile with the most requests. Ends non-zero if peaks differ.
# Needs builds (tests/run.sh or quickstart). Usage: bash tests/bench/allocator.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/setup.sh
need g++=g++ python3=python3
need_wasm_tools
cli=${OOMCAST_CLI:-$BUILD/native/oomcast}
folder=$BUILD/bench
mkdir -p "$folder"
rm -f "$folder"/*.ops
flags=(-O3 -std=c11 -D_POSIX_C_SOURCE=200809L -Icore)
sources=(tests/bench/allocator.c core/arena.c core/blocks.c core/allocator.c core/simulate.c)
cc "${flags[@]}" "${sources[@]}" -o "$folder/native"
emcc "${flags[@]}" -sSTANDALONE_WASM=1 -sALLOW_MEMORY_GROWTH=1 -sTOTAL_MEMORY=64MB "${sources[@]}" -o "$folder/allocator.wasm"
g++ -O3 -std=c++17 tests/bench/allocator_set.cpp -o "$folder/set"

profiles=(examples/cnn-b8.json.gz examples/transformer-b8.json.gz)
[ -d ../shared/profiles ] && profiles+=(../shared/profiles/*_full.json.gz)
most=0 largest=
for profile in "${profiles[@]}"; do
  "$cli" estimate "$profile" --json --ops "$folder/one" >/dev/null
  count=$(wc -l <"$folder/one")
  case $profile in examples/*) cp "$folder/one" "$folder/$(basename "$profile" .json.gz).ops" ;; esac
  if [ "$count" -gt "$most" ]; then most=$count largest=$profile; cp "$folder/one" "$folder/most"; fi
done
case $largest in ../shared/*) mv "$folder/most" "$folder/$(basename "$largest" .json.gz).ops" ;; esac
if [ -d ../shared/traces/snapshots ]; then
  log=$(zgrep -c . ../shared/traces/snapshots/*.alloc.jsonl.gz | sort -t: -k2 -n | tail -n 1 | cut -d: -f1)
  python3 ../shared/tools/log_to_ops.py "$log" | sed 's/^used \([0-9]*\) [0-9]* [0-9]* \([0-9]*\)$/alloc \1 \2/' >"$folder/$(basename "$log" .alloc.jsonl.gz).ops"
fi
for file in "$folder"/*.ops; do
  echo "# $(basename "$file" .ops)"
  cat "$file"
done >"$folder/scripts"

"$folder/native" <"$folder/scripts" >"$folder/native.json"
"$folder/set" <"$folder/scripts" >"$folder/set.json"
NODE_NO_WARNINGS=1 node tests/bench/allocator_wasm.js "$folder/allocator.wasm" <"$folder/scripts" >"$folder/wasm.json"
node -e '
  const read = (name) => require("fs").readFileSync(`${process.argv[1]}/${name}.json`, "utf8").trim().split("\n").map(JSON.parse);
  const [native, wasm, set] = ["native", "wasm", "set"].map(read);
  const million = (row) => (row.requests_per_second / 1e6).toFixed(1);
  console.log("| requests of | count | native M/s | wasm M/s | std::set M/s | ms a run | minimum capacity, ms | memory KiB |\n|---|---|---|---|---|---|---|---|");
  native.forEach((row, i) => console.log(`| ${row.name} | ${row.requests} | ${million(row)} | ${million(wasm[i])} | ${million(set[i])} | ${row.ms} | ${row.minimum_ms} | ${Math.round(row.memory_bytes / 1024)} |`));
  for (const [i, row] of native.entries())
    for (const other of [wasm[i], set[i]])
      if (row.peak_reserved_bytes !== other.peak_reserved_bytes) { console.error(`${row.name}: the peaks differ`); process.exit(1); }
' "$folder"
