"""Several graphs in one model.so: each is an entry, and weights that are equal lie there once."""

import ctypes
import json
import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxc
from models.tensor_files import Array
from onnxc import abi, library
from tests.onnxc_commands import BINARIES, CommandFailure, compile_model, execute
from tests.onnxruntime_sessions import open_session

pytestmark = pytest.mark.usefixtures("commands")

ROOT = Path(__file__).parents[1]
CHANNELS = (12, 96, 64)
RANDOM = np.random.default_rng(0)
WEIGHTS: dict[str, Array] = {
    "stem": RANDOM.standard_normal((CHANNELS[1], CHANNELS[0], 3, 3, 3), np.float32) / 9,
    "bias": RANDOM.standard_normal(CHANNELS[1], np.float32),
    "head": RANDOM.standard_normal((CHANNELS[2], CHANNELS[1], 1, 3, 3), np.float32) / 30,
}


def save(path: Path, nodes: list[onnx.NodeProto], inputs: dict[str, list[str | int]], outputs: list[str]) -> Path:
    used = {name for node in nodes for name in node.input}
    numbers = {"last": np.array([-2]), "end": np.array([2**40]), "time": np.array([2])}
    constants = [numpy_helper.from_array(value, name) for name, value in (WEIGHTS | numbers).items() if name in used]
    graph = helper.make_graph(
        nodes,
        path.stem,
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        constants,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def convolutions(x: str, *, causal: bool) -> list[onnx.NodeProto]:
    """With zeros before the first frame, or without, if the frames before it are there."""
    pads = [0 if causal else 2, 1, 1, 0, 1, 1]
    return [
        helper.make_node("Conv", [x, "stem", "bias"], ["a"], name="stem", pads=pads),
        helper.make_node("Relu", ["a"], ["r"], name="relu"),
        helper.make_node("Conv", ["r", "head"], ["y"], name="head", pads=[0, 1, 1, 0, 1, 1]),
    ]


DIMS: list[str | int] = [1, CHANNELS[0], "t", "h", "w"]


def save_first(folder: Path) -> Path:
    """A causal convolution over the first frames of a video."""
    return save(folder / "first.onnx", convolutions("x", causal=False), {"x": DIMS}, ["y"])


def save_later(folder: Path) -> Path:
    """The same over later frames, with the two frames before them in a cache."""
    nodes = [
        helper.make_node("Concat", ["cache", "x"], ["all"], axis=2),
        *convolutions("all", causal=True),
        helper.make_node("Slice", ["all", "last", "end", "time"], ["next"]),
    ]
    cache: list[str | int] = [1, CHANNELS[0], 2, "h", "w"]
    return save(folder / "later.onnx", nodes, {"cache": cache, "x": DIMS}, ["y", "next"])


def save_without_weights(folder: Path) -> Path:
    return save(folder / "double.onnx", [helper.make_node("Add", ["x", "x"], ["y"])], {"x": ["n", 3]}, ["y"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("entries")
    save_first(folder), save_later(folder), save_without_weights(folder)
    return folder


@pytest.fixture(scope="module")
def video(folder: Path) -> Path:
    return compile_several(folder / "video.so", folder / "first.onnx", folder / "later.onnx")


def compile_several(shared_object: Path, *words: Path | str) -> Path:
    execute([str(BINARIES / "onnxc"), *map(str, words), "-o", str(shared_object)])
    return shared_object


def values(*dims: int) -> Array:
    return np.random.default_rng(sum(dims)).standard_normal(dims, np.float32)


def close(actual: Array, expected: Array) -> bool:
    return actual.shape == expected.shape and bool(np.allclose(actual, expected, atol=1e-5 * np.abs(expected).max()))


def inputs_of(entry: str, time: int = 3) -> dict[str, Array]:
    x = values(1, CHANNELS[0], time, 7, 18)
    return {"x": x} if entry == "first" else {"cache": values(1, CHANNELS[0], 2, 7, 18), "x": x}


def run_onnxruntime(file: Path, inputs: dict[str, Array]) -> list[Array]:
    results: list[Array] = open_session(file).run(None, inputs)
    return results


def information(shared_object: Path) -> dict[str, Any]:
    shown = execute([str(BINARIES / "onnxc-run"), str(shared_object), "--info", "--json"]).stdout
    content: dict[str, Any] = json.loads(shown)
    return content


def weights_bytes(shared_object: Path) -> int:
    return int(information(shared_object)["weights_bytes"])


def test_each_entry_computes_its_graph(folder: Path, video: Path) -> None:
    for entry in ("first", "later"):
        with onnxc.InferenceSession(video, entry=entry) as session:
            assert (session.entry, session.entries) == (entry, ["first", "later"])
            for time in (1, 3, 5):
                inputs = inputs_of(entry, time)
                expected = run_onnxruntime(folder / f"{entry}.onnx", inputs)
                for actual, output in zip(session.run(None, inputs), expected, strict=True):
                    assert close(actual, output)


def test_frames_in_turns_are_those_of_the_whole_video(folder: Path, video: Path) -> None:
    x = values(1, CHANNELS[0], 6, 7, 18)
    [whole] = run_onnxruntime(folder / "first.onnx", {"x": x})
    with onnxc.InferenceSession(video) as first, onnxc.InferenceSession(video, entry="later") as later:
        frames = first.run(None, {"x": x[:, :, :2]})
        cache = x[:, :, :2]
        for t in range(2, 6):
            y, cache = later.run(None, {"cache": cache, "x": x[:, :, t : t + 1]})
            frames.append(y)
    assert close(np.concatenate(frames, axis=2), whole)


def test_equal_weights_lie_in_the_file_once(folder: Path, video: Path) -> None:
    alone = compile_model(folder / "first.onnx", folder / "alone.so")
    packed = sum(weight.nbytes for weight in WEIGHTS.values())
    assert weights_bytes(alone) >= packed
    assert weights_bytes(video) == weights_bytes(alone)
    assert video.stat().st_size < alone.stat().st_size + packed / 3


def test_other_weights_are_added(folder: Path, tmp_path: Path) -> None:
    other = onnx.load(folder / "first.onnx")
    other.graph.initializer[0].CopyFrom(numpy_helper.from_array(2 * WEIGHTS["stem"], "stem"))
    onnx.save(other, tmp_path / "other.onnx")
    both = compile_several(tmp_path / "both.so", folder / "first.onnx", tmp_path / "other.onnx")
    alone = compile_model(folder / "first.onnx", tmp_path / "alone.so")
    assert weights_bytes(alone) + WEIGHTS["stem"].nbytes <= weights_bytes(both) < 2 * weights_bytes(alone)
    inputs = inputs_of("first")
    for entry, file in (("first", folder / "first.onnx"), ("other", tmp_path / "other.onnx")):
        with onnxc.InferenceSession(both, entry=entry) as session:
            assert close(session.run(None, inputs)[0], run_onnxruntime(file, inputs)[0])


def test_a_kernel_that_is_trimmed_to_one_frame_has_weights_of_its_own(folder: Path, tmp_path: Path) -> None:
    models = [folder / "first.onnx", folder / "later.onnx"]
    sizes = ["--dim", "t=1", "--dim", "h=40", "--dim", "w=48"]
    trimmed = compile_several(tmp_path / "trimmed.so", *models, *sizes)
    whole = compile_several(tmp_path / "whole.so", *models, *sizes, "--skip-pass", "trim_kernels")
    later = compile_model(folder / "later.onnx", tmp_path / "later.so", *sizes)
    assert weights_bytes(whole) == weights_bytes(later) < weights_bytes(trimmed)


def test_instances_of_both_entries_map_the_file_once(video: Path) -> None:
    with onnxc.InferenceSession(video) as first, onnxc.InferenceSession(video, entry="later") as later:
        first.run(None, inputs_of("first"))
        later.run(None, inputs_of("later"))
        maps = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(str(video))]
        offsets = [row[2] for row in maps]
        assert offsets
        assert len(offsets) == len(set(offsets))


def test_a_graph_without_weights_is_an_entry_too(folder: Path, tmp_path: Path) -> None:
    mixed = compile_several(tmp_path / "mixed.so", folder / "double.onnx", folder / "later.onnx")
    x = values(4, 3)
    with onnxc.InferenceSession(mixed, entry="double") as double:
        assert np.array_equal(double.run(None, {"x": x})[0], 2 * x)
    inputs = inputs_of("later")
    with onnxc.InferenceSession(mixed, entry="later") as later:
        assert close(later.run(None, inputs)[0], run_onnxruntime(folder / "later.onnx", inputs)[0])


def test_every_table_lists_the_entries_and_makes_instances_of_its_own(video: Path) -> None:
    table = library.table_of(ctypes.CDLL(str(video)))
    entries = library.entries_of(table)
    assert library.names_of(entries) == ["first", "later"]
    assert [each.input_count for each in entries] == [1, 2]
    assert [each.output(0).contents.name for each in entries] == [b"y", b"y"]
    assert entries[1].step_count > entries[0].step_count
    assert entries[1].step_name(entries[0].step_count) is not None
    assert entries[0].step_name(entries[0].step_count) is None
    assert ctypes.addressof(entries[1].entry(0).contents) == ctypes.addressof(table)
    assert not table.entry(2)
    assert not table.entry(-1)
    assert table.table_size == ctypes.sizeof(abi.Api)


def test_a_lone_graph_is_one_entry_whose_name_is_not_the_files(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "renamed.onnx").write_bytes((folder / "first.onnx").read_bytes())
    same = [
        compile_model(file, tmp_path / f"{file.stem}.so").read_bytes()
        for file in (folder / "first.onnx", tmp_path / "renamed.onnx")
    ]
    assert same[0] == same[1]
    with onnxc.InferenceSession(tmp_path / "first.so") as session:
        assert session.entries == ["model"]


def test_the_same_graphs_give_the_same_bytes(folder: Path, video: Path, tmp_path: Path) -> None:
    again = compile_several(tmp_path / "again.so", folder / "first.onnx", folder / "later.onnx")
    assert again.read_bytes() == video.read_bytes()


def test_onnxc_run_takes_an_entry(folder: Path, video: Path, tmp_path: Path) -> None:
    inputs = inputs_of("later")
    words = [str(BINARIES / "onnxc-run"), str(video), "--entry", "later", "--verify", str(folder / "later.onnx")]
    for name, value in inputs.items():
        np.save(tmp_path / f"{name}.npy", value)
        words += ["--input", f"{name}={tmp_path / name}.npy"]
    for name, value in zip(["y", "next"], run_onnxruntime(folder / "later.onnx", inputs), strict=True):
        np.save(tmp_path / f"expected_{name}.npy", value)
        words += ["--expect", f"{name}={tmp_path / f'expected_{name}'}.npy"]
    execute(words)


def test_info_shows_all_entries_or_one(video: Path) -> None:
    shown = execute([str(BINARIES / "onnxc-run"), str(video), "--info", "--dim", "t=2", "--dim", "h=7"]).stdout
    assert "entry 'first': onnxc" in shown
    assert "entry 'later': onnxc" in shown
    assert "weights of 2 graphs" in shown
    one = execute([str(BINARIES / "onnxc-run"), str(video), "--info", "--entry", "later"]).stdout
    assert "entry 'first'" not in one
    assert "input   cache" in one
    assert information(video)["entry"] == "first"
    assert information(video)["entries"] == ["first", "later"]


PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "onnxc.h"

/* Prints the outputs' dims of an entry for inputs of 16 in each free dim. */
int main(int argc, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  const onnxc_api* api = ((onnxc_get_api_function)dlsym(library, "onnxc_get_api"))(ONNXC_ABI_VERSION);
  const onnxc_api* chosen = NULL;
  for (int32_t i = 0; i < api->entry_count; ++i)
    if (strcmp(api->entry(i)->entry_name, argv[2]) == 0) chosen = api->entry(i);
  if (argc != 3 || chosen == NULL) return 1;
  onnxc_instance* instance = NULL;
  if (chosen->create(NULL, &instance, NULL, 0) != ONNXC_OK) return 2;
  const int64_t cache[] = {1, CHANNELS, 2, 16, 16}, x[] = {1, CHANNELS, 16, 16, 16};
  const int64_t* inputs[2] = {chosen->input_count == 2 ? cache : x, x};
  int64_t first[5], second[5];
  int64_t* outputs[2] = {first, second};
  /* The instance knows its graph: the function may come from any table. */
  if (api->output_dims(instance, inputs, outputs) != ONNXC_OK) return 3;
  for (int32_t i = 0; i < chosen->output_count; ++i)
    printf("%s %d %d\\n", chosen->output(i)->name, (int)outputs[i][1], (int)outputs[i][2]);
  api->destroy(instance);
  return 0;
}
""".replace("CHANNELS", str(CHANNELS[0]))


def test_a_program_in_c_takes_an_entry(video: Path, tmp_path: Path) -> None:
    (tmp_path / "entry.c").write_text(PROGRAM)
    program = tmp_path / "entry"
    headers = f"-I{ROOT / 'runtime' / 'include'}"
    compiler = ["clang-19", "-std=c11", "-Wall", "-Wextra", "-Werror", headers]
    subprocess.run([*compiler, str(tmp_path / "entry.c"), "-o", str(program)], check=True)
    shown = {entry: execute([str(program), str(video), entry]).stdout for entry in ("first", "later")}
    assert shown == {"first": f"y {CHANNELS[2]} 16\n", "later": f"y {CHANNELS[2]} 16\nnext {CHANNELS[0]} 2\n"}
    with pytest.raises(CommandFailure) as failure:
        execute([str(program), str(video), "nope"])
    assert failure.value.code == 1


def test_verify_names_the_entry_that_a_file_is(folder: Path, video: Path) -> None:
    words = [str(BINARIES / "onnxc-run"), str(video), "--random", "0", "--verify", str(folder / "later.onnx")]
    with pytest.raises(CommandFailure, match=r"later\.onnx': that is the entry 'later' of .*; give --entry later"):
        execute(words)


def test_an_entry_may_have_any_name(folder: Path, tmp_path: Path) -> None:
    odd = [b'"} \\\n#if 0', b"caf\xe9"]
    files = [Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name + b".onnx")) for name in odd]
    for file in files:
        file.write_bytes((folder / "double.onnx").read_bytes())
    both = compile_several(tmp_path / "odd.so", folder / "later.onnx", *files)
    x = values(2, 3)
    for name in map(os.fsdecode, odd):
        with onnxc.InferenceSession(both, entry=name) as session:
            assert np.array_equal(session.run(None, {"x": x})[0], 2 * x)
    with pytest.raises(CommandFailure, match="has no entry ''; it has 'later', "):
        execute([str(BINARIES / "onnxc-run"), str(both), "--entry", "", "--info"])


def test_an_unknown_entry_is_refused_with_those_that_are_there(video: Path) -> None:
    with pytest.raises(CommandFailure, match="--entry: the model has no entry 'last'; it has 'first', 'later'"):
        execute([str(BINARIES / "onnxc-run"), str(video), "--entry", "last", "--info"])
    with pytest.raises(onnxc.ArgumentError, match="entry is 'last', and the model has the entries 'first', 'later'"):
        onnxc.InferenceSession(video, entry="last")


def test_python_compiles_several_and_opens_a_session_again(folder: Path, tmp_path: Path) -> None:
    models = [folder / "first.onnx", folder / "later.onnx"]
    inputs = inputs_of("later")
    expected = run_onnxruntime(models[1], inputs)[0]
    with onnxc.compile(models, tmp_path / "video.so", entry="later") as session:
        assert close(session.run(None, inputs)[0], expected)
        again = pickle.loads(pickle.dumps(session))
    assert again.entry == "later"
    assert close(again.run(None, inputs)[0], expected)
    with pytest.raises(onnxc.ArgumentError, match=r"output is None, expected a file for the model\.so of several"):
        onnxc.compile(models)
    with pytest.raises(onnxc.ArgumentError, match=r"model is \[\], expected the path of a file, or a list of paths"):
        onnxc.compile([], tmp_path / "none.so")
    with pytest.raises(onnxc.ArgumentError, match="is the same file as model"):
        onnxc.compile(models, models[1])


def test_each_of_several_cpus_has_all_entries(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = compile_several(
        tmp_path / "both.so", folder / "first.onnx", folder / "later.onnx", "--march", "x86-64-v3,x86-64-v4"
    )
    inputs = inputs_of("later")
    expected = run_onnxruntime(folder / "later.onnx", inputs)[0]
    for march in ("x86-64-v3", "x86-64-v4"):
        monkeypatch.setenv("ONNXC_MARCH", march)
        with onnxc.InferenceSession(both, entry="later") as session:
            assert close(session.run(None, inputs)[0], expected)


def test_the_source_of_several_builds_as_its_head_says(folder: Path, tmp_path: Path) -> None:
    source = compile_several(tmp_path / "video.cpp", folder / "first.onnx", folder / "later.onnx", "--emit", "source")
    lines = [line[5:] for line in source.read_text().splitlines() if line.startswith("//   clang++")]
    assert len(lines) == 3
    headers = " ".join(f"-I{ROOT / folder}" for folder in ("src", "runtime", "runtime/include"))
    for line in lines:
        line = line.replace("-I$PREFIX/share/onnxc/include", headers).replace("$SOURCE", "video.cpp")
        line = line.replace("$PREFIX/lib/onnxc", str(BINARIES.parent / "lib"))
        subprocess.run(line, shell=True, check=True, cwd=tmp_path)
    inputs = inputs_of("later")
    with onnxc.InferenceSession(tmp_path / "model.so", entry="later") as session:
        assert close(session.run(None, inputs)[0], run_onnxruntime(folder / "later.onnx", inputs)[0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["first.onnx", "first.onnx"], r"MODEL '.*first.onnx' is given twice"),
        (["--dump-shapes"], "--dump-shapes is for one graph, and 2 MODELs are given; give one"),
        (["--dump-ir"], "--dump-ir is for one graph"),
        (["--outputs", "y"], "--outputs is for one graph"),
        (["--emit", "ir"], "--emit ir is for one graph"),
        (["--report", "--json"], "--report as JSON is for one graph"),
        (["--report=page.html"], "--report=FILE is for one graph"),
        (["--report", "--target", "gpu"], "--report on a GPU is for one graph"),
        (["--dim", "q=3"], "--dim q: the inputs of the models have no dim of this name"),
    ],
)
def test_what_is_for_one_graph_is_refused(folder: Path, tmp_path: Path, words: list[str], message: str) -> None:
    models = [folder / "first.onnx", folder / "later.onnx"] if words[0].startswith("-") else []
    words = [str(folder / word) if word.endswith(".onnx") else word for word in words]
    with pytest.raises(CommandFailure, match=message) as failure:
        compile_several(tmp_path / "none.so", *models, *words)
    assert failure.value.code == 2
    assert list(tmp_path.iterdir()) == []


def test_two_graphs_of_one_name_are_refused(folder: Path, tmp_path: Path) -> None:
    save_later(tmp_path).rename(tmp_path / "first.onnx")
    with pytest.raises(CommandFailure, match="would both be the entry 'first', which is named after the file; rename"):
        compile_several(tmp_path / "none.so", folder / "first.onnx", tmp_path / "first.onnx")


def test_several_graphs_need_an_output(folder: Path) -> None:
    with pytest.raises(CommandFailure, match="2 MODELs become one file: give -o FILE"):
        execute([str(BINARIES / "onnxc"), str(folder / "first.onnx"), str(folder / "later.onnx"), "--report"])


def test_an_output_is_none_of_the_models(folder: Path) -> None:
    with pytest.raises(CommandFailure, match=r"later\.onnx"):
        compile_several(folder / "later.onnx", folder / "first.onnx", folder / "later.onnx")
    onnx.load(folder / "later.onnx")


def test_a_gpu_runs_both_over_one_block_of_weights(folder: Path, tmp_path: Path) -> None:
    models = [folder / "first.onnx", folder / "later.onnx"]
    both = compile_several(tmp_path / "both.so", *models, "--target", "gpu", "--gpu-arch", "gfx942,sm_80")
    alone = compile_model(models[0], tmp_path / "alone.so", "--target", "gpu")
    assert weights_bytes(both) == weights_bytes(alone)
    for entry in ("first", "later"):
        inputs = inputs_of(entry)
        words = [str(BINARIES / "onnxc-run"), str(both), "--device", "gpu", "--entry", entry, "--output", str(tmp_path)]
        for name, value in inputs.items():
            np.save(tmp_path / f"in_{name}.npy", value)
            words += ["--input", f"{name}={tmp_path / f'in_{name}'}.npy"]
        execute(words)
        expected = run_onnxruntime(folder / f"{entry}.onnx", inputs)
        for output, value in zip(("y", "next"), expected, strict=False):
            assert close(np.load(tmp_path / f"{output}.npy"), value)


def test_the_sources_of_several_gpus_have_names_of_their_own(folder: Path, tmp_path: Path) -> None:
    words = ["--target", "gpu", "--gpu-arch", "gfx942,sm_80", "--emit", "source"]
    compile_several(tmp_path / "video.cpp", folder / "first.onnx", folder / "later.onnx", *words)
    names = {file.name.removeprefix("video.cpp") for file in tmp_path.iterdir()}
    devices = {"", "1", "2", "3"}  # of each graph both
    weights = {name for name in names if name.endswith(".weights")}
    assert names - weights == {"", ".data.s", *(f".device{number}.hip" for number in devices)}
    assert weights <= {".weights", ".device.weights", ".device1.weights"}
    code = [
        line.split('"')[1] for line in (tmp_path / "video.cpp.data.s").read_text().splitlines() if ".incbin" in line
    ]
    assert len(code) == len(set(code)) == 1 + len(weights - {".weights"}) + len(devices)
    for number in devices:
        head = (tmp_path / f"video.cpp.device{number}.hip").read_text().split("#include")[0]
        assert any(f"$SOURCE{name.removeprefix('video.cpp')}" in head for name in code)


def test_a_graph_that_does_not_compile_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    nodes = [helper.make_node("Conv", ["x", "stem"], ["y"], name="wrong")]
    save(tmp_path / "wrong.onnx", nodes, {"x": [1, CHANNELS[0] + 1, "t", "h", "w"]}, ["y"])
    with pytest.raises(CommandFailure, match=r"wrong.onnx': node 'wrong'") as failure:
        compile_several(tmp_path / "video.so", folder / "first.onnx", tmp_path / "wrong.onnx")
    assert failure.value.code == 1
    assert [file.name for file in tmp_path.iterdir()] == ["wrong.onnx"]


def test_a_dim_may_be_in_one_of_them(folder: Path, tmp_path: Path) -> None:
    both = compile_several(
        tmp_path / "both.so", folder / "first.onnx", folder / "double.onnx", "--dim", "t=3", "--dim", "n=1..4"
    )
    with onnxc.InferenceSession(both) as first, onnxc.InferenceSession(both, entry="double") as double:
        assert first.get_inputs()[0].shape == [1, CHANNELS[0], 3, "h", "w"]
        with pytest.raises(onnxc.RunError, match="n must be at most 4"):
            double.run(None, {"x": values(5, 3)})


def test_the_report_has_a_part_for_each_graph(folder: Path, tmp_path: Path) -> None:
    models = [str(folder / "first.onnx"), str(folder / "later.onnx")]
    shown = execute([str(BINARIES / "onnxc"), *models, "-o", str(tmp_path / "video.so"), "--report"]).stdout
    assert shown.index("first.onnx") < shown.index("later.onnx")
    assert shown.count("conv_") >= 4
