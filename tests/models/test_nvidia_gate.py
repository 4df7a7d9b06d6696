"""The kernels for NVIDIA's GPUs, each as ptxas compiles it: what every kernel must be (the gate). Nothing runs here."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from models.export import export
from models.zoo import ROWS, ModelRow
from tests import onnxc_commands
from tests.codegen.hip.gemm.test_byte_products import CONVOLUTIONS, convolutions
from tests.codegen.hip.gpu_model import BFLOAT16, FLOAT16, Dims
from tests.codegen.hip.test_attention import Sizes, attention_model
from tests.models import ptx
from tests.models.argument_layouts import host_layouts
from tests.models.ptx import Kernel
from tests.models.test_gpu import ALWAYS, Planned, arguments_type, attentions, planned, plans

# The bytes of a block that does not ask for more at its launch, and the registers of a thread.
MOST_SHARED, MOST_REGISTERS = 48 * 1024, 255
# A launch on Hopper may ask for so much if two blocks share a unit of 228 KiB; the system takes 1 KiB of each.
MOST_ASKED = 113 * 1024
# The memory of a launch begins at a multiple, in every kernel of its module.
LAUNCH_GRANULE = 512
REGISTERS, MOST_WAVES = 512, 16  # of a lane of a unit's quarter, dealt out to a thread in eights

CASES = [
    pytest.param(row, "sm_80", id=f"{name}-sm_80", marks=[] if name in ALWAYS else [pytest.mark.slow])
    for name, row in ROWS.items()
]
CASES += [pytest.param(row, "sm_90a", id=f"{name}-sm_90a", marks=pytest.mark.slow) for name, row in ROWS.items()]
# The other kinds of float32 products.
KINDS = ["convolutions", "transposed_convolutions", "transformer_layer"]


def faults(kernel: Kernel) -> list[str]:
    """Checks that hold for any kernel."""
    found = []
    if kernel.spilled or kernel.local:
        found.append(f"{kernel.spilled} bytes of spills, {kernel.local} bytes of stack")
    if kernel.shared > MOST_SHARED or kernel.registers > MOST_REGISTERS:
        found.append(f"{kernel.shared} bytes of shared memory, {kernel.registers} registers")
    calls = [text for text in kernel.code if re.match(r"call\b|(ld|st)\.local", text)]
    if calls:
        found.append(f"{calls[0]}: a call, or an access to local memory")
    found += kernel.remarks
    if halves := ptx.byte_stores_of_halves(kernel.code):
        found.append(f"{halves[0]}: a byte of a half")
    return found


def planning_faults(kernel: Kernel, plan: Planned, asked: int = 0, granule: int = 1) -> list[str]:
    """`asked`: bytes of shared memory that the launch asks for. Declared memory ends at a granule."""
    found = []
    if kernel.shared + asked > -(-plan.lds // granule) * granule:
        found.append(f"{kernel.shared} bytes of shared memory, {asked} by the launch, {plan.lds} planned")
    waves = min(REGISTERS // (-(-kernel.registers // 8) * 8), MOST_WAVES)
    if waves < plan.waves:
        found.append(f"{kernel.registers} registers: {waves} warps a quarter, {plan.waves} planned")
    return found


def asked_bytes(host_source: str) -> dict[str, int]:
    """The shared memory that launches ask for, by the kernel's name."""
    table = re.findall(r"device_shared_bytes\[\] = \{(.*?)\}", host_source, re.S)
    if not table:
        return {}
    names = re.findall(r"device_kernels\[\] = \{(.*?)\}", host_source, re.S)[0]
    return dict(zip(re.findall(r'"(\w+)"', names), map(int, re.findall(r"\d+", table[0])), strict=True))


def count_of(kernel: Kernel, mnemonic: str) -> int:
    return sum(text.startswith(mnemonic) for text in kernel.code)


# The extents of a brick of voxels are the plan's last.
BRICK = re.compile(r", \{\d+, \d+, \d+\}\}$")


def taps_of_step(plan: str) -> int:
    """A brick has the taps of a row of the kernel between two barriers, if they are few and rows are enough."""
    if not BRICK.search(plan):
        return 1
    d, h, w = map(int, re.findall(r"\{(\d+), (\d+), (\d+)\}", plan)[0])
    return w if w in (2, 3) and d * h >= 3 else 1


def uses_wgmma(kernel: Kernel, plan: str, architecture: str) -> bool:
    """On Hopper, what is copied to shared memory as it is, and bricks."""
    kind = re.findall(r"Products::(\w+)", plan)[0]
    if BRICK.search(plan):
        return True
    return architecture == "sm_90a" and kind in ("float16", "bfloat16", "xf32") and count_of(kernel, "cp.async.c") > 0


def warpgroup_faults(kernel: Kernel, plan: str, asked: int, planned_bytes: int) -> list[str]:
    """A group of products is waited for when the next one has started. A step is a group, of xf32 either half if its
    rows are rounded in registers. Those of a brick are changed in shared memory."""
    rows, columns = map(int, re.findall(r"\{(\d+), (\d+)\}", plan)[-1])
    is_xf32, is_split = "Products::xf32" in plan, "Products::bf16x3" in plan
    has_registers = is_xf32 and not BRICK.search(plan)
    width = columns if rows > 64 else columns // 2
    in_step, groups = max(rows // 128, 1) * (3 if is_split else 2) * taps_of_step(plan), 2 if has_registers else 1
    found = []
    made = count_of(kernel, f"wgmma.mma_async.sync.aligned.m64n{width}k{8 if is_xf32 else 16}.f32.")
    if made != in_step or made != count_of(kernel, "wgmma.mma_async"):
        found.append(f"{made} products of {width} columns, {in_step} expected in a step")
    if count_of(kernel, "mma.sync") or count_of(kernel, "ldmatrix") != (in_step if has_registers else 0):
        found.append(f"{count_of(kernel, 'mma.sync')} products of a warp, {count_of(kernel, 'ldmatrix')} reads")
    for word, expected in (
        ("wgmma.fence", groups),
        ("wgmma.commit_group", groups),
        ("wgmma.wait_group.sync.aligned 1", groups),
        ("wgmma.wait_group.sync.aligned 0", 1),
        ("fence.proxy.async", 1),
    ):
        if count_of(kernel, word) != expected:
            found.append(f"{count_of(kernel, word)} of {word}, {expected} expected")
    if kernel.shared or not 0 < asked == planned_bytes <= MOST_ASKED:
        found.append(f"{kernel.shared} bytes of shared memory, {asked} asked for, {planned_bytes} planned")
    return found


# Few steps of a reduction, which take no loop, have two each; the statistics after it have some more.
MOST_BARRIERS, BARRIERS_OF_MOMENTS = 6, 5


def with_moments(device_source: str) -> set[str]:
    """The products whose kernels have the statistics of their results."""
    return set(re.findall(r"void (kernel\d+)\(\S+ \w+\) \{ product_moments<", device_source))


def product_faults(kernel: Kernel, plan: str, has_moments: bool = False) -> list[str]:
    """Products are the matrix unit's but for float32, of whole steps. Operands are copied to shared memory without
    registers, and read from there as matrices, if nothing is to be made of them or the steps are few."""
    rows, columns = map(int, re.findall(r"\{(\d+), (\d+)\}", plan)[-1])
    products = re.findall(r"Products::(\w+)", plan)[0]
    # A warp's tiles of 16 rows and 8 columns; those of eight warps are all.
    tiles = rows * columns // (8 * 16 * 8)
    in_step = 0 if products == "float32" else tiles * (3 if products == "bf16x3" else 2)

    def count(mnemonic: str) -> int:
        return count_of(kernel, mnemonic)

    found = []
    made = count("mma.sync")
    if made != 0 if in_step == 0 else made == 0 or made % in_step != 0:
        found.append(f"{made} products on the matrix unit, {in_step} expected in a step")
    if in_step and (count("ldmatrix") == 0 or count("ld.shared.v4") > 0):
        found.append(f"{count('ldmatrix')} reads of matrices, {count('ld.shared.v4')} of other chunks")
    copies = count("cp.async.c")
    has_steps = count("cp.async.wait_group") > 0
    if copies and not has_steps:
        found.append("copies that nothing waits for")
    if "InputOrder::blocks" not in plan or "WeightOrder::packed" not in plan or products == "bf16x3":
        found += [f"{copies} copies of operands that are changed on the way"] if copies else []
    elif not copies and count("bar.sync") > MOST_BARRIERS + has_moments * BARRIERS_OF_MOMENTS:
        found.append("operands that go through registers")
    return found


def attention_faults(kernel: Kernel, plan: str) -> list[str]:
    """Products and reads of matrices stand only in the loop over the keys; chunks are read from shared memory in no
    other way."""
    depth, columns = map(int, re.findall(r"Plan\{(\d+), (\d+)", plan)[0])
    # A product of 16 queries takes two chunks of 8 keys, then of 8 columns; a read brings those of 16.
    elements = 8 if "Products::xf32" in plan else 16
    depths, column_pairs, keys = -(-depth // elements), -(-columns // 16), 32
    reads = depths * keys // 16 + column_pairs * keys // elements

    def count(mnemonic: str) -> int:
        return count_of(kernel, mnemonic)

    found = []
    if count("mma.sync") != 2 * reads:
        found.append(f"{count('mma.sync')} products on the matrix unit, {2 * reads} expected in a step")
    if count("ldmatrix") != reads or count("ld.shared"):
        found.append(f"{count('ldmatrix')} reads of matrices, {reads} expected, and {count('ld.shared')} others")
    return found


def check(row: ModelRow, architecture: str, folder: Path, *options: str) -> None:
    check_model(export(row).model, architecture, folder, *options)


def check_model(model: Path, architecture: str, folder: Path, *options: str) -> None:
    source = folder / "model.cpp"
    gpu = ("--target", "gpu", "--gpu-arch", architecture, "--march", "x86-64-v3")
    onnxc_commands.compile_model(model, source, *gpu, "--emit", "source", *options)
    device_source = Path(f"{source}.device.hip")
    kernels = ptx.kernels(ptx.compile_source(device_source, folder / "model.ptx"), architecture)
    assert kernels
    counted_on, products = planned(device_source.read_text()), plans(device_source.read_text())
    fused, moments = attentions(device_source.read_text()), with_moments(device_source.read_text())
    structures = sorted({arguments_type(kernel.name) for kernel in kernels})
    packed, asked = host_layouts(source.read_text(), structures), asked_bytes(source.read_text())
    problems = []
    for kernel in kernels:
        wrong = faults(kernel)
        size = packed[arguments_type(kernel.name)].size
        if kernel.argument_bytes != size:
            wrong.append(f"{kernel.argument_bytes} bytes of arguments, the host packs {size}")
        own_bytes = asked.get(kernel.name, 0)
        if kernel.name in counted_on:
            wrong += planning_faults(kernel, counted_on[kernel.name], own_bytes, LAUNCH_GRANULE if asked else 1)
        if kernel.name in products and uses_wgmma(kernel, products[kernel.name], architecture):
            wrong += warpgroup_faults(kernel, products[kernel.name], own_bytes, counted_on[kernel.name].lds)
        elif own_bytes:
            wrong.append(f"its launch asks for {own_bytes} bytes of shared memory")
        elif kernel.name in products:
            wrong += product_faults(kernel, products[kernel.name], kernel.name in moments)
        if kernel.name in fused:
            wrong += attention_faults(kernel, fused[kernel.name])
        problems += [f"{kernel.name}: {fault}" for fault in wrong]
    assert not problems, "\n".join(problems)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(("row", "architecture"), CASES)
def test_gate(row: ModelRow, architecture: str, tmp_path: Path) -> None:
    check(row, architecture, tmp_path)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("architecture", ["sm_80", pytest.param("sm_90a", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["bf16x3", "xf32"])
@pytest.mark.parametrize("name", KINDS)
def test_gate_of_other_products(name: str, kind: str, architecture: str, tmp_path: Path) -> None:
    check(ROWS[name], architecture, tmp_path, "--fp32", kind)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("convolutions", ("--fp32", "xf32")),
        ("unet3d_narrow", ("--precision", "float16")),
        ("convolutions", ("--fp32", "bf16x3")),
        pytest.param("r3d_18_narrow", ("--precision", "bfloat16"), marks=pytest.mark.slow),
        pytest.param("unet3d", ("--precision", "float16"), marks=pytest.mark.slow),
        pytest.param("unet3d", ("--fp32", "xf32"), marks=pytest.mark.slow),
        pytest.param("r3d_18", ("--precision", "bfloat16"), marks=pytest.mark.slow),
        pytest.param("r3d_18", ("--fp32", "xf32"), marks=pytest.mark.slow),
    ],
)
def test_gate_of_warpgroups(name: str, options: tuple[str, str], tmp_path: Path) -> None:
    check(ROWS[name], "sm_90a", tmp_path, *options)
    assert any(asked_bytes((tmp_path / "model.cpp").read_text()).values())


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("architecture", ["sm_80", pytest.param("sm_90a", marks=pytest.mark.slow)])
def test_gate_of_bytes(architecture: str, tmp_path: Path) -> None:
    onnx.save(convolutions(CONVOLUTIONS).proto(), tmp_path / "model.onnx")
    check_model(tmp_path / "model.onnx", architecture, tmp_path)
    found = plans((tmp_path / "model.cpp.device.hip").read_text())
    assert len({plan for plan in found.values() if re.search(r"Products::u?int8", plan)}) == len(CONVOLUTIONS)


# Depths and columns around those for which a block, or two, have the registers.
HEADS = [(8, 8), (32, 32), (40, 40), (64, 64), (64, 128)]
HALF_HEADS = [*HEADS, (80, 80), (128, 64), (127, 127), (128, 128)]


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    ("dtype", "heads"),
    [
        pytest.param(FLOAT16, [(64, 64), (128, 128)], id="float16"),
        pytest.param(FLOAT16, HALF_HEADS, id="float16-all", marks=pytest.mark.slow),
        pytest.param(BFLOAT16, HALF_HEADS, id="bfloat16-all", marks=pytest.mark.slow),
        pytest.param(np.float32, HEADS, id="xf32-all", marks=pytest.mark.slow),
    ],
)
def test_gate_of_attention(dtype: Any, heads: list[tuple[int, int]], tmp_path: Path) -> None:
    """With and without biases, whose addresses take registers."""
    biases: tuple[tuple[Dims, ...], ...] = ((), ((1, 2, 35, 40), (1, 1, 35, 40)))
    cases = [Sizes(1, 2, 35, 40, *head, masks) for masks in biases for head in heads]
    onnx.save(attention_model(cases, dtype), tmp_path / "model.onnx")
    check_model(tmp_path / "model.onnx", "sm_80", tmp_path, "--fp32", "xf32")
    found = attentions((tmp_path / "model.cpp.device.hip").read_text())
    assert len(found) == len(cases)


HALF = "cvt.rn.f16.f32\t%h1, %f1"


@pytest.mark.parametrize(
    ("code", "is_fault"),
    [
        ((HALF, "st.global.b16\t[%rd1], %h1"), False),
        ((HALF, "st.global.u8\t[%rd1], %h1"), True),
        ((HALF, "mov.b16\t%rs1, %h1", "shr.u16\t%rs2, %rs1, 8", "st.global.u8\t[%rd1+1], %rs2"), True),
        ((HALF, "cvt.u32.u16\t%r1, %h1", "st.shared.u8\t[%rd1], %r1"), True),
        ((HALF, "cvt.rzi.u32.f32\t%r1, %f1", "st.global.u8\t[%rd1], %r1"), False),
        (("ld.global.u8\t%rs1, [%rd2]", "st.global.u8\t[%rd1], %rs1"), False),
    ],
)
def test_gate_finds_bytes_of_halves(code: tuple[str, ...], is_fault: bool) -> None:
    assert bool(ptx.byte_stores_of_halves(code)) == is_fault


def test_gate_finds_faults(tmp_path: Path) -> None:
    """A gate that cannot fail would not be one."""
    good = Kernel("kernel0", 64, 12288, 0, 0, 8, ("ret",))
    assert not faults(good)
    for change in (
        {"registers": 256},
        {"shared": MOST_SHARED + 1},
        {"local": 8},
        {"spilled": 4},
        {"code": ("call.uni (retval0), exp, (param0)",)},
        {"code": ("st.local.u32\t[%rd1], %r1",)},
        {"code": (HALF, "st.global.u8\t[%rd1], %h1")},
        {"remarks": ("ptxas info : (C7517) wgmma.wait_group is injected in around line 1",)},
    ):
        assert faults(Kernel(**{**good.__dict__, **change})), change
    plan = Planned(12288, 8)
    assert not planning_faults(good, plan)
    assert planning_faults(Kernel(**{**good.__dict__, "registers": 65}), plan)
    assert planning_faults(Kernel(**{**good.__dict__, "shared": 12289}), plan)
    assert planning_faults(good, plan, 1)
    uneven = Planned(12000, 8)
    assert planning_faults(good, uneven)
    assert not planning_faults(good, uneven, granule=512)


def test_gate_finds_faults_of_products() -> None:
    plan = "GemmPlan{..., Products::float16, {64, 64}, InputOrder::blocks, 16, WeightOrder::packed, false}"
    step: tuple[str, ...] = ("cp.async.ca.shared.global [%r1], [%rd1], 16, %r2", "cp.async.wait_group 2", "bar.sync\t0")
    step += ("ldmatrix.sync.aligned",) * 3 + ("mma.sync.aligned",) * 8
    good = Kernel("kernel0", 64, 12288, 0, 0, 8, step)
    assert not product_faults(good, plan)
    assert not product_faults(Kernel(**{**good.__dict__, "code": step[:3]}), plan.replace("float16", "float32"))
    assert product_faults(good, plan.replace("float16", "float32"))
    assert product_faults(good, plan.replace("float16", "bf16x3"))
    assert product_faults(good, plan.replace("{64, 64}", "{64, 256}"))
    assert product_faults(good, plan.replace("blocks", "planar"))
    few = Kernel(**{**good.__dict__, "code": (*step[3:], *["bar.sync\t0"] * 10)})
    assert product_faults(few, plan)
    assert not product_faults(few, plan, has_moments=True)
    assert product_faults(Kernel(**{**few.__dict__, "code": (*few.code, *["bar.sync\t0"] * 2)}), plan, True)
    for code in (
        step[:-1],
        step[:3] + step[6:],
        (*step, "ld.shared.v4.u32\t{%r1, %r2, %r3, %r4}, [%r5]"),
        (step[0], *step[2:]),
        (*step[2:], *["bar.sync\t0"] * 7),
    ):
        assert product_faults(Kernel(**{**good.__dict__, "code": code}), plan), code


WARPGROUP_STEP = (
    *("cp.async.ca.shared.global [%r1], [%rd1], 16, %r2", "cp.async.wait_group 1", "fence.proxy.async.shared::cta"),
    *("bar.sync\t0", "wgmma.fence.sync.aligned"),
    *["wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%f1}, %rd1, %rd2, 1, 1, 1, 0, 0"] * 4,
    *("wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned 1", "wgmma.wait_group.sync.aligned 0"),
)


def test_gate_finds_faults_of_warpgroups() -> None:
    plan = "GemmPlan{..., Products::float16, {256, 64}, InputOrder::blocks, 16, WeightOrder::packed, false}"
    good, size = Kernel("kernel0", 100, 0, 0, 0, 8, WARPGROUP_STEP), 4 * 320 * 64
    assert uses_wgmma(good, plan, "sm_90a")
    assert not uses_wgmma(good, plan, "sm_80")
    assert not uses_wgmma(good, plan.replace("float16", "float32"), "sm_90a")
    assert not warpgroup_faults(good, plan, size, size)
    for i in range(2, len(WARPGROUP_STEP)):
        if i != 3:  # barriers are not counted
            fewer = WARPGROUP_STEP[:i] + WARPGROUP_STEP[i + 1 :]
            assert warpgroup_faults(Kernel(**{**good.__dict__, "code": fewer}), plan, size, size), WARPGROUP_STEP[i]
    for more in ("mma.sync.aligned", "ldmatrix.sync.aligned"):
        changed = Kernel(**{**good.__dict__, "code": (*WARPGROUP_STEP, more)})
        assert warpgroup_faults(changed, plan, size, size), more
    for other in (plan.replace("256", "128"), plan.replace("64}", "32}"), plan.replace("float16", "xf32")):
        assert warpgroup_faults(good, other, size, size), other
    for asked, planned_bytes in ((0, size), (size, size + 64), (0, 0), (114 * 1024, 114 * 1024)):
        assert warpgroup_faults(good, plan, asked, planned_bytes)
    assert warpgroup_faults(Kernel(**{**good.__dict__, "shared": 16}), plan, size, size)


def test_gate_finds_faults_of_bricks() -> None:
    plan = "GemmPlan{ConvShape{64, 64, 1, {3, 3, 3}}, Products::float16, {256, 64}, false, {4, 8, 8}}"
    products = [text for text in WARPGROUP_STEP if text.startswith("wgmma.mma_async")]
    size = 100 * 1024

    def faults_with(count: int, plan: str) -> list[str]:
        code = (*WARPGROUP_STEP, *products[:1] * (count - len(products)))
        kernel = Kernel("kernel0", 100, 0, 0, 0, 8, code)
        assert uses_wgmma(kernel, plan, "sm_90a")
        return warpgroup_faults(kernel, plan, size, size)

    assert not faults_with(12, plan)
    assert faults_with(11, plan)
    assert not faults_with(18, plan.replace("float16", "bf16x3"))
    assert not faults_with(4, plan.replace("{3, 3, 3}", "{3, 3, 5}"))


def test_the_shared_memory_of_launches_is_read() -> None:
    kernels = 'static const char* const device_kernels[] = {"kernel0", "nest1"};\n'
    assert asked_bytes(kernels + "static const uint32_t device_shared_bytes[] = {81920, 0};\n") == {
        "kernel0": 81920,
        "nest1": 0,
    }
    assert asked_bytes(kernels) == {}


def test_gate_finds_faults_of_attention() -> None:
    plan = "Plan{40, 20, Products::float16, true}"
    code = ("ldmatrix.sync.aligned",) * 10 + ("mma.sync.aligned",) * 20
    good = Kernel("kernel0", 64, 12288, 0, 0, 8, code)
    assert not attention_faults(good, plan)
    for other in (plan.replace("40", "49"), plan.replace("20", "33"), plan.replace("float16", "xf32")):
        assert attention_faults(good, other), other
    for changed in (code[1:], code[:-1], (*code, "ld.shared.v4.u32\t{%r1, %r2, %r3, %r4}, [%r5]")):
        assert attention_faults(Kernel(**{**good.__dict__, "code": changed}), plan), changed


def test_ptxas_is_read(tmp_path: Path) -> None:
    """A kernel of known resources."""
    file = tmp_path / "known.ptx"
    file.write_text(""".version 7.1
.target sm_80
.address_size 64
.visible .entry known(.param .align 8 .b8 known_param_0[24])
{
	.reg .b32 %r<3>;
	.shared .align 4 .b8 memory[512];
	mov.u32 %r1, memory;
	st.shared.u32 [%r1], %r1;
	ld.volatile.shared.u32 %r2, [%r1];
	st.volatile.shared.u32 [%r1+4], %r2;
	ret;
}
""")
    (known,) = ptx.kernels(file, "sm_80")
    assert (known.name, known.shared, known.local, known.spilled, known.argument_bytes) == ("known", 512, 0, 0, 24)
    assert 0 < known.registers < 32
    assert known.code[0] == "mov.u32 %r1, memory"
    assert not known.remarks


def test_ptxas_tells_of_products_that_are_waited_for(tmp_path: Path) -> None:
    """A sum that is read too early."""
    sums = ", ".join(f"%f{i}" for i in range(16))
    zeros = "\n".join(f"mov.f32 %f{i}, 0f00000000;" for i in range(16))
    file = tmp_path / "early.ptx"
    file.write_text(f""".version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 memory[];
.visible .entry early(.param .align 8 .b8 early_param_0[8])
{{
.reg .f32 %f<16>;
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [early_param_0];
mov.u64 %rd2, 4611686155866341376;
{zeros}
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {{{sums}}}, %rd2, %rd2, 1, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
add.f32 %f0, %f0, %f1;
st.global.f32 [%rd1], %f0;
wgmma.wait_group.sync.aligned 0;
ret;
}}
""")
    (early,) = ptx.kernels(file, "sm_90a")
    assert "wgmma.wait_group is injected" in " ".join(early.remarks)
    assert faults(early)
