"""The house keeps its order: rooms of src/ and of runtime/ include only what stands above them in ARCHITECTURE.md,
without a circle, and what is used imports nothing of its users."""

import ast
import re
import subprocess
from collections import defaultdict
from pathlib import Path, PurePosixPath

import pytest

from tests.onnxc_commands import REPOSITORY

TREES = ("src", "runtime")
OUTSIDE = {"include"}  # the C headers of a model.so, which every room of the runtime sees
MOST_FILES = 24
PACKAGES = ("python/onnxc", "models", "tools")  # of Python, the lowest first
USERS = {"tests", "lab"}
Includes = dict[str, set[str]]


def rooms(tree: str) -> list[str]:
    """The list in ARCHITECTURE.md, the ground floor first."""
    block = re.search(rf"```rooms-{tree}\n(.*?)```", (REPOSITORY / "ARCHITECTURE.md").read_text(), re.DOTALL)
    assert block, f"ARCHITECTURE.md has no list of the rooms of {tree}/"
    return [line.split()[0] for line in block[1].splitlines()]


def included(tree: str, file: Path) -> list[PurePosixPath]:
    paths = map(PurePosixPath, re.findall(r'^#include "([^"]+)"', file.read_text(), re.MULTILINE))
    return [path for path in paths if (REPOSITORY / tree / path).exists()]


def sources(tree: str) -> list[tuple[PurePosixPath, Path]]:
    """Paths in the tree, and in the machine."""
    top = REPOSITORY / tree
    files = [file for file in sorted(top.rglob("*")) if file.suffix in (".h", ".cpp")]
    inside = [(PurePosixPath(file.relative_to(top)), file) for file in files]
    return [(path, file) for path, file in inside if path.parts[0] not in OUTSIDE]


def room(path: PurePosixPath) -> str:
    return path.parts[0]


@pytest.mark.parametrize("tree", TREES)
def test_every_folder_is_a_room_and_every_file_in_one(tree: str) -> None:
    assert sorted(rooms(tree)) == sorted({room(path) for path, _ in sources(tree)})


@pytest.mark.parametrize("tree", TREES)
def test_no_room_includes_one_below_it(tree: str) -> None:
    order = rooms(tree)
    arrows = [(path, other) for path, file in sources(tree) for other in included(tree, file)]
    assert len(arrows) > 100
    wrong = [f"{path} includes {other}" for path, other in arrows if order.index(room(other)) > order.index(room(path))]
    assert not wrong


@pytest.mark.parametrize("tree", TREES)
def test_no_folders_include_each_other_in_a_circle(tree: str) -> None:
    includes: Includes = defaultdict(set)
    for path, file in sources(tree):
        folder = str(path.parent)
        includes[folder] |= {str(other.parent) for other in included(tree, file)} - {folder}
    while leaves := {folder for folder in includes if not includes[folder] & includes.keys()}:
        for folder in leaves:
            del includes[folder]
    assert not includes, "these include each other in a circle, or what does"


def imported(file: Path) -> set[str]:
    """The top packages that a Python file imports."""
    nodes = list(ast.walk(ast.parse(file.read_text())))
    names = [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_python_package_imports_one_above_it(package: str) -> None:
    above = {PurePosixPath(other).name for other in PACKAGES[PACKAGES.index(package) + 1 :]} | USERS
    files = list((REPOSITORY / package).rglob("*.py"))
    assert len(files) > 5
    assert [f"{file.relative_to(REPOSITORY)}: {found}" for file in files if (found := imported(file) & above)] == []


def test_an_import_of_the_tests_is_found(tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text(
        "import os.path\n\ndef run() -> None:\n    from tests.ops import case\n    import lab\n"
    )
    assert imported(tmp_path / "tool.py") == {"os", "tests", "lab"}


def test_no_folder_is_crowded() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    counts: dict[str, int] = defaultdict(int)
    for name in tracked.splitlines():
        counts[str(PurePosixPath(name).parent)] += 1
    assert len(counts) > 50
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}
