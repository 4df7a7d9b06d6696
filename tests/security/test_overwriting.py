"""No output replaces an input: every pair of an input and an output of each command and Python function that are one
file by its path, another spelling, a symbolic link or a hard link. Nothing is read, made or changed then.

A command's rows are complete: each option of --help that names a file is in one of them.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxc
import onnxc.nnunet.__main__
import onnxc.quantize
import onnxc.ray
import onnxc.reduce
from tests.onnxc_commands import BINARIES

pytestmark = pytest.mark.usefixtures("commands")

WAYS = ["path", "spelling", "symbolic link", "hard link"]
Words = list[str | Path]


@dataclass(frozen=True)
class Input:
    """words: how it is given. file: of a fresh folder."""

    file: str
    words: Callable[[Path], Words]


@dataclass(frozen=True)
class Output:
    """words: how it is given, a file or a folder. name: what is written into the folder; "" for a file. suffix: what
    the command appends to the name."""

    words: Callable[[Path], Words]
    name: str = ""
    suffix: str = ""


def option(name: str) -> Callable[[Path], Words]:
    return lambda path: [name, path]


def assigned(name: str) -> Callable[[Path], Words]:
    return lambda path: [f"{name}={path}"]


def in_one(folder: Path, file: Path, output: Output, way: str) -> tuple[Path, Path]:
    """The file as an input, and as an output."""
    parent = folder / "out" if output.name else folder
    parent.mkdir(exist_ok=True)
    name = output.name or (file.name if way in WAYS[:2] else f"link{file.suffix}") + output.suffix
    place = parent / name
    if way == "symbolic link":
        place.symlink_to(file)
    elif way == "hard link":
        os.link(file, place)
    elif place != file:
        file = file.rename(place)
    shown = parent / ".." / parent.name if way == "spelling" else parent
    if not output.name:
        shown = shown / name.removesuffix(output.suffix) if output.suffix else shown / name
    return file, shown


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refuse(words: Words, folder: Path, options: tuple[str, str]) -> None:
    """options: of the input and of the output."""
    before = contents(folder)
    done = subprocess.run([*map(str, words)], cwd=folder, capture_output=True, text=True, check=False)
    where = f"{' '.join(map(str, words))}: {done.stderr}"
    read, written = (re.escape(each) for each in options)
    if done.returncode == 2:  # a pair that the command does not take
        assert re.search(rf"{written} has no effect with \S+; leave out one of them", done.stderr), where
        assert contents(folder) == before, where
        return
    assert done.returncode == 1, where
    told = rf"{written} '\S+' is the same file as {read} '\S+', which is an input"
    if "external data" in options[0]:  # which is read only if it has one name
        told += r"|it has 2 hard links"
    assert re.search(told, done.stderr), where
    assert contents(folder) == before, where


# ------------------------------------------------------------------------------------------------------------- models


def save_model(file: Path, data: str) -> Path:
    """y = x * k; k lies in another file."""
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Mul", ["x", "k"], ["y"])],
            "graph",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, "D", "H", "W"])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1, "D", "H", "W"])],
            [numpy_helper.from_array(np.full(1024, 2, np.float32)[:1].copy(), "k")],
        ),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )
    onnx.save(model, file, save_as_external_data=True, location=data, size_threshold=0)
    return file


@pytest.fixture(scope="module")
def shared_object(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("model")
    onnxc.compile(save_model(folder / "m.onnx", "k.bin"), folder / "m.so", options=["-O0"]).close()
    return (folder / "m.so").read_bytes()


@pytest.fixture
def folder(tmp_path: Path, shared_object: bytes) -> Path:
    """With each input's file."""
    save_model(tmp_path / "model.onnx", "model.bin")
    save_model(tmp_path / "other.onnx", "other.bin")
    for name in ("model.so", "model.npy"):  # the name of a result by --volume
        (tmp_path / name).write_bytes(shared_object)
    for name in ("x.npy", "y_expected.npy"):
        np.save(tmp_path / name, np.ones((1, 1, 4, 4, 4), np.float32))
    np.save(tmp_path / "scan.npy", np.ones((4, 4, 4), np.float32))
    (tmp_path / "before.json").write_text("{}")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "input_0.npy").write_bytes((tmp_path / "x.npy").read_bytes())
    return tmp_path


def words_of_data(model: str, file: str, words: Callable[[Path], Words]) -> Callable[[Path], Words]:
    """External data is named by the model, so that it has to stay beside it under some name."""

    def rename(path: Path) -> Words:
        root = next(each for each in path.parents if (each / model).exists())
        loaded = onnx.load(root / model, load_external_data=False)
        loaded.graph.initializer[0].external_data[0].value = str(path.relative_to(root))
        onnx.save(loaded, root / model)
        return words(root / model)

    assert file
    return rename


# ----------------------------------------------------------------------------------------------------------- commands

MODEL = Input("model.onnx", lambda path: [path])
DATA = Input("model.bin", words_of_data("model.onnx", "model.bin", lambda path: [path]))
SOURCE_SUFFIXES = {
    ".weights": "cpu",
    ".data.s": "cpu",
    ".device.hip": "hip",
    ".device.weights": "hip",
    ".device1.hip": "cpu,hip",
}


def source_output(target: str) -> Callable[[Path], Words]:
    gpus = [] if target == "cpu" else ["--gpu-arch", "gfx942,mi300a"]
    return lambda path: ["--target", target, *gpus, "--emit", "source", "-o", path]


COMPILER = "onnxc"
COMPILER_INPUTS = {"MODEL": MODEL, "external data of MODEL": DATA}
COMPILER_OUTPUTS = {
    "-o": Output(option("-o")),
    "--dump-shapes": Output(assigned("--dump-shapes")),
    "--report": Output(assigned("--report")),
    **{f"-o ({suffix})": Output(source_output(target), suffix=suffix) for suffix, target in SOURCE_SUFFIXES.items()},
}
AGAINST_INPUTS = {
    "--against": Input("other.onnx", lambda path: ["model.onnx", "--against", path]),
    "external data of --against": Input(
        "other.bin", words_of_data("other.onnx", "other.bin", lambda path: ["model.onnx", "--against", path])
    ),
}

RUNNER = "onnxc-run"
RUN: Words = ["model.so", "--random", "0"]
RUN_INPUTS = {
    "MODEL": Input("model.so", lambda path: [path, "--random", "0"]),
    "TESTS": Input("tests/input_0.npy", lambda path: ["model.so", path.parent]),
    "--input": Input("x.npy", lambda path: ["model.so", "--input", f"x={path}"]),
    "--expect": Input("y_expected.npy", lambda path: [*RUN, "--expect", f"y={path}"]),
    "--verify": Input("model.onnx", lambda path: [*RUN, "--verify", path]),
    "external data of --verify": Input(
        "model.bin", words_of_data("model.onnx", "model.bin", lambda path: [*RUN, "--verify", path])
    ),
    "--against": Input("before.json", lambda path: [*RUN, "--profile=new.html", "--against", path]),
}  # fmt: skip
RUN_OUTPUTS = {
    "--output": Output(option("--output"), "y.npy"),
    "--trace": Output(option("--trace"), "y.npy"),
    "--trace (table)": Output(option("--trace"), "trace.json"),
    "--trace (number)": Output(option("--trace"), "y-2.npy"),
    "--profile": Output(assigned("--profile")),
    "--trace-events": Output(option("--trace-events")),
}
VOLUME: Words = ["--window", "4"]
VOLUME_INPUTS = {
    "MODEL": Input("model.npy", lambda path: [path, "--volume", "scan.npy", *VOLUME]),
    "--volume": Input("scan.npy", lambda path: ["model.so", "--volume", path, *VOLUME]),
}
VOLUME_OUTPUTS = {
    "--output": Output(option("--output")),
    "--output (folder)": Output(option("--output"), "scan.npy"),
    "--output (overwrite)": Output(lambda path: ["--overwrite", "--output", path], "scan.npy"),
    "--output (record)": Output(option("--output"), ".onnxc-volumes.jsonl"),
    "--profile": Output(lambda path: [f"--profile={path}", "--output", "new.npy"]),
    "--trace-events": Output(lambda path: ["--trace-events", path, "--output", "new.npy"]),
}
SIMULATOR = "gfx942sim"
SIMULATOR_INPUTS = {
    "CODE_OBJECT": Input("x.npy", lambda path: [path, "--kernel", "k"]),
    "--arg": Input("x.npy", lambda path: ["model.so", "--kernel", "k", "--arg", f"in:{path}"]),
    "--arg (both)": Input("x.npy", lambda path: ["model.so", "--kernel", "k", "--arg", f"inout:{path}:new.bin"]),
}
SIMULATOR_OUTPUTS = {
    "--arg": Output(lambda path: ["--arg", f"out:16:{path}"]),
    "--arg (both)": Output(lambda path: ["--arg", f"inout:y_expected.npy:{path}"]),
}
GROUPS = [
    (COMPILER, COMPILER_INPUTS, COMPILER_OUTPUTS),
    (COMPILER, AGAINST_INPUTS, {"--dump-shapes": COMPILER_OUTPUTS["--dump-shapes"]}),
    (RUNNER, RUN_INPUTS, RUN_OUTPUTS),
    (RUNNER, VOLUME_INPUTS, VOLUME_OUTPUTS),
    (SIMULATOR, SIMULATOR_INPUTS, SIMULATOR_OUTPUTS),
]
PAIRS = [
    pytest.param(command, read, source, written, output, id=f"{command} {read} and {written}")
    for command, inputs, outputs in GROUPS
    for read, source in inputs.items()
    for written, output in outputs.items()
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("command", "read", "source", "written", "output"), PAIRS)
def test_a_command_refuses_an_output_that_is_an_input(
    folder: Path, command: str, read: str, source: Input, written: str, output: Output, way: str
) -> None:
    if read == "--against" and written == "--profile":
        source = Input(source.file, lambda path: [*RUN, "--against", path])
    file, shown = in_one(folder, folder / source.file, output, way)
    words = [*source.words(file), *output.words(shown)]
    refuse([BINARIES / command, *words], folder, (read.partition(" (")[0], written.partition(" (")[0]))


def described_options(command: str) -> Iterator[tuple[str, str]]:
    """Each option, or name of a positional word, and its line in --help."""
    told = subprocess.run([BINARIES / command, "--help"], capture_output=True, text=True, check=True).stdout
    for line in re.sub(r"\n {8,}", " ", told).splitlines():
        found = re.match(r"  (?:-\w,)?(--?[\w-]+|[A-Z]+)", line)
        if found:
            yield found[1], line[found.end() :]


@pytest.mark.parametrize("command", [COMPILER, RUNNER])
def test_every_option_that_names_a_file_has_a_row(command: str) -> None:
    rows = {
        name.partition(" (")[0] for each, inputs, outputs in GROUPS if each == command for name in (*inputs, *outputs)
    }
    names_a_file = re.compile(r"\b(?:FILE|DIR|FOLDER|[A-Z]+\.(?:onnx|json|html))\b|folder|the ONNX file|compiled model")
    told = {name for name, text in described_options(command) if names_a_file.search(text)}
    assert len(told) > 3
    assert {{"--output": "-o"}.get(name, name) if command == COMPILER else name for name in told} <= rows


def test_outputs_beside_inputs_are_written(folder: Path) -> None:
    """In the folder of an input, whose name is another: nothing is refused."""
    words: Words = [BINARIES / RUNNER, "model.so", "--input", "x=x.npy", "--output", ".", "--trace", "."]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    assert (folder / "y.npy").exists()
    scan: Words = [BINARIES / RUNNER, "model.so", "--volume", "scan.npy", *VOLUME, "--output", "out/"]
    subprocess.run(scan, cwd=folder, check=True, capture_output=True)
    assert (folder / "out" / "scan.npy").exists()


# ------------------------------------------------------------------------------------------------------------- Python


SAMPLES = Input("samples/0.npy", lambda path: ["model.onnx", "--samples", path.parent])
MODULES = [
    ("onnxc.quantize", "MODEL", Input("model.onnx", lambda path: [path, "--samples", "samples"])),
    ("onnxc.quantize", "external data of MODEL",
     Input("model.bin", words_of_data("model.onnx", "model.bin", lambda path: [path, "--samples", "samples"]))),
    ("onnxc.quantize", "--samples", SAMPLES),
    ("onnxc.reduce", "MODEL", MODEL),
    ("onnxc.reduce", "external data of MODEL", DATA),
    ("onnxc.reduce", "--input", Input("x.npy", lambda path: ["model.onnx", "--input", f"x={path}"])),
]  # fmt: skip
MODULE_OUTPUTS = {
    "onnxc.quantize": {"-o": Output(option("-o"))},
    "onnxc.reduce": {"-o": Output(option("-o")), "-o (values)": Output(option("-o"), suffix=".x.npy")},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("module", "read", "source"), MODULES)
def test_a_module_refuses_an_output_that_is_an_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: str, read: str,
    source: Input, way: str,
) -> None:  # fmt: skip
    (folder / "samples").mkdir()
    np.save(folder / "samples" / "0.npy", np.ones((1, 1, 4, 4, 4), np.float32))
    monkeypatch.chdir(folder)
    main = {"onnxc.quantize": onnxc.quantize.main, "onnxc.reduce": onnxc.reduce.main}[module]
    for number, (written, output) in enumerate(MODULE_OUTPUTS[module].items()):
        if number > 0 and way in ("symbolic link", "hard link"):
            (folder / f"link{Path(source.file).suffix}").unlink()
        file, shown = in_one(folder, folder / source.file, output, way)
        before = contents(folder)
        words = [*map(str, [*source.words(file), *output.words(shown)])]
        before |= {name: data for name, data in contents(folder).items() if name.endswith(".onnx")}
        assert main(words) == 1
        said = capsys.readouterr().err
        assert f"{written.partition(' (')[0]} '" in said, said
        assert f"is the same file as {read} '" in said, said
        assert contents(folder) == before
        if file != folder / source.file:
            file.rename(folder / source.file)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("read", ["plans.json", "dataset.json", "fold_0/checkpoint_final.pth"])
def test_a_trained_folder_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], read: str, way: str
) -> None:
    folder = tmp_path / "trained"
    (folder / "fold_0").mkdir(parents=True)
    for name in ("plans.json", "dataset.json", "fold_0/checkpoint_final.pth"):
        (folder / name).write_text("{}")
    place = tmp_path / "out" / "fold0.so"
    place.parent.mkdir()
    if way == "hard link":
        os.link(folder / read, place)
    else:
        place.symlink_to(folder / read)
    shown = tmp_path / "out" / ".." / "out" if way == "spelling" else place.parent
    before = contents(tmp_path)
    assert onnxc.nnunet.__main__.main([str(folder), "-o", str(shown)]) == 1
    said = capsys.readouterr().err
    assert re.search(rf"-o '\S+' is the same file as FOLDER '\S+{read}', which is an input", said), said
    assert contents(tmp_path) == before


def test_every_module_that_writes_is_tried() -> None:
    package = Path(onnxc.__file__).parent
    found = {path for path in package.rglob("*.py") if '"--output"' in path.read_text()}
    names = {str(path.relative_to(package.parent).with_suffix("")).replace("/", ".") for path in found}
    assert names == {*MODULE_OUTPUTS, "onnxc.nnunet.__main__"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("read", ["model", "external data of model"])
def test_functions_raise_for_an_output_that_is_an_input(folder: Path, read: str, way: str) -> None:
    source = MODEL if read == "model" else DATA
    file, shown = in_one(folder, folder / source.file, Output(option("-o")), way)
    source.words(file)
    model = file if read == "model" else folder / "model.onnx"
    before = contents(folder)
    message = rf"output '\S+' is the same file as {read} '\S+', which is an input"
    with pytest.raises(onnxc.ArgumentError, match=message):
        onnxc.compile(model, shown)
    with pytest.raises(onnxc.ArgumentError, match=message):
        onnxc.quantize.quantize(model, shown, [{"x": np.ones((1, 1, 4, 4, 4), np.float32)}])
    assert contents(folder) == before


@pytest.mark.parametrize("way", WAYS)
def test_scans_of_ray_are_not_replaced(folder: Path, way: str) -> None:
    file, shown = in_one(folder, folder / "scan.npy", Output(option("folder"), "scan.npy"), way)
    (folder / "link").mkdir()
    before = contents(folder)
    segment = onnxc.ray.SegmentVolumes(folder / "model.so", 4, folder=shown)
    [error] = segment({"path": np.array([str(file)], object)})["error"]
    assert re.search(r"folder '\S+' is the same file as path '\S+', which is an input", error)
    assert contents(folder) == before
