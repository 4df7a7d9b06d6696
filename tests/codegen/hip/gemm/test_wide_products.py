"""The wide products of CDNA4 (gfx950), MFMA of 16-bit types over 16 elements of the reduction.

The simulator runs only gfx942's instructions. So the row of gfx950 is put into code for gfx942, in which a wide product
is two of its own, over the two halves of each lane's chunk. LLVM's builtins have the same sums in the same lanes. The
tests look at what clang 22 makes of the same text for gfx950, and never run it.
"""

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from models.export import export
from models.zoo import ROWS
from tests import onnxc_commands
from tests.codegen.hip.gpu_model import BFLOAT16, FLOAT16
from tests.kernels.hip.mutations.broken_kernels import COMPILE
from tests.models.test_models import expect_equal, pytorch_outputs
from tests.ops.case import Case, Constant, build_model, case, small_integers
from tests.test_install import device_libraries
from tests.toolchain.test_gpu_architectures import newest_clang

pytestmark = pytest.mark.usefixtures("commands")

SOURCES = onnxc_commands.REPOSITORY / "src"
WORDS = Path("kernels/hip/amd/matrix_words.h")
# Two products of gfx942 for one of gfx950.
TWO_PRODUCTS = """
template <class Narrow, class Wide, class Product>
__device__ inline Float16 two_products(Wide column, Wide row, Float16 sum, const Product& product) {
  struct Halves { Narrow of[2]; };
  const auto columns = __builtin_bit_cast(Halves, column), rows = __builtin_bit_cast(Halves, row);
  return product(columns.of[1], rows.of[1], product(columns.of[0], rows.of[0], sum));
}
#define ONNXC_WIDE_FLOAT16(column, row, sum, ...) two_products<Half4>(column, row, sum, \\
    [](Half4 a, Half4 b, Float16 sums) { return __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sums, 0, 0, 0); })
#define ONNXC_WIDE_BFLOAT16(column, row, sum, ...) two_products<Short4>(column, row, sum, \\
    [](Short4 a, Short4 b, Float16 sums) { return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, sums, 0, 0, 0); })
#if 1
"""
CHANGES = {
    "#if __has_builtin(__builtin_amdgcn_mfma_f32_32x32x16_f16)\n": TWO_PRODUCTS,
    "return __builtin_amdgcn_mfma_f32_32x32x16_f16(": "return ONNXC_WIDE_FLOAT16(",
    "return __builtin_amdgcn_mfma_f32_32x32x16_bf16(": "return ONNXC_WIDE_BFLOAT16(",
}


def compile_source(model: Path, folder: Path, *options: str) -> Path:
    onnxc_commands.compile_model(
        model, folder / "source", "--target", "hip", "--gpu-arch", "gfx950", *options, "--emit", "source"
    )
    return folder / "source.device.hip"


def compile_wide(model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> Path:
    """A model.so for gfx942 whose kernels are those of gfx950, and its plan."""
    clang = ("--compiler", newest_clang())
    shared_object = onnxc_commands.compile_model(
        model, folder / "model.so", "--target", "hip", "--gpu-arch", "gfx950", *clang, *options
    )
    source = compile_source(model, folder, *options)
    text = (SOURCES / WORDS).read_text()
    for before, after in CHANGES.items():
        assert text.count(before) == 1
        text = text.replace(before, after)
    changed = folder / "changed" / WORDS
    changed.parent.mkdir(parents=True)
    changed.write_text(text)
    command = [*COMPILE, "-DONNXC_GPU=gfx950", f"-I{folder / 'changed'}", f"-I{SOURCES}"]
    command += [*device_libraries(source).split(), str(source), "-o", str(folder / "wide.co")]
    subprocess.run(command, cwd=folder, check=True)
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "GFX942SIM_CODE_OBJECT", str(folder / "wide.co"))
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "GFX942SIM_ARCHITECTURE", "gfx950")
    return shared_object


def integer_product(dtype: Any, depth: int) -> Case:
    """Each product counts, and sums of small integers are exact."""
    a, b = small_integers(70, depth, dtype=dtype), small_integers(depth, 37, dtype=dtype)
    wide = a.astype(np.float64) @ b.astype(np.float64)
    return case("MatMul", a, Constant(b), opset=13, expected=[wide.astype(dtype)])


@pytest.mark.parametrize("depth", [5, 13, 16, 31, 131])
@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=["float16", "bfloat16"])
def test_small_integers(dtype: Any, depth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reduction of few steps whose last fills a part of a product, and a loop of steps."""
    one = integer_product(dtype, depth)
    assert one.expected is not None
    model = tmp_path / "model.onnx"
    onnx.save(build_model([one], {one: one.expected}), model)
    shared_object = compile_wide(model, tmp_path, monkeypatch)
    inputs = {f"c0_{name}": array for name, array in one.inputs.items()}
    result = onnxc_commands.run_arrays(shared_object, inputs, ["c0_y0"], tmp_path / "run", "--device", "hip")["c0_y0"]
    np.testing.assert_array_equal(result, one.expected[0])


# Convolutions and attention in 16 bits, and float32 by three products of bfloat16.
@pytest.mark.parametrize(
    ("network", "options", "tolerance"),
    [
        ("bfloat16_network", (), None),
        ("half_network", (), None),
        ("transformer_layer", ("--precision", "float16"), 30 * 2.0**-11),
        ("convolutions", ("--fp32", "bf16x3"), 1e-4),
    ],
)
def test_matches_pytorch(
    network: str, options: tuple[str, ...], tolerance: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ROWS[network]
    shared_object = compile_wide(export(row).model, tmp_path, monkeypatch, *options)
    for index, run in enumerate(export(row).runs):
        folder = tmp_path / f"run_{index}"
        results = onnxc_commands.run_files(shared_object, run.inputs, list(run.outputs), folder, "--device", "hip")
        expect_equal(results, pytorch_outputs(run), tolerance or row.tolerance, "PyTorch")


@pytest.mark.parametrize(
    ("network", "options", "instruction"),
    [
        ("half_network", (), "v_mfma_f32_32x32x16_f16"),
        ("bfloat16_network", (), "v_mfma_f32_32x32x16_bf16"),
        ("convolutions", ("--fp32", "bf16x3"), "v_mfma_f32_32x32x16_bf16"),
        ("convolutions", (), "v_mfma_f32_32x32x2_f32"),
    ],
)
def test_clang_takes_the_wide_instruction(
    network: str, options: tuple[str, ...], instruction: str, tmp_path: Path
) -> None:
    source = compile_source(export(ROWS[network]).model, tmp_path, *options)
    command = [newest_clang(), *COMPILE[1:], "--offload-arch=gfx950", "-S", "-DONNXC_GPU=gfx950", f"-I{SOURCES}"]
    command.remove("--offload-arch=gfx942")
    command += [*device_libraries(source).split(), str(source), "-o", "-"]
    assembly = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"v_mfma\w+", assembly)) == {instruction}
