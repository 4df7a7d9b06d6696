"""The simulator's library, loaded anew for a test."""

import shutil
from pathlib import Path

import pytest

from tools.simulated_gpu import hip as simulated
from tools.simulated_gpu.hip import Hip


@pytest.fixture
def hip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hip:
    """The library from a file of its own, which reads the environment again and has nothing left of other tests.

    The device is never destroyed, so each keeps the addresses that it reserved: 1 TiB of the process's 128.
    """
    monkeypatch.setattr(simulated, "LIBRARY", Path(shutil.copy(simulated.LIBRARY, tmp_path / "libamdhip64.so")))
    return Hip()
