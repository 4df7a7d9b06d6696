#!/usr/bin/env bash
# The tests of a few minutes, from a warm build: the format of what changed, types, the C++ tests, a table of operators
# of each family, and the tests of pages, messages and reports. What they leave out is scripts/test.sh's.
# BASE=COMMIT chooses what a change is compared with (default: main).
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
. scripts/parts.sh

# The files that differ from the base, and new ones, of these endings.
changed() {
  local base
  base=$(git merge-base HEAD "${BASE:-main}" 2>/dev/null || git rev-parse HEAD)
  { git diff --name-only --diff-filter=d "$base" && git ls-files --others --exclude-standard; } | grep -E "\.($1)$" | sort -u
}

check_format() {
  local sources python
  mapfile -t sources < <(changed 'cpp|h|c')
  mapfile -t python < <(changed 'py')
  local status=0
  [ ${#sources[@]} -eq 0 ] || clang-format-19 --dry-run -Werror "${sources[@]}" || status=1
  [ ${#python[@]} -eq 0 ] || {
    "$ONNXC_TEST_VENV/bin/ruff" format -q --check "${python[@]}" && "$ONNXC_TEST_VENV/bin/ruff" check -q "${python[@]}"
  } || status=1
  "$ONNXC_TEST_VENV/bin/mypy" --no-error-summary || status=1
  return $status
}

pages=(tests/docs/test_{prose,architecture,blocks,reference}.py tests/support tests/frontend tests/report tests/library)
families=(
  tests/ops/algebra/test_reduce.py
  tests/ops/control/test_control_flow.py
  tests/ops/elementwise/test_elementwise.py
  tests/ops/network/test_conv.py
  tests/ops/quantization/test_quantization.py
  tests/ops/recurrent/test_recurrent.py
  tests/ops/signal/test_fourier.py
  tests/ops/tensor/test_gather_scatter.py
  tests/ops/vision/test_grid_sample.py
)

part 'format of what changed, and types' check_format
scripts/build.sh release onnxc onnxc-run onnxc_compiler_shared onnxc_{,kernel_,runtime_}tests gfx942sim_tests || exit 1
part 'C++ tests' run_shards build/bin/onnxc_tests
part 'C++ tests of kernels' run_shards build/bin/onnxc_kernel_tests
part 'C++ tests of the runtime' run_shards build/bin/onnxc_runtime_tests
part 'C++ tests of the simulator' run_shards build/bin/gfx942sim_tests
part 'Python tests' "$ONNXC_TEST_VENV/bin/python" -m pytest -q -n 2 --dist loadfile "${pages[@]}" "${families[@]}"
end_of_parts
