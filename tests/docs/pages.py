"""The pages that a test runs, a row each."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.docs import page_files
from tests.onnxc_commands import REPOSITORY

NUMPY = "import numpy as np\n"
SESSION = NUMPY + "x = np.load('x.npy')\n"
# The output of nnU-Net's preprocessing.
DATA = NUMPY + "data = np.load('preprocessed.npy')\n"
SCAN = NUMPY + "scan = np.random.default_rng(0).standard_normal((1, 1, 100, 97, 98)).astype(np.float32)\n"

LATENTS = NUMPY + "latents = np.random.default_rng(0).standard_normal((1, 2, 5, 40, 50)).astype(np.float32)\n"


@dataclass(frozen=True)
class Page:
    """A page and what its reader has.

    files: writes what only this page takes for granted.
    given: Python that stands for the names that the reader has already.
    marked: blocks that no test runs, each with its reason in the page; the number may only fall.
    fast: whether make test runs it.
    packages: whether the page asks for PyTorch, MONAI or others beside the wheel.
    """

    path: str
    files: Callable[[Path], None] = page_files.none
    given: str = ""
    marked: int = 0
    fast: bool = False
    packages: bool = False

    @property
    def file(self) -> Path:
        return REPOSITORY / self.path


PAGES = [
    Page("README.md", given=SESSION, marked=1, fast=True),
    Page("docs/performance.md"),
    Page("docs/shapes.md", page_files.exports),
    Page("docs/report.md", fast=True),
    Page("docs/numerics.md", fast=True),
    Page("docs/volumes.md", page_files.nnunet, SCAN + DATA, marked=2, packages=True),
    Page("docs/gfx942sim.md", marked=4),
    Page("docs/gpu.md", marked=2),
    Page("docs/guides/debug-export.md", page_files.failing, fast=True),
    Page("docs/guides/deploy.md", given=SESSION, marked=3),
    Page("docs/guides/first-model.md", fast=True, packages=True),
    Page("docs/guides/gpu-pytorch.md", marked=1),
    Page("docs/guides/gpu-server.md", marked=3),
    Page("docs/guides/install.md", marked=2),
    Page("docs/guides/monai.md", page_files.monai, SCAN, packages=True),
    Page("docs/guides/nnunet.md", page_files.nnunet, DATA, packages=True),
    Page("docs/guides/onnxruntime.md", given=SESSION, fast=True, packages=True),
    Page("docs/guides/video-decoder.md", packages=True),
    Page("docs/guides/wrong-export.md", packages=True),
    Page("docs/reference/environment.md", page_files.drawing, fast=True),
    Page("docs/reference/onnxc.md"),
    Page("docs/reference/onnxc-run.md"),
    Page("docs/reference/python.md", page_files.python, SESSION + SCAN + DATA + LATENTS, marked=1, packages=True),
]
