"""Operators outside of the kernel templates at sizes for which one thread by itself would take long, with what to
expect of them; `python -m tests.codegen.hip.serial_table` prints a table of them from simulated runs."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.parser import parse_model

from models.tensor_files import Array
from tests import onnxc_commands

# Accesses to memory that one thread makes one after the other; and times what a good kernel would take.
MOST_STEPS = 1000
MOST_TIMES = 5


@dataclass(frozen=True)
class Row:
    name: str
    graph: str  # of ONNX's textual form, with inputs and outputs
    inputs: dict[str, Array]
    should_us: float  # what a good kernel would take: a review of modelled times, 20% added if memory's latency decides
    constants: dict[str, Array] | None = None

    def model(self) -> onnx.ModelProto:
        model = parse_model(f'<ir_version: 9, opset_import: ["" : 18]>\n{self.graph}')
        for name, array in (self.constants or {}).items():
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
        return model


def _random(*shape: int, seed: int = 0) -> Array:
    result: Array = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return result


def _integers(high: int, *shape: int, seed: int = 0) -> Array:
    result: Array = np.random.default_rng(seed).integers(0, high, shape)
    return result


ROWS = [
    Row(
        "NonZero of 64^3",
        "m (float[64, 64, 64] x) => (int64[3, K] y) { y = NonZero (x) }",
        {"x": (_random(64, 64, 64) > 0.5).astype(np.float32)},
        3,
    ),
    Row(
        "Compress of 100,000",
        "m (float[100000] x, bool[100000] c) => (float[K] y) { y = Compress (x, c) }",
        {"x": _random(100000), "c": _random(100000, seed=1) > 0},
        3,
    ),
    Row(
        "CumSum of 65,536",
        "m (int64[65536] x) => (int64[65536] y) { a = Constant <value_int = 0> () y = CumSum (x, a) }",
        {"x": _integers(9, 65536)},
        5,
    ),
    Row(
        "ArgMax of 1 x 128,000",
        "m (float[1, 128000] x) => (int64[1, 1] y) { y = ArgMax <axis = 1> (x) }",
        {"x": _random(1, 128000)},
        3,
    ),
    Row(
        "ArgMax of 1 x 1,000",
        "m (float[1, 1000] x) => (int64[1, 1] y) { y = ArgMax <axis = 1> (x) }",
        {"x": _random(1, 1000)},
        2,
    ),
    Row(
        "ReduceMax of 1 x 128,000",
        "m (float[1, 128000] x) => (float[1, 1] y) { a = Constant <value_ints = [1]> () y = ReduceMax (x, a) }",
        {"x": _random(1, 128000)},
        3,
    ),
    Row(
        "ScatterND add, 20,000 scalars",
        "m (float[5000] x, int64[20000, 1] i, float[20000] u) => (float[5000] y) "
        '{ y = ScatterND <reduction = "add"> (x, i, u) }',
        {"x": _random(5000), "i": _integers(5000, 20000, 1), "u": _integers(9, 20000).astype(np.float32)},
        5,
    ),
    Row(
        "ScatterElements, 20,000 along its axis",
        "m (float[30000] x, int64[20000] i, float[20000] u) => (float[30000] y) { y = ScatterElements (x, i, u) }",
        {"x": _random(30000), "i": _integers(30000, 20000), "u": _random(20000, seed=1)},
        5,
    ),
    Row(
        "Unique of 5,000",
        "m (int64[5000] x) => (int64[K] y) { y = Unique (x) }",
        {"x": _integers(900, 5000)},
        20,
    ),
    Row(
        "Unique of 20,000",
        "m (int64[20000] x) => (int64[K] y, int64[K] first, int64[20000] back, int64[K] counts) "
        "{ y, first, back, counts = Unique (x) }",
        {"x": _integers(900, 20000)},
        40,
    ),
    Row(
        "Unique of 20,000, not sorted",
        "m (float[20000] x) => (float[K] y, int64[K] first, int64[20000] back, int64[K] counts) "
        "{ y, first, back, counts = Unique <sorted = 0> (x) }",
        {"x": _integers(900, 20000).astype(np.float32)},
        40,
    ),
    Row(
        "TopK 100 of 20,000",
        "m (float[20000] x) => (float[100] y, int64[100] i) "
        "{ k = Constant <value_ints = [100]> () y, i = TopK (x, k) }",
        {"x": _random(20000)},
        20,
    ),
    Row(
        "MatMul 256^3, K dynamic",
        "m (float[256, K] x, float[K, 256] w) => (float[256, 256] y) { y = MatMul (x, w) }",
        {"x": _random(256, 256), "w": _random(256, 256, seed=1)},
        4,
    ),
    Row(
        "Conv 64->64 on 16^3, weights an input",
        "m (float[1, 64, 16, 16, 16] x, float[64, 64, 3, 3, 3] w) => (float[1, 64, 16, 16, 16] y) "
        "{ y = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w) }",
        {"x": _random(1, 64, 16, 16, 16), "w": _random(64, 64, 3, 3, 3, seed=1)},
        8,
    ),
    Row(
        "Softmax of one row of 128,000",
        "m (float[1, 128000] x) => (float[1, 128000] y) { y = Softmax (x) }",
        {"x": _random(1, 128000)},
        3,
    ),
    Row(
        "Conv of 80 channels in 8 groups on 16^3",
        "m (float[1, 80, 16, 16, 16] x) => (float[1, 80, 16, 16, 16] y) "
        "{ y = Conv <pads = [1, 1, 1, 1, 1, 1], group = 8> (x, w) }",
        {"x": _random(1, 80, 16, 16, 16)},
        6,
        {"w": _random(80, 10, 3, 3, 3, seed=1)},
    ),
    Row(
        "Conv 16->16 of float64 on 16^3",
        "m (double[1, 16, 16, 16, 16] x) => (double[1, 16, 16, 16, 16] y) "
        "{ y = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w) }",
        {"x": _random(1, 16, 16, 16, 16).astype(np.float64)},
        6,
        {"w": _random(16, 16, 3, 3, 3, seed=1).astype(np.float64)},
    ),
]


@dataclass(frozen=True)
class Measured:
    outputs: dict[str, Array]
    microseconds: float
    kernels: list[tuple[str, int]]  # names without their numbers, and the accesses of their longest thread

    @property
    def steps(self) -> int:
        return max(steps for _, steps in self.kernels)


def measure(row: Row, folder: Path, set_environment: Callable[[str, str], Any]) -> Measured:
    """Compiles the row for the GPU and runs it on the simulator."""
    log, model = folder / "log", row.model()
    set_environment("GFX942SIM_LOG", str(log))
    onnx.save(model, folder / "model.onnx")
    shared_object = onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", "--target", "hip")
    names = [output.name for output in model.graph.output]
    outputs = onnxc_commands.run_arrays(shared_object, row.inputs, names, folder / "run", "--device", "hip")
    launches = [json.loads(line) for line in log.read_text().splitlines()]
    kernels = [(launch["kernel"].rstrip("0123456789"), launch["longest_wave_accesses"]) for launch in launches]
    return Measured(outputs, sum(launch["modelled_us"] for launch in launches), kernels)


def main() -> None:
    print("| operator | modelled, us | should be | kernels | steps of a thread |")
    print("| --- | --: | --: | --: | --: |")
    for row in ROWS:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(row, Path(folder), onnxc_commands.ENVIRONMENT.__setitem__)
        print(
            f"| {row.name} | {found.microseconds:.1f} | {row.should_us:g} | {len(found.kernels)} | {found.steps} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
