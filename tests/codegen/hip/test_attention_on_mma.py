"""Attention in one kernel on the matrix units of NVIDIA's GPUs and AMD's RDNA against PyTorch in float64: the source of
the kernels runs on the host (tools/host_blocks). Kernels of RDNA carry out the plan for sm_80. Cases are those of the
simulator (test_attention.py), around the edges of a warp's tiles."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from models.tensor_files import Array
from tests import onnxc_commands
from tests.codegen.hip.gpu_model import BFLOAT16, FLOAT16, Dims, expect
from tests.codegen.hip.test_attention import MASKED, Sizes, attention, attention_model, inputs_of, masks_of
from tests.ops.table import TOLERANCES
from tools.host_blocks import asan_runtime, build_kernels

pytestmark = pytest.mark.usefixtures("commands")

SLOW = pytest.mark.slow
NAMES = {"xf32": np.float32, "float16": FLOAT16, "bfloat16": BFLOAT16}


def types(*quick: str) -> pytest.MarkDecorator:
    """All types; those that are not quick are left to the complete run."""
    rows = [pytest.param(dtype, id=name, marks=[] if name in quick else [SLOW]) for name, dtype in NAMES.items()]
    return pytest.mark.parametrize("dtype", rows)


def run(
    proto: onnx.ModelProto,
    inputs: dict[str, Array],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    sanitize: bool = False,
    order: str = "forward",
    headers: Path | None = None,
    kernels_for: str = "sm_80",
) -> dict[str, Array]:
    """Every product of the model is one of attention."""
    onnx.save(proto, folder / "model.onnx")
    gpu = ("--target", "gpu", "--gpu-arch", "sm_80", "--march", "x86-64-v3", "--fp32", "xf32")
    onnxc_commands.compile_model(folder / "model.onnx", folder / "model.cpp", *gpu, "--emit", "source")
    source = folder / "model.cpp.device.hip"
    assert 0 < source.read_text().count("Products::") == source.read_text().count("attention<FlashAttentionPlan{")
    build_kernels(source, kernels_for, folder / "kernels.so", sanitize=sanitize, headers=headers)
    shared_object = onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", *gpu)
    variables = {"CUDA_STAND_IN_KERNELS": str(folder / "kernels.so"), "ONNXC_HOST_ORDER": order}
    if sanitize:
        variables |= {"LD_PRELOAD": asan_runtime(), "ASAN_OPTIONS": "detect_leaks=0"}
    for name, value in variables.items():
        monkeypatch.setitem(onnxc_commands.ENVIRONMENT, name, value)
    outputs = [output.name for output in proto.graph.output]
    return onnxc_commands.run_arrays(shared_object, inputs, outputs, folder / "run", "--device", "gpu")


def representable(cases: list[Sizes], dtype: Any) -> dict[str, Array]:
    """Inputs that xf32 does not round."""
    return {name: array.astype(FLOAT16).astype(dtype) for name, array in inputs_of(cases, dtype).items()}


def tolerance_of(dtype: Any) -> float:
    """xf32 rounds the weights to 10 bits of mantissa, and nothing else."""
    return 5e-3 if dtype == np.float32 else TOLERANCES[np.dtype(dtype)]


def check(cases: list[Sizes], dtype: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    inputs = representable(cases, dtype)
    results = run(attention_model(cases, dtype), inputs, folder, monkeypatch, **options)
    for i, case in enumerate(cases):
        masks = [inputs[f"m{i}_{j}"] for j in range(len(case.masks))]
        scale = float(np.array(case.depth**-0.5, dtype))
        expected = attention(inputs[f"q{i}"], inputs[f"k{i}"], inputs[f"v{i}"], scale, *masks)
        expect(results[f"y{i}"], expected, tolerance_of(dtype))


# Queries and keys around the edges of a tile of 8, of a warp's 16, of a step's 32, and of a block's 128.
LENGTHS = [(1, 1), (17, 7), (15, 9), (16, 15), (3, 16), (9, 17), (31, 31), (32, 32), (8, 33), (33, 63), (129, 64)]
LENGTHS += [(127, 65), (2, 127), (128, 128), (150, 170)]


@types("xf32", "float16")
def test_lengths(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check([Sizes(2, 3, *lengths, 16, 16) for lengths in LENGTHS], dtype, tmp_path, monkeypatch)


@types()
def test_depths_and_columns(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    depths = [(1, 5), (7, 1), (8, 8), (9, 17), (17, 16), (32, 32), (33, 9), (40, 40), (63, 64), (64, 65), (64, 128)]
    if dtype != np.float32:
        depths += [(80, 80), (127, 32), (128, 128)]
    check([Sizes(1, 2, 35, 40, depth, columns) for depth, columns in depths], dtype, tmp_path, monkeypatch)


# Edges of a wavefront's 16 queries, of a tile of 16 keys, and of a step.
RDNA_CASES = [Sizes(2, 3, *lengths, 16, 16) for lengths in LENGTHS]
RDNA_CASES += [Sizes(1, 2, 35, 40, *heads) for heads in [(1, 5), (17, 16), (33, 9), (40, 40), (64, 65), (64, 128)]]
RDNA_CASES += [Sizes(2, 3, 34, 45, 16, 16, ((3, 34, 45), (2, 1, 1, 45), (1, 1, 34, 1)))]


@pytest.mark.parametrize("gpu", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize("dtype", [pytest.param(FLOAT16, id="float16"), pytest.param(BFLOAT16, id="bfloat16")])
def test_on_rdna(gpu: str, dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(RDNA_CASES, dtype, tmp_path, monkeypatch, kernels_for=gpu)


@SLOW
def test_biases_of_every_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[tuple[Dims, ...]] = [
        ((1, 1, 1, 45),),
        ((1, 1, 34, 1),),
        ((2, 1, 1, 45),),
        ((34, 45),),
        ((2, 3, 34, 45),),
        ((3, 34, 45), (2, 1, 1, 45), (1, 1, 34, 1)),
    ]
    check([Sizes(2, 3, 34, 45, 16, 16, masks) for masks in shapes], np.float32, tmp_path, monkeypatch)


@types("float16")
def test_masks(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hidden keys, whole rows of them, and a causal mask."""
    inputs = representable([MASKED], dtype) | {"m0_0": masks_of(dtype)}
    [result] = run(attention_model([MASKED], dtype), inputs, tmp_path, monkeypatch).values()
    expected = attention(inputs["q0"], inputs["k0"], inputs["v0"], 0.25, inputs["m0_0"])
    assert np.isnan(expected).any(axis=(0, 1, 3)).tolist() == [row == 12 for row in range(70)]
    expect(result, expected, tolerance_of(dtype))


@types()
def test_what_is_not_finite(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As PyTorch: a score of NaN or +inf makes its row NaN, a value that is not finite its column, of every query;
    values past the last key or the last element count in none."""
    case = Sizes(1, 2, 40, 33, 5, 7, ((1, 2, 40, 33),))
    inputs = representable([case], dtype)
    inputs["m0_0"][0, 0, 3, 32] = np.nan
    inputs["m0_0"][0, 0, 4, 0] = inputs["m0_0"][0, 0, 5, 32] = np.inf
    inputs["m0_0"][0, :, 6, 32] = -np.inf
    inputs["v0"][0, 0, 32, 2] = np.inf
    inputs["v0"][0, 1, 0, 6] = np.nan
    [result] = run(attention_model([case], dtype), inputs, tmp_path, monkeypatch).values()
    scale = float(np.array(5**-0.5, dtype))
    expect(result, attention(inputs["q0"], inputs["k0"], inputs["v0"], scale, inputs["m0_0"]), tolerance_of(dtype))


@types("bfloat16")
def test_exact_results(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries of zero have the mean of the values, here of 64 keys; a key that is the only one seen gives its own
    value. Threads run in another order, under the address sanitizer: a missing barrier shows."""
    cases = [Sizes(2, 3, 45, 64, 16, 20), Sizes(2, 3, 45, 77, 16, 20, ((45, 77),))]
    inputs = inputs_of(cases, dtype)
    generator = np.random.default_rng(0)
    inputs["q0"][:] = 0
    inputs |= {f"v{i}": generator.integers(-4, 5, (2, 3, case.keys, 20)).astype(dtype) for i, case in enumerate(cases)}
    seen = generator.integers(0, 77, 45)
    inputs["m1_0"] = np.where(np.arange(77) == seen[:, None], 3, -np.inf).astype(dtype)
    results = run(attention_model(cases, dtype), inputs, tmp_path, monkeypatch, sanitize=True, order="backward")
    mean = inputs["v0"].astype(np.float64).mean(axis=2, keepdims=True)
    np.testing.assert_array_equal(results["y0"], np.broadcast_to(mean, (2, 3, 45, 20)).astype(dtype))
    np.testing.assert_array_equal(results["y1"], inputs["v1"][:, :, seen])


@types()
def test_under_the_address_sanitizer(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [Sizes(1, 2, *lengths, 24, 33, ((*lengths,),)) for lengths in ((1, 1), (17, 33), (130, 65))]
    check(cases, dtype, tmp_path, monkeypatch, sanitize=True, order="backward")


OPERANDS, WAVE = "attention_operands.h", "attention_mma.h"
FAULTS = {
    "a barrier before the stores": (OPERANDS, "barrier();  // the products of", "// the products of"),
    "a barrier after the stores": (OPERANDS, "first);\n      barrier();", "first);"),
    "the order of keys": (WAVE, ": chunk * 8 + e", ": chunk * 8 + 7 - e"),
    "keys after the last": (WAVE, "key < keys ? score : -__builtin_inff()", "score"),
    "scaled sums": (WAVE, "*= factor;", "*= 1.0f;"),
    "a scaled total": (WAVE, "total_[r] * factor + total", "total_[r] + total"),
    "the largest of four threads": (WAVE, "__builtin_fmaxf(a, b)", "(b, a)"),
    "the rows of a product": (WAVE, "w % 2 * 2 + e", "(1 - w % 2) * 2 + e"),
    "the last query": (WAVE, "if (query > last_query_) continue;", ""),
}


@SLOW
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_show(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel without what it needs: the results, or the sanitizer, tell."""
    name, before, after = FAULTS[fault]
    header = Path("kernels/hip/attention") / name
    text = (onnxc_commands.REPOSITORY / "src" / header).read_text()
    assert text.count(before) == 1
    changed = tmp_path / "headers" / header
    changed.parent.mkdir(parents=True)
    changed.write_text(text.replace(before, after))
    # Every thread brings operands, and warps without queries run ahead if nothing holds them.
    case = Sizes(1, 2, 45, 77, 64, 52, ((45, 77),))
    with pytest.raises((AssertionError, onnxc_commands.CommandFailure)) as found:
        check([case], FLOAT16, tmp_path, monkeypatch, sanitize=True, order="backward", headers=tmp_path / "headers")
    assert re.search("largest difference|NaN or an infinity on one side|AddressSanitizer", str(found.value))


def test_float32_stays_three_kernels(tmp_path: Path) -> None:
    """Its products are the vector unit's."""
    onnx.save(attention_model([MASKED], np.float32), tmp_path / "model.onnx")
    for kind, count in (("ieee", 0), ("bf16x3", 0), ("xf32", 1)):
        gpu = ("--target", "gpu", "--gpu-arch", "sm_80", "--fp32", kind)
        onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.cpp", *gpu, "--emit", "source")
        assert (tmp_path / "model.cpp.device.hip").read_text().count("attention<") == count, kind
