"""Packages that some parts of onnxc need beyond numpy."""

import importlib
from types import ModuleType

from onnxc.errors import OnnxcError


def required(name: str, purpose: str) -> ModuleType:
    """The package, imported. Raises OnnxcError with the command that installs it, if it is missing."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise OnnxcError(f"{purpose} needs the package {name}: pip install {name}") from None
