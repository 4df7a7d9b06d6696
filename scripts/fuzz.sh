#!/usr/bin/env bash
# Fuzzes each reader of untrusted bytes for some seconds, one after the other on one core:
#
#   scripts/fuzz.sh [SECONDS [NAME...]]        600 seconds each, all of them
#
# Models begin from some 5,000 that tests/fuzz/make_models.py makes. New inputs stay in build-fuzz/corpus. What fails is
# kept as build-fuzz/found/NAME-*: mend it, and copy it, made small by
# `ONNXC_FUZZ=NAME build-fuzz/bin/onnxc_fuzz -minimize_crash=1 FILE`, to tests/fuzz/corpus.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

seconds=${1:-600}
names=("${@:2}")
[ ${#names[@]} -gt 0 ] || names=(expression program model source npy tensor nifti command_line code_object run)
scripts/build.sh fuzz onnxc_fuzz || exit 1
[ -d build-fuzz/models ] || PYTHONPATH=python "$ONNXC_TEST_VENV/bin/python" -m tests.fuzz.make_models build-fuzz/models
failed=()
for name in "${names[@]}"; do
  inputs=$name
  folders=()
  case $name in
    model | source) inputs=model folders=(build-fuzz/models) ;;
  esac
  mkdir -p "build-fuzz/corpus/$inputs" build-fuzz/found
  dictionary=()
  [ -f "tests/fuzz/$name.dict" ] && dictionary=("-dict=tests/fuzz/$name.dict")
  ONNXC_FUZZ=$name nice -n 19 build-fuzz/bin/onnxc_fuzz -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 \
    -max_len=65536 -artifact_prefix="build-fuzz/found/$name-" -print_final_stats=1 "${dictionary[@]}" \
    "build-fuzz/corpus/$inputs" "tests/fuzz/corpus/$inputs" "${folders[@]}" || failed+=("$name")
done
[ ${#failed[@]} -eq 0 ] || { echo "found something in: ${failed[*]} (build-fuzz/found)"; exit 1; }
