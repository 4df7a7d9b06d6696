"""Compiles without clang's optimisation, which takes nearly all of the time of a random network."""

import os
import shutil
from pathlib import Path


def use_unoptimising_compiler(folder: Path) -> None:
    """Lets onnxc call a script in `folder` in place of clang. onnxc finds the linker by the compiler's name."""
    os.environ["ONNXC_CXX"] = str(unoptimising_compiler(folder))


def unoptimising_compiler(folder: Path) -> Path:
    compiler = os.environ.get("ONNXC_CXX", "clang++-19")
    found = os.environ.get("ONNXC_CLANG_OF_TESTS") or shutil.which(compiler)
    script = folder / Path(compiler).name
    script.write_text(f'#!/bin/bash\nexec {found} "${{@/#-O3/-O0}}"\n')
    script.chmod(0o755)
    return script
