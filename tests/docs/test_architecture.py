"""Pages tell the truth about the source: the passes in their order, and every file that a page or a comment names."""

import itertools
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.onnxc_commands import BINARIES, REPOSITORY

MODEL = REPOSITORY / "tests" / "demo" / "model.onnx"
LABORATORY = REPOSITORY / "lab"
# Files that CHANGELOG and the laboratory's notes name were there in their day.
PAGES = [
    *(page for page in sorted(REPOSITORY.glob("*.md")) if page.name != "CHANGELOG.md"),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    LABORATORY / "README.md",
]
SOURCE = r"(?:cpp|h|py|sh|cmake|md|c)"


def name_of(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def tracked_files() -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


FILES = tracked_files()
FOLDERS = {str(parent) for file in FILES for parent in Path(file).parents}
# Every end of their paths: ARCHITECTURE names files from src/ on, volumes.md from tests/ on.
ENDS = {"/".join(Path(path).parts[start:]) for path in [*FILES, *FOLDERS] for start in range(len(Path(path).parts))}
FIRST_FOLDERS = {end.split("/")[0] for end in ENDS if "/" in end}


def braces(path: str) -> Iterator[str]:
    """`a.{h,cpp}` is a.h and a.cpp."""
    parts = [part.strip("{}").split(",") for part in re.split(r"(\{[^}]*\})", path)]
    return ("".join(each) for each in itertools.product(*parts))


def exists(path: str) -> bool:
    return path.rstrip("/") in ENDS or f"{path}.h" in ENDS


def named(text: str) -> set[str]:
    """Files and folders of the tree that a page names in backticks; NAME.h and _test.cpp stand for others."""
    words = {each for quoted in re.findall(r"`([^`\s]+)`", text) for each in braces(quoted)}
    files = {word for word in words if re.fullmatch(rf"[\w./-]+\.{SOURCE}", word)}
    folders = {word for word in words if re.fullmatch(r"[\w-]+(/[\w-]+)*/[\w-]*", word)}
    inside = {word for word in folders if word.split("/")[0] in FIRST_FOLDERS}
    return {word for word in files | inside if not re.search(r"^_|[A-Z]{4,}", word.removesuffix(".md"))}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    assert {path for path in named(page.read_text()) if not exists(path)} == set()


def test_a_missing_file_is_found() -> None:
    text = (
        "`pipeline/compile.cpp` `passes/graph/` `ir/dtype.{h,nope.h}` `conv_lost.h` `kernels/cpu/none/` `out/x.npy` "
        "`NAME.h`"
    )
    assert {path for path in named(text) if not exists(path)} == {"ir/dtype.nope.h", "conv_lost.h", "kernels/cpu/none/"}


def missing_commands(text: str) -> set[str]:
    """Targets of make, and modules of Python, that are not in the tree."""
    targets = set(re.findall(r"^([\w-]+):", (REPOSITORY / "Makefile").read_text(), re.M))
    used = set(re.findall(r"(?:`|^ {4}|&& )make ([a-z][\w-]*)", text, re.M))
    modules = set(re.findall(r"python -m ((?:tools|lab|tests|onnxc)[\w.]*\w)", text))
    paths = {module: module.replace(".", "/") for module in modules}
    return (used - targets) | {name for name, path in paths.items() if not exists(f"{path}.py") and not exists(path)}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_that_a_page_names_are_there(page: Path) -> None:
    assert missing_commands(page.read_text()) == set()


def test_a_missing_command_is_found() -> None:
    text = "`make build` and `make biuld`, `python -m onnxc.cache`, `python -m tools.nothing --all`\n\n    make tset\n"
    assert missing_commands(text) == {"biuld", "tset", "tools.nothing"}


def test_each_trial_of_the_reliability_page_is_listed_once() -> None:
    """The page is merged line by line: a row that two branches change would be there twice, a table that moved anew."""
    page = (REPOSITORY / "docs" / "reliability.md").read_text()
    assert "| found by" not in page, "the table of faults is in lab/notes"
    table = page.partition("| what is tried")[2].partition("\n\n")[0]
    trials = re.findall(r"^\| (.+?) \| `", table, re.M)
    assert len(trials) > 30
    assert [trial for trial, count in Counter(trials).items() if count > 1] == []


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *sorted(LABORATORY.rglob("notes/*.md"))], ids=name_of)
def test_links_lead_to_a_heading(page: Path) -> None:
    missing = []
    for address, anchor in re.findall(r"\]\(([^)\s#]*)#?([^)\s]*)\)", re.sub(r"`[^`\n]+`", "", page.read_text())):
        target = page.parent / address if address else page
        if "://" not in address and (not target.exists() or (anchor and anchor not in anchors(target))):
            missing.append(f"{address}#{anchor}")
    assert missing == []


def test_pages_that_comments_name_are_there() -> None:
    missing = set()
    for file in FILES:
        if Path(file).suffix in (".cpp", ".h", ".hip") and not file.startswith("tests/"):
            pages = re.findall(r"[\w/-]+\.md\b", (REPOSITORY / file).read_text())
            missing |= {f"{file}: {page}" for page in pages if not exists(page)}
    assert missing == set()


def passes_that_run(model: Path, *options: str) -> list[str]:
    words = [str(BINARIES / "onnxc"), str(model), "--dump-ir=nope", *options]
    message = subprocess.run(words, capture_output=True, text=True, check=False).stderr
    return re.findall(r"\w+", message.partition("the passes are ")[2])


@pytest.mark.usefixtures("commands")
def test_passes_of_the_architecture_page(tmp_path: Path) -> None:
    page = (REPOSITORY / "ARCHITECTURE.md").read_text()
    section = page.partition("## The passes\n")[2].partition("\n## ")[0]
    documented = re.findall(r"^\| `(\w+)` \|", section, re.M)
    carried = tmp_path / "carried.onnx"
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "carried", value[:1], value[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), carried)
    for_cpu = passes_that_run(MODEL, "--precision", "bfloat16")
    for_gpu = passes_that_run(MODEL, "--target", "hip", "--precision", "bfloat16")
    with_states = passes_that_run(carried, "--state", "x=y")
    assert len(for_cpu) > 10
    for names in (for_cpu, for_gpu, with_states):
        assert names == [name for name in documented if name in names]
    assert set(documented) == {*for_cpu, *for_gpu, *with_states}
