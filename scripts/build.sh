#!/usr/bin/env bash
# Configures (once) and builds a preset of CMakePresets.json: release, debug, asan or tsan.
#
#   scripts/build.sh release               everything but onnxc_tests, which scripts/test.sh builds with asan
#   scripts/build.sh release onnxc ...     some targets only
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

preset=${1:-release}
folder=build
[ "$preset" = release ] || folder=build-$preset
if [ ! -f "$folder/build.ninja" ]; then
  mkdir -p "$folder"
  "$ONNXC_CMAKE" --preset "$preset" >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log" >&2; exit 1; }
fi
targets=("${@:2}")
"$ONNXC_CMAKE" --build "$folder" ${targets:+--target "${targets[@]}"}
