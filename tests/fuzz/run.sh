#!/usr/bin/env bash
# Builds the fuzz targets with clang's sanitizers and runs each: the pipeline on seeds cut from the examples, gzip alone, the allocator on its
# scripts; then the seeds damaged at random. Usage: bash tests/fuzz/run.sh SECONDS [MUTATIONS [SEED]]
# A find is left in build/fuzz/ as crash-* with its stack above; the run ends non-zero.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/setup.sh
folder=$BUILD/fuzz
mkdir -p "$folder/corpus" "$folder/seeds"
CC=clang build_native "$folder/build" -DCMAKE_BUILD_TYPE=Release -DOOMCAST_FUZZ=ON
node tests/fuzz/seeds.js "$folder/seeds"
cd "$folder"
fuzz() { "./build/fuzz_$1" -max_total_time="$2" -timeout=20 -rss_limit_mb=2048 -max_len="$3" -print_final_stats=1 -verbosity=0 "${@:4}" 2>&1 | tail -n 30; }
ASAN_OPTIONS=abort_on_error=1 UBSAN_OPTIONS=abort_on_error=1 ./build/mutate "${2:-10000}" "${3:-1}" seeds/* >mutate.log 2>&1 & # on the other core
mutating=$!
trap 'kill "$mutating" 2>/dev/null || true' EXIT
mkdir -p corpus-allocator
fuzz pipeline "$1" 65536 corpus seeds
mkdir -p corpus-inflate seeds-inflate
cp seeds/*-gzip seeds-inflate
fuzz inflate "$1" 65536 corpus-inflate seeds-inflate
fuzz allocator "$1" 4096 corpus-allocator ../../tests/data/allocator
wait "$mutating" || { tail -n 30 mutate.log; exit 1; }
tail -n 1 mutate.log
