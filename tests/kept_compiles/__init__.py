"""Clang's compiles of generated code, kept from one test run to the next.

Clang takes three quarters of the time of the Python tests. Ccache finds a compile again by its options and by
the bytes that it reads, so that a kept one hides no fault of onnxc.
"""

import os
import shutil
from pathlib import Path

NAME = "clang++-19"  # the first that onnxc looks for
FOLDER = Path(__file__).parent


def cache() -> Path:
    """The folder of the project's caches, as scripts/environment.sh has it."""
    home = os.environ.get("XDG_CACHE_HOME") or Path(os.environ.get("HOME", "/root")) / ".cache"
    return Path(os.environ.get("ONNXC_CACHE") or Path(home) / "onnxc")


def keep_compiles() -> None:
    """Puts ccache in front of the clang that onnxc finds. It keeps under $TMPDIR, as a compile may write only there."""
    clang = shutil.which(NAME)
    if clang is None or shutil.which("ccache") is None or "ONNXC_CLANG_OF_TESTS" in os.environ:
        return
    temporary = cache() / "temporary"
    (temporary / "compiles").mkdir(parents=True, exist_ok=True)
    os.environ.update(
        ONNXC_CLANG_OF_TESTS=clang,
        ONNXC_KEPT_COMPILES=str(temporary / "compiles"),
        TMPDIR=str(temporary),
        PATH=f"{FOLDER}:{os.environ['PATH']}",
    )
