#!/usr/bin/env bash
# Builds the fuzz target with clang's sanitizers and runs it on seeds cut from the examples. Usage: bash tests/fuzz/run.sh SECONDS
# A find is left in build/fuzz/ as crash-* with its stack above; the run ends non-zero.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/setup.sh
folder=$BUILD/fuzz
mkdir -p "$folder/corpus" "$folder/seeds"
CC=clang build_native "$folder/build" -DCMAKE_BUILD_TYPE=Release -DOOMCAST_FUZZ=ON
node tests/fuzz/seeds.js "$folder/seeds"
cd "$folder"
./build/fuzz_pipeline -max_total_time="$1" -timeout=20 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 -verbosity=0 corpus seeds 2>&1 | tail -n 30
