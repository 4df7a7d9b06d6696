"""Operators of ai.onnx.ml on features, against onnxruntime."""

import numpy as np

from tests.ops.case import Case, Constant, case, constant, random
from tests.ops.table import EVERYWHERE, table_test

DOMAIN = "ai.onnx.ml"


def cases() -> list[Case]:
    x, wide = random(5, 4), random(5, 4, dtype=np.float64)
    whole = random(5, 4, dtype=np.int64)
    gaps, zeros = x.copy(), x.copy()
    gaps[[0, 2, 3], [1, 2, 0]] = np.nan
    zeros[[1, 4], [3, 0]] = 0
    empty_row = x.copy()
    empty_row[2] = 0
    offset, scale = [0.5, -1.0, 0.25, 2.0], [2.0, 0.5, -1.0, 3.0]
    found = [
        case("Binarizer", x, domain=DOMAIN),
        case("Binarizer", x, domain=DOMAIN, name="threshold", threshold=0.3),
        case("ArrayFeatureExtractor", x, constant([3, 0, 0], np.int64), domain=DOMAIN),
        case("ArrayFeatureExtractor", random(2, 3, 4), np.array([[2, 1]], np.int64), domain=DOMAIN, name="rank 3",
             expected=[random(2, 3, 4)[..., [2, 1]]]),
        case("ArrayFeatureExtractor", random(7), Constant(np.array([6, 2])), domain=DOMAIN, name="one row"),
        case("Scaler", x, domain=DOMAIN, offset=offset, scale=scale),
        case("Scaler", whole, domain=DOMAIN, name="int64, of one number", offset=[0.5], scale=[2.0]),
        case("Scaler", wide, domain=DOMAIN, name="float64", offset=offset, scale=scale),
        case("Imputer", gaps, domain=DOMAIN, name="NaN", replaced_value_float=float("nan"),
             imputed_value_floats=offset),
        case("Imputer", zeros, domain=DOMAIN, name="zero, by one number", replaced_value_float=0.0,
             imputed_value_floats=[7.0]),
        case("LinearRegressor", x, domain=DOMAIN, coefficients=scale, intercepts=[0.5]),
        case("LinearRegressor", x, domain=DOMAIN, name="two targets", targets=2, coefficients=scale + offset,
             intercepts=[0.5, -1.0]),
        case("LinearRegressor", x, domain=DOMAIN, name="no intercepts", coefficients=scale),
    ]  # fmt: skip
    for transform in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"):
        found.append(
            case("LinearClassifier", x, domain=DOMAIN, name=transform, outputs=2,
                 coefficients=scale + offset + scale[::-1], intercepts=[0.5, -1.0, 0.25],
                 classlabels_ints=[7, -3, 12], multi_class=1, post_transform=transform)
        )  # fmt: skip
    for values, name in ((x, "float32"), (whole, "int64"), (wide, "float64")):
        found.append(
            case("FeatureVectorizer", values, random(5, 3, dtype=values.dtype), random(5, 1, dtype=values.dtype),
                 domain=DOMAIN, name=name, inputdimensions=[4, 3, 1])
        )  # fmt: skip
    found.append(case("FeatureVectorizer", random(4), random(3), domain=DOMAIN, name="one row", inputdimensions=[4, 3]))
    few = np.array([[3, 0], [-2, 3], [9, 9]])
    found += [
        case("OneHotEncoder", few, domain=DOMAIN, cats_int64s=[3, -2, 0]),
        case("OneHotEncoder", few.astype(np.float32), domain=DOMAIN, name="float32", cats_int64s=[0, 9]),
    ]
    for norm in ("MAX", "L1", "L2"):
        found.append(case("Normalizer", np.abs(empty_row), domain=DOMAIN, name=norm, norm=norm))
    return found


test_ml_features = table_test("ml_features", cases(), EVERYWHERE)
