"""Products whose tiles take half of a thread's registers for their sums, each as ptxas compiles it: none spills.

ptxas gives a thread of two blocks 128 registers, and so may another version of it, such as a driver's. Each kernel must
also get along with four fewer, so that it does not fit by chance."""

import re
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests import onnxc_commands
from tests.models import ptx

pytestmark = pytest.mark.usefixtures("commands")

Extents = tuple[int, int, int]
ELEMENTS = {"float32": "float", "xf32": "float", "bf16x3": "float", "float16": "float16_t"}
ONES: Extents = (1, 1, 1)


@dataclass(frozen=True)
class Plan:
    products: str
    tile: tuple[int, int]
    channels: int
    columns: int
    kernel: Extents
    stride: Extents = ONES
    transposed: bool = False
    split: bool = False
    output_lanes: int = 16
    brick: Extents | None = None

    def text(self) -> str:
        def braced(*numbers: int) -> str:
            return f"{{{', '.join(map(str, numbers))}}}"

        def word(flag: bool) -> str:
            return str(flag).lower()

        shape = f"ConvShape{{{self.channels}, {self.columns}, 1, {braced(*self.kernel)}, {braced(*self.stride)}}}"
        return (
            f"GemmPlan{{{shape}, {word(self.transposed)}, Products::{self.products}, {braced(*self.tile)}, "
            f"InputOrder::blocks, 16, WeightOrder::packed, false, {word(self.split)}, {self.output_lanes}"
            f"{f', false, {braced(*self.brick)}' if self.brick else ''}}}"
        )

    def has_moments(self) -> bool:
        return not self.split and not self.transposed and self.output_lanes == 16


TAPS: Extents = (3, 3, 3)
# The first spilled in networks; so did the last two.
FAST = [
    Plan("float32", (256, 64), 40, 33, TAPS, split=True, output_lanes=1),
    Plan("float32", (256, 64), 40, 48, TAPS, split=True, output_lanes=1),
    Plan("float32", (256, 64), 128, 128, (5, 5, 5), split=True),
    Plan("float32", (128, 128), 64, 256, TAPS),
    Plan("bf16x3", (256, 64), 40, 33, TAPS),
    Plan("bf16x3", (256, 64), 64, 128, (5, 5, 5)),
]
ALL = [
    Plan(products, tile, channels, columns * tile[1], kernel, stride, stride != ONES, split)
    for products, tiles in {
        "float32": [(256, 64), (128, 128)],
        "bf16x3": [(256, 64)],
        "xf32": [(256, 64), (128, 128), (64, 256)],
        "float16": [(256, 64), (128, 128), (64, 256)],
    }.items()
    for tile in tiles
    for channels, columns, kernel, stride in (
        (64, 2, (5, 5, 5), ONES),
        (20, 2, (3, 1, 1), ONES),
        (128, 2, (2, 2, 2), (2, 2, 2)),
    )
    for split in (False, True)
]

BRICKS = [
    Plan(products, tile, channels, columns * tile[1], kernel, split=split, brick=brick)
    for products in ("float16", "xf32", "bf16x3")
    for tile, brick in (((256, 64), (4, 8, 8)), ((256, 48), (4, 8, 8)), ((512, 32), (8, 8, 8)), ((128, 128), (2, 8, 8)))
    for channels, columns, kernel in ((64, 2, TAPS), (20, 1, (1, 3, 3)), (128, 2, (5, 1, 1)))
    for split in (False, True)
]


def device_source(plans: list[Plan], architecture: str, folder: Path) -> Path:
    """Kernels with a bias as their epilogue, after the head of a model's source, which has the command."""
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "one", [info], [result])
    onnx.save(helper.make_model(graph), folder / "model.onnx")
    gpu = ("--target", "gpu", "--gpu-arch", architecture, "--march", "x86-64-v3")
    onnxc_commands.compile_model(folder / "model.onnx", folder / "model.cpp", *gpu, "--emit", "source")
    head = (folder / "model.cpp.device.hip").read_text().split("#include")[0]
    source = f"""{head}
#include "kernels/hip/fused/product_moments.h"
#include "kernels/hip/wave/nest.h"
namespace onnxc::kernels {{
struct Bias {{
  const float* bias;
  __device__ float operator()(float sum, int64_t, int64_t, int64_t channel, int64_t, int64_t, int64_t) const {{
    return sum + bias[channel];
  }}
}};
template <class Arguments>
struct With {{
  Arguments call;
  Bias epilogue;
}};
"""
    bounds = 'extern "C" __global__ __launch_bounds__(nest_threads, 2) void'
    for number, plan in enumerate(plans):
        weight = "bfloat16_t" if plan.products == "bf16x3" else ELEMENTS[plan.products]
        types = f"{ELEMENTS[plan.products]}, {weight}, {ELEMENTS[plan.products]}"
        source += f"static_assert({plan.text()}.has_suitable_tile(own_gpu));\n"
        source += f"{bounds} kernel{number}(With<GemmArguments<{types}>> all) {{\n"
        source += f"  implicit_gemm<{plan.text()}>(all.call, all.epilogue);\n}}\n"
        if plan.has_moments():
            source += f"{bounds} moments{number}(With<ProductMomentsArguments<{types}>> all) {{\n"
            source += f"  product_moments<{plan.text()}>(all.call, all.epilogue, all.epilogue);\n}}\n"
    (folder / "kernels.hip").write_text(source + "}\n")
    return folder / "kernels.hip"


def spills(plans: list[Plan], architecture: str, folder: Path, *registers: int) -> list[str]:
    """Each kernel that spills with so many registers of a thread."""
    text = ptx.compile_source(device_source(plans, architecture, folder), folder / "kernels.ptx").read_text()
    found = []
    for most in registers:
        limited = folder / f"kernels{most}.ptx"
        limited.write_text(re.sub(r"\.minnctapersm 2", f".maxnreg {most}", text))
        found += [
            f"{kernel.name} spills {kernel.spilled} bytes with {most} registers: {plans[number(kernel)]}"
            for kernel in ptx.kernels(limited, architecture)
            if kernel.spilled or kernel.local
        ]
    return found


def number(kernel: ptx.Kernel) -> int:
    return int(re.findall(r"\d+", kernel.name)[0])


@pytest.mark.parametrize("architecture", ["sm_80", pytest.param("sm_90a", marks=pytest.mark.slow)])
def test_large_tiles_have_registers_to_spare(architecture: str, tmp_path: Path) -> None:
    found = spills(FAST, architecture, tmp_path, 124)
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_no_large_tile_spills(architecture: str, tmp_path: Path) -> None:
    found = spills(ALL, architecture, tmp_path, 128)
    assert not found, "\n".join(found)


def test_bricks_have_registers_to_spare(tmp_path: Path) -> None:
    found = spills(BRICKS[::10], "sm_90a", tmp_path, 124)
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_no_brick_spills(tmp_path: Path) -> None:
    found = spills(BRICKS, "sm_90a", tmp_path, 128)
    assert not found, "\n".join(found)


def test_spills_are_found(tmp_path: Path) -> None:
    """Fewer registers than the sums need."""
    assert len(spills(FAST[:1], "sm_80", tmp_path, 72)) == 1
