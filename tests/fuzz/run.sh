#!/usr/bin/env bash
# Builds the fuzz targets with clang's sanitizers and runs each: the pipeline on seeds cut from the examples, the allocator on its
# scripts. Usage: bash tests/fuzz/run.sh SECONDS [SECONDS_OF_THE_ALLOCATOR]
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
mkdir -p corpus-allocator
fuzz pipeline "$1" 65536 corpus seeds
fuzz allocator "${2:-$1}" 4096 corpus-allocator ../../tests/data/allocator
