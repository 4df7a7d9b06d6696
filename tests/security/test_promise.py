"""SECURITY.md promises nothing that has no test."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.onnxc_commands import BINARIES

REPOSITORY = Path(__file__).resolve().parents[2]


def promises() -> list[tuple[str, str]]:
    """The sentences of the table and their tests."""
    text = (REPOSITORY / "SECURITY.md").read_text()
    table = text.partition("| what holds | test |")[2].partition("\n\n")[0]
    return re.findall(r"^\| (.+?) \| `([^`]+)` \|$", table, re.MULTILINE)


def test_every_row_is_read() -> None:
    table = (REPOSITORY / "SECURITY.md").read_text().partition("| what holds | test |")[2].partition("\n\n")[0]
    assert len(promises()) == len(table.strip().splitlines()) - 1 >= 15


@pytest.mark.parametrize(("sentence", "test"), promises())
def test_has_its_test(sentence: str, test: str) -> None:
    file, _, name = test.partition("::")
    path = REPOSITORY / file
    assert path.is_file(), sentence
    source = path.read_text()
    if path.suffix == ".cpp":
        assert path.name.endswith("_test.cpp"), sentence
        assert "TEST" in source, sentence
    else:
        assert f"def {name or 'test_'}" in source, sentence
        assert not re.search(r"^pytestmark = .*(skip|slow)", source, re.MULTILINE), "it runs in make test"


@pytest.mark.usefixtures("commands")
def test_limits_are_those_of_the_command() -> None:
    said = subprocess.run([BINARIES / "onnxc", "--help"], capture_output=True, text=True, check=True).stdout
    in_help = set(re.findall(r"--max-\w+", said))
    in_text = set(re.findall(r"^\| `(--max-\w+)`", (REPOSITORY / "SECURITY.md").read_text(), re.MULTILINE))
    assert in_help == in_text
