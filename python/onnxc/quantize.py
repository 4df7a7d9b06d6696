"""Makes a model of 8 bits from one of float32 and a folder of its inputs, and tells what that costs in accuracy.

    python -m onnxc.quantize model.onnx -o model_int8.onnx --samples folder/

Each file of the folder is a sample: an .npy for a model of one input, or an .npz that holds each input by its name. The
ranges of the activations are measured on four samples of five by onnxruntime.quantization (its quantize_static: QDQ,
activations uint8 or with --signed int8, weights int8 with one scale an output channel). The fifth of five is held back:
onnxc runs both models on those, and the differences are printed for each output. Needs onnx and onnxruntime.

Scales for each channel are of operator set 13, so a model of an older one is converted to that first
(onnx.version_converter). A model of float16 or bfloat16 computes in float32 around its operators of 8 bits, and keeps
the types of its inputs and outputs. A sample with NaN or an infinity is refused: it has no range.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc import packages

try:
    import onnx
    from onnx import numpy_helper, version_converter
    from onnxruntime import quantization
except ModuleNotFoundError as error:
    raise packages.missing(error, "onnxc.quantize", __name__ == "__main__") from None

from onnxc import reference
from onnxc.compiler import compile as compile_model
from onnxc.errors import OnnxcError, counted
from onnxc.graphs.float32 import has_narrow_types, in_float32
from onnxc.input_files import check_outputs, files_of_model

Array = NDArray[Any]
Feeds = dict[str, Array]

HELD_BACK = 5  # one sample of so many
LEAST_OPSET = 13  # DequantizeLinear with an axis


class SampleError(Exception):
    """A folder or file of samples does not fit the model; the message names it."""


class ModelError(Exception):
    """The model cannot be made one of 8 bits; the message says why."""


class Samples(quantization.CalibrationDataReader):  # type: ignore[misc]
    """The samples, once."""

    def __init__(self, samples: Sequence[Feeds]) -> None:
        self.samples: Iterator[Feeds] = iter(samples)

    def get_next(self) -> Feeds | None:
        return next(self.samples, None)


def input_names(model: onnx.ModelProto) -> list[str]:
    constants = {tensor.name for tensor in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name not in constants]


def check_finite(where: str, feeds: Feeds) -> None:
    """Raises SampleError, naming the sample and the input, for NaN and infinities."""
    for name, array in feeds.items():
        if array.dtype.kind != "f" or np.isfinite(array).all():
            continue
        nan, infinite = int(np.isnan(array).sum()), int(np.isinf(array).sum())
        counts = " and ".join([*([f"{nan} NaN"] if nan else []), *([f"{infinite} infinite"] if infinite else [])])
        raise SampleError(
            f"{where}: the input {name!r} holds {counts} of {array.size} values, which have no range; leave the sample "
            "out, or replace them"
        )


def read_sample(file: Path, names: Sequence[str]) -> Feeds:
    """Raises SampleError if the file does not hold exactly the named inputs, or holds NaN or infinities."""
    feeds = load_sample(file, names)
    check_finite(str(file), feeds)
    return feeds


def load_sample(file: Path, names: Sequence[str]) -> Feeds:
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


def sample_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*") if file.suffix in (".npy", ".npz"))


def read_samples(folder: Path, names: Sequence[str]) -> list[Feeds]:
    """The samples in the order of their files' names. Raises SampleError if there are none, or one does not fit."""
    files = sample_files(folder)
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
    """Writes the model with activations and weights in 8 bits, whose ranges are those of the samples. The output has
    its name when it is whole.

    Raises SampleError for NaN and infinities in the samples, ModelError for a model that cannot be converted or whose
    result onnxruntime does not open, ArgumentError for an output that is the model.
    """
    check_outputs([("output", output)], files_of_model("model", model))
    for number, sample in enumerate(samples):
        check_finite(f"sample {number}", sample)
    with tempfile.TemporaryDirectory(prefix=".onnxc-", dir=output.parent) as folder:
        source, result = quantizable(model, Path(folder)), Path(folder) / "quantized.onnx"
        logging.disable(logging.WARNING)  # of formats that would be faster in onnxruntime
        try:
            quantization.quantize_static(
                str(source),
                str(result),
                Samples(samples),
                quant_format=form,
                activation_type=quantization.QuantType.QInt8 if signed else quantization.QuantType.QUInt8,
                weight_type=quantization.QuantType.QInt8,
                per_channel=True,
            )
            check_scales(result)
            reference.open_session(onnx.load(result))
        except ModelError:
            raise
        except Exception as error:  # onnxruntime's have no class in common
            raise ModelError(f"{model}: onnxruntime.quantization cannot do it: {error}") from error
        finally:
            logging.disable(logging.NOTSET)
        result.replace(output)


def load_model(file: Path, with_data: bool = True) -> onnx.ModelProto:
    try:
        return onnx.load(file, load_external_data=with_data)
    except OSError:
        raise
    except Exception as error:  # protobuf's, and onnx's own of external data
        raise ModelError(f"{file}: it is no ONNX model, or lacks its external data: {error}") from error


def quantizable(model: Path, folder: Path) -> Path:
    """The model as onnxruntime.quantization takes it: a file in the folder, or the model itself if it fits."""
    loaded = load_model(model, with_data=False)
    is_old = any(each.domain in ("", "ai.onnx") and each.version < LEAST_OPSET for each in loaded.opset_import)
    if not is_old and not has_narrow_types(loaded):
        return model
    loaded = load_model(model)
    try:
        converted = version_converter.convert_version(loaded, LEAST_OPSET) if is_old else loaded
    except Exception as error:  # the converter's have no class in common
        raise ModelError(
            f"{model}: scales for each channel need operator set {LEAST_OPSET}, and onnx.version_converter cannot "
            f"convert the model to it: {error}"
        ) from error
    file = folder / "converted.onnx"
    onnx.save(in_float32(converted), file)
    return file


def check_scales(quantized: Path) -> None:
    """Raises ModelError for a scale that is not a finite number: its tensor overflows for one of the samples."""
    for tensor in onnx.load(quantized).graph.initializer:
        is_scale = tensor.data_type == onnx.TensorProto.FLOAT and tensor.name.endswith("_scale")
        if is_scale and not np.isfinite(numpy_helper.to_array(tensor)).all():
            name = tensor.name.removesuffix("_scale")
            raise ModelError(f"the values of {name!r} are NaN or infinite for one of the samples: no range holds them")


def results_of(model: Path, samples: Sequence[Feeds]) -> dict[str, list[Array]]:
    """Each output's values by onnxc, a sample after the other."""
    with tempfile.TemporaryDirectory(prefix="onnxc-") as folder:
        session = compile_model(model, Path(folder) / "model.so")
        names = [output.name for output in session.get_outputs()]
        with session:
            runs = [session.run(None, sample) for sample in samples]
    return {name: [np.asarray(run[i]) for run in runs] for i, name in enumerate(names)}


def cost(name: str, exact: Sequence[Array], quantized: Sequence[Array]) -> str:
    """A line on an output: differences over its largest magnitude; if axis 1 has several classes, equal labels."""
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
    files = sample_files(given.samples)
    try:
        inputs = (*files_of_model("MODEL", given.model), *(("--samples", file) for file in files))
        check_outputs([("-o", given.output)], inputs)
        samples = read_samples(given.samples, input_names(load_model(given.model, with_data=False)))
        measured, held_back = divided(samples)
        quantize(given.model, given.output, measured, given.signed)
        exact, quantized = results_of(given.model, held_back), results_of(given.output, held_back)
    except (SampleError, ModelError, OnnxcError, OSError) as error:
        print(f"onnxc.quantize: {error}", file=sys.stderr)
        return 1
    which = "held back" if len(samples) >= HELD_BACK else "also the ranges' own: give five or more to hold some back"
    ranges = f"ranges of {counted(len(measured), 'sample')}"
    print(f"{given.output}: {ranges}; beside float32, on {counted(len(held_back), 'sample')} ({which}):")
    for name, values in exact.items():
        print("  " + cost(name, values, quantized[name]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
