"""The test models in 8 bits, as onnxruntime.quantization makes them."""

import logging
from collections.abc import Iterator
from pathlib import Path

from onnxruntime import quantization

from tests.models import tensor_files
from tests.models.export import ExportedModel, export
from tests.models.tensor_files import Array
from tests.models.zoo import ModelRow

# Of activations and of weights.
TYPES = {
    "u8s8": (quantization.QuantType.QUInt8, quantization.QuantType.QInt8),
    "s8s8": (quantization.QuantType.QInt8, quantization.QuantType.QInt8),
}


class Calibration(quantization.CalibrationDataReader):  # type: ignore[misc]
    """The inputs of the model's runs, once."""

    def __init__(self, exported: ExportedModel) -> None:
        self.inputs: Iterator[dict[str, Array]] = iter(
            [{name: tensor_files.load(file) for name, file in run.inputs.items()} for run in exported.runs]
        )

    def get_next(self) -> dict[str, Array] | None:
        return next(self.inputs, None)


def quantize(row: ModelRow, types: str, folder: Path, form: quantization.QuantFormat) -> Path:
    """The row's model with its weights, one scale an output channel, and its activations in 8 bits."""
    exported = export(row)
    model = folder / f"{row.name}_{types}.onnx"
    activations, weights = TYPES[types]
    logging.disable(logging.WARNING)  # that other formats and a preprocessing would be faster in onnxruntime
    quantization.quantize_static(
        str(exported.model),
        str(model),
        Calibration(exported),
        quant_format=form,
        activation_type=activations,
        weight_type=weights,
        per_channel=True,
    )
    logging.disable(logging.NOTSET)
    return model
