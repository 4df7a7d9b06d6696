#!/usr/bin/env bash
# Every test: format and types, the C++ tests through ctest, the Python ones through pytest, and both sanitizers on the
# fast C++ ones. With --all also those marked slow. Runs all parts even when one fails, and fails when one did.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

selection=() models=--fast
[ "${1:-}" = --all ] && selection=(lab --slow) models=--all
failed=()
part() {
  local name=$1 start=$SECONDS
  shift
  printf '\n=== %s\n' "$name"
  "$@" || failed+=("$name")
  printf '=== %s took %d s\n' "$name" $((SECONDS - start))
}

part 'format and types' make -s check-format
scripts/build.sh release || exit 1
part 'C++ tests' "$ONNXC_CTEST" --test-dir build --output-on-failure -j2
# Before the tests, whose processes would otherwise export the same model at the same time.
part 'export of the test models' "$ONNXC_TEST_VENV/bin/python" -m models.export "$models"
# By file, so that cases which share a compile stay in one process.
part 'Python tests' "$ONNXC_TEST_VENV/bin/python" -m pytest -q -n 2 --dist loadfile --durations 20 tests "${selection[@]}"
part 'address and undefined-behaviour sanitizers' scripts/sanitize.sh asan
part 'thread sanitizer' scripts/sanitize.sh tsan

if [ ${#failed[@]} -gt 0 ]; then
  printf '\nfailed: %s\n' "${failed[*]}"
  exit 1
fi
printf '\nall parts passed\n'
