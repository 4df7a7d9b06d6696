"""The simulator's hazards against clang's: an s_nop of clang's must be missed when it is a wait state shorter."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.gfx942sim import test_foreign_kernels
from tools.simulated_gpu.hip import ASSEMBLY_OPTIONS, HIP_OPTIONS, HipError, compile_kernels

SHARE = 8  # of the places, one in so many


def is_clangs_own(lines: list[str], place: int) -> bool:
    """Clang also waits between a load and a DPP instruction; the guide asks for it only after the vector unit."""
    return "_dpp" in lines[place + 1] and "s_waitcnt vmcnt" in lines[place - 1]


@pytest.mark.slow
def test_each_wait_of_clang_is_needed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kernels.hip").write_text(test_foreign_kernels.SOURCE)
    command = ["clang-19", *HIP_OPTIONS.split(), "-Wno-everything", "-S", "-o", "kernels.s", "kernels.hip"]
    subprocess.run(command, cwd=tmp_path, check=True)
    lines = (tmp_path / "kernels.s").read_text().split("\n")
    places, kernel = [], ""
    for number, line in enumerate(lines):
        if label := re.match(r"([a-z]\w*):", line):
            kernel = label[1]
        if (wait := re.match(r"\s*s_nop (\d+)", line)) and not is_clangs_own(lines, number):
            places.append((number, kernel, int(wait[1])))
    assert len(places) > 300
    for number, name, states in places[::SHARE]:
        shorter = list(lines)
        shorter[number] = f"\ts_nop {states - 1}" if states else ""
        machine = test_foreign_kernels.Machine(compile_kernels("\n".join(shorter), ASSEMBLY_OPTIONS, tmp_path))
        capfd.readouterr()
        with pytest.raises(HipError):
            getattr(test_foreign_kernels, f"test_{name}")(machine, np.random.default_rng(1))
        assert "wait states, but" in capfd.readouterr().err, f"{name}, line {number}"
