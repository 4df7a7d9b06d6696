"""The convolutions of lab/iree_comparison.py in each precision on the simulated MI300X.

    python -m lab.layer_precisions [--layers TEXT]

Prints a table: modelled times of the convolution without the loops that reorder layouts, its share of the peak rate,
and what bounds it. Each model is a single layer of 16-bit types: --precision makes the same kernels of a float32
network's inner layers. Each result is held against float32's.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from lab.iree_comparison import LAYERS, Array, Data, Layer, make_data, run_onnxc, without_reorderings


@dataclass(frozen=True)
class Precision:
    name: str
    dtype: Any  # of the model
    options: tuple[str, ...]
    peak: float  # TFLOP/s of an MI300X; of bf16x3, three products for each
    digits: int  # bits of a result


PRECISIONS = [
    Precision("float32", np.float32, (), 163.4, 24),
    Precision("float16", np.float16, (), 1307.4, 11),
    Precision("bfloat16", ml_dtypes.bfloat16, (), 1307.4, 8),
    Precision("bf16x3", np.float32, ("--fp32", "bf16x3"), 1307.4 / 3, 16),
]


def measure(layer: Layer, precision: Precision, data: Data) -> tuple[Array, list[dict[str, Any]]]:
    with tempfile.TemporaryDirectory() as folder:
        return run_onnxc(layer, data, Path(folder), precision.dtype, precision.options)


def time_of(launches: list[dict[str, Any]]) -> float:
    return sum(float(launch["modelled_us"]) for launch in without_reorderings(launches))


def cell(layer: Layer, precision: Precision, launches: list[dict[str, Any]]) -> str:
    alone = time_of(launches)
    largest = max(without_reorderings(launches), key=lambda launch: float(launch["modelled_us"]))
    share = layer.operations / alone * 1e-6 / precision.peak
    return f"{alone:.1f} | {share:.0%} {largest['bound']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", default="", help="only layers whose name holds one of these texts, by commas")
    parser.add_argument("--precisions", default=",".join(one.name for one in PRECISIONS), help="float32 and others")
    given = parser.parse_args()
    chosen = [one for one in PRECISIONS if one.name in given.precisions.split(",")]
    head = " | ".join(f"{precision.name}, us | of peak" for precision in chosen)
    print(f"| layer | {head} | float32 / {chosen[1].name} |\n| --- |{' --: | --- |' * len(chosen)} --: |", flush=True)
    for layer in LAYERS:
        if not any(text in layer.name for text in given.layers.split(",")):
            continue
        data, cells, times = make_data(layer), [], []
        expected: Array | None = None
        for precision in chosen:
            result, launches = measure(layer, precision, data)
            expected = result if expected is None else expected
            tolerance = 2.0**-precision.digits
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=0, err_msg=layer.name)
            cells.append(cell(layer, precision, launches))
            times.append(time_of(launches))
        print(f"| {layer.name} | {' | '.join(cells)} | {times[0] / times[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
