"""Tensors of strings: numpy's arrays of str or bytes, and the memory of texts and sizes that the C ABI has."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc.errors import ArgumentError

NUMBER = 8
"""ONNX's of the element type."""

# onnxc_string. Bytes that are not UTF-8 become lone surrogates of a str, and these the bytes again.
ELEMENT = np.dtype([("text", np.uintp), ("size", np.int64)])
ERRORS = "surrogateescape"


def holds(array: NDArray[Any]) -> bool:
    """Whether an array is one of strings: numpy's fixed-width ones, or of objects."""
    return array.dtype.kind in "OUS"


class Memory:
    """A caller's strings as the ABI has them: str as UTF-8, bytes as they are."""

    def __init__(self, array: NDArray[Any], role: str) -> None:
        encoded = [_encoded(element, role) for element in array.reshape(-1).tolist()]
        self._bytes = np.frombuffer(b"".join(encoded) or b"\0", np.uint8)
        sizes = np.fromiter(map(len, encoded), np.int64, len(encoded))
        self.elements = np.empty(len(encoded), ELEMENT)
        self.elements["size"] = sizes
        self.elements["text"] = self._bytes.ctypes.data + np.cumsum(sizes) - sizes


def _encoded(element: Any, role: str) -> bytes:
    if isinstance(element, str):
        return element.encode("utf-8", ERRORS)
    if isinstance(element, bytes):
        return element
    raise ArgumentError(
        f"{role}: a tensor of strings is an array of str or bytes, found an element of {type(element).__name__}"
    )


def array_of(elements: NDArray[Any], shape: Sequence[int]) -> NDArray[Any]:
    """The texts of an output, as an array of str; to be read before the instance's next run."""
    result = np.empty(len(elements), object)
    for index, (text, size) in enumerate(elements.tolist()):
        result[index] = ctypes.string_at(text, size).decode("utf-8", ERRORS)
    return result.reshape(shape)
