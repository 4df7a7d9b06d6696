"""The kernels as AMD's RDNA has them, with wavefronts of 32 lanes, on the simulator.

The simulator runs only gfx942's instructions. So the row of gfx1100 (machine/gpu_machine.h), from which its wavefronts
and its products follow, is put into code for gfx942, two of its wavefronts to one of that machine. Their exchanges stay
within 32 lanes and mean the same there, except that v_readlane counts the lanes of the whole: it becomes a shuffle, and
WMMA becomes shuffles and multiply-adds (narrow_wmma_words.h). The tests do not show what clang makes of the same text
for gfx1100.
"""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from models.export import export
from models.zoo import ROWS
from tests import compare, onnxc_commands
from tests.codegen.hip.gpu_model import model as model_of
from tests.kernels.hip.mutations.broken_kernels import COMPILE
from tests.models.test_models import expect_equal, pytorch_outputs
from tests.test_install import device_libraries

pytestmark = pytest.mark.usefixtures("commands")

SOURCES = onnxc_commands.REPOSITORY / "src"
WORDS = Path("kernels/hip/amd/words.h")
CHANGES = {
    "__builtin_amdgcn_readlane(value, lane)": (
        "__builtin_amdgcn_ds_bpermute((thread_index() % 64 / 32 * 32 + lane) * 4, value)"
    ),
    # The registers of gfx942 are dealt out to fewer wavefronts.
    "own_gpu.registers / own_gpu.taken_registers": "2",
}
# The GPU whose plan the narrow kernels run.
WIDE_PLAN, NARROW_PLAN = "gfx942", "gfx1100"

NETWORKS = [
    "convolutions",
    "bfloat16_network",
    "half_network",
    "normalizations",
    "transformer_layer",
    "window_attention",
    pytest.param("transposed_convolutions", marks=pytest.mark.slow),
    pytest.param("lower_ranks", marks=pytest.mark.slow),
    pytest.param("monai_unet", marks=pytest.mark.slow),
    pytest.param("unet3d_narrow", marks=pytest.mark.slow),
]


def compile_narrow(model: Path, folder: Path, gpu: str, *options: str) -> tuple[Path, str]:
    """A GPU's model.so with the kernels of two wavefronts in one beside it (narrow.co), and their source."""
    narrow = ("--target", "hip", "--gpu-arch", gpu, *options)
    shared_object = onnxc_commands.compile_model(model, folder / "model.so", *narrow)
    onnxc_commands.compile_model(model, folder / "source", *narrow, "--emit", "source")
    source = folder / "source.device.hip"
    changed = folder / "changed" / WORDS
    changed.parent.mkdir(parents=True)
    text = (SOURCES / WORDS).read_text()
    for before, after in CHANGES.items():
        assert text.count(before) == 1
        text = text.replace(before, after)
    changed.write_text(text)
    shutil.copy(Path(__file__).with_name("narrow_wmma_words.h"), changed.with_name("wmma_words.h"))
    command = [*COMPILE, "-DONNXC_GPU=gfx1100", f"-I{folder / 'changed'}", f"-I{SOURCES}"]
    command += [*device_libraries(source).split(), str(source), "-o", str(folder / "narrow.co")]
    subprocess.run(command, cwd=folder, check=True)
    return shared_object, source.read_text()


def use_narrow(folder: Path, gpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    disassembly = subprocess.run(
        ["llvm-objdump-19", "-d", "narrow.co"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout
    assert not re.search(r"v_mfma|v_readlane", disassembly)
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "GFX942SIM_CODE_OBJECT", str(folder / "narrow.co"))
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "GFX942SIM_ARCHITECTURE", gpu)


def test_attention_stays_on_the_matrix_unit(tmp_path: Path) -> None:
    """It is chosen for the GPUs whose unit multiplies float32."""
    network = export(ROWS["transformer_layer"]).model
    for gpu, is_one_kernel in (("gfx942", True), ("gfx1100", False)):
        onnxc_commands.compile_model(
            network, tmp_path / "source", "--target", "hip", "--gpu-arch", gpu, "--emit", "source"
        )
        assert ("attention<" in (tmp_path / "source.device.hip").read_text()) == is_one_kernel, gpu


@pytest.mark.parametrize("network", NETWORKS)
def test_matches_pytorch(network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ROWS[network]
    shared_object, source = compile_narrow(export(row).model, tmp_path, NARROW_PLAN)
    assert "attention<" not in source
    use_narrow(tmp_path, NARROW_PLAN, monkeypatch)
    for index, run in enumerate(export(row).runs):
        folder = tmp_path / f"run_{index}"
        results = onnxc_commands.run_files(shared_object, run.inputs, list(run.outputs), folder, "--device", "hip")
        expect_equal(results, pytorch_outputs(run), row.tolerance, "PyTorch")


def edges() -> onnx.ModelProto:
    """More taps than lanes; a stem, whose elements stand in the lanes; rows of 64 threads, and of more."""
    random = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return random.uniform(-0.3, 0.3, shape).astype(np.float32)

    constants = {
        "w35": weights(24, 20, 5, 7),
        "w147": weights(21, 3, 7, 7),
        "t": weights(24, 19, 3, 6),
        "scale": weights(200),
        "shift": weights(200),
    }
    nodes = [
        helper.make_node("Conv", ["a", "w35"], ["ya"], pads=[2, 3, 1, 4]),
        helper.make_node("Conv", ["b", "w147"], ["yb"], pads=[3, 3, 3, 3], strides=[2, 2]),
        helper.make_node("ConvTranspose", ["c", "t"], ["yc"], strides=[2, 1]),
        helper.make_node("LayerNormalization", ["d", "scale", "shift"], ["yd"]),
        helper.make_node("Softmax", ["e"], ["ye"], axis=1),
        helper.make_node("InstanceNormalization", ["f", "one", "zero"], ["yf"]),
    ]
    constants |= {"one": weights(2) + 1, "zero": weights(2)}
    sizes = {"a": (2, 20, 9, 11), "b": (1, 3, 37, 29), "c": (1, 24, 5, 7), "d": (7, 200), "e": (1, 300, 40)}
    sizes["f"] = (1, 2, 5001)
    return model_of(nodes, {name: (np.float32, dims) for name, dims in sizes.items()}, constants)


@pytest.mark.parametrize(("fp32", "gpu"), [("ieee", WIDE_PLAN), ("ieee", NARROW_PLAN), ("bf16x3", NARROW_PLAN)])
def test_edges(fp32: str, gpu: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proto = edges()
    onnx.save(proto, tmp_path / "model.onnx")
    shared_object, source = compile_narrow(tmp_path / "model.onnx", tmp_path, gpu, "--fp32", fp32)
    assert ("Products::bf16x3" in source) == (fp32 == "bf16x3")
    use_narrow(tmp_path, gpu, monkeypatch)
    random = np.random.default_rng(1)
    feeds = {
        value.name: random.uniform(-2, 2, [dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(
            np.float32
        )
        for value in proto.graph.input
    }
    outputs = [value.name for value in proto.graph.output]
    results = onnxc_commands.run_arrays(shared_object, feeds, outputs, tmp_path / "run", "--device", "hip")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    # 16 bits of mantissa, and sums of 700 products.
    tolerance = 1e-5 if fp32 == "ieee" else 1e-4
    for name, expected in zip(outputs, session.run(outputs, feeds), strict=True):
        difference = compare.mismatch(results[name], expected, tolerance)
        assert difference is None, f"{name}: {difference}"
