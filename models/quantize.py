"""The test models in 8 bits, by onnxc.quantize."""

from pathlib import Path

from onnxruntime.quantization import QuantFormat

import onnxc.quantize
from models import tensor_files
from models.export import export
from models.zoo import ModelRow

# Types of activations and of weights; whether the former have a sign.
TYPES = {"u8s8": False, "s8s8": True}


def quantize(row: ModelRow, types: str, folder: Path, form: QuantFormat = QuantFormat.QDQ) -> Path:
    """The row's model with its weights and its activations in 8 bits, with the ranges of its runs."""
    exported = export(row)
    model = folder / f"{row.name}_{types}.onnx"
    samples = [{name: tensor_files.load(file) for name, file in run.inputs.items()} for run in exported.runs]
    onnxc.quantize.quantize(exported.model, model, samples, TYPES[types], form)
    return model
