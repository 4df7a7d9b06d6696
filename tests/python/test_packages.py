"""The message if a package is missing that only a part of onnxc needs."""

import os
import subprocess
import sys

import pytest

from tests.onnxc_commands import REPOSITORY

AS_COMMAND = "import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
AS_MODULE = "import importlib, onnxc\ntry: importlib.import_module({module!r})\nexcept onnxc.OnnxcError as e: print(e)"
MISSING = [
    *(
        (f"onnxc.{module}", package)
        for module in ("quantize", "reduce", "reference")
        for package in ("onnx", "onnxruntime")
    ),
    ("onnxc.backend", "onnx"),
]


def run(source: str, module: str, package: str) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.modules[{package!r}] = None\n" + source.format(module=module)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "python")}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize(("module", "package"), MISSING)
def test_one_line_says_what_to_install(module: str, package: str) -> None:
    text = f"{module} needs the package {package}: pip install {package}\n"
    assert run(AS_MODULE, module, package).stdout == text
    if module != "onnxc.backend":
        command = run(AS_COMMAND, module, package)
        assert (command.returncode, command.stderr) == (1, text)
