"""The kernels for AMD's RDNA, as clang compiles them: what every kernel must be (the gate). Nothing runs here."""

import re
import subprocess
from pathlib import Path
from typing import Any

import onnx
import pytest

from models.export import export
from models.zoo import ROWS, ModelRow
from tests import onnxc_commands
from tests.codegen.hip.gemm.test_byte_products import CONVOLUTIONS, convolutions
from tests.codegen.hip.gpu_model import BFLOAT16, FLOAT16, Dims
from tests.codegen.hip.test_attention import Sizes, attention_model
from tests.models import code_object
from tests.models.code_object import Kernel
from tests.models.test_gpu import Planned, SimdUnit, attentions, planned, planning_faults, plans
from tests.models.test_nvidia_gate import HALF_HEADS

SOURCES = onnxc_commands.REPOSITORY / "src"
BITCODE = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
ARCHITECTURES = ["gfx1100", "gfx1201"]
RDNA = SimdUnit(1536, granule=24, waves=16)
# The most LDS of a block; registers of a lane, with which eight wavefronts share a SIMD unit.
MOST_LDS, MOST_REGISTERS = 64 * 1024, 192

CASES = [
    pytest.param(row, architecture, id=f"{name}-{architecture}", marks=pytest.mark.slow)
    for architecture in ARCHITECTURES
    for name, row in ROWS.items()
]
# Products by WMMA: networks and the options that make them of its types.
KINDS = [
    ("convolutions", ("--fp32", "bf16x3")),
    ("unet3d_narrow", ("--precision", "float16")),
    *(
        pytest.param(name, options, marks=pytest.mark.slow)
        for name, options in (
            ("transposed_convolutions", ("--fp32", "bf16x3")),
            ("transformer_layer", ("--fp32", "bf16x3")),
            ("transformer_layer", ("--precision", "bfloat16")),
            ("lower_ranks", ("--fp32", "bf16x3")),
            ("unet3d", ("--precision", "float16")),
            ("unet3d", ("--fp32", "bf16x3")),
            ("r3d_18", ("--precision", "bfloat16")),
            ("r3d_18", ("--fp32", "bf16x3")),
        )
    ),
]


def faults(kernel: Kernel) -> list[str]:
    """Checks that hold for any kernel."""
    found = []
    if kernel.spilled_registers or kernel.scratch:
        found.append(f"{kernel.spilled_registers} spilled registers, {kernel.scratch} bytes of scratch")
    if kernel.lds > MOST_LDS or kernel.vector_registers > 256:
        found.append(f"{kernel.lds} bytes of LDS, {kernel.vector_registers} registers")
    if [argument.kind for argument in kernel.arguments] != ["by_value"]:
        found.append(f"other arguments than one structure: {kernel.arguments}")
    # Lane masks of 64 bits, the other family's matrix unit, memory of a thread's own.
    foreign = {
        mnemonic
        for mnemonic in kernel.code
        if re.match(r"v_mfma|v_accvgpr|scratch_|flat_|s_\w+_saveexec_b64|v_permlane64", mnemonic)
    }
    if foreign:
        found.append(f"{foreign}")
    return found


def main_loop(kernel: Kernel) -> tuple[str, ...]:
    """The reduction: the loop that has barriers; few steps are not in a loop, and end with the last product. On the
    vector unit it is the loop over the chunks of a step."""
    if not any(mnemonic.startswith("v_wmma") for mnemonic in kernel.code):
        return max(kernel.loops, key=lambda loop: sum("fma" in mnemonic for mnemonic in loop), default=())
    mains = [loop for loop in kernel.loops if any(mnemonic.startswith("s_barrier") for mnemonic in loop)]
    if mains:
        return mains[0]
    products = [place for place, mnemonic in enumerate(kernel.code) if mnemonic.startswith("v_wmma")]
    return kernel.code[: products[-1] + 1]


def early_waits(loop: tuple[str, ...]) -> list[str]:
    """Waits for the loads of the next step between them and the last product of this one."""
    loads = [place for place, mnemonic in enumerate(loop) if mnemonic.startswith("global_load_b128")]
    products = [place for place, mnemonic in enumerate(loop) if mnemonic.startswith("v_wmma")]
    if not loads or not products:
        return []
    between = loop[loads[-1] : products[-1]]
    return [mnemonic for mnemonic in between if re.match(r"s_wait\w* .*vmcnt\(0\)|s_wait_loadcnt 0x0", mnemonic)]


def product_faults(kernel: Kernel, plan: str) -> list[str]:
    """Products are the matrix unit's but for float32, of whole steps. LDS is read in chunks of 16 bytes, and loads of
    the next step are under way meanwhile."""
    rows, columns = map(int, re.findall(r"\{(\d+), (\d+)\}", plan)[-1])
    products = re.findall(r"Products::(\w+)", plan)[0]
    in_step = {"float32": 0, "bf16x3": 3, "float16": 2, "bfloat16": 2, "int8": 4, "uint8": 4}[products]
    # A wavefront's tiles of 16 rows and 16 columns; those of eight wavefronts are all.
    expected = in_step * rows * columns // (8 * 16 * 16)
    main = main_loop(kernel)
    has_loop = main in kernel.loops
    in_blocks, is_small = "InputOrder::blocks" in plan, rows * columns <= 64 * 64
    made = sum(mnemonic.startswith("v_wmma") for mnemonic in main)
    found = []
    steps = 2 if has_loop and in_blocks and is_small else 1
    # The padding of the last of few steps is left out.
    if made != steps * expected if has_loop or expected == 0 else made == 0:
        found.append(f"{made} products on the matrix unit, {expected} expected in each of {steps} steps")
    if kernel.vector_registers > MOST_REGISTERS:
        found.append(f"{kernel.vector_registers} registers")
    narrow = {
        mnemonic for mnemonic in main if mnemonic.startswith("ds_load") and not mnemonic.startswith("ds_load_b128")
    }
    if narrow:
        found.append(f"{narrow} in the reduction")
    if has_loop and expected:
        loads = rows if in_blocks else 0
        loads += max(columns, 64) if "WeightOrder::strided" not in plan else 0
        wide = main.count("global_load_b128")
        if wide != steps * loads // 64:
            found.append(f"{wide} loads of 16 bytes in {steps} steps, {loads // 64} expected in each")
        if steps == 1 and (waits := early_waits(main)):
            found.append(f"{waits} before the last product")
    return found


def attention_faults(kernel: Kernel, plan: str) -> list[str]:
    """Products stand only in the loop over the keys, which LDS gives in chunks of 16 bytes."""
    depth, columns = map(int, re.findall(r"Plan\{(\d+), (\d+)", plan)[0])
    # A step has two tiles of 16 keys; a product takes 16 elements of a query, or 16 columns.
    expected = 2 * (-(-depth // 16) + -(-columns // 16))
    found = []
    made = sum(mnemonic.startswith("v_wmma") for mnemonic in kernel.code)
    if made != expected:
        found.append(f"{made} products on the matrix unit, {expected} expected in a step")
    narrow = {mnemonic for mnemonic in kernel.code if mnemonic.startswith("ds_load") and mnemonic != "ds_load_b128"}
    if narrow:
        found.append(f"{narrow} in a step")
    return found


def compile_source(device_source: Path, code: Path) -> Path:
    """As the head of the source says, with Debian's libraries, which are older than RDNA3."""
    text = device_source.read_text()
    command = re.findall(r"^//   (clang.*)$", text, re.M)[0]
    *names, _ = re.findall(r"^// (ocml, .*):$", text, re.M)[0].split(", ")
    files = [f"{BITCODE}/{name}.bc" for name in (*names, "oclc_isa_version_1030")]
    libraries = " ".join(f"-Xclang -mlink-builtin-bitcode -Xclang {file}" for file in files)
    command = re.sub(r"-I\S*", f"-I{SOURCES}", command).replace("$LIBRARIES", libraries)
    command = re.sub(r"\S+ -o \S+$", f"{device_source} -o {code}", command)
    subprocess.run(command.split(), check=True)
    return code


def check(model: Path, architecture: str, folder: Path, *options: str) -> dict[str, str]:
    """Returns the plans of the kernels that are matrix products."""
    gpu = ("--target", "gpu", "--gpu-arch", architecture, "--march", "x86-64-v3", *options)
    onnxc_commands.compile_model(model, folder / "model.cpp", *gpu, "--emit", "source")
    source = (folder / "model.cpp.device.hip").read_text()
    kernels = code_object.kernels(compile_source(folder / "model.cpp.device.hip", folder / "kernels.co"))
    assert kernels
    counted_on, products = planned(source), plans(source)
    fused = attentions(source)
    problems = []
    for kernel in kernels:
        wrong = faults(kernel)
        if kernel.name in counted_on:
            wrong += planning_faults(kernel, counted_on[kernel.name], RDNA)
        if kernel.name in products:
            wrong += product_faults(kernel, products[kernel.name])
        if kernel.name in fused:
            wrong += attention_faults(kernel, fused[kernel.name])
        problems += [f"{kernel.name}: {fault} ({products.get(kernel.name)})" for fault in wrong]
    assert not problems, "\n".join(problems)
    return products


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(("row", "architecture"), CASES)
def test_gate(row: ModelRow, architecture: str, tmp_path: Path) -> None:
    check(export(row).model, architecture, tmp_path)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("name", "options"), KINDS)
def test_gate_of_wmma(name: str, options: tuple[str, str], architecture: str, tmp_path: Path) -> None:
    products = check(export(ROWS[name]).model, architecture, tmp_path, *options)
    assert any(f"Products::{options[1]}" in plan for plan in products.values())


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gate_of_bytes(architecture: str, tmp_path: Path) -> None:
    onnx.save(convolutions(CONVOLUTIONS).proto(), tmp_path / "model.onnx")
    found = check(tmp_path / "model.onnx", architecture, tmp_path)
    assert len({plan for plan in found.values() if re.search(r"Products::u?int8", plan)}) == len(CONVOLUTIONS)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    ("dtype", "heads"),
    [
        pytest.param(FLOAT16, [(64, 64), (40, 40)], id="float16"),
        pytest.param(FLOAT16, HALF_HEADS, id="float16-all", marks=pytest.mark.slow),
        pytest.param(BFLOAT16, HALF_HEADS, id="bfloat16-all", marks=pytest.mark.slow),
    ],
)
def test_gate_of_attention(dtype: Any, heads: list[tuple[int, int]], architecture: str, tmp_path: Path) -> None:
    """With and without biases, whose addresses take registers."""
    biases: tuple[tuple[Dims, ...], ...] = ((), ((1, 2, 35, 40), (1, 1, 35, 40)))
    cases = [Sizes(1, 2, 35, 40, *head, masks) for masks in biases for head in heads]
    onnx.save(attention_model(cases, dtype), tmp_path / "model.onnx")
    check(tmp_path / "model.onnx", architecture, tmp_path)
    assert attentions((tmp_path / "model.cpp.device.hip").read_text())


def test_gate_finds_faults_of_attention() -> None:
    plan = "Plan{40, 20, Products::float16, true}"
    code = ("ds_load_b128",) * 10 + ("v_wmma_f32_16x16x16_f16",) * 10
    good = Kernel("kernel0", (), 8, 100, 0, 0, 8192, (), code)
    assert not attention_faults(good, plan)
    for other in (plan.replace("40", "49"), plan.replace("20", "33")):
        assert attention_faults(good, other), other
    for changed in (code[:-1], (*code, "ds_load_b64")):
        assert attention_faults(Kernel(**{**good.__dict__, "code": changed}), plan), changed


def test_gate_finds_faults() -> None:
    """A gate that cannot fail would not be one."""
    plan = "GemmPlan{..., Products::float16, {64, 64}, InputOrder::planar, 16, WeightOrder::packed, false}"
    step = ("s_barrier", "global_load_b128", "ds_load_b128", *["v_wmma_f32_16x16x16_f16"] * 4)
    argument = code_object.Argument("by_value", 0, 8)
    good = Kernel("kernel0", (argument,), 8, 100, 0, 0, 8192, (step,), step)
    assert not faults(good) + product_faults(good, plan) + planning_faults(good, Planned(8192, 8), RDNA)
    for change in (
        {"spilled_registers": 1},
        {"scratch": 4},
        {"lds": MOST_LDS + 4},
        {"arguments": (argument, argument)},
        {"code": ("scratch_load_b32",)},
    ):
        assert faults(Kernel(**{**good.__dict__, **change})), change
    assert planning_faults(Kernel(**{**good.__dict__, "vector_registers": 193}), Planned(8192, 8), RDNA)
    assert planning_faults(good, Planned(4096, 8), RDNA)
    for loop in (
        step[:-1],
        (*step, "ds_load_b64"),
        tuple(mnemonic for mnemonic in step if "global" not in mnemonic),
        (*step[:3], "s_waitcnt vmcnt(0)", *step[3:]),
        (*step[:3], "s_wait_loadcnt 0x0", *step[3:]),
    ):
        assert product_faults(Kernel(**{**good.__dict__, "loops": (loop,)}), plan), loop
    assert product_faults(Kernel(**{**good.__dict__, "vector_registers": 193}), plan)
    assert product_faults(good, plan.replace("float16", "float32"))
    assert product_faults(good, plan.replace("float16", "bf16x3"))
