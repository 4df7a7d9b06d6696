"""Every page does what it says: its commands and blocks run in order, as they stand there, and print what it shows."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import onnxc_commands
from tests.docs import blocks, page_files, page_runner
from tests.docs.blocks import Command
from tests.docs.page_runner import Shell
from tests.docs.pages import PAGES, Page
from tests.docs.test_reference import REFERENCE, help_text, option_words
from tests.models import ptx
from tests.onnxc_commands import BINARIES, REPOSITORY

pytestmark = pytest.mark.usefixtures("commands")

# The features that a machine may lack: the words of the message that says so.
MAY_LACK = {"--compiler zig": "--compiler zig: there is none", "--sandbox -v": "--sandbox: "}


def names(pages: list[Page]) -> list[str]:
    return [page.path for page in pages]


def test_every_page_with_something_to_run_is_in_the_table() -> None:
    found = [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]
    with_blocks = {str(page.relative_to(REPOSITORY)) for page in found if blocks.blocks(page)}
    assert with_blocks == set(names(PAGES))


def test_marks_are_as_many_as_the_table_says_and_have_reasons() -> None:
    """A block without its mark is one more that runs: lower the number in the table."""
    for page in PAGES:
        marked = [block for block in blocks.blocks(page.file) if block.not_run]
        assert len(marked) == page.marked, page.path
        assert [block.line for block in marked if len(block.not_run.split()) < 3] == [], page.path


def commands_of_reference() -> list[Command]:
    found = [
        block for name in ("onnxc", "onnxc-run", "environment") for block in blocks.blocks(REFERENCE / f"{name}.md")
    ]
    return [command for block in found if block.kind == "shell" for command in blocks.commands(block)]


@pytest.mark.parametrize("command", ["onnxc", "onnxc-run"])
def test_every_option_is_in_an_example(command: str) -> None:
    """In its long or its short form."""
    used = {word.partition("=")[0] for example in commands_of_reference() for word in example.text.split()}
    options = [words for line in help_text(command).splitlines() if (words := option_words(line))]
    assert len(options) > 20
    assert [words for words in options if not used & set(words)] == []


def test_every_exit_code_but_that_of_our_bugs_is_in_an_example() -> None:
    assert {example.exit_code for example in commands_of_reference()} == {0, 1, 2, 4}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    page_files.write(folder)
    return folder


def check(page: Page, folder: Path, files: Path, python: str, environment: dict[str, str]) -> None:
    shutil.copytree(files, folder, dirs_exist_ok=True)
    page.files(folder)
    variables = {"ONNXC_MODEL_CACHE": str(folder / "models"), "XDG_CACHE_HOME": str(folder / "cache")}
    variables["ONNXC_HIP_LIBRARY"] = str(onnxc_commands.SIMULATOR)
    shell = Shell(folder, {**environment, **variables}, MAY_LACK)
    failures = page_runner.run_page(page.file, shell, python, page.given)
    assert not failures, "\n\n".join(failures)


def of_the_clone() -> dict[str, str]:
    path = f"{REPOSITORY / 'python'}:{REPOSITORY}"
    environment = page_runner.clean_environment([BINARIES, Path(sys.executable).parent], PYTHONPATH=path)
    if with_zig := os.environ.get("ONNXC_WHEEL_VENV"):
        environment["VIRTUAL_ENV"] = with_zig
    environment["ONNXC_PTXAS"] = str(ptx.ptxas())
    return environment


FAST = [page for page in PAGES if page.fast]


@pytest.mark.parametrize("page", FAST, ids=names(FAST))
def test_with_the_clone(page: Page, files: Path, tmp_path: Path) -> None:
    check(page, tmp_path, files, sys.executable, of_the_clone())


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment into which only the wheel was installed, as README says."""
    made = subprocess.run(["make", "-s", "wheel"], cwd=REPOSITORY, check=False, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout[-1500:] + made.stderr[-1500:]
    [wheel] = (REPOSITORY / "dist").glob("onnxc-*.whl")
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "pip", "install", "-q", f"{wheel}[compiler,verify]"], check=True)
    return folder / "bin"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_with_the_wheel(page: Page, files: Path, fresh: Path, tmp_path: Path) -> None:
    environment = page_runner.clean_environment([fresh])
    if page.packages:
        # They stand for what the page tells its reader to install.
        packages = [each for each in sys.path if each.endswith("site-packages")]
        environment["PYTHONPATH"] = ":".join([*packages, str(REPOSITORY)])
    (tmp_path / "dist").symlink_to(REPOSITORY / "dist")
    check(page, tmp_path, files, str(fresh / "python"), environment)
