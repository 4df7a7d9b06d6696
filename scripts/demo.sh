#!/usr/bin/env bash
# The shortest way through: compiles a small 3D U-Net that PyTorch exported, runs it, compares the result with PyTorch's,
# and says with which commands, so that one can go on with one's own model.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=build/demo
model=tests/demo/model.onnx
mkdir -p "$folder"
bold= plain=
[ -t 1 ] && bold=$(tput bold 2>/dev/null || true) plain=$(tput sgr0 2>/dev/null || true)

# step DESCRIPTION COMMAND...: prints the command, runs it, and tells how long it took.
step() {
  local description=$1 start end
  shift
  printf '\n%s%s%s\n  $ %s\n' "$bold" "$description" "$plain" "$*"
  start=$(date +%s%N)
  "$@" | sed 's/^/  /'
  end=$(date +%s%N)
  printf '  took %d ms\n' $(((end - start) / 1000000))
}

step 'Every shape of the model, as onnxc infers it:' \
  bash -c "build/bin/onnxc $model --dump-shapes | head -n 12; echo ..."
step 'Compile it into one shared object, for this CPU:' build/bin/onnxc "$model" -o "$folder/model.so"
step 'Run it on a volume and compare with what PyTorch computed:' \
  build/bin/onnxc-run "$folder/model.so" --input volume=tests/demo/input.npy --output "$folder/out" \
  --expect scores=tests/demo/expected.npy --rtol 1e-4 --atol 1e-5
step 'What it needs at run time:' bash -c "llvm-readelf-19 -d $folder/model.so | grep NEEDED"
step 'Where the time goes (without tail: step by step):' \
  bash -c "build/bin/onnxc-run $folder/model.so --random 0 --profile | tail -n 14"

cat <<END

The files are in $folder: model.so and out/. With your own model:
  build/bin/onnxc MODEL.onnx -o model.so
  build/bin/onnxc-run model.so --input NAME=FILE.npy --output out
END
