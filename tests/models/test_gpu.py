"""The models through `--target hip`: the shipped gfx942 code on the simulator, against PyTorch; and what each of its
kernels must be (the gate)."""

import re
import subprocess
from pathlib import Path

import pytest

from tests import onnxc_commands
from tests.models import code_object
from tests.models.code_object import Kernel
from tests.models.export import export
from tests.models.test_models import expect_equal, pytorch_outputs
from tests.models.zoo import ROWS, SMALL, ModelRow

# Of networks whose convolutions sum up thousands of products: the GPU has one chain of float32 for each output, as the
# plain definition has (-O0), which on the CPU is as far from PyTorch: 2.2e-5 for unet3d_narrow, the GPU 2.9e-5.
LONG_SUMS = 5e-5
MOST_LDS = 65536
# Registers of a lane: with more, two wavefronts would not fit on a SIMD unit.
MOST_REGISTERS = 256
# Of a kernel of rows: with more, fewer than three of its wavefronts would fit on a SIMD unit.
MOST_ROW_REGISTERS = 168
MOST_ROW_LDS = 2048
INCLUDES = [f"-I{onnxc_commands.REPOSITORY / folder}" for folder in ("src", "runtime", "runtime/include")]

ALWAYS = {row.name for row in SMALL if not row.slow}
PARAMETERS = [
    pytest.param(row, id=name, marks=[] if name in ALWAYS else [pytest.mark.slow]) for name, row in ROWS.items()
]
# What the simulator runs in reasonable time.
SIMULATED = [
    pytest.param(row, id=row.name) if row.name in ALWAYS else pytest.param(row, id=row.name, marks=pytest.mark.slow)
    for row in ROWS.values()
    if row.name in ALWAYS or row.name.endswith(("_routing_dynamic", "_unoptimized", "_narrow", "_small"))
]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What this module has compiled, by model."""
    return {}


def compile_for_gpu(row: ModelRow, compiled: dict[str, Path], factory: pytest.TempPathFactory) -> Path:
    if row.name not in compiled:
        folder = factory.mktemp(row.name)
        compiled[row.name] = onnxc_commands.compile_model(
            export(row).model, folder / "model.so", "--target", "hip", "--march", "x86-64-v3"
        )
    return compiled[row.name]


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("row", SIMULATED)
def test_matches_pytorch_on_the_simulator(
    row: ModelRow, compiled: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    shared_object = compile_for_gpu(row, compiled, tmp_path_factory)
    for index, run in enumerate(export(row).runs):
        folder = tmp_path / f"run_{index}"
        results = onnxc_commands.run_files(shared_object, run.inputs, list(run.outputs), folder, "--device", "hip")
        tolerance = row.tolerance if row.name in ALWAYS else max(row.tolerance, LONG_SUMS)
        expect_equal(results, pytorch_outputs(run), tolerance, "PyTorch")


def plans(device_source: str) -> dict[str, str]:
    """The kernels that are matrix products, with their plans."""
    return dict(re.findall(r"void (kernel\d+)\(\S+ \w+\) \{ implicit_gemm<(GemmPlan\{.*?)>\(", device_source))


def channelwise(device_source: str) -> set[str]:
    """The kernels that are convolutions of groups of few channels."""
    return set(re.findall(r"void (kernel\d+)\(\S+ \w+\) \{ channelwise<", device_source))


def rows(device_source: str) -> set[str]:
    """The kernels of rows that are normalised, and of the chunks of long ones."""
    return set(re.findall(r"void (kernel\d+)\(\S+ \w+\) \{ (?:normalized_rows|partial_moments)<", device_source))


def row_faults(kernel: Kernel) -> list[str]:
    """Of a kernel of rows, which holds them in registers: two blocks and more share a compute unit."""
    if kernel.vector_registers <= MOST_ROW_REGISTERS and kernel.lds <= MOST_ROW_LDS:
        return []
    return [f"{kernel.vector_registers} registers and {kernel.lds} bytes of LDS for a row"]


def faults(kernel: Kernel) -> list[str]:
    """Of any kernel."""
    found = []
    if kernel.spilled_registers or kernel.scratch:
        found.append(f"{kernel.spilled_registers} spilled registers, {kernel.scratch} bytes of scratch")
    if kernel.lds > MOST_LDS:
        found.append(f"{kernel.lds} bytes of LDS")
    # A hidden argument would mean that it reads block or grid sizes from the hardware.
    if [(argument.kind, argument.offset) for argument in kernel.arguments] != [("by_value", 0)]:
        found.append(f"other arguments than one structure: {kernel.arguments}")
    elif kernel.arguments[0].size != kernel.argument_bytes:
        found.append(f"{kernel.argument_bytes} bytes of arguments, of which {kernel.arguments[0].size} are its own")
    if found_flat := [mnemonic for mnemonic in kernel.mnemonics if mnemonic.startswith(("flat_", "scratch_"))]:
        found.append(f"{found_flat} in a loop")
    return found


def product_faults(kernel: Kernel, plan: str) -> list[str]:
    """Of a matrix product: its main loop is the one that has barriers; with a single step there is none."""
    mains = [loop for loop in kernel.loops if "s_barrier" in loop]
    if not mains and any(mnemonic.startswith("v_mfma") for mnemonic in kernel.code):
        return []
    if len(mains) != 1:
        return [f"{len(mains)} loops with barriers"]
    main = mains[0]
    rows, columns = map(int, re.findall(r"\{(\d+), (\d+)\}", plan)[-1])
    wave_tiles = rows // 32 * (columns // 32) // 4
    found = []
    kinds = {mnemonic for mnemonic in main if mnemonic.startswith("v_mfma")}
    steps = {"float32": 8, "xf32": 4, "bf16x3": 6}.get(re.findall(r"Products::(\w+)", plan)[0], 4)
    count = sum(mnemonic.startswith("v_mfma") for mnemonic in main)
    if count != steps * wave_tiles:
        found.append(f"{count} MFMA ({kinds}) in the main loop, {steps * wave_tiles} expected")
    if "v_accvgpr_read_b32" in main or "v_accvgpr_write_b32" in main:
        found.append("moves of accumulation registers in the main loop")
    if kernel.vector_registers > MOST_REGISTERS or 2 * kernel.lds > MOST_LDS:
        found.append(f"{kernel.vector_registers} registers and {kernel.lds} bytes of LDS: less than two blocks a unit")
    wide_loads = main.count("global_load_dwordx4")
    # A narrow tile's columns are loaded twice.
    expected_loads = rows if "InputOrder::blocks" in plan else 0
    expected_loads += max(columns, 64) if "WeightOrder::packed" in plan else 0
    if wide_loads != expected_loads // 64:
        found.append(f"{wide_loads} loads of 16 bytes in the main loop, {expected_loads // 64} expected")
    narrow = {mnemonic for mnemonic in main if mnemonic.startswith("ds_read") and mnemonic != "ds_read_b128"}
    if narrow:
        found.append(f"{narrow} in the main loop")
    return found


def check_argument_sizes(host_source: Path, found: list[Kernel]) -> None:
    """The structures that the host packs are as long as what the kernels read."""

    def owner(kernel: Kernel) -> str:
        # A second launch has the arguments of the kernel before it.
        number = re.fullmatch(r"second(\d+)", kernel.name)
        return f"Kernel{int(number[1]) - 1}" if number else kernel.name.capitalize()

    checks = [
        f"static_assert(sizeof(onnxc::runtime::hip::{owner(kernel)}_arguments) == {kernel.argument_bytes});"
        for kernel in found
    ]
    text = host_source.read_text() + "\n".join(checks)
    command = ["clang++-19", "-std=c++20", "-fsyntax-only", "-w", "-march=x86-64-v3", *INCLUDES, "-xc++", "-"]
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("row", PARAMETERS)
def test_gate(
    row: ModelRow, compiled: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    shared_object = compile_for_gpu(row, compiled, tmp_path_factory)
    found = code_object.kernels(code_object.extract(shared_object, tmp_path / "kernels.co"))
    host_source = tmp_path / "model.cpp"
    onnxc_commands.compile_model(
        export(row).model, host_source, "--target", "hip", "--march", "x86-64-v3", "--emit", "source"
    )
    device_source = Path(f"{host_source}.device.hip").read_text()
    products = plans(device_source)
    assert found
    templates = {kernel.name for kernel in found if kernel.name.startswith("kernel")}
    normalizing = rows(device_source)
    assert templates == products.keys() | channelwise(device_source) | normalizing
    problems = []
    for kernel in found:
        plan = products.get(kernel.name)
        wrong = faults(kernel) + (product_faults(kernel, plan) if plan else [])
        wrong += row_faults(kernel) if kernel.name in normalizing else []
        problems += [f"{kernel.name}: {fault}" for fault in wrong]
    assert not problems, "\n".join(problems)
    check_argument_sizes(host_source, found)


def test_gate_finds_faults() -> None:
    """A gate that cannot fail would not be one."""
    good = Kernel(
        "kernel0", (code_object.Argument("by_value", 0, 8),), 8, 100, 0, 0, 10240, (("s_barrier",),), ("s_barrier",)
    )
    assert not faults(good)
    hidden = code_object.Argument("hidden_block_count_x", 8, 4)
    for change in (
        {"spilled_registers": 1},
        {"scratch": 4},
        {"lds": 65540},
        {"arguments": (*good.arguments, hidden)},
        {"argument_bytes": 16},
        {"loops": (("flat_load_dword",),)},
    ):
        assert faults(Kernel(**{**good.__dict__, **change})), change
    plan = "GemmPlan{..., Products::float32, {64, 64}, InputOrder::blocks, 16, WeightOrder::packed, false}"
    main = ("s_barrier", *["global_load_dwordx4"] * 2, *["ds_read_b128"] * 4, *["v_mfma_f32_32x32x2_f32"] * 8)
    assert not product_faults(Kernel(**{**good.__dict__, "loops": (main,)}), plan)
    for loop in (
        main[:-1],
        (*main, "v_accvgpr_read_b32"),
        (*main, "ds_read_b32"),
        tuple(mnemonic.replace("dwordx4", "dword") for mnemonic in main),
    ):
        assert product_faults(Kernel(**{**good.__dict__, "loops": (loop,)}), plan), loop
    assert product_faults(Kernel(**{**good.__dict__, "loops": (main,), "vector_registers": 257}), plan)
    assert product_faults(good, plan)
