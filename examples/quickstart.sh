#!/usr/bin/env bash
# From nothing to an estimate: installs what is missing (Debian-like systems), builds the command line and the page, estimates the
# bundled profile of a real CNN at batch 256, and serves the page. `--no-serve` leaves the last step out; PORT chooses another port.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/setup.sh

case "${1:-}" in
  "" | --no-serve) ;;
  *) fail "unknown option $1: usage: bash examples/quickstart.sh [--no-serve]" ;;
esac

need_build_tools
say "building the command line"
build_native "$BUILD/native" -DCMAKE_BUILD_TYPE=Release

say "oomcast estimate examples/cnn-b4.json.gz examples/cnn-b8.json.gz --batch 256 --gpu 'RTX 4060'"
"$BUILD/native/oomcast" estimate examples/cnn-b4.json.gz examples/cnn-b8.json.gz --batch 256 --gpu "RTX 4060" || [ $? -eq 1 ]

need_wasm_tools
say "building the page"
build_site
say "done: the command line is $BUILD/native/oomcast, the page is the folder $BUILD/site (copy it to any static host)"
[ "${1:-}" = --no-serve ] && exit 0

need python3=python3
port=${PORT:-8000}
say "open http://localhost:$port/ (Ctrl+C ends)"
exec python3 -m http.server "$port" --bind 127.0.0.1 --directory "$BUILD/site"
