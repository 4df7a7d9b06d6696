"""The operators that the float64 evaluation has in place of ONNX's own."""

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from models.tensor_files import Array
from tests.random.judge import GlobalMaxPool, MeanVarianceNormalization


def evaluate(node: str, x: Array) -> Array:
    model = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["": 18]> g (double[A, B, C, D, E] x) => (double y) {{ y = {node}(x) }}'
    )
    (y,) = ReferenceEvaluator(model, new_ops=[GlobalMaxPool, MeanVarianceNormalization]).run(None, {"x": x})
    return np.asarray(y)


def test_the_largest_of_a_volume_keeps_its_axes() -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5, 6))
    np.testing.assert_array_equal(evaluate("GlobalMaxPool", x), x.max((2, 3, 4), keepdims=True))


@pytest.mark.parametrize("rounding", [0, 1e-9])
def test_numbers_that_differ_by_roundings_have_no_normal_form(rounding: float) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5, 6))
    expected = (x - x.mean((0, 2), keepdims=True)) / (x.std((0, 2), keepdims=True) + 1e-9)
    x[:, 1, :, 2, 3] = 7 + rounding * np.arange(8).reshape(2, 4)
    y = evaluate("MeanVarianceNormalization<axes = [0, 2]>", x)
    assert np.isnan(y[:, 1, :, 2, 3]).all()
    y[:, 1, :, 2, 3] = expected[:, 1, :, 2, 3]
    np.testing.assert_allclose(y, expected)
