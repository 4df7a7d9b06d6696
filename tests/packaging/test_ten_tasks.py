"""Ten tasks of a stranger, from a fresh virtual environment (scripts/ten_tasks.sh)."""

import subprocess
from pathlib import Path

import pytest

from tests.onnxc_commands import REPOSITORY

pytestmark = pytest.mark.slow


def test_all_are_done(tmp_path: Path) -> None:
    subprocess.run(["make", "-s", "wheel"], cwd=REPOSITORY, check=True, capture_output=True)
    [wheel] = (REPOSITORY / "dist").glob("onnxc-*.whl")
    command = [str(REPOSITORY / "scripts" / "ten_tasks.sh"), str(wheel), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("task ")]
    assert [line.split(":")[0] for line in lines] == [f"task {i} done" for i in range(1, 11)]
