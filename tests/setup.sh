# Sourced by tests/run.sh and examples/quickstart.sh: installs what is missing and builds. Everything it makes lies in build/.
# shellcheck shell=bash

BUILD=${OOMCAST_BUILD:-$PWD/build}

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'oomcast: %s\n' "$*" >&2; exit 2; }

# need COMMAND=PACKAGE ...: installs the Debian packages whose command, or file for an absolute path, is missing
need() {
  local missing=() pair
  for pair in "$@"; do
    case $pair in
      /*) compgen -G "${pair%%=*}" >/dev/null || missing+=("${pair#*=}") ;;
      *) command -v "${pair%%=*}" >/dev/null 2>&1 || missing+=("${pair#*=}") ;;
    esac
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  command -v apt-get >/dev/null 2>&1 || fail "please install: ${missing[*]} (this script installs them on Debian-like systems only)"
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || fail "please install as root: apt-get install ${missing[*]}"
    root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Node 20 or newer: the system's, else one from npm, kept in the build folder
need_node() {
  need node=nodejs npm=npm
  [ "$(node -p 'parseInt(process.versions.node)')" -ge 20 ] && return 0
  if [ ! -x "$BUILD/node/node_modules/node/bin/node" ]; then
    say "installing a newer Node.js from npm (here: $(node --version))"
    npm install --prefix "$BUILD/node" --no-audit --no-fund --loglevel=error node@22
  fi
  PATH=$BUILD/node/node_modules/node/bin:$PATH
}

# The build tools of the native program, or of the page too
need_build_tools() { need gcc=gcc /usr/include/stdio.h=libc6-dev cmake=cmake ninja=ninja-build bzip2=bzip2; }
need_wasm_tools() { need emcc=emscripten; need_node; }

# configure_and_build FOLDER [cmake options]: native
build_native() {
  local folder=$1
  shift
  cmake -S . -B "$folder" -G Ninja -DOOMCAST_DEPS="$(deps)" -DOOMCAST_WERROR=ON "$@" >"$folder.log" 2>&1 &&
    cmake --build "$folder" >>"$folder.log" 2>&1 || { tail -n 60 "$folder.log" >&2; fail "building $folder failed (whole log: $folder.log)"; }
}

# The page: wasm, and all of site/ in build/site
build_site() {
  local folder=$BUILD/wasm
  NODE_PATH=/usr/share/nodejs emcmake cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DOOMCAST_DEPS="$(deps)" -DOOMCAST_WERROR=ON \
    >"$folder.log" 2>&1 && NODE_PATH=/usr/share/nodejs cmake --build "$folder" >>"$folder.log" 2>&1 &&
    rm -rf "$BUILD/site" && cmake --install "$folder" --prefix "$BUILD" >>"$folder.log" 2>&1 ||
    { tail -n 60 "$folder.log" >&2; fail "building the page failed (whole log: $folder.log)"; }
}

# The sources of cJSON and zlib, which the first build fetched and the others use again; empty before that
deps() { [ -d "$BUILD/native/deps" ] && echo "$BUILD/native/deps"; true; }

mkdir -p "$BUILD"
