"""The checks of the package's functions on their arguments: each raises ArgumentError, whose text begins with the
name."""

import math
import numbers
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc.errors import ArgumentError


def refused(name: str, value: object, expected: str) -> ArgumentError:
    shown = repr(value)
    return ArgumentError(f"{name} is {shown if len(shown) <= 100 else shown[:97] + '...'}, expected {expected}")


def whole(name: str, value: Any, least: int, expected: str) -> int:
    """A whole number of at least `least`, Python's or numpy's."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise refused(name, value, expected)
    return int(value)


def count(name: str, value: Any) -> int:
    """How many; 0 if None, 0 or -1 leave it to onnxc."""
    if value is None:
        return 0
    return max(0, whole(name, value, -1, "1 or more; or None, 0 or -1, which leave it to onnxc"))


def real(name: str, value: Any, expected: str = "a number") -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise refused(name, value, expected)
    return float(value)


def truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise refused(name, value, "True or False")
    return bool(value)


def text(name: str, value: Any, expected: str) -> str:
    if not isinstance(value, str):
        raise refused(name, value, expected)
    return value


def path(name: str, value: Any) -> Path:
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise refused(name, value, "the path of a file")
    return Path(os.fsdecode(value))


def made_folder(name: str, folder: Path) -> Path:
    """The folder, made if it was not there; `name` is what chose it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"{name}: cannot make the folder {str(folder)!r}: {error.strerror}") from error
    return folder


def function(name: str, value: Any) -> Callable[..., Any]:
    if not callable(value):
        raise refused(name, value, "a function")
    result: Callable[..., Any] = value
    return result


def sequence(name: str, value: Any, expected: str) -> Sequence[Any]:
    """A list, a tuple or an array of numbers; a text is not a list of its letters."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
        raise refused(name, value, expected)
    return list(value)


def texts(name: str, value: Any, expected: str) -> list[str]:
    return [text(name, each, expected) for each in sequence(name, value, expected)]


def mapping(name: str, value: Any, expected: str) -> Mapping[str, Any]:
    """From names to what is expected."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise refused(name, value, f"a mapping from names to {expected}")
    return value


def array(name: str, value: Any) -> NDArray[Any]:
    try:
        result: NDArray[Any] = np.asarray(value)
    except ValueError as error:  # lists of several lengths
        raise ArgumentError(f"{name} cannot become an array: {error}") from error
    return result
