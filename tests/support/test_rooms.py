"""The house keeps its order: rooms of src/ include only what stands above them in ARCHITECTURE.md, without a circle."""

import re
import subprocess
from collections import defaultdict
from pathlib import Path, PurePosixPath

from tests.onnxc_commands import REPOSITORY

SOURCE = REPOSITORY / "src"
PIPELINE = "."
MOST_FILES = 24
Includes = dict[str, set[str]]


def rooms() -> list[str]:
    """The list in ARCHITECTURE.md, the ground floor first."""
    block = re.search(r"```rooms\n(.*?)```", (REPOSITORY / "ARCHITECTURE.md").read_text(), re.DOTALL)
    assert block, "ARCHITECTURE.md has no list of rooms"
    return [line.split()[0] for line in block[1].splitlines()]


def included(file: Path) -> list[PurePosixPath]:
    paths = map(PurePosixPath, re.findall(r'^#include "([^"]+)"', file.read_text(), re.MULTILINE))
    return [path for path in paths if (SOURCE / path).exists()]


def sources() -> list[Path]:
    files = [file for file in SOURCE.rglob("*") if file.suffix in (".h", ".cpp")]
    assert len(files) > 300
    return files


def room(path: PurePosixPath) -> str:
    return path.parts[0] if len(path.parts) > 1 else PIPELINE


def test_every_folder_is_a_room() -> None:
    folders = {folder.name for folder in SOURCE.iterdir() if folder.is_dir()}
    assert sorted(rooms()) == sorted({*folders, PIPELINE})


def test_no_room_includes_one_below_it() -> None:
    order = rooms()
    wrong = [
        f"{file.relative_to(SOURCE)} includes {path}"
        for file in sources()
        for path in included(file)
        if order.index(room(path)) > order.index(room(PurePosixPath(file.relative_to(SOURCE))))
    ]
    assert not wrong


def test_no_folders_include_each_other_in_a_circle() -> None:
    includes: Includes = defaultdict(set)
    for file in sources():
        folder = str(PurePosixPath(file.relative_to(SOURCE)).parent)
        includes[folder] |= {str(path.parent) for path in included(file)} - {folder}
    while leaves := {folder for folder in includes if not includes[folder] & includes.keys()}:
        for folder in leaves:
            del includes[folder]
    assert not includes, "these include each other in a circle, or what does"


def test_no_folder_is_crowded() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    counts: dict[str, int] = defaultdict(int)
    for name in tracked.splitlines():
        counts[str(PurePosixPath(name).parent)] += 1
    assert len(counts) > 50
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}
