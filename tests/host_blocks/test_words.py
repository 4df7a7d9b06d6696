"""The words of NVIDIA's GPUs on the host, against numpy; and the faults that running kernels there must find."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.host_blocks.host_kernels import THREADS, HostKernels, launch_apart
from tools.host_blocks import build_kernels

SOURCE = Path(__file__).parent / "words.hip"
LANES = 32


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("host_blocks") / "words.so"
    build_kernels(SOURCE, "sm_80", output)
    return output


@pytest.fixture(scope="session")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("host_blocks") / "sanitized.so"
    build_kernels(SOURCE, "sm_80", output, sanitize=True)
    return output


def test_barrier(library: Path) -> None:
    given = np.arange(3 * THREADS, dtype=np.float32)
    result = np.full_like(given, np.nan)
    HostKernels(library).launch("reverse", 3, given, result)
    np.testing.assert_array_equal(result.reshape(3, -1), given.reshape(3, -1)[:, ::-1])


def test_sums_of_lanes(library: Path) -> None:
    given = np.arange(THREADS, dtype=np.float32)
    result = np.full_like(given, np.nan)
    HostKernels(library).launch("sums_of_lanes", 1, given, result)
    np.testing.assert_array_equal(result, given.reshape(-1, LANES).sum(1).repeat(LANES))


def test_scattered_sums(library: Path) -> None:
    given = np.random.default_rng(0).integers(-9, 10, (THREADS // 16, 16, 16)).astype(np.float32)
    result = np.full(THREADS, np.nan, np.float32)
    HostKernels(library).launch("scattered_sums", 1, given, result)
    np.testing.assert_array_equal(result.reshape(-1, 16), given.sum(1))


@pytest.mark.parametrize("lane", [0, 5, 31])
def test_one_lane(library: Path, lane: int) -> None:
    given = np.arange(THREADS, dtype=np.int32) * 3
    result = np.zeros_like(given)
    HostKernels(library).launch("one_lane", 1, given, result, lane)
    np.testing.assert_array_equal(result, given.reshape(-1, LANES)[:, lane].repeat(LANES))


def test_halves(library: Path) -> None:
    given = np.random.default_rng(0).integers(0, 2**32, 2 * THREADS, dtype=np.uint32)
    result = np.zeros(THREADS, np.uint32)
    HostKernels(library).launch("halves", 1, given, result)
    np.testing.assert_array_equal(result, given[::2] >> 16 | given[1::2] & 0xFFFF0000)


@pytest.mark.parametrize("order", ["forward", "backward", "5"])
def test_a_missing_barrier_shows(library: Path, order: str) -> None:
    """Whichever thread runs first, some read what no thread has written yet."""
    result = launch_apart(library, "missing_barrier", order=order)
    values = np.array(json.loads(result.stdout), np.float32)
    assert np.isnan(values).any()
    assert (values[~np.isnan(values)] == 1).all()


def test_shared_memory_begins_as_nan(library: Path) -> None:
    values = np.array(json.loads(launch_apart(library, "unwritten", 3).stdout))
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(values)), [3])


FAULTS = {
    "one_thread_leaves": "thread 7: has ended",
    "lanes_apart": "block 0 cannot go on: its threads wait for different things",
    "unknown": "the source has no kernel unknown",
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_end_the_process(library: Path, name: str) -> None:
    result = launch_apart(library, name)
    assert result.returncode != 0
    assert FAULTS[name] in result.stderr


def test_refuses_another_order(library: Path) -> None:
    result = launch_apart(library, "unwritten", 0, order="sideways")
    assert result.returncode != 0
    assert "ONNXC_HOST_ORDER is 'sideways'; forward, backward or a number is expected" in result.stderr


def test_the_sanitizer_guards_shared_memory(sanitized: Path) -> None:
    assert launch_apart(sanitized, "beyond_shared_memory", THREADS - 1, sanitized=True).returncode == 0
    result = launch_apart(sanitized, "beyond_shared_memory", THREADS, sanitized=True)
    assert result.returncode != 0
    assert "global-buffer-overflow" in result.stderr
    assert "beyond_shared_memory::places" in result.stderr
