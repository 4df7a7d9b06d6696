"""The models through `--target hip`: the shipped gfx942 code on the simulator, against PyTorch; and what each of its
kernels must be (the gate)."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from models.export import export
from models.zoo import ROWS, SMALL, ModelRow
from tests import onnxc_commands
from tests.models import access_alignment, code_object, loader_checks
from tests.models.argument_layouts import Layout, device_layouts, differences, host_layouts, layouts
from tests.models.code_object import Kernel
from tests.models.test_models import expect_equal, pytorch_outputs

# For networks whose convolutions sum up thousands of products: the GPU has one chain of float32 for each output, as the
# plain definition has (-O0), which on the CPU is as far from PyTorch: 2.2e-5 for unet3d_narrow, the GPU 2.9e-5.
LONG_SUMS = 5e-5
MOST_LDS = 65536
# Registers of a lane: with more, two wavefronts would not fit a SIMD unit.
MOST_REGISTERS = 256

ALWAYS = {row.name for row in SMALL if not row.slow}
PARAMETERS = [
    pytest.param(row, id=name, marks=[] if name in ALWAYS else [pytest.mark.slow]) for name, row in ROWS.items()
]
# The models that the simulator runs in reasonable time.
SIMULATED = [
    pytest.param(row, id=row.name) if row.name in ALWAYS else pytest.param(row, id=row.name, marks=pytest.mark.slow)
    for row in ROWS.values()
    if row.name in ALWAYS
    or row.name.startswith("video_")
    or row.name.endswith(("_routing_dynamic", "_unoptimized", "_narrow", "_narrow_half", "_small"))
]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The models that this module has compiled, by name."""
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
    functions = "implicit_gemm|product_parts|product_moments"
    return dict(re.findall(rf"void (kernel\d+)\(\S+ \w+\) \{{ (?:{functions})<(GemmPlan\{{.*?)>\(", device_source))


def channelwise(device_source: str) -> set[str]:
    """The kernels that are convolutions of groups of few channels."""
    return set(re.findall(r"void (kernel\d+)\(\S+ \w+\) \{ channelwise<", device_source))


def lines(device_source: str) -> set[str]:
    """The kernels of lines that are normalised, and of the chunks of long ones."""
    return set(re.findall(r"void (kernel\d+)\(\S+ \w+\) \{ (?:normalized_lines|partial_moments)<", device_source))


def voxel_places(device_source: str) -> set[str]:
    """The kernels that give the voxels of blocks their places."""
    return set(re.findall(r"void (kernel\d+)\(\S+ \w+\) \{ voxel_places<", device_source))


def attentions(device_source: str) -> dict[str, str]:
    """The kernels that are attention, with their plans."""
    return dict(re.findall(r"void (kernel\d+)\(\S+ \w+\) \{ attention<FlashAttention(Plan\{.*?\})>\(", device_source))


@dataclass(frozen=True)
class Planned:
    lds: int
    waves: int


def planned(device_source: str) -> dict[str, Planned]:
    """The properties that the choice of kernels counts on."""
    found = re.findall(
        r"// planned: (\d+) bytes of LDS, (\d+) wavefronts a SIMD unit\nextern .*? void (\w+)\(", device_source
    )
    return {name: Planned(int(lds), int(waves)) for lds, waves, name in found}


class SimdUnit(NamedTuple):
    """registers: of a lane, dealt out to wavefronts in granules. waves: the most wavefronts."""

    registers: int
    granule: int
    waves: int


CDNA = SimdUnit(512, granule=8, waves=8)


def planning_faults(kernel: Kernel, plan: Planned, unit: SimdUnit = CDNA) -> list[str]:
    """The number of wavefronts that hide each other's waiting."""
    found = []
    waves = min(unit.registers // (-(-kernel.vector_registers // unit.granule) * unit.granule), unit.waves)
    if waves < plan.waves:
        found.append(f"{kernel.vector_registers} registers: {waves} wavefronts a SIMD unit, {plan.waves} planned")
    if kernel.lds > plan.lds:
        found.append(f"{kernel.lds} bytes of LDS, {plan.lds} planned")
    return found


def faults(kernel: Kernel) -> list[str]:
    """Checks that hold for any kernel."""
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
    """Checks of a matrix product: its main loop is the one that has barriers. Few steps are not in a loop, and end with
    the last product. After it a column's statistics go through LDS, which are not a part of the reduction. With channel
    blocks and a small tile the loop has two steps, whose loads are under way at once."""
    mains = [loop for loop in kernel.loops if "s_barrier" in loop]
    if len(mains) > 1:
        return [f"{len(mains)} loops with barriers"]
    main = mains[0] if mains else up_to_last_product(kernel.code)
    found = []
    rows, columns = map(int, re.findall(r"\{(\d+), (\d+)\}", plan)[-1])
    # Tiles of a wavefront and a step of the reduction.
    tiles = rows // 32 * (columns // 32) // 4
    expected = tiles * {"float32": 8, "xf32": 4, "bf16x3": 6}.get(re.findall(r"Products::(\w+)", plan)[0], 4)
    count = sum(mnemonic.startswith("v_mfma") for mnemonic in main)
    # The padding of the last of few steps is left out.
    in_loop = 2 if "InputOrder::blocks" in plan and rows * columns <= 64 * 64 else 1
    steps = in_loop if mains else -(-count // expected)
    if count == 0 or (count != steps * expected if mains else count % tiles != 0):
        found.append(f"{count} MFMA in {steps} steps, {expected} expected in each")
    if mains and ("v_accvgpr_read_b32" in main or "v_accvgpr_write_b32" in main):
        found.append("moves of accumulation registers in the main loop")
    if kernel.vector_registers > MOST_REGISTERS or 2 * kernel.lds > MOST_LDS:
        found.append(f"{kernel.vector_registers} registers and {kernel.lds} bytes of LDS: less than two blocks a unit")
    # A narrow tile's columns are loaded twice.
    loads = rows if "InputOrder::blocks" in plan else 0
    loads += max(columns, 64) if "WeightOrder::strided" not in plan else 0
    wide_loads = main.count("global_load_dwordx4")
    # Outside of a loop there may be loads of the epilogue too.
    if wide_loads != steps * loads // 64 if mains else wide_loads < steps * loads // 64:
        found.append(f"{wide_loads} loads of 16 bytes in {steps} steps, {loads // 64} expected in each")
    narrow = {mnemonic for mnemonic in main if mnemonic.startswith("ds_read") and mnemonic != "ds_read_b128"}
    if narrow:
        found.append(f"{narrow} in the reduction")
    return found


def up_to_last_product(code: tuple[str, ...]) -> tuple[str, ...]:
    products = [place for place, mnemonic in enumerate(code) if mnemonic.startswith("v_mfma")]
    return code[: products[-1] + 1] if products else code


def attention_faults(kernel: Kernel, plan: str) -> list[str]:
    """Checks of attention: products, and reads of LDS, stand only in the loop over the keys."""
    found = []
    depth, columns = map(int, re.findall(r"Plan\{(\d+), (\d+)", plan)[0])
    # A chunk is 16 bytes; two of each operand are the products of a float or two of a half.
    elements, in_chunk, in_tile = (4, 4, 16) if "Products::float32" in plan else (8, 2, 4)
    expected = -(-depth // (2 * elements)) * in_chunk + -(-columns // 32) * in_tile
    count = sum(mnemonic.startswith("v_mfma") for mnemonic in kernel.code)
    if count != expected:
        found.append(f"{count} MFMA in a step, {expected} expected")
    if "v_accvgpr_read_b32" in kernel.code or "v_accvgpr_write_b32" in kernel.code:
        found.append("moves of accumulation registers")
    if kernel.vector_registers > MOST_REGISTERS or 2 * kernel.lds > MOST_LDS:
        found.append(f"{kernel.vector_registers} registers and {kernel.lds} bytes of LDS: less than two blocks a unit")
    narrow = {mnemonic for mnemonic in kernel.code if mnemonic.startswith("ds_read") and mnemonic != "ds_read_b128"}
    if narrow:
        found.append(f"{narrow} in a step")
    return found


def arguments_type(name: str) -> str:
    """The structure of a kernel's arguments; a further launch has those of the first."""
    if volume := re.fullmatch(r"volume_(cut|add|finish)(_\w+)?", name):
        return f"{volume[1].capitalize()}Arguments"
    further = re.fullmatch(r"(second|third|fourth)(\d+)", name)
    if not further:
        return f"{name.capitalize()}_arguments"
    return f"Kernel{int(further[2]) - 1 - ('second', 'third', 'fourth').index(further[1])}_arguments"


def argument_faults(kernel: Kernel, host: Layout, device: Layout) -> list[str]:
    """The host packs each argument at the offset that the kernel reads."""
    found = differences(host, device)
    if kernel.argument_bytes != device.size:
        found.append(f"{kernel.argument_bytes} bytes of arguments in the code object, {device.size} in its source")
    return found


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("row", PARAMETERS)
def test_gate(
    row: ModelRow, compiled: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    shared_object = compile_for_gpu(row, compiled, tmp_path_factory)
    file = code_object.extract(shared_object, tmp_path / "kernels.co")
    found = code_object.kernels(file)
    host_source = tmp_path / "model.cpp"
    onnxc_commands.compile_model(
        export(row).model, host_source, "--target", "hip", "--march", "x86-64-v3", "--emit", "source"
    )
    device_source = Path(f"{host_source}.device.hip").read_text()
    products = plans(device_source)
    assert found
    templates = {kernel.name for kernel in found if kernel.name.startswith("kernel")}
    fused = attentions(device_source)
    others = channelwise(device_source) | lines(device_source) | voxel_places(device_source)
    assert templates == products.keys() | fused.keys() | others
    counted_on = planned(device_source)
    assert templates == counted_on.keys()
    structures = sorted({arguments_type(kernel.name) for kernel in found})
    packed, read = host_layouts(host_source.read_text(), structures), device_layouts(device_source, structures)
    problems = loader_checks.place_faults(shared_object) + loader_checks.faults(file)
    for kernel in found:
        structure = arguments_type(kernel.name)
        wrong = faults(kernel) + argument_faults(kernel, packed[structure], read[structure])
        if kernel.name in counted_on:
            wrong += planning_faults(kernel, counted_on[kernel.name])
        if kernel.name in products:
            wrong += product_faults(kernel, products[kernel.name])
        if kernel.name in fused:
            wrong += attention_faults(kernel, fused[kernel.name])
        problems += [f"{kernel.name}: {fault}" for fault in wrong]
    problems += access_alignment.faults(access_alignment.front_end(device_source))
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("*to = *reinterpret_cast<const Four*>(from);", ""),
        ("*to = *reinterpret_cast<const Four*>(from); *last = *from;", ""),
        ("__builtin_memcpy(to, from, sizeof *to);", "copy of 16 bytes with alignment 1"),
        ("Bytes bytes; __builtin_memcpy(&bytes, from, 8); *(Bytes*)last = bytes;", "copy of 8 bytes with alignment 1"),
        ("*last = reinterpret_cast<const Odd*>(from)->value;", "load of i32 with alignment 1"),
        ("reinterpret_cast<Odd*>(last)->value = 1;", "store of i32 with alignment 1"),
    ],
)
def test_gate_finds_accesses_that_claim_no_alignment(body: str, fault: str) -> None:
    ir = access_alignment.front_end(f"""#include "kernels/hip/wave/nest.h"
namespace onnxc::kernels {{
struct alignas(16) Four {{ float values[4]; }};
struct Bytes {{ char values[8]; }};
struct __attribute__((packed)) Odd {{ int value; }};
extern "C" __global__ void copy(const char* from, char* last, Four* to) {{ {body} }}
}}""")
    found = access_alignment.faults(ir)
    assert fault in " ".join(found) if fault else not found, found


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
    step = (*["global_load_dwordx4"] * 2, *["ds_read_b128"] * 4, *["v_mfma_f32_32x32x2_f32"] * 8)
    main = ("s_barrier", *step, "s_barrier", *step)
    assert not product_faults(Kernel(**{**good.__dict__, "loops": (main,)}), plan)
    for loop in (
        main[:-1],
        (*main, "v_accvgpr_read_b32"),
        (*main, "ds_read_b32"),
        tuple(mnemonic.replace("dwordx4", "dword") for mnemonic in main),
        tuple(mnemonic for mnemonic in main if "mfma" not in mnemonic),
    ):
        assert product_faults(Kernel(**{**good.__dict__, "loops": (loop,)}), plan), loop
    assert product_faults(Kernel(**{**good.__dict__, "loops": (main, main)}), plan)
    assert product_faults(Kernel(**{**good.__dict__, "loops": (main,), "vector_registers": 257}), plan)
    assert product_faults(good, plan)
    # A kernel of few steps, without a loop.
    unrolled = Kernel(**{**good.__dict__, "loops": (), "code": (*step, "s_barrier", *step, "global_load_dwordx4")})
    assert not product_faults(unrolled, plan)
    assert not product_faults(Kernel(**{**unrolled.__dict__, "code": (*unrolled.code, "ds_read_b32")}), plan)
    for code in (
        unrolled.code[1:-1],
        tuple(mnemonic for mnemonic in unrolled.code if "mfma" not in mnemonic),
        ("ds_read_b64", *unrolled.code),
    ):
        assert product_faults(Kernel(**{**unrolled.__dict__, "code": code}), plan), code


def test_gate_finds_faults_of_attention() -> None:
    plan = "Plan{16, 20, Products::float32, true}"
    code = (*["ds_read_b128"] * 8, *["v_mfma_f32_32x32x2_f32"] * 24)
    good = Kernel("kernel0", (), 8, 100, 0, 0, 10240, (), code)
    assert not attention_faults(good, plan)
    assert attention_faults(good, plan.replace("20", "33"))
    assert attention_faults(good, plan.replace("float32", "float16"))
    for change in (
        {"code": code[:-1]},
        {"code": (*code, "v_accvgpr_read_b32")},
        {"code": (*code, "ds_read_b32")},
        {"vector_registers": 257},
        {"lds": 32772},
    ):
        assert attention_faults(Kernel(**{**good.__dict__, **change}), plan), change


def test_gate_finds_fewer_wavefronts_than_planned() -> None:
    source = (
        "// planned: 8192 bytes of LDS, 6 wavefronts a SIMD unit\n"
        'extern "C" __global__ __launch_bounds__(nest_threads) void kernel0(Kernel0_arguments arguments) {}'
    )
    plan = planned(source)["kernel0"]
    kernel = Kernel("kernel0", (), 0, 80, 0, 0, 8192, (), ())
    assert not planning_faults(kernel, plan)
    assert planning_faults(Kernel(**{**kernel.__dict__, "vector_registers": 81}), plan)
    assert planning_faults(Kernel(**{**kernel.__dict__, "lds": 8193}), plan)


STRUCTURE = """#include <stdint.h>
namespace test {{ struct Sizes {{ int32_t d, w; }}; struct Arguments {{ {} }}; }}"""


@pytest.mark.parametrize(
    "members",
    [
        "Sizes sizes; const float* x; int64_t n;",
        "const float* x; Sizes sizes; int32_t n;",
        "const float* x; Sizes sizes; int64_t n, m;",
        "const float* x; int32_t w, d; int64_t n;",
        "const float* x; Sizes sizes; int32_t more; int64_t n;",
    ],
)
def test_gate_finds_arguments_in_other_places(members: str) -> None:
    def layout(text: str) -> Layout:
        return layouts(STRUCTURE.format(text), "test", ["Arguments"], ["-xc++"])["Arguments"]

    good = layout("const float* x; Sizes sizes; int64_t n;")
    assert good.size == 24
    assert [(member.offset, member.kind, member.name) for member in good.members] == [
        (0, "pointer", "x"),
        (8, "structure", "sizes"),
        (8, "int32_t", "d"),
        (12, "int32_t", "w"),
        (16, "int64_t", "n"),
    ]
    kernel = Kernel("kernel0", (), 24, 0, 0, 0, 0, (), ())
    assert not argument_faults(kernel, good, good)
    assert argument_faults(kernel, layout(members), good)
    assert argument_faults(Kernel(**{**kernel.__dict__, "argument_bytes": 32}), good, good)
