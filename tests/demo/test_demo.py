"""make demo's script, as far as it needs no set-up: it ends well, and a file that it is written to has no colours."""

import subprocess

import pytest

from tests.onnxc_commands import BINARIES, REPOSITORY


@pytest.mark.skipif(BINARIES != REPOSITORY / "build" / "bin", reason="the script runs the commands of build/bin")
@pytest.mark.usefixtures("commands")
def test_the_demo() -> None:
    words = [str(REPOSITORY / "scripts" / "demo.sh")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "With your own model:" in done.stdout
