"""The expected results of a case, from outside: its own `expected`, onnxruntime, or ONNX's reference evaluator."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from models.tensor_files import Array
from tests.onnxruntime_sessions import open_session
from tests.ops.case import Case, build_model

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def expected_outputs(one: Case) -> tuple[Array, ...]:
    if one.expected is not None:
        return one.expected
    if any(array.dtype == BFLOAT16 for array in (*one.inputs.values(), *one.constants.values())):
        return _through_float32(one)
    model = _model_without_output_types(one)
    feeds = {f"c0_{name}": array for name, array in one.inputs.items()}
    try:
        session = open_session(model, optimized=False, threads=1)
        return tuple(np.asarray(value) for value in session.run(None, feeds))
    except Exception as error:  # onnxruntime has a class of its own for each status
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return tuple(np.asarray(value) for value in ReferenceEvaluator(model).run(None, feeds))
            except Exception as second:
                raise LookupError(f"{one.name}: no oracle\nonnxruntime: {error}\nreference: {second}") from second


def _through_float32(one: Case) -> tuple[Array, ...]:
    """bfloat16 by way of float32: one operator's result, rounded once."""

    def widen(array: Array) -> Array:
        return array.astype(np.float32) if array.dtype == BFLOAT16 else array

    wide = replace(
        one,
        inputs={name: widen(array) for name, array in one.inputs.items()},
        constants={name: widen(array) for name, array in one.constants.items()},
    )
    return tuple(array.astype(BFLOAT16) if array.dtype == np.float32 else array for array in expected_outputs(wide))


def _model_without_output_types(one: Case) -> onnx.ModelProto:
    """The case by itself; onnxruntime infers the types of outputs that are not given."""
    placeholder: Sequence[Any] = [np.zeros((), np.float32)] * len(one.outputs)
    model = build_model([one], {one: placeholder})
    try:
        inferred = _inferred_types(model)
    except Exception:
        inferred = {}
    for output in model.graph.output:
        output.type.CopyFrom(helper.make_tensor_type_proto(inferred.get(output.name, TensorProto.FLOAT), None))
    return model


def _inferred_types(model: onnx.ModelProto) -> dict[str, int]:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    values = list(copy.graph.output)
    del copy.graph.output[:]
    graph = onnx.shape_inference.infer_shapes(copy).graph
    types = {value.name: value.type.tensor_type.elem_type for value in graph.value_info}
    return {value.name: types[value.name] for value in values if types.get(value.name)}
