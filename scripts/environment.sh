# Where the set-up puts things; read by every script and by the Makefile's commands.
ONNXC_CACHE=${ONNXC_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/onnxc}
ONNXC_ONNX_VERSION=1.23.2
ONNXC_ONNX_PREFIX=$ONNXC_CACHE/onnx-$ONNXC_ONNX_VERSION
ONNXC_BUILD_VENV=$ONNXC_CACHE/venv-build
ONNXC_TEST_VENV=$ONNXC_CACHE/venv-test
ONNXC_WHEEL_VENV=$ONNXC_CACHE/venv-wheel
ONNXC_DOCS_VENV=$ONNXC_CACHE/venv-docs
ONNXC_IREE_VENV=$ONNXC_CACHE/venv-iree
ONNXC_CMAKE=$ONNXC_BUILD_VENV/bin/cmake
ONNXC_CTEST=$ONNXC_BUILD_VENV/bin/ctest
export ONNXC_CACHE ONNXC_ONNX_PREFIX ONNXC_WHEEL_VENV ONNXC_IREE_VENV ONNXC_CMAKE

# The compiler cache: the same sources in two checkouts give the same objects, so that a second checkout builds from it.
# So do units with precompiled headers, which count by their sums (cmake/precompiled.cmake).
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros
