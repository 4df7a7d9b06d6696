"""The command onnxc as its user sees it: each option on one small model, what it prints and which files it writes."""

import contextlib
import ctypes
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnxc_commands import BINARIES, REPOSITORY

pytestmark = pytest.mark.usefixtures("commands")

PASSES = [
    "infer_shapes",
    "apply_size_rules",
    "use_integer_products",
    "fold_constants",
    "simplify",
    "widen_scores",
    "recognize_operators",
    "scale_products",
    "fold_batch_normalization",
    "trim_kernels",
    "choose_kernels",
    "lower",
    "drop_dead_steps",
    "fuse_nests",
    "place_stores",
    "fuse_epilogues",
    "fuse_kernels",
    "eliminate_copies",
    "take_nests",
]


def onnxc(*words: str | Path, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(BINARIES / "onnxc"), *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stderr}"
    return done


NAMES = ["x", "w", "y", "z", "conv_out", "relu_out", "conv", "act", "pool", "sum"]


def build_model(names: dict[str, str] | None = None) -> onnx.ModelProto:
    """A convolution, a ReLU, a pool and a sum over [N, 4, D, 8, 8]; `names` renames what has a name."""
    renamed = {name: name for name in (*NAMES, "N", "D", "graph", "doc")}
    renamed.update(names or {})
    n = renamed.__getitem__
    weights = np.arange(6 * 4 * 27, dtype=np.float32).reshape(6, 4, 3, 3, 3) % 7 - 3
    nodes = [
        helper.make_node("Conv", [n("x"), n("w")], [n("conv_out")], name=n("conv"), pads=[1] * 6),
        helper.make_node("Relu", [n("conv_out")], [n("relu_out")], name=n("act")),
        helper.make_node("MaxPool", [n("relu_out")], [n("y")], name=n("pool"), kernel_shape=[1, 2, 2]),
        helper.make_node("ReduceSum", [n("y")], [n("z")], name=n("sum"), keepdims=0),
    ]
    for node in nodes:
        node.doc_string = n("doc")
    dims = [n("N"), 4, n("D"), 8, 8]
    graph = helper.make_graph(
        nodes,
        n("graph"),
        [helper.make_tensor_value_info(n("x"), TensorProto.FLOAT, dims)],
        [
            helper.make_tensor_value_info(n("y"), TensorProto.FLOAT, [n("N"), 6, n("D"), 7, 7]),
            helper.make_tensor_value_info(n("z"), TensorProto.FLOAT, []),
        ],
        [numpy_helper.from_array(weights, n("w"))],
        doc_string=n("doc"),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], producer_name=n("doc"))
    model.doc_string = n("doc")
    return model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    onnx.save(build_model(), path)
    return path


@pytest.fixture(scope="module")
def compiled(model: Path) -> Path:
    shared_object = model.with_name("model.so")
    done = onnxc(model, "-o", shared_object)
    assert done.stdout == done.stderr == "", "quiet in a pipe"
    return shared_object


def test_help_and_version() -> None:
    """tests/docs/test_reference.py holds the options of the help against the reference."""
    text = onnxc("--help").stdout
    assert "Exit codes: 0 success; 1" in text
    assert re.fullmatch(r"onnxc \d+\.\d+\.\d+\ncompiles with clang.*\n", onnxc("--version").stdout)


@pytest.mark.parametrize(("command", "model"), [("onnxc", "[MODEL...]"), ("onnxc-run", "[MODEL] [TESTS]")])
def test_help_names_the_command_and_fits_the_terminal(command: str, model: str) -> None:
    ours, theirs = pty.openpty()
    columns = 60
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with subprocess.Popen([str(BINARIES / command), "--help"], stdout=theirs, stderr=theirs):
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(ours, 1 << 16):
                shown += piece
    os.close(ours)
    lines = shown.decode().splitlines()
    assert any(line.startswith(f"Usage: {command} [OPTIONS] {model}") for line in lines)
    assert max(map(len, lines)) <= columns
    in_a_pipe = subprocess.run([str(BINARIES / command), "--help"], capture_output=True, text=True, check=True).stdout
    assert in_a_pipe.split() == shown.decode().split()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "MODEL is required"),
        (["model.onnx"], "nothing to do: give -o FILE, --dump-shapes, --report or --dump-ir"),
        (["model.onnx", "--emit", "exe"], "onnxc: error: --emit: must be one of: ir obj so source; found 'exe'"),
        (["model.onnx", "-O", "4"], "Value 4 not in range 0 to 3"),
        (["model.onnx", "-o", "m.so", "--dim", "N"], "--dim N: NAME=4 or NAME=1..8 is expected"),
        (["model.onnx", "-o", "m.so", "--dim", "N=8..1"], "--dim N=8..1: NAME=4 or NAME=1..8 is expected"),
        (["model.onnx", "--target", "tpu"], "--target: must be one of: cpu gpu cpu,gpu; found 'tpu'"),
        (["model.onnx", "--frobnicate"], "--frobnicate"),
        (["model.onnx", "-o", "a", "-o", "b"], "--output is given more than once; give it once"),
        (["model.onnx", "-o", "a", "-q", "-v"], "--verbose has no effect with --quiet; leave out one of them"),
        (
            ["model.onnx", "-o", "a", "--max-memory", "8X"],
            "--max-memory: a size such as 8GB or 512MB is expected, found '8X'",
        ),
        (["model.onnx", "-o", "a", "--compiler", "clong"], "--compiler: there is no command 'clong' on the PATH; "),
    ],
)
def test_mistakes_on_the_command_line(words: list[str], message: str) -> None:
    done = onnxc(*words, code=2)
    assert message in done.stderr
    assert done.stdout == ""


def test_a_cpu_that_the_compiler_does_not_know(model: Path, tmp_path: Path) -> None:
    """In a line: clang's own message has the names of all CPUs."""
    message = onnxc(model, "-o", tmp_path / "m.so", "--march", "zen9", code=2).stderr
    assert re.search(r"--march 'zen9': clang\+\+-\d+ does not know this CPU; native, x86-64-v3, ", message)
    assert len(message) < 300


def test_a_glibc_that_zig_does_not_know_is_told_before_the_work(tmp_path: Path) -> None:
    zig = tmp_path / "zig"
    zig.write_text('#!/bin/sh\nprintf \'.glibc = .{ "2.2.5", "2.44.0" }\'\n')
    zig.chmod(0o700)
    words = ("-o", tmp_path / "m.so", "--compiler", zig, "--glibc", "2.99")
    message = onnxc("missing.onnx", *words, code=2).stderr  # nor is the model looked at
    assert f"--glibc 2.99: '{zig}' has glibc up to 2.44" in message


def test_a_variable_that_names_no_compiler(tmp_path: Path) -> None:
    words = ("missing.onnx", "-o", tmp_path / "m.so")
    assert "ONNXC_CXX: there is no command 'clong' on the PATH; " in onnxc(*words, code=2, ONNXC_CXX="clong").stderr


def test_a_folder_that_does_not_exist_is_told_before_the_work(tmp_path: Path) -> None:
    """The model does not exist either, and is not looked at."""
    missing = tmp_path / "none"
    for option in ("-o", "--report=", "--dump-shapes="):
        words = [f"{option}{missing / 'x'}"] if option.endswith("=") else [option, missing / "x"]
        message = onnxc("missing.onnx", *words, code=1).stderr
        assert f"'{missing / 'x'}': there is no folder '{missing}'; make it first" in message


def test_dump_shapes_as_a_table(model: Path) -> None:
    text = onnxc(model, "--dump-shapes").stdout
    for part in ("float32[N, 4, D, 8, 8]", "float32[N, 6, D, 7, 7]", "'conv'", "Relu", "float32[]"):
        assert part in text


def test_dump_shapes_as_json(model: Path, tmp_path: Path) -> None:
    done = onnxc(model, f"--dump-shapes={tmp_path / 'shapes.json'}")
    assert done.stdout == ""
    dump = json.loads((tmp_path / "shapes.json").read_text())
    assert (dump["format"], dump["version"]) == ("onnxc-shapes", 1)
    assert dump["inputs"] == [{"name": "x", "dtype": "float32", "dims": ["N", 4, "D", 8, 8]}]
    assert [tensor["name"] for tensor in dump["outputs"]] == ["y", "z"]
    assert [node["op_type"] for node in dump["nodes"]] == ["Conv", "Relu", "MaxPool", "ReduceSum"]
    assert json.loads(onnxc(model, "--dump-shapes", "--json").stdout) == dump


def test_dump_ir(model: Path, tmp_path: Path) -> None:
    everything = onnxc(model, "--dump-ir").stdout
    assert re.findall(r"^# after (\w+)$", everything, re.M) == PASSES
    one = onnxc(model, "--dump-ir=lower").stdout
    assert one.startswith('# after lower\nb0 input float32 [N, 4, D, 8, 8] "x"\n')
    assert one in everything
    weights = onnx.numpy_helper.from_array(np.ones((24, 24, 1, 1, 1), np.float32), "w")
    copied = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20]> g (float[N, 24, D, 8, 8] x) => (y) { y = Conv (x, w) }'
    )
    copied.graph.initializer.append(weights)
    onnx.save(copied, tmp_path / "copied.onnx")
    assert "\nnest copy " in onnxc(tmp_path / "copied.onnx", "--dump-ir=eliminate_copies").stdout
    last = onnxc(tmp_path / "copied.onnx", "--dump-ir=take_nests").stdout
    assert "\nkernel copy to rows  b" in last
    assert "\nnest copy " not in last
    choices = onnxc(model, "--dump-ir=choose_kernels", "--march", "x86-64-v3").stdout
    assert re.search(r"^  conv_planar\w* +rows -> rows +\S+  taken$", choices, re.M)
    assert re.search(r"^node 'sum' \(ReduceSum\)\n  loops +any -> rows +[\d.e+]+  taken$", choices, re.M)
    message = onnxc(model, "--dump-ir=lowering", code=2).stderr
    assert f"--dump-ir=lowering: no pass of this name runs; the passes are {', '.join(PASSES)}" in message


def test_report_of_gpu_kernels(model: Path, tmp_path: Path) -> None:
    sizes = ("--dim", "N=1", "--dim", "D=8")  # else the time is unknown
    lines = onnxc(model, "--report", "--target", "hip", "-o", tmp_path / "model.so", *sizes).stdout.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("kernel "))
    assert " ".join(lines[head].split()) == "kernel steps LDS registers spilled waves us bound what"
    kernel = next(line.split() for line in lines[head + 1 :] if line.startswith("kernel"))
    assert int(kernel[2]) > 0
    assert int(kernel[3]) > 0
    assert kernel[4] == "0"
    assert float(kernel[6]) > 0
    planned = onnxc(model, "--report", "--target", "hip").stdout
    assert "not measured" in planned


def test_a_model_for_a_gpu_alone_is_little_more_than_its_weights(tmp_path: Path) -> None:
    weights = numpy_helper.from_array(np.zeros((512, 256, 3, 3), np.float16), "w")
    text = (
        '<ir_version: 9, opset_import: ["" : 18]>\n'
        "m (float16[1, 256, 8, 8] x) => (float16[1, 512, 6, 6] y) { y = Conv (x, w) }"
    )
    parsed = onnx.parser.parse_model(text)
    parsed.graph.initializer.append(weights)
    onnx.save(parsed, tmp_path / "model.onnx")
    size = len(weights.raw_data)
    onnxc(tmp_path / "model.onnx", "-o", tmp_path / "gpu.so", "--target", "hip")
    assert (tmp_path / "gpu.so").stat().st_size < 1.2 * size
    onnxc(tmp_path / "model.onnx", "-o", tmp_path / "both.so", "--target", "cpu,hip")
    assert (tmp_path / "both.so").stat().st_size > 2 * size
    run = [str(BINARIES / "onnxc-run"), str(tmp_path / "gpu.so")]
    information = subprocess.run([*run, "--info", "--json"], capture_output=True, text=True, check=True).stdout
    described = json.loads(information)
    assert described["target"] == "hip gfx942"
    assert size <= described["weights_bytes"] < size + 1024
    assert [step["nodes"] for step in described["steps"]] != []
    refused = subprocess.run([*run, "--random", "0"], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "compiled for 'hip gfx942' and has no code for the CPU; run it on its GPU" in refused.stderr


def test_report(model: Path) -> None:
    lines = onnxc(model, "--report").stdout.splitlines()
    assert lines[0].split() == ["operator", "node", "became", "steps", "as", "together", "with"]
    assert re.match(r"Conv +conv +kernel +\d+ +conv_planar_winograd 3x3x3 4->6 +act$", lines[1])
    assert re.match(r"Relu +act +kernel +\d+ +conv_planar_winograd 3x3x3 4->6 +conv$", lines[2])
    assert lines[-1].startswith("4 nodes in ")
    report = json.loads(onnxc(model, "--report", "--json").stdout)
    assert (report["format"], report["version"]) == ("onnxc-report", 1)
    assert [(node["name"], node["became"]) for node in report["nodes"]][:2] == [("conv", "kernel"), ("act", "kernel")]
    plain = json.loads(onnxc(model, "--report", "--json", "-O0").stdout)
    assert [node["became"] for node in plain["nodes"]] == ["loops"] * 4
    assert [node["fused_with"] for node in plain["nodes"]] == [[]] * 4


def test_time_passes_and_verbosity(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "model.ir"
    done = onnxc(model, "-o", output, "--emit", "ir", "--time-passes")
    assert done.stdout == ""
    names = [line.split("%")[-1].strip() for line in done.stderr.splitlines()]
    assert names == ["import", *PASSES, "total"]
    shares = [float(re.search(r"([\d.]+)%", line)[1]) for line in done.stderr.splitlines()]  # type: ignore[index]
    assert sum(shares[:-1]) == pytest.approx(100, abs=1)
    assert "infer_shapes took" in onnxc(model, "-o", output, "--emit", "ir", "-v").stderr
    assert onnxc(model, "-o", output, "--emit", "ir", "-q").stderr == ""


def test_emit_ir(model: Path, tmp_path: Path) -> None:
    onnxc(model, "-o", tmp_path / "model.ir", "--emit", "ir")
    assert onnxc(model, "--dump-ir=take_nests").stdout.startswith(
        "# after take_nests\n" + (tmp_path / "model.ir").read_text()
    )


def test_emit_obj(model: Path, tmp_path: Path) -> None:
    onnxc(model, "-o", tmp_path / "model.o", "--emit", "obj")
    symbols = subprocess.run(["nm", tmp_path / "model.o"], capture_output=True, text=True, check=True).stdout
    assert "onnxc_model_weights" in symbols
    assert "onnxc7runtime13shared_objectE" in symbols


def test_source_is_the_same_whatever_the_place(model: Path, tmp_path: Path) -> None:
    texts = set()
    for number, name in enumerate(("a", "other")):
        folder = tmp_path / name
        (folder / "tmp").mkdir(parents=True)
        copy = folder / f"{name}.onnx"
        copy.write_bytes(model.read_bytes())
        output = folder / f"{number}.cpp"
        onnxc(copy, "-o", output, "--emit", "source", "--march", "x86-64-v3", TMPDIR=str(folder / "tmp"))
        assert list((folder / "tmp").iterdir()) == []
        texts.add((output.read_bytes(), output.with_name(f"{number}.cpp.weights").read_bytes()))
    [(source, _)] = texts
    header = source.decode().splitlines()[:4]
    assert header[0].startswith("// A model compiled by onnxc ")
    assert re.fullmatch(r"//   model    [0-9a-f]{64}", header[1])
    assert header[2:] == ["//   target   cpu x86-64-v3", "//   options  --target cpu --march x86-64-v3 -O3"]
    assert "static const char* const cpu_features[] = {" in source.decode().splitlines()


def test_shared_object_is_the_same_whatever_the_place(model: Path, compiled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.onnx"
    copy.write_bytes(model.read_bytes())
    onnxc(copy, "-o", tmp_path / "copy.so", "-j", "1", TMPDIR=str(tmp_path))
    assert (tmp_path / "copy.so").read_bytes() == compiled.read_bytes()


def test_gpu_code_is_the_same_whatever_the_place(model: Path, tmp_path: Path) -> None:
    objects = set()
    for name in ("a", "other"):
        (tmp_path / name).mkdir()
        onnxc(model, "-o", tmp_path / f"{name}.so", "--target", "hip", TMPDIR=str(tmp_path / name))
        objects.add((tmp_path / f"{name}.so").read_bytes())
    assert len(objects) == 1


def test_shared_object_needs_libc_libm_and_the_loader_at_most(compiled: Path) -> None:
    dynamic = subprocess.run(["readelf", "-d", compiled], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
    assert needed <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
    exported = subprocess.run(["nm", "-D", "--defined-only", compiled], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in exported.stdout.splitlines()] == ["onnxc_get_api"]


def test_dims_outputs_and_march(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "model.so"
    onnxc(model, "-o", output, "--dim", "N=2", "--dim", "D=1..5", "--outputs", "z", "--march", "x86-64-v3", "-O1")
    run = [str(BINARIES / "onnxc-run"), str(output)]
    information = json.loads(
        subprocess.run([*run, "--info", "--json"], capture_output=True, text=True, check=True).stdout
    )
    assert information["inputs"][0]["dims"] == [2, 4, "D", 8, 8]
    assert [value["name"] for value in information["outputs"]] == ["z"]
    assert information["target"] == "cpu x86-64-v3"
    assert information["model"]["options"] == (
        "--target cpu --march x86-64-v3 -O1 --dim D=1..5 --dim N=2..2 --outputs z"
    )
    for size, code in ((5, 0), (6, 1)):
        done = subprocess.run(
            [*run, "--random", "1", "--dim", f"D={size}"], capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
    assert "dim 2" in done.stderr
    assert "x86-64-v9" in onnxc(model, "-o", output, "--march", "x86-64-v9", code=2).stderr


HOSTILE = '*/ int x = system("id"); /*\n#include </etc/passwd>\n??/ \\\n"; int y;//\x1b[31m \u202e % ü' + "a" * 10_000


def test_names_are_data_and_never_code(model: Path, tmp_path: Path) -> None:
    names = {name: f"{i}{HOSTILE}" for i, name in enumerate(NAMES)}
    names.update({"graph": HOSTILE, "doc": HOSTILE})
    hostile = tmp_path / "hostile.onnx"
    onnx.save(build_model(names), hostile)
    onnxc(hostile, "-o", tmp_path / "hostile.cpp", "--emit", "source", "--target", "hip")
    onnxc(model, "-o", tmp_path / "plain.cpp", "--emit", "source", "--target", "hip")
    for suffix in ("cpp", "cpp.device.hip"):
        source = tmp_path / f"hostile.{suffix}"
        assert code_of(source) == code_of(tmp_path / f"plain.{suffix}")
        assert source.read_text(encoding="ascii").replace("\n", "").isprintable()
    onnxc(hostile, "-o", tmp_path / "hostile.so")
    library = ctypes.CDLL(str(tmp_path / "hostile.so"))
    assert library.onnxc_get_api is not None
    done = subprocess.run(
        [BINARIES / "onnxc-run", tmp_path / "hostile.so", "--random", "1", "--dim", "N=1", "--dim", "D=3", "--output",
         tmp_path / "out"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out").iterdir())) == 2
    for report in ("--report", "--dump-shapes", "--dump-ir"):
        assert "\x1b" not in onnxc(hostile, report).stdout


def code_of(source: Path) -> list[str]:
    """The tokens of a source without its comments; the contents of string literals count as nothing."""
    lexeme = re.compile(r'//[^\n]*|/\*.*?\*/|"(\\.|[^"\\\n])*"', re.S)
    return lexeme.sub(lambda found: found[0][0], source.read_text()).split()


def test_a_missing_compiler_is_named(model: Path, tmp_path: Path) -> None:
    done = onnxc(model, "-o", tmp_path / "model.so", code=1, PATH="/nonexistent")
    assert "no C++ compiler is found" in done.stderr
    assert "apt-get install clang-19 lld-19" in done.stderr
    assert "pip install ziglang" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_compiler_that_refuses_the_source_is_our_bug(model: Path, tmp_path: Path) -> None:
    compiler = tmp_path / "clang"
    compiler.write_text('#!/bin/sh\ncase "$*" in *-dM*) exec clang++-19 "$@";; esac\necho refused >&2\nexit 1\n')
    compiler.chmod(0o700)
    (tmp_path / "out").mkdir()
    (tmp_path / "tmp").mkdir()
    words = (model, "-o", tmp_path / "out" / "m.so")
    environment = {"ONNXC_CXX": str(compiler), "TMPDIR": str(tmp_path / "tmp")}
    done = onnxc(*words, code=3, **environment)
    assert "refused" in done.stderr
    assert "This is a bug of onnxc" in done.stderr
    assert "With --keep-refused its source is kept." in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []
    kept = onnxc(*words, "--keep-refused", code=3, **environment)
    assert "The source is kept; repeat with:" in kept.stderr
    [folder] = (tmp_path / "tmp").iterdir()
    assert str(folder / "model.cpp") in kept.stderr
    assert (folder / "model.cpp").exists()
    assert list((tmp_path / "out").iterdir()) == []


def test_outputs_that_cannot_be_written(model: Path, tmp_path: Path) -> None:
    assert "there is no folder" in onnxc(model, "-o", tmp_path / "none" / "m.so", code=1).stderr
    assert "it is a folder" in onnxc(model, "-o", tmp_path, code=1).stderr
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [BINARIES / "onnxc", model, "--dump-shapes"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert "standard output: " in done.stderr
    assert "No space left on device" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["so", "obj", "source"])
@pytest.mark.parametrize("where", ["output", "temporary files"])
def test_a_full_disk(kind: str, where: str, tmp_path: Path) -> None:
    if kind == "source" and where == "temporary files":
        return  # it has none
    disk = tmp_path / "disk"
    disk.mkdir()
    output = (disk if where == "output" else tmp_path) / "model.out"
    command = [BINARIES / "onnxc", REPOSITORY / "tests" / "demo" / "model.onnx", "-o", output, "--emit", kind]
    words = " ".join(f"'{word}'" for word in command)
    temporary = tmp_path if where == "output" else disk
    script = f"mount -t tmpfs -o size=64k none {disk} && TMPDIR={temporary} {words}; echo $?; ls -A {disk}"
    # A file system of the test's own, gone with its name space.
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", f"{done.stdout}\n{done.stderr}"
    assert "No space left on device" in done.stderr
    assert not output.exists()
