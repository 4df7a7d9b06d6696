"""LabelEncoder and CategoryMapper, of every pair of types; onnxruntime and a dict of Python's are the oracles."""

from typing import Any

import numpy as np
from onnx import numpy_helper

from models.tensor_files import Array
from tests.ops.case import Case, case
from tests.ops.text.string_table import table_test, texts

ML = "ai.onnx.ml"


def encoder(*inputs: Array, name: str, version: int = 4, **settings: Any) -> Case:
    return case("LabelEncoder", *inputs, name=f"{name} {version}", domain=ML, domain_version=version, **settings)


def tensor(values: Array) -> Any:
    return numpy_helper.from_array(values, "t")


def many() -> Case:
    """More keys than a search by eye would take, not in order."""
    random = np.random.default_rng(1)
    keys = random.permutation(np.arange(-700, 701, 2))
    values = random.integers(-1000, 1000, keys.size)
    x = random.integers(-750, 750, (37, 11))
    mapping = dict(zip(keys.tolist(), values.tolist(), strict=True))
    expected = np.array([mapping.get(each, 5) for each in x.ravel().tolist()]).reshape(x.shape)
    return encoder(x, name="many keys", keys_int64s=keys.tolist(), values_int64s=values.tolist(), default_int64=5,
                   expected=[expected])  # fmt: skip


def cases() -> list[Case]:
    words = texts("cat", "", "dog", "a\0b", "cow", "dog", "猫")
    numbers = np.array([[5, -3, 7], [0, 5, 9]])
    floats = np.array([0.5, np.nan, -0.0, np.inf, 3.0], np.float32)
    keys = ["dog", "cat", "猫", "", "unused"]
    found = [
        encoder(words, name="string to int64", keys_strings=keys, values_int64s=[1, 2, 3, 4, 5], default_int64=-7),
        encoder(words, name="string to string", keys_strings=keys, values_strings=["D", "C", "", "empty", "U"]),
        encoder(words, name="string to float", keys_strings=keys, values_floats=[1.0, 2, 3, 4, 5]),
        encoder(numbers, name="int64 to string", keys_int64s=[7, 5, 0], values_strings=["seven", "five", "zero"]),
        encoder(numbers, name="int64 to float", keys_int64s=[7, 5, 0], values_floats=[0.5, 1, 2.5], default_float=9.0),
        encoder(floats, name="float to int64", keys_floats=[3.0, float("nan"), 0.0], values_int64s=[1, 2, 3]),
        encoder(floats, name="float to string", keys_floats=[3.0, 0.5], values_strings=["three", "half"]),
        encoder(words, name="tensors", keys_tensor=tensor(texts("cat", "dog")),
                values_tensor=tensor(np.array([1, 2], np.int16)), default_tensor=tensor(np.array([9], np.int16)),
                expected=[np.array([1, 9, 2, 9, 9, 2, 9], np.int16)]),
        encoder(words, name="of tensors to float64", keys_tensor=tensor(texts("cat")),
                values_tensor=tensor(np.array([0.25])), default_tensor=tensor(np.array([np.nan])),
                expected=[np.array([0.25, *[np.nan] * 6])]),
        encoder(np.array([1, 2, 3], np.int32), name="int32", keys_tensor=tensor(np.array([3, 1], np.int32)),
                values_strings=["c", "a"], expected=[texts("a", "_Unused", "c")]),
        encoder(numbers, name="repeated keys", keys_int64s=[5, 7, 5], values_int64s=[1, 2, 3],
                expected=[np.array([[3, -1, 2], [-1, 3, -1]])]),
        encoder(np.zeros(0, np.int64), name="no elements", keys_int64s=[5], values_int64s=[1]),
        many(),
        encoder(words, name="strings to int64", version=2, keys_strings=keys, values_int64s=[1, 2, 3, 4, 5]),
        encoder(words, name="places", version=1, classes_strings=["dog", "cat"], default_int64=3,
                expected=[np.array([1, 3, 0, 3, 3, 0, 3])]),
        encoder(numbers, name="of places", version=1, classes_strings=list("abcdefgh"), default_string="none",
                expected=[np.array([["f", "none", "h"], ["a", "f", "none"]], object)]),
    ]  # fmt: skip
    found += [
        case("OneHotEncoder", words, domain=ML, name="words", cats_strings=["dog", "", "猫"]),
        case("LinearClassifier", np.array([[1, 2], [3, -1]], np.float32), domain=ML, name="words", outputs=2,
             coefficients=[1.0, 2, 3, -1], intercepts=[0.5, -0.5], classlabels_strings=["up", "down"]),
    ]  # fmt: skip
    for x, name in ((words, "strings"), (numbers, "numbers")):
        found.append(
            case("CategoryMapper", x, name=name, domain=ML, cats_strings=["dog", "猫", "x"], cats_int64s=[7, 5, 0],
                 default_int64=-4, default_string="?")
        )  # fmt: skip
    return found


test_encoders = table_test(cases())
