"""Faults put into a kernel's source on purpose, whose products then run on the host."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.onnxc_commands import REPOSITORY
from tools.host_blocks import build_kernels

RIGHT, WRONG = "all are right", "Arrays are not equal"


@dataclass(frozen=True)
class Fault:
    """`after` replaces `before` in the file, a path under src. `report` is what a run must say; kind: of products."""

    file: Path
    before: str
    after: str
    report: str
    kind: str = "float16"


def expect_shown(fault: Fault, source: Path, module: str, words: tuple[str, ...], folder: Path) -> None:
    """Builds `source` with the fault for Hopper in the folder, and has the module run it in two orders of threads."""
    text = (REPOSITORY / "src" / fault.file).read_text()
    assert fault.before in text
    changed = folder / fault.file
    changed.parent.mkdir(parents=True)
    changed.write_text(text.replace(fault.before, fault.after) if fault.before else text)
    library = folder / "products.so"
    build_kernels(source, "sm_90a", library, headers=folder)
    command = [sys.executable, "-m", module, str(library), fault.kind, *words]
    reports = [report_of(command, order) for order in ("forward", "backward")]
    if fault.report == RIGHT:
        assert reports == [RIGHT, RIGHT]
    else:
        assert any(fault.report in report for report in reports), reports


def report_of(command: list[str], order: str) -> str:
    environment = os.environ | {"ONNXC_HOST_ORDER": order}
    done = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return RIGHT if done.returncode == 0 else done.stderr
