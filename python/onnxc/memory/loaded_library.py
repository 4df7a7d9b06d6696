"""A GPU's library that the process has loaded already: that of the model, or of PyTorch."""

import ctypes
import os
from typing import Any

from onnxc.errors import ArgumentError, OnnxcError


def loaded(variable: str, stem: str) -> Any:
    """The library that the variable of the environment names, or that this process has under a name with that stem."""
    chosen = os.environ.get(variable)
    try:
        return ctypes.CDLL(chosen or _loaded_path(stem))
    except OSError as error:
        if not chosen:
            raise
        raise ArgumentError(f"the environment variable {variable} is {chosen!r}: {error}") from error


def _loaded_path(stem: str) -> str:
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].strip()
            if os.path.basename(path).startswith(stem):
                return path
    raise OnnxcError(f"no {stem} is loaded: open a session with device='gpu' first")
