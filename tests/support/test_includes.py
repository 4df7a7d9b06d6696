"""Each unit includes what it needs: it compiles without the precompiled headers, which would hide a missing include."""

import json
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.onnxc_commands import REPOSITORY

PRECOMPILED = re.compile(r"-Winvalid-pch|-Xclang -include(?:-pch)? -Xclang \S+")
FOLDERS = (
    "src/codegen",
    "src/frontend",
    "src/ir",
    "src/ops",
    "src/passes",
    "src",
    "tools/onnxc_run",
    "tools/gfx942sim",
)


def folder_of(source: Path) -> str | None:
    """The most specific of the folders."""
    name = source.relative_to(REPOSITORY).as_posix()
    return max((folder for folder in FOLDERS if name.startswith(folder + "/")), key=len, default=None)


def commands(folder: str) -> dict[Path, list[str]]:
    """One command for each source, that only checks it."""
    found: dict[Path, list[str]] = {}
    for row in json.loads((REPOSITORY / "build" / "compile_commands.json").read_text()):
        source = Path(row["file"])
        if "cmake_pch" in source.name or source.suffix != ".cpp" or folder_of(source) != folder:
            continue
        words = shlex.split(PRECOMPILED.sub("", row["command"]))
        at = words.index("-o")
        found[source] = [*words[:at], *words[at + 2 :], "-fsyntax-only"]
    return found


def fault(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY)
    return result.stderr if result.returncode else ""


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_units_include_what_they_need(folder: str) -> None:
    sources = commands(folder)
    assert sources
    assert not any("cmake_pch" in word for command in sources.values() for word in command)
    with ThreadPoolExecutor(2) as pool:
        faults = [text for text in pool.map(fault, sources.values()) if text]
    assert not faults, "\n".join(faults)
