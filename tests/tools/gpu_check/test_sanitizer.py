"""compute-sanitizer by its exit codes, with a program in its place."""

from pathlib import Path

import numpy as np
import pytest

from tools.gpu_check import sanitizer
from tools.gpu_check.manifest import Case, CheckedModel, Value
from tools.gpu_check.results import FAILED, MEASURED, RIGHT, WRONG
from tools.gpu_check.target import TARGETS

MODEL = CheckedModel("pools", [Case([Value("x", "x.npy", "float32", [3])], [])], {"ieee": 1e-5})
PROGRAM = """#!/bin/sh
echo "$@" > {folder}/words
echo "========= 1 error"
exit {code}
"""


@pytest.mark.parametrize(("code", "status"), [(0, RIGHT), (9, WRONG), (1, FAILED)])
def test_findings(code: int, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    program = tmp_path / sanitizer.PROGRAM
    program.write_text(PROGRAM.format(folder=tmp_path, code=code))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    result = sanitizer.check("racecheck", MODEL, "ieee", tmp_path, TARGETS["nvidia"])
    assert (result.status, result.what, result.name) == (status, "racecheck", "pools")
    assert (result.text == "") == (code == 0)
    words = (tmp_path / "words").read_text()
    assert words.startswith("--tool racecheck --error-exitcode 9")
    assert f"{tmp_path}/ieee.so gpu x {tmp_path}/x.npy" in words


def test_without_it_nothing_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = sanitizer.check("memcheck", MODEL, "ieee", tmp_path, TARGETS["nvidia"])
    assert result.status == MEASURED
    assert result.text == "left out: compute-sanitizer is not installed"
