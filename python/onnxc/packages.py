"""Packages that some parts of onnxc need beyond numpy: what is said if one is missing."""

import importlib
from types import ModuleType

from onnxc.errors import OnnxcError


class MissingPackage(OnnxcError, ImportError):
    """A package that this part of onnxc needs is not installed; the text says how to install it."""


def missing(error: ModuleNotFoundError, module: str, is_command: bool) -> BaseException:
    """The error of a module of onnxc if it cannot import a package: as a command it ends with one line.

    module: its name, such as "onnxc.quantize".
    """
    package = (error.name or "").partition(".")[0]
    text = f"{module} needs the package {package}: pip install {package}"
    return SystemExit(text) if is_command else MissingPackage(text)


def required(name: str, purpose: str) -> ModuleType:
    """The package, imported. Raises MissingPackage; its text begins with the purpose."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise MissingPackage(f"{purpose} needs the package {name}: pip install {name}") from None
