"""Single blocks of kernels over tensors of more than 2^31 elements and 4 GiB, on the host (large_memory.h)."""

import ctypes
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.onnxc_commands import REPOSITORY
from tools.host_blocks import build_kernels


class Report(ctypes.Structure):
    """Elements that the blocks have written, those that are wrong, and the indices of the first and the last."""

    _fields_ = [(name, ctypes.c_int64) for name in ("written", "wrong", "lowest", "highest", "first_wrong")]
    written: int
    wrong: int
    lowest: int
    highest: int
    first_wrong: int


def run(library: Path, function: str, case: str) -> Report:
    """Runs a case of the library's function."""
    report = Report()
    assert getattr(ctypes.CDLL(str(library)), function)(case.encode(), ctypes.byref(report)) == 1, "no such case"
    return report


def expect(library: Path, function: str, case: str, elements: int, last: int) -> None:
    """All of so many elements are right, the first of the tensor and the one at `last` among them."""
    report = run(library, function, case)
    assert report.wrong == 0, (
        f"{report.wrong} of {report.written} elements are wrong, first that at {report.first_wrong}"
    )
    assert (report.written, report.lowest, report.highest) == (elements, 0, last)


def finds(source: Path, function: str, case: str, changes: Mapping[str, tuple[str, str]], folder: Path) -> bool:
    """Whether a case fails, or dies, after changes of headers."""
    for name, (before, after) in changes.items():
        text = (REPOSITORY / "src" / name).read_text()
        assert before in text
        changed = folder / "headers" / name
        changed.parent.mkdir(parents=True, exist_ok=True)
        changed.write_text(text.replace(before, after))
    build_kernels(source, "sm_80", folder / "kernels.so", headers=folder / "headers")
    command = [sys.executable, "-m", __name__, str(folder / "kernels.so"), function, case]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    return done.returncode != 0 or done.stdout.strip() != "0"


def main() -> None:
    library, function, case = sys.argv[1:]
    print(run(Path(library), function, case).wrong)


if __name__ == "__main__":
    main()
