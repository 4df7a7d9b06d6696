"""Products of four warps (wgmma) on the host against MMA-Sim, bit for bit; and faults that running them must find."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.host_blocks.host_kernels import THREADS, Array, HostKernels, launch_apart
from tests.host_blocks.mmasim_products import DEPTHS, assert_same_bits, mmasim_result, operands
from tests.matrix_data import KINDS
from tools.host_blocks import build_kernels

SOURCE = Path(__file__).parent / "wgmma.hip"
GROUPS, ROWS = 2, 64
COLUMNS = [32, 48, 64, 128]
SHARED_BYTES = 65 * 1024
# How rows lie, as the kernel numbers it: in a half of rows of 64 bytes, or without a swizzle.
HALVES, IN_LINES, EXCHANGED = (0, 1), 2, 3


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("wgmma") / "wgmma.so"
    build_kernels(SOURCE, "sm_90a", output)
    return output


def product(library: Path, name: str, a: Array, b: Array, c: Array, layout: int) -> Array:
    """The kernel takes b by columns, as it lies in LDS."""
    result = np.zeros_like(c)
    by_columns = np.ascontiguousarray(b.transpose(0, 2, 1))
    HostKernels(library).launch(name, 1, a, by_columns, c, result, layout, shared_bytes=SHARED_BYTES)
    return result


@pytest.mark.parametrize("data", KINDS)
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("kind", DEPTHS)
def test_equals_mmasim(library: Path, kind: str, columns: int, data: str) -> None:
    from mmasim.nv_ptx.sim import WGMMA

    a, b, c = operands(kind, data, GROUPS, ROWS, columns, np.random.default_rng(columns))
    model = WGMMA("Hopper", f"m64n{columns}k{DEPTHS[kind]}.f32.{kind}.{kind}")
    expected = mmasim_result(model, kind, a, b, c)
    for layout in (*HALVES, IN_LINES):
        assert_same_bits(product(library, f"{kind}_{columns}", a, b, c, layout), expected)


def test_a_wrong_descriptor_gives_wrong_sums(library: Path) -> None:
    a, b, c = operands("f16", KINDS[0], GROUPS, ROWS, 32, np.random.default_rng(0))
    right, wrong = (product(library, "f16_32", a, b, c, layout) for layout in (IN_LINES, EXCHANGED))
    assert not np.array_equal(right, wrong)


# The numbers of the kernel's enumeration.
FAULTS = {
    1: "wgmma: no wgmma.fence since the last group",
    2: "wgmma: no fence.proxy.async after copies to shared memory",
    4: "wgmma: operands changed while products were under way",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_end_the_process(library: Path, fault: int) -> None:
    result = launch_apart(library, "faulty", fault, shared_bytes=SHARED_BYTES)
    assert result.returncode != 0
    assert FAULTS[fault] in result.stderr


def test_sums_are_nan_until_they_are_waited_for(library: Path) -> None:
    for fault, expected in ((0, 16.0), (3, np.nan)):
        result = launch_apart(library, "faulty", fault, shared_bytes=SHARED_BYTES)
        np.testing.assert_array_equal(json.loads(result.stdout), np.full(THREADS, expected))


def test_memory_of_the_launch_ends(library: Path) -> None:
    assert launch_apart(library, "at_place", 1023, shared_bytes=4096).returncode == 0
    result = launch_apart(library, "at_place", 1024, shared_bytes=4096)
    assert result.returncode != 0
    assert "an address outside of the shared memory that the launch asked for" in result.stderr
    result = launch_apart(library, "at_place", 0, shared_bytes=227 * 1024 + 1)
    assert result.returncode != 0
    assert "a launch asks for 232449 bytes of shared memory" in result.stderr


def test_the_sanitizer_guards_memory_of_the_launch(tmp_path: Path) -> None:
    build_kernels(SOURCE, "sm_90a", tmp_path / "sanitized.so", sanitize=True)
    for place, is_inside in ((1023, True), (1024, False)):
        result = launch_apart(tmp_path / "sanitized.so", "at_place", place, shared_bytes=4096, sanitized=True)
        assert (result.returncode == 0) == is_inside
        assert ("use-after-poison" in result.stderr) != is_inside
