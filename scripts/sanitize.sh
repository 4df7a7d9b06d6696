#!/usr/bin/env bash
# Builds C++ tests with a sanitizer and runs them: all of them under asan; under tsan those of the runtime, where the
# threads of a model are.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
binaries=(onnxc_runtime_tests)
[ "$preset" = asan ] && binaries+=(onnxc_tests)
for binary in "${binaries[@]}"; do
  scripts/build.sh "$preset" "$binary"
  UBSAN_OPTIONS=print_stacktrace=1 "build-$preset/bin/$binary" --gtest_brief=1
done
