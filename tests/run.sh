#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test; ends non-zero on the first failure. About eight minutes.
# On a machine without the measured data (../shared) the tests that need it say "skipped"; CI sets OOMCAST_NEEDS_SHARED.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/setup.sh
FUZZ_SECONDS=${FUZZ_SECONDS:-60}
MUTATIONS=${MUTATIONS:-10000}

need_build_tools
need clang=clang chromium=chromium "/usr/share/fonts/truetype/*=fonts-dejavu-core"
need g++=g++ python3=python3 /usr/include/simdjson.h=libsimdjson-dev
need_wasm_tools
llvm=$(clang -dumpversion | cut -d. -f1)
need "/usr/lib/llvm-$llvm/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a=libclang-rt-$llvm-dev"

say "native build, warnings are errors"
build_native "$BUILD/native" -DCMAKE_BUILD_TYPE=Release
say "sanitizer build and C unit tests (address, undefined behaviour, allocator checked after every request)"
build_native "$BUILD/sanitize" -DCMAKE_BUILD_TYPE=Release -DOOMCAST_SANITIZE=ON -DOOMCAST_TESTS=ON
ctest --test-dir "$BUILD/sanitize" --output-on-failure --no-tests=error -j 2
say "wasm build and site/"
build_site

say "packages of the tests"
npm ci --prefix tests --no-audit --no-fund --loglevel=error

export OOMCAST_CLI=$BUILD/native/oomcast OOMCAST_WASM=$BUILD/site/wasm/oomcast.wasm OOMCAST_SITE=$BUILD/site
say "command line, golden figures, parity with wasm"
node --test --test-reporter=spec tests/cli/*.test.js
say "page: units and properties"
node --test --test-reporter=spec tests/web/*.test.js
say "page: journeys in Chromium"
node --test --test-reporter=spec tests/browser/*.test.js

say "fuzzing the whole pipeline, gzip and the allocator for $FUZZ_SECONDS s each, and $MUTATIONS damaged profiles"
bash tests/fuzz/run.sh "$FUZZ_SECONDS" "$MUTATIONS"

say "allocator beside the same rules over std::set"
bash tests/bench/allocator.sh

if [ -d ../shared/truth ]; then
  say "accuracy against measured GPU runs"
  bash tests/accuracy/run
  say "reader beside other readers, in Node and Chromium"
  node tests/bench/reader.js
  node tests/bench/reader_chromium.js
elif [ -n "${OOMCAST_NEEDS_SHARED:-}" ]; then
  fail "../shared is missing: the accuracy test needs it"
else
  say "skipped: accuracy (needs the measured runs in ../shared)"
  node tests/bench/reader.js
  node tests/bench/reader_chromium.js
fi
say "all tests passed"
