"""Makes a model of 8 bits from one of float32 and a folder of its inputs, and tells what that costs in accuracy.

    python -m onnxc.quantize model.onnx -o model_int8.onnx --samples folder/

Each file of the folder is a sample: an .npy for a model of one input, or an .npz that holds each input by its name. The
ranges of the activations are measured on four samples of five by onnxruntime.quantization (its quantize_static: QDQ,
activations uint8 or with --signed int8, weights int8 with one scale an output channel). The fifth of five is held back:
onnxc runs both models on those, and the differences are printed for each output. Needs onnx and onnxruntime.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnxruntime import quantization

from onnxc.compiler import compile as compile_model
from onnxc.errors import CompileError, RunError

Array = NDArray[Any]
Feeds = dict[str, Array]

HELD_BACK = 5  # one sample of so many


class SampleError(Exception):
    """A folder or file of samples does not fit the model; the message names it."""


class Samples(quantization.CalibrationDataReader):  # type: ignore[misc]
    """The samples, once."""

    def __init__(self, samples: Sequence[Feeds]) -> None:
        self.samples: Iterator[Feeds] = iter(samples)

    def get_next(self) -> Feeds | None:
        return next(self.samples, None)


def input_names(model: onnx.ModelProto) -> list[str]:
    constants = {tensor.name for tensor in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name not in constants]


def read_sample(file: Path, names: Sequence[str]) -> Feeds:
    """Raises SampleError where the file does not hold exactly the named inputs."""
    try:
        loaded = np.load(file)
    except (OSError, ValueError) as error:
        raise SampleError(f"{file}: {error}") from error
    if isinstance(loaded, np.ndarray):
        if len(names) != 1:
            raise SampleError(f"{file} holds one array, the model has the inputs {', '.join(names)}: give an .npz")
        return {names[0]: loaded}
    if set(loaded.files) != set(names):
        raise SampleError(f"{file} holds {', '.join(loaded.files)}, the model's inputs are {', '.join(names)}")
    return {name: loaded[name] for name in names}


def read_samples(folder: Path, names: Sequence[str]) -> list[Feeds]:
    """The samples in the order of their files' names. Raises SampleError where there are none, or one does not fit."""
    files = sorted(file for file in folder.glob("*") if file.suffix in (".npy", ".npz"))
    if not files:
        raise SampleError(f"{folder} has no file of the kind .npy or .npz")
    return [read_sample(file, names) for file in files]


def divided(samples: Sequence[Feeds]) -> tuple[list[Feeds], list[Feeds]]:
    """Those that ranges are measured on, and those held back; with fewer than HELD_BACK, all are both."""
    if len(samples) < HELD_BACK:
        return [*samples], [*samples]
    measured = [sample for i, sample in enumerate(samples) if i % HELD_BACK != HELD_BACK - 1]
    return measured, [*samples[HELD_BACK - 1 :: HELD_BACK]]


def quantize(
    model: Path,
    output: Path,
    samples: Sequence[Feeds],
    signed: bool = False,
    form: quantization.QuantFormat = quantization.QuantFormat.QDQ,
) -> None:
    """Writes the model with activations and weights in 8 bits, whose ranges are those of the samples."""
    logging.disable(logging.WARNING)  # of formats that would be faster in onnxruntime
    try:
        quantization.quantize_static(
            str(model),
            str(output),
            Samples(samples),
            quant_format=form,
            activation_type=quantization.QuantType.QInt8 if signed else quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            per_channel=True,
        )
    finally:
        logging.disable(logging.NOTSET)


def results_of(model: Path, samples: Sequence[Feeds]) -> dict[str, list[Array]]:
    """Each output's values by onnxc, a sample after the other."""
    with tempfile.TemporaryDirectory(prefix="onnxc-") as folder:
        session = compile_model(model, Path(folder) / "model.so")
        names = [output.name for output in session.get_outputs()]
        with session:
            runs = [session.run(None, sample) for sample in samples]
    return {name: [np.asarray(run[i]) for run in runs] for i, name in enumerate(names)}


def cost(name: str, exact: Sequence[Array], quantized: Sequence[Array]) -> str:
    """A line on an output: differences over its largest magnitude; where axis 1 has several classes, equal labels."""
    magnitude = max(float(np.abs(array).max(initial=0)) for array in exact) or 1.0
    differences = np.concatenate(
        [(a.astype(np.float64) - b.astype(np.float64)).ravel() for a, b in zip(exact, quantized, strict=True)]
    )
    largest = np.abs(differences).max(initial=0) / magnitude
    root = np.sqrt(np.mean(np.square(differences))) / magnitude if differences.size else 0.0
    line = f"{name}: largest difference {largest:.2g} of the largest magnitude, root of the mean square {root:.2g}"
    if all(array.ndim >= 2 and array.shape[1] > 1 and array.size > 0 for array in exact):
        equal = [np.ravel(a.argmax(axis=1) == b.argmax(axis=1)) for a, b in zip(exact, quantized, strict=True)]
        line += f", {np.concatenate(equal).mean():.2%} of the labels are equal"
    return line


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m onnxc.quantize", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--samples", type=Path, required=True, metavar="FOLDER", help="of .npy or .npz files")
    parser.add_argument("--signed", action="store_true", help="activations are int8, not uint8")
    given = parser.parse_args(arguments)
    try:
        samples = read_samples(given.samples, input_names(onnx.load(given.model, load_external_data=False)))
        measured, held_back = divided(samples)
        quantize(given.model, given.output, measured, given.signed)
        exact, quantized = results_of(given.model, held_back), results_of(given.output, held_back)
    except (SampleError, CompileError, RunError) as error:
        print(f"onnxc.quantize: {error}", file=sys.stderr)
        return 1
    which = "held back" if len(samples) >= HELD_BACK else "also the ranges' own: give five or more to hold some back"
    print(f"{given.output}: ranges of {len(measured)} samples; beside float32, on {len(held_back)} samples ({which}):")
    for name, values in exact.items():
        print("  " + cost(name, values, quantized[name]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
