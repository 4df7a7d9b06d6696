"""A model.so as a file: what it may do is what its headers allow, and its bytes depend on nothing but the model."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnxc_commands import BINARIES, REPOSITORY

pytestmark = pytest.mark.usefixtures("commands")

# The functions of libc that a model may use: memory, threads, time, the environment, and files that tell how many CPUs
# it may use. No file is written, no program started, no socket opened, nothing printed.
IMPORTS = {
    "malloc", "free", "aligned_alloc", "mmap", "munmap", "madvise",
    "memcpy", "memmove", "memset", "bcmp", "vsnprintf",
    "pthread_create", "pthread_join", "pthread_self", "pthread_setname_np", "pthread_sigmask",
    "sched_yield", "syscall", "clock_gettime",
    "getpid", "getenv", "open", "read", "close", "__errno_location",
}  # fmt: skip
# Functions that the linker's own start files may ask for, if they are there.
WEAK = {"__cxa_finalize", "__gmon_start__", "__register_frame_info", "__deregister_frame_info"}
# Functions of only numbers, for the operators that onnxc has no code of its own for.
OF_MATH = re.compile(r"(a?(sin|cos|tan)h?|exp|log|log1p|expm1|pow|fmod|erf|ceil|floor|rint)f?")
# Numbers in strings and strings of numbers, in the "C" locale.
OF_STRINGS = {"newlocale", "uselocale", "strtod_l", "snprintf", "memcmp", "strlen"}
# With code for a GPU: a vendor's library is opened when an instance asks for one, and PTX, a text, is cut into modules.
OF_GPU = {
    "dlopen", "dlsym", "dlerror", "dl_iterate_phdr", "calloc", "snprintf", "strlen", "strncmp", "strrchr", "strchr",
    "strcspn", "strstr",
}  # fmt: skip


def save(path: Path) -> Path:
    """A convolution, operators with functions of their own, a product, and control flow."""
    random = np.random.default_rng(0)
    constants = {
        "w": random.standard_normal((16, 4, 3, 3, 3)).astype(np.float32),
        "m": random.standard_normal((6, 5)).astype(np.float32),
        "three": np.array(3, np.int64),
        "on": np.array(True),
    }
    state = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("s", "t")}
    go = {name: helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("c", "d")}
    inside = helper.make_graph(
        [helper.make_node("Erf", ["s"], ["t"]), helper.make_node("Identity", ["c"], ["d"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), go["c"], state["s"]],
        [go["d"], state["t"]],
    )
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1] * 6),
        helper.make_node("Tan", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "m"], ["e"]),
        helper.make_node("Mod", ["e", "e"], ["f"], fmod=1),
        helper.make_node("Pow", ["e", "f"], ["g"]),
        helper.make_node("Loop", ["three", "on", "g"], ["y"], body=inside),
        helper.make_node("NonZero", ["y"], ["z"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4, "D", 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
         helper.make_tensor_value_info("z", TensorProto.INT64, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return path


def compile_there(model: Path, output: Path, *options: str, **environment: str) -> Path:
    subprocess.run(
        [BINARIES / "onnxc", model, "-o", output, "-q", *options], check=True, env={**os.environ, **environment}
    )  # fmt: skip
    return output


@pytest.fixture(scope="module", params=["cpu", "hip"])
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    return compile_there(save(folder / "model.onnx"), folder / f"{request.param}.so", "--target", request.param)


def elf(option: str, file: Path) -> str:
    return subprocess.run(["readelf", option, "-W", file], capture_output=True, text=True, check=True).stdout


def test_segments(compiled: Path) -> None:
    flags = re.findall(r"^  (\w+) +0x\w+ 0x\w+ 0x\w+ 0x\w+ 0x\w+ ([R ][W ][E ])", elf("-l", compiled), re.MULTILINE)
    assert {"LOAD", "GNU_RELRO", "GNU_STACK"} <= {kind for kind, _ in flags}
    for kind, flag in flags:
        assert not ("W" in flag and "E" in flag), "nothing is both written and run"
        if kind == "GNU_STACK":
            assert "E" not in flag


def test_addresses_are_bound_at_once(compiled: Path) -> None:
    """So that the table of functions is read-only before any code of the model runs."""
    dynamic = elf("-d", compiled)
    assert re.search(r"\(FLAGS\).*BIND_NOW", dynamic)
    assert re.search(r"\(FLAGS_1\).*NOW", dynamic)
    assert "TEXTREL" not in dynamic
    assert "RPATH" not in dynamic
    assert "RUNPATH" not in dynamic
    relro = re.search(r"GNU_RELRO.*\n(?:.*\n)*", elf("-l", compiled))
    assert relro is not None
    assert re.search(r"^ +\d+ +.*\.got\.plt.*\.relro_padding", relro.group(), re.MULTILINE)


def test_imports_are_on_the_list(compiled: Path) -> None:
    assert len(IMPORTS) <= 25
    rows = re.findall(
        r"^ +\d+: \w+ +\d+ \w+ +(GLOBAL|WEAK) +DEFAULT +UND (\w+)", elf("--dyn-syms", compiled), re.MULTILINE
    )
    strong, weak = ({name for kind, name in rows if kind == wanted} for wanted in ("GLOBAL", "WEAK"))
    assert strong, "the table is read"
    others = {name for name in strong - IMPORTS if not OF_MATH.fullmatch(name)}
    assert others <= (OF_GPU if compiled.stem == "hip" else set())
    assert weak <= WEAK


def test_imports_of_a_model_with_strings(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("StringSplit", ["x"], ["a", "n"], delimiter=","),
        helper.make_node("Cast", ["a"], ["b"], to=TensorProto.DOUBLE),
        helper.make_node("Cast", ["b"], ["c"], to=TensorProto.STRING),
        helper.make_node("StringConcat", ["a", "c"], ["d"]),
        helper.make_node("Unique", ["d"], ["e"]),
        helper.make_node("StringNormalizer", ["e"], ["y"], case_change_action="UPPER"),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.STRING, ["N"]) for name in "xy")
    y.type.tensor_type.ClearField("shape")
    graph = helper.make_graph(nodes, "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8), tmp_path / "m.onnx")
    compiled = compile_there(tmp_path / "m.onnx", tmp_path / "m.so")
    names = set(re.findall(r"GLOBAL +DEFAULT +UND (\w+)", elf("--dyn-syms", compiled)))
    assert {name for name in names - IMPORTS if not OF_MATH.fullmatch(name)} <= OF_STRINGS


def test_one_name_is_exported(compiled: Path) -> None:
    rows = re.findall(r"^ +\d+: \w+ +\d+ \w+ +\w+ +\w+ +(\d+) (\S+)", elf("--dyn-syms", compiled), re.MULTILINE)
    assert [name.partition("@")[0] for _, name in rows] == ["onnxc_get_api"]


def test_every_maker_of_cpus_gives_the_same_bits(compiled: Path) -> None:
    """The approximations of 1/x and 1/sqrt(x) are Intel's on one machine and AMD's on another."""
    command = ["llvm-objdump-19", "-d", "--no-show-raw-insn", str(compiled)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    mnemonics = set(re.findall(r"^ *[0-9a-f]+:\s+(\S+)", text, re.MULTILINE))
    assert len(mnemonics) > 100
    assert not {name for name in mnemonics if re.match(r"v?(rcp|rsqrt)", name)}


def test_bytes_are_the_same_for_another_folder_user_and_date(compiled: Path, tmp_path: Path) -> None:
    """The model has another name, in a folder of another depth, and clang's files lie elsewhere."""
    folder = tmp_path / "another folder" / "deep"
    (folder / "temporary").mkdir(parents=True)
    model = save(folder / "renamed.onnx")
    os.utime(model, (0, 0))
    environment = {
        "TMPDIR": str(folder / "temporary"), "HOME": str(folder), "USER": "another", "LANG": "de_DE.UTF-8",
        "TZ": "Pacific/Auckland", "SOURCE_DATE_EPOCH": "86400",
    }  # fmt: skip
    other = compile_there(model, folder / "m.so", "--target", compiled.stem, "-j", "1", **environment)
    assert other.read_bytes() == compiled.read_bytes()
    assert str(REPOSITORY).encode() not in compiled.read_bytes()
    assert str(compiled.parent).encode() not in compiled.read_bytes()
