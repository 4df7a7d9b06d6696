#!/usr/bin/env bash
# Fuzzes each reader of untrusted bytes for some seconds, one after the other on one core:
#
#   scripts/fuzz.sh [SECONDS [NAME...]]        600 seconds each, all of them
#
# Models and programs begin from thousands that tests/fuzz/make_inputs.py makes. New inputs stay in build-fuzz/corpus. What fails is
# kept as build-fuzz/found/NAME-*: mend it, and copy it, made small by
# `ONNXC_FUZZ=NAME build-fuzz/bin/onnxc_fuzz -minimize_crash=1 FILE`, to tests/fuzz/corpus.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

seconds=${1:-600}
names=("${@:2}")
[ ${#names[@]} -gt 0 ] || names=(expression program model source npy tensor nifti command_line code_object run)
scripts/build.sh fuzz onnxc_fuzz || exit 1
[ -d build-fuzz/inputs ] || PYTHONPATH=python "$ONNXC_TEST_VENV/bin/python" -m tests.fuzz.make_inputs build-fuzz/inputs
failed=()
for name in "${names[@]}"; do
  inputs=$name
  [ "$name" = source ] && inputs=model
  mkdir -p "build-fuzz/corpus/$inputs" build-fuzz/found
  folders=("build-fuzz/corpus/$inputs" "tests/fuzz/corpus/$inputs")
  [ -d "build-fuzz/inputs/$inputs" ] && folders+=("build-fuzz/inputs/$inputs")
  dictionary=()
  [ -f "tests/fuzz/$name.dict" ] && dictionary=("-dict=tests/fuzz/$name.dict")
  ONNXC_FUZZ=$name nice -n 19 build-fuzz/bin/onnxc_fuzz -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 \
    -max_len=65536 -artifact_prefix="build-fuzz/found/$name-" -print_final_stats=1 "${dictionary[@]}" \
    "${folders[@]}" || failed+=("$name")
done
[ ${#failed[@]} -eq 0 ] || { echo "found something in: ${failed[*]} (build-fuzz/found)"; exit 1; }
