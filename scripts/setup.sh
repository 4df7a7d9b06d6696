#!/usr/bin/env bash
# Installs what onnxc needs on Debian 12, in steps that each leave a stamp, so that a broken set-up resumes
# where it stopped and a second run does nothing.
#
#   scripts/setup.sh build   packages and ONNX's C++ library (make build, make demo)
#   scripts/setup.sh test    the same, and a Python environment with PyTorch and onnxruntime (make test)
#   scripts/setup.sh wheel   packages, ONNX's C++ library and what makes a wheel (make wheel)
#   scripts/setup.sh test-all  as for build, and a browser and a newer clang (make test-all)
#   scripts/setup.sh docs    as for test, and MkDocs in an environment of its own (make docs)
#   scripts/setup.sh ray     as for test, and Ray in that environment (make test-all)
#   scripts/setup.sh diffusers  as for test, and diffusers in that environment (make test-all)
#   scripts/setup.sh iree    as for build, and IREE's compiler in an environment of its own (python -m lab.iree_comparison)
#   scripts/setup.sh bench   as for test, and OpenVINO, matplotlib and diffusers in that environment (make bench)
#
# Everything of ours lives under $ONNXC_CACHE (default ~/.cache/onnxc): nothing is put into the user's Python.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

goal=${1:-build}
mkdir -p "$ONNXC_CACHE"

say() { printf '[setup] %s\n' "$*" >&2; }
fail() {
  printf '[setup] error: %s\n' "$*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "missing Debian packages, and neither root nor sudo is there; install by hand: $packages_missing"
  fi
}

# Debian packages: only the missing ones, so that a complete machine needs no network and no root.
packages_missing=
package_lists=(scripts/packages.txt)
[ "$goal" = test-all ] && package_lists+=(scripts/packages-test-all.txt)
for package in $(grep -hv '^#' "${package_lists[@]}"); do
  dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || packages_missing+=" $package"
done
if [ -n "$packages_missing" ]; then
  say "installing Debian packages:$packages_missing"
  as_root apt-get update -q >"$ONNXC_CACHE/apt.log" 2>&1 ||
    fail "cannot refresh the package lists (is there a network?); missing:$packages_missing; see $ONNXC_CACHE/apt.log"
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $packages_missing \
    >>"$ONNXC_CACHE/apt.log" 2>&1 ||
    fail "cannot install$packages_missing; see $ONNXC_CACHE/apt.log"
fi

# make_venv FOLDER REQUIREMENTS [OPTION...]: installs the pinned packages into a private Python environment, with pip's
# options. The stamp is the list itself, one for each list, so that a changed pin reinstalls.
make_venv() {
  local folder=$1 requirements=$2 stamp
  stamp=$folder/.$(basename "$requirements" .txt)
  cmp -s "$requirements" "$stamp" && return
  say "installing Python packages of $requirements into $folder"
  rm -f "$stamp"
  # Without pip it is one that broke off half-way.
  "$folder/bin/python" -m pip --version >/dev/null 2>&1 || python3 -m venv --clear "$folder"
  "$folder/bin/python" -m pip install -q --disable-pip-version-check "${@:3}" -r "$requirements" ||
    fail "cannot install Python packages (is there a network?); missing: $(tr '\n' ' ' <"$requirements"); run the command again to go on"
  cp "$requirements" "$stamp"
}

# CMake: ONNX asks for 3.26 and Debian 12 has 3.25.
make_venv "$ONNXC_BUILD_VENV" scripts/requirements-build.txt

# ONNX's C++ library, from its source package: Debian's is eleven releases behind. The build folder stays until the
# library is installed, so that a broken build goes on where it stopped. Its code fills tables of schemas once: joined
# sources and -O1 halve its build and cost a compile nothing.
if [ ! -e "$ONNXC_ONNX_PREFIX/.complete" ]; then
  say "building ONNX $ONNXC_ONNX_VERSION once (a minute or two; log: $ONNXC_CACHE/onnx-build.log)"
  work=$ONNXC_CACHE/onnx-build
  log=$ONNXC_CACHE/onnx-build.log
  mkdir -p "$work"
  archive=$(ls "$work"/onnx-*.tar.gz 2>/dev/null || true)
  if [ -z "$archive" ]; then
    python3 -m pip download -q --disable-pip-version-check --no-deps --no-build-isolation --no-binary onnx -d "$work/download" \
      "onnx==$ONNXC_ONNX_VERSION" >"$log" 2>&1 || true
    # pip fails when the package's build needs are missing, after the archive is complete.
    archive=$(ls "$work"/download/onnx-*.tar.gz 2>/dev/null) || fail "cannot download ONNX's source package (is there a network?); missing: onnx==$ONNXC_ONNX_VERSION from PyPI; see $log"
    mv "$archive" "$work/"
    archive=$work/$(basename "$archive")
  fi
  mkdir -p "$work/source"
  tar -xzf "$archive" -C "$work/source" --strip-components=1
  "$ONNXC_CMAKE" -S "$work/source" -B "$work/build" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DONNX_USE_UNITY_BUILD=ON \
    -DCMAKE_INSTALL_PREFIX="$ONNXC_ONNX_PREFIX" \
    -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_CXX_STANDARD=20 \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DONNX_BUILD_PYTHON=OFF -DBUILD_ONNX_PYTHON=OFF -DONNX_BUILD_TESTS=OFF -DONNX_GEN_PB_TYPE_STUBS=OFF \
    -DONNX_USE_LITE_PROTO=OFF -DONNX_USE_PROTOBUF_SHARED_LIBS=ON >>"$log" 2>&1 || fail "configuring ONNX; see $log"
  "$ONNXC_CMAKE" --build "$work/build" >>"$log" 2>&1 || fail "building ONNX; see $log"
  "$ONNXC_CMAKE" --install "$work/build" >>"$log" 2>&1 || fail "installing ONNX; see $log"
  touch "$ONNXC_ONNX_PREFIX/.complete"
  rm -rf "$work"
fi

if [ "$goal" = test ] || [ "$goal" = bench ] || [ "$goal" = ray ] || [ "$goal" = docs ] ||
  [ "$goal" = diffusers ]; then
  make_venv "$ONNXC_TEST_VENV" scripts/requirements-test.txt
  make_venv "$ONNXC_TEST_VENV" scripts/requirements-nnunet.txt --no-deps
fi
if [ "$goal" = ray ]; then
  make_venv "$ONNXC_TEST_VENV" scripts/requirements-ray.txt
fi
if [ "$goal" = diffusers ] || [ "$goal" = bench ]; then
  make_venv "$ONNXC_TEST_VENV" scripts/requirements-diffusers.txt
fi
if [ "$goal" = docs ]; then
  make_venv "$ONNXC_DOCS_VENV" scripts/requirements-docs.txt
fi
if [ "$goal" = iree ]; then
  make_venv "$ONNXC_IREE_VENV" scripts/requirements-iree.txt
fi
if [ "$goal" = wheel ]; then
  make_venv "$ONNXC_WHEEL_VENV" scripts/requirements-wheel.txt
fi
if [ "$goal" = bench ]; then
  make_venv "$ONNXC_TEST_VENV" scripts/requirements-bench.txt
fi
