#!/usr/bin/env bash
# Every test: format and types, the C++ tests through ctest, the Python ones through pytest, and both sanitizers. The
# C++ tests of the compiler are built once, with the address sanitizer. With --all also without it, and the Python tests
# marked slow. Runs all parts even when one fails, and fails when one did.
# build/test-results/times.md says how long each folder's tests took, without those of the sanitizers.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
. scripts/parts.sh

selection=() models=--fast
[ "${1:-}" = --all ] && selection=(lab --slow) models=--all
results=build/test-results
mkdir -p "$results"

part 'format and types' make -s check-format
scripts/build.sh release || exit 1
part 'C++ tests' "$ONNXC_CTEST" --test-dir build --output-on-failure -j2 \
  --output-junit "$PWD/$results/cpp.xml"
[ "$models" = --fast ] || {
  scripts/build.sh release onnxc_tests || exit 1
  part 'C++ tests of the compiler' run_shards build/bin/onnxc_tests
}
# Before the tests, whose processes would otherwise export the same model at the same time.
part 'export of the test models' "$ONNXC_TEST_VENV/bin/python" -m models.export "$models"
# By file, so that cases which share a compile stay in one process.
part 'Python tests' "$ONNXC_TEST_VENV/bin/python" -m pytest -q -n 2 --dist loadfile --durations 20 \
  --junitxml "$results/python.xml" tests "${selection[@]}"
part 'address and undefined-behaviour sanitizers' scripts/sanitize.sh asan
part 'thread sanitizer' scripts/sanitize.sh tsan
"$ONNXC_TEST_VENV/bin/python" -m tools.test_times "$results"/*.xml > "$results/times.md"
end_of_parts
