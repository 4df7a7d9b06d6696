#!/usr/bin/env bash
# Makes dist/onnxc-VERSION-py3-none-manylinux_2_28_x86_64.whl: both commands, the headers and the runtime that they
# compile models with, the CMake package and the Python package. Objects come out of the compiler cache where make build
# has made them.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

python=$ONNXC_WHEEL_VENV/bin/python
export ONNXC_GLIBC=2.28 CMAKE_PREFIX_PATH=$ONNXC_ONNX_PREFIX CMAKE_GENERATOR=Ninja
export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
zig=$("$python" -c 'import ziglang; print(ziglang.__path__[0] + "/zig")')
# Over a folder of before, CMake takes the compiler's name for another compiler, and forgets what it was told.
rm -rf dist build-wheel
PATH=$(dirname "$ONNXC_CMAKE"):$PATH "$python" -m pip wheel . -q --disable-pip-version-check --no-build-isolation --no-deps -w dist \
  -C cmake.define.ONNXC_ZIG="$zig" -C cmake.define.ONNXC_GLIBC=$ONNXC_GLIBC \
  -C wheel.tags="py3-none-manylinux_${ONNXC_GLIBC/./_}_x86_64"
ls -l dist
