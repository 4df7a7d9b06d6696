#!/usr/bin/env bash
# Ten tasks of somebody who meets onnxc for the first time, from a fresh virtual environment:
#
#   scripts/ten_tasks.sh dist/onnxc-*.whl FOLDER
#
# Everything is made in FOLDER. Prints a line for each task that is done, and ends with the first that fails. Beside the
# wheel it takes onnx, onnxruntime and nibabel from PyPI, cmake ($ONNXC_CMAKE) and a C compiler for the program of task 5,
# and Debian's clang 19 and rocm-device-libs for task 9. Task 6 takes a script that was written for onnxruntime; the
# provider inside onnxruntime has tests of its own (tests/provider).
set -euo pipefail
wheel=$(realpath "$1")
repository=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$2" && cd "$2"
demo=$repository/tests/demo
export ONNXC_MODEL_CACHE=$PWD/models PIP_DISABLE_PIP_VERSION_CHECK=1
unset ONNXC_BIN PYTHONPATH
cmake=${ONNXC_CMAKE:-cmake}

task=0
begin() {
  task=$((task + 1))
  what=$*
}
done_with_it() { printf 'task %d done: %s\n' "$task" "$what"; }
fail() {
  printf '%s\n' "$*" >&2
  exit 1
}
trap '[ $? = 0 ] || printf "task %d failed: %s\n" "$task" "$what" >&2' EXIT

begin install into a fresh environment
python3 -m venv venv
. venv/bin/activate
pip install -q "$wheel[compiler,verify]" nibabel
onnxc --version | grep -q '^compiles with' || fail "onnxc --version names no compiler"
done_with_it

begin compile a model and compare it with PyTorch and onnxruntime
onnxc "$demo/model.onnx" -o net.so --march x86-64-v3
onnxc-run net.so --input volume="$demo/input.npy" --expect scores="$demo/expected.npy" >compare.txt
grep -q PASSED compare.txt || fail "the outputs differ"
onnxc-run net.so --input volume="$demo/input.npy" --verify "$demo/model.onnx" --verify-with onnxruntime >verify.txt
grep -q 'PASSED: .* of onnxruntime' verify.txt || fail "the tensors differ from those of onnxruntime"
done_with_it

begin labels of a CT from a NIfTI file
python - <<'END'
import nibabel, numpy
voxels = numpy.random.default_rng(0).integers(-1000, 1000, (70, 60, 50)).astype(numpy.int16)
nibabel.save(nibabel.Nifti1Image(voxels, numpy.diag([0.8, 0.8, 2.5, 1])), "ct.nii.gz")
END
onnxc-run net.so --volume ct.nii.gz --window 16x24x32 --overlap 0.25 --clip -1000,1000 --normalize zscore --labels \
  --output labels.nii.gz
python - <<'END'
import nibabel
labels = nibabel.load("labels.nii.gz")
assert labels.shape == (70, 60, 50), labels.shape
assert labels.affine[2, 2] == 2.5
END
done_with_it

begin find what is wrong with an export
python - "$demo/model.onnx" <<'END'
import sys, onnx
model = onnx.load(sys.argv[1])
node = next(node for node in model.graph.node if node.op_type == "Concat")
del node.input[1]  # the upsampled tensor alone: the layer behind wants twice the channels
node.metadata_props.add(
    key="pkg.torch.onnx.stack_trace",
    value='File "/home/me/study/net.py", line 42, in forward\n    x = torch.cat((x,), dim=1)',
)
after = next(other for other in model.graph.node if node.output[0] in other.input)
after.metadata_props.extend(node.metadata_props)
onnx.save(model, "broken.onnx")
END
! onnxc broken.onnx --dump-shapes >shapes.txt 2>message.txt || fail "the broken export is taken"
grep -q 'study/net.py:42' message.txt || fail "the message does not name the line"
grep -q 'fault:' shapes.txt || fail "the dump does not show the fault"
onnxc broken.onnx --dump-shapes --against "$demo/model.onnx" >difference.txt
grep -q 'stopped: .*study/net.py:42' difference.txt || fail "the comparison does not say why it stops"
done_with_it

begin a C program that CMake builds
mkdir -p host && cp "$repository/tools/examples/run_model.c" host/ && cp "$demo/model.onnx" host/
cat >host/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(host C)
find_package(onnxc 0.1 REQUIRED)
onnxc_add_model(network model.onnx OPTIONS --march x86-64-v3)
add_executable(host run_model.c)
target_link_libraries(host PRIVATE onnxc::runtime)
END
{ "$cmake" -S host -B host/build -DCMAKE_PREFIX_PATH="$PWD/venv" && "$cmake" --build host/build; } >cmake.txt 2>&1 ||
  fail "see cmake.txt"
[ -x host/build/host ] || fail "no program"
done_with_it

begin a script that was written for onnxruntime
cat >script.py <<'END'
import sys
import numpy
import onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
[scores] = session.run(None, {session.get_inputs()[0].name: numpy.load(sys.argv[2])})
numpy.testing.assert_allclose(scores, numpy.load(sys.argv[3]), rtol=1e-3, atol=1e-3)
END
sed s/onnxruntime/onnxc/ script.py >ours.py
python ours.py "$demo/model.onnx" "$demo/input.npy" "$demo/expected.npy"
done_with_it

begin the Docker file: its commands of the second stage
mkdir -p image/tmp && cp "$wheel" image/tmp/
python3 -m venv image/venv
sed -n 's/^RUN pip install //p' "$repository/packaging/docker/Dockerfile" | sed "s#/tmp/#$PWD/image/tmp/#g" >image/words
sed -i 's/ && rm .*//' image/words
eval "image/venv/bin/pip install -q $(cat image/words)"
PATH=$PWD/image/venv/bin:/usr/bin:/bin onnxc --help >/dev/null
done_with_it

begin where the time goes
onnxc-run net.so --random 0 --profile --json >before.json
onnxc-run net.so --random 0 --profile=profile.html --against before.json --trace-events events.json
for section in 'Time by kernel' 'under the machine' 'What changed'; do
  grep -q "$section" profile.html || fail "the page lacks: $section"
done
python -c 'import json; assert json.load(open("events.json"))["traceEvents"]'
done_with_it

begin compile for a GPU
onnxc "$demo/model.onnx" -o gpu.so --target hip
onnxc-run gpu.so --info | grep -q 'hip gfx942' || fail "the file has no code for a GPU"
done_with_it

begin the cache of compiled models
python -m onnxc.cache | grep -q '^1 model,' || fail "nothing is kept"
python -m onnxc.cache --clear
python - <<'END'
import pathlib
assert not list(pathlib.Path("models").glob("*.so"))
END
done_with_it
