#!/usr/bin/env bash
# Builds C++ tests with a sanitizer and runs them: all of them under asan; under tsan those of the runtime, where the
# threads of a model are. Not those that read assembly, which clang makes of the same headers whatever it is called from.
# Under asan the commands then meet the attacks of tests/security/test_attacks.py, with the limits and with them raised.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/parts.sh

preset=$1
binaries=(onnxc_runtime_tests)
[ "$preset" = asan ] && binaries+=(onnxc_tests onnxc_kernel_tests)
for binary in "${binaries[@]}"; do
  scripts/build.sh "$preset" "$binary"
  UBSAN_OPTIONS=print_stacktrace=1 run_shards "build-$preset/bin/$binary" '--gtest_filter=-*HotLoops*'
done

# Leaks are the C++ tests' to find: the sandbox lets no process look into another. A report is no refusal.
if [ "$preset" = asan ]; then
  . scripts/environment.sh
  scripts/build.sh asan onnxc onnxc-run
  export ONNXC_BIN=$PWD/build-asan/bin ONNXC_SANITIZED=1 PYTHONPATH=python
  export ASAN_OPTIONS=detect_leaks=0:exitcode=99 UBSAN_OPTIONS=print_stacktrace=1:exitcode=99
  "$ONNXC_TEST_VENV/bin/python" -m pytest -q -n 2 tests/security/test_attacks.py
fi
