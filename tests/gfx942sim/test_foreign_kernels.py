"""Kernels that are not ours, in styles that ours do not use, compiled at each level of optimization, against numpy.

Without optimization everything lives in scratch memory, pointers are FLAT and functions are called.
"""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tools.simulated_gpu.hip import HIP_OPTIONS, Hip, compile_kernels

SOURCE = Path(__file__).with_name("foreign_kernels.hip").read_text()
N = 512
BLOCK = 256
LANES = np.arange(N) % 64
WAVES = np.arange(N) // 64 * 64

Array = NDArray[Any]


class Machine:
    """A loaded code object; `run` gives the buffers after the kernel."""

    def __init__(self, code_object: bytes) -> None:
        self.hip = Hip()
        self.module = self.hip.load(code_object)

    def run(self, kernel: str, *arguments: Array | int, grid: int = N // BLOCK, block: int = BLOCK) -> list[Array]:
        arrays = [argument for argument in arguments if not isinstance(argument, int)]
        pointers = [self.hip.upload(array) for array in arrays]
        waiting = iter(pointers)
        values = [ctypes.c_int(a) if isinstance(a, int) else next(waiting) for a in arguments]
        self.hip.launch(self.module, kernel, grid, block, *values)
        results = [self.hip.download(pointer, array) for pointer, array in zip(pointers, arrays, strict=True)]
        for pointer in pointers:
            self.hip.hipFree(pointer)
        return results


@pytest.fixture(scope="module", params=["-O0", "-O1", "-O3"])
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    folder = tmp_path_factory.mktemp("foreign")
    return Machine(compile_kernels(SOURCE, f"{HIP_OPTIONS} {request.param} -Wno-everything", folder))


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(1)


def integers(random: np.random.Generator, low: int, high: int, kind: Any = np.int32, count: int = N) -> Array:
    return random.integers(low, high, count).astype(kind)


def expect_rows(actual: Array, *rows: Array, rtol: float = 0) -> None:
    """`actual` holds the rows one after another; NaN equals NaN."""
    for number, (row, expected) in enumerate(zip(actual.reshape(len(rows), -1), rows, strict=True)):
        wanted = np.asarray(expected).astype(actual.dtype).ravel()
        np.testing.assert_allclose(row, wanted, rtol=rtol, err_msg=f"row {number}")


# --- lanes ----------------------------------------------------------------------------------------------------------


def test_sum_by_dpp(machine: Machine, random: np.random.Generator) -> None:
    x = integers(random, -1000, 1000)
    _, sums = machine.run("sum_by_dpp", x, np.zeros(N // 64, np.int32))
    np.testing.assert_array_equal(sums, x.reshape(-1, 64).sum(axis=1))


def test_scan_by_permute(machine: Machine, random: np.random.Generator) -> None:
    x = integers(random, -100, 100, np.float32)
    _, y = machine.run("scan_by_permute", x, np.zeros(N, np.float32))
    np.testing.assert_array_equal(y, x.reshape(-1, 64).cumsum(axis=1).ravel())


def test_move_lanes(machine: Machine, random: np.random.Generator) -> None:
    x = integers(random, -1000, 1000)
    _, y = machine.run("move_lanes", x, np.zeros(8 * N, np.int32), N)
    row, in_row = LANES // 16 * 16, LANES % 16
    sent = np.zeros(N, np.int32)
    sent[WAVES + (LANES * 5 + 3) % 64] = x
    expect_rows(
        y,
        x[WAVES + (LANES ^ 3)],
        x[WAVES + row + 15 - in_row],
        x[WAVES + (LANES ^ 7)],
        x[WAVES + row + (in_row - 5) % 16],
        np.where(in_row + 3 < 16, x[np.minimum(WAVES + LANES + 3, N - 1)], -7),
        x[WAVES + (LANES ^ 1)],
        sent,
        x[WAVES + row + 10],
    )


def collatz(value: int) -> int:
    steps = 0
    while value != 1:
        value = 3 * value + 1 if value & 1 else value // 2
        steps += 1
    return steps


def test_diverge(machine: Machine, random: np.random.Generator) -> None:
    x = integers(random, 1, 300, np.uint32)
    _, steps, ballots = machine.run("diverge", x, np.zeros(N, np.uint32), np.zeros(N, np.uint64))
    expected = np.array([collatz(int(value)) for value in x])
    np.testing.assert_array_equal(steps, expected)
    for i in range(N):
        chosen = expected[WAVES[i] : WAVES[i] + 64] % 3 == 0
        ballot = sum(1 << lane for lane in range(64) if chosen[lane])
        below = int(chosen[: LANES[i]].sum())
        assert int(ballots[i]) == (ballot + (below << 40)) % 2**64


def test_first_lanes(machine: Machine, random: np.random.Generator) -> None:
    x = integers(random, -5, 5)
    _, y = machine.run("first_lanes", x, np.zeros(N, np.int32))
    # A lane takes part until its own value is the first.
    expected = np.zeros(N, np.int32)
    for wave in range(0, N, 64):
        active, largest = list(range(wave, wave + 64)), -(2**31)
        while active:
            first = x[active[0]]
            largest = max(largest, first)
            expected[active] = largest
            active = [lane for lane in active if x[lane] != first]
    np.testing.assert_array_equal(y, expected)


# --- LDS ------------------------------------------------------------------------------------------------------------


def test_sum_by_tree(machine: Machine, random: np.random.Generator) -> None:
    x = integers(random, -100, 100, np.float32)[: N - 27]
    _, total = machine.run("sum_by_tree", x, np.zeros(1, np.float32), N - 27)
    assert total[0] == x.sum()


def test_histogram(machine: Machine, random: np.random.Generator) -> None:
    x = integers(random, 0, 256, np.uint8)[: N - 5]
    _, counts = machine.run("histogram", x, np.zeros(64, np.uint32), N - 5)
    np.testing.assert_array_equal(counts, np.bincount(x % 64, minlength=64))


def test_transpose(machine: Machine, random: np.random.Generator) -> None:
    x = random.standard_normal((21, 35)).astype(np.float32)
    _, y = machine.run("transpose", x, np.zeros((35, 21), np.float32), 21, 35, grid=2 * 3)
    np.testing.assert_array_equal(y, x.T)


def test_through_flat(machine: Machine, random: np.random.Generator) -> None:
    x = integers(random, 0, 1000)
    _, y = machine.run("through_flat", x, np.zeros(N, np.int32))
    place = (np.arange(N) % BLOCK + x) % 256
    np.testing.assert_array_equal(y, np.where(x & 1, 1000 + place, x[place]))


def test_atomics(machine: Machine, random: np.random.Generator) -> None:
    x = integers(random, -9000, 9000)
    out = np.zeros(16 + N, np.int32)
    out[4] = -1
    _, out, wide, total = machine.run("atomics", x, out, np.zeros(1, np.uint64), np.zeros(1, np.float64))
    expected = [max(0, x.max()), min(0, x.min()), np.bitwise_xor.reduce(x), np.bitwise_or.reduce(x)]
    assert list(out[:4]) == expected
    assert out[4] == np.bitwise_and.reduce(x | 1)
    assert out[5] == N
    np.testing.assert_array_equal(np.sort(out[16:]), np.sort(x))
    assert out[6:7].view(np.float32)[0] == (x.astype(np.float32) ** 2).max()
    assert int(wide[0]) == (int(x.sum()) << 20) % 2**64
    assert total[0] == x.sum()


# --- arithmetic -----------------------------------------------------------------------------------------------------


def test_packed_halves(machine: Machine, random: np.random.Generator) -> None:
    # Small integers: every sum and product is exact, fused or not.
    x, y = (integers(random, -20, 20, np.float16, 2 * N).reshape(N, 2) for _ in range(2))
    *_, out = machine.run("packed_halves", x, y, np.zeros((4, N, 2), np.float16), N)
    dot = (x.astype(np.float32) * y).sum(axis=1) + 1
    expect_rows(
        out.reshape(4, -1),
        x * y + x,
        np.maximum(x, y) - np.minimum(x, -y),
        x * y[:, ::-1] + x[:, :1],
        np.stack([dot.astype(np.float16), np.abs(x[:, 1])], axis=1),
    )


def test_packed_floats(machine: Machine, random: np.random.Generator) -> None:
    x, y = (integers(random, -2000, 2000, np.float32, 2 * N).reshape(N, 2) for _ in range(2))
    *_, out = machine.run("packed_floats", x, y, np.zeros((3, N, 2), np.float32), N)
    expect_rows(out, x * y + y[:, ::-1], x + 3 * y, -x * y[:, :1])


def test_packed_integers(machine: Machine, random: np.random.Generator) -> None:
    x, y = (integers(random, -32768, 32768, np.int16, 2 * N).reshape(N, 2) for _ in range(2))
    *_, out = machine.run("packed_integers", x, y, np.zeros((4, N, 2), np.int16), N)
    with np.errstate(over="ignore"):
        expect_rows(out, x * y + x, np.maximum(x, y), np.minimum(x, y) - (y >> 3), x << (y & 7))


def test_doubles(machine: Machine, random: np.random.Generator) -> None:
    x, y = random.standard_normal((2, N)) * 1000
    y[np.abs(y) < 1] = 3.5
    *_, out = machine.run("doubles", x, y, np.zeros((6, N)), N)
    fused = np.array([float(np.longdouble(a) * np.longdouble(b) - np.longdouble(a)) for a, b in zip(x, y, strict=True)])
    expect_rows(out[:1], x / y)
    np.testing.assert_allclose(out[1], fused, rtol=3e-16)
    expect_rows(
        out[2:],
        np.sqrt(np.abs(x)),
        np.floor(x) + np.ceil(y) + np.trunc(x * y) + np.rint(x + 0.5),
        x.astype(np.float32).astype(np.float64) + np.trunc(y) + np.trunc(np.abs(y)) + np.trunc(x * 1e6),
        np.where(x < y, np.minimum(x, y), np.maximum(x, y) * 2.0**-20),
    )


def test_wide_integers(machine: Machine, random: np.random.Generator) -> None:
    x, y = (random.integers(-(2**62), 2**62, N) >> integers(random, 0, 60, np.int64) for _ in range(2))
    y[y == 0] = 7
    *_, out = machine.run("wide_integers", x, y, np.zeros((7, N), np.int64), N)

    def each(function: Callable[[int, int], int]) -> Array:
        values = [function(int(a), int(b)) % 2**64 for a, b in zip(x, y, strict=True)]
        return np.array(values, np.uint64).view(np.int64)

    def quotient(a: int, b: int) -> int:
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    def unsigned(a: int) -> int:
        return a % 2**64

    rows = [
        each(quotient),
        each(lambda a, b: a - b * quotient(a, b)),
        each(lambda a, b: unsigned(a) // unsigned(b)),
        each(lambda a, b: a * b),
        each(lambda a, b: unsigned(a) * unsigned(b) >> 64),
        each(lambda a, b: unsigned(a << (b & 63)) ^ unsigned(a >> (b & 31)) ^ (unsigned(a) >> (b & 63))),
        each(lambda a, b: -abs(a - b) + (unsigned(a) < unsigned(b))),
    ]
    for number, (row, expected) in enumerate(zip(out, rows, strict=True)):
        np.testing.assert_array_equal(row, expected, err_msg=f"row {number}")


def test_bits(machine: Machine, random: np.random.Generator) -> None:
    x, y = (integers(random, 0, 2**32, np.uint32) >> integers(random, 0, 32, np.uint32) for _ in range(2))
    y[y == 0] = 9
    x[3] = 0
    *_, out = machine.run("bits", x, y, np.zeros((10, N), np.uint32), N)

    def each(function: Callable[[int, int], int]) -> Array:
        return np.array([function(int(a), int(b)) % 2**32 for a, b in zip(x, y, strict=True)], np.uint32)

    def signed(value: int, width: int) -> int:
        value &= (1 << width) - 1
        return value - (value >> (width - 1) << width)

    def byte(value: int, i: int) -> int:
        return value >> 8 * i & 255

    def counts(a: int, _: int) -> int:
        leading = 32 - a.bit_length()
        trailing = (a & -a).bit_length() - 1 if a else 32
        return a.bit_count() + 100 * leading + 10000 * trailing

    def permuted(a: int, b: int) -> int:
        data, selectors = a << 32 | b, 0x07020500 + (b & 3)
        return sum(byte(data, byte(selectors, i)) << 8 * i for i in range(4))

    weights = sum(np.float32(i + 1) * (x >> np.uint32(8 * i) & 255).astype(np.float32) for i in range(4))
    rows = [
        each(counts),
        each(lambda a, b: int(f"{a:032b}"[::-1], 2) ^ int.from_bytes(b.to_bytes(4, "little"), "big")),
        each(permuted),
        each(lambda a, b: (a << 32 | b) >> (b & 31)),
        each(lambda a, b: (a >> (b & 31) & 127) + signed(signed(a, 32) >> (b & 15), 9)),
        each(lambda a, b: a >> (b & 31) | a << (-b & 31)),
        each(lambda a, b: a // b + a % b),
        each(lambda a, b: 5 + sum(abs(byte(a, i) - byte(b, i)) for i in range(4))),
        each(lambda a, b: 7 + sum(signed(byte(a, i), 8) * signed(byte(b, i), 8) for i in range(4))),
        np.asarray(weights, np.float32).view(np.uint32),
    ]
    for number, (row, expected) in enumerate(zip(out, rows, strict=True)):
        np.testing.assert_array_equal(row, expected, err_msg=f"row {number}")


def bfloat16(x: Array) -> Array:
    words = x.view(np.uint32).astype(np.uint64)
    return (
        ((words + 0x7FFF + (words >> np.uint64(16) & np.uint64(1))) & np.uint64(0xFFFF0000))
        .astype(np.uint32)
        .view(np.float32)
    )


def test_floats(machine: Machine, random: np.random.Generator) -> None:
    x, y = (random.standard_normal((2, N)) * 50).astype(np.float32)
    *_, out = machine.run("floats", x, y, np.zeros((8, N), np.float32), N)
    mantissa, exponent = np.frexp(x)
    middle = np.sort(np.stack([x, y, np.ones_like(x)]), axis=0)[1]
    expect_rows(
        out[:5],
        x / y,
        np.sqrt(np.abs(x)),
        (x - np.floor(x)) + middle,
        np.ldexp(x, np.fmod(np.trunc(y), 16).astype(np.int32)),
        mantissa + exponent.astype(np.float32),
    )
    exponential = np.exp2((x * np.float32(0.01)).astype(np.float64)) + np.log2(np.abs(y).astype(np.float64))
    np.testing.assert_allclose(out[5], exponential, rtol=1e-6, atol=1e-6)
    signed_byte = np.trunc(y).astype(np.int32).astype(np.int8).astype(np.float32)
    expect_rows(
        out[6:],
        np.copysign(x, y),
        x.astype(np.float16).astype(np.float32) + bfloat16(y) + signed_byte + np.trunc(np.abs(x)),
    )


# --- scratch and calls ----------------------------------------------------------------------------------------------


def test_sort_in_scratch(machine: Machine, random: np.random.Generator) -> None:
    x = integers(random, 0, 16, count=16 * N).reshape(N, 16)
    _, y = machine.run("sort_in_scratch", x, np.zeros((N, 16), np.int32))
    sorted_rows = np.sort(x, axis=1)
    np.testing.assert_array_equal(y, np.take_along_axis(sorted_rows, sorted_rows & 15, axis=1))


def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


def test_calls(machine: Machine, random: np.random.Generator) -> None:
    x = integers(random, 0, 1000)
    _, y = machine.run("calls", x, np.zeros(2 * N, np.int32), N)
    chosen = np.stack([2 * x, x * x, -x])[x % 3, np.arange(N)]
    expect_rows(y, chosen, np.array([ackermann(int(v) & 1, int(v) % 5) for v in x]))


def test_choose(machine: Machine, random: np.random.Generator) -> None:
    x = integers(random, -1000, 1000)
    _, y = machine.run("choose", x, np.zeros(N, np.int32))
    cases = [x * 3, x + 100, x ^ 0x55, x ^ 0x55, np.full(N, 7), x << 2, np.full(N, 7), np.full(N, 7)]
    np.testing.assert_array_equal(y, np.stack(cases)[x & 7, np.arange(N)])


def test_product(machine: Machine, random: np.random.Generator) -> None:
    a, b = (integers(random, -8, 9, np.float16, 16 * 64).reshape(16, 64) for _ in range(2))
    *_, c = machine.run("product", a, b, np.zeros((16, 16), np.float32), grid=1, block=64)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
