"""The reference pages have every option, variable, exit code and operator, and none that is not there."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.onnxc_commands import BINARIES, REPOSITORY
from tools import operators_page
from tools.docs_hook import without_outer_links

pytestmark = pytest.mark.usefixtures("commands")

DOCS = REPOSITORY / "docs"
REFERENCE = DOCS / "reference"
COMMANDS = ["onnxc", "onnxc-run"]


def rows(page: Path) -> list[str]:
    """The first cell of each row of the page's tables."""
    return [line.split("|")[1] for line in page.read_text().splitlines() if line.startswith("| `")]


def help_text(command: str) -> str:
    done = subprocess.run([str(BINARIES / command), "--help"], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_options(command: str) -> None:
    told = {option for line in help_text(command).splitlines() for option in option_words(line)}
    documented = {
        word for cell in rows(REFERENCE / f"{command}.md") for word in re.findall(r"(?<!\w)--?[A-Za-z][\w-]*", cell)
    }
    assert len(told) > 20
    assert documented == told


def option_words(line: str) -> list[str]:
    """The options of a line such as "  -o,--output FILE    the file to write"."""
    found = re.match(r"  (-[\w,-]+)", line)
    return found[1].split(",") if found else []


def sources() -> list[Path]:
    folders = ("src", "runtime", "python", "tools/onnxc_run")
    files = [file for folder in folders for file in (REPOSITORY / folder).rglob("*")]
    return [file for file in files if file.suffix in (".cpp", ".h", ".py")]


def test_environment_variables() -> None:
    pattern = re.compile(r'(?:getenv|environment|environ\.get|is_named_by|loaded)\(\s*"([A-Z][A-Z0-9_]+)"')
    read = {name for file in sources() for name in pattern.findall(file.read_text())}
    usual = {"HOME", "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "VIRTUAL_ENV"}  # of every program
    cells = " ".join(rows(REFERENCE / "environment.md"))
    documented = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", cells))
    assert "ONNXC_CXX" in read
    assert read - usual <= documented
    in_sources = " ".join(file.read_text() for file in sources())
    assert {name for name in documented if f'"{name}"' not in in_sources} == set()


def test_exit_codes() -> None:
    documented = set(re.findall(r"`(\d)`", " ".join(rows(REFERENCE / "environment.md"))))
    # The codes in the commands' own words.
    told = set(re.findall(r"(?:codes:|;)\s*(\d) ", help_text("onnxc-run").replace("\n", " ")))
    assert documented == told == set("01234")


def test_operators() -> None:
    page = (DOCS / "operators.md").read_text()
    names = {each["name"] for each in operators_page.operators()}
    assert len(names) > 150
    assert {name for name in names if not re.search(rf"\b{name}\b", page)} == set()


def message_texts() -> list[str]:
    """The literals of the sources; one that is broken over lines is one message. Comments do not count."""
    texts = []
    for file in sources():
        text = re.sub(r'"\s*\n\s*f?"', "", re.sub(r"(?m)^\s*(//|#(?!include)).*$", "", file.read_text()))
        texts += re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)
    return texts


def test_messages_of_the_troubleshooting_page_are_those_of_the_source() -> None:
    texts = message_texts()
    keys = {key for cell in rows(DOCS / "troubleshooting.md") for key in re.findall(r"`([^`]+)`", cell)}
    keys -= {"GLIBC_2.34"}  # the loader's
    assert len(keys) > 25
    assert {key for key in keys if not any(key in text for text in texts)} == set()


def test_keys_of_the_troubleshooting_page_fit_one_and_many() -> None:
    """The key of a message that counts its nodes is the part that both numbers share."""
    cells = rows(DOCS / "troubleshooting.md")
    keys = {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}
    counted = [
        "1 node cannot be compiled:",
        "2 nodes cannot be compiled:",
        "node 'join' (Concat): dim 2 of every input must agree",
        "2 nodes are at fault:\n  node 'join' (Concat): dim 2 of every input must agree",
        "hipInit: no device (HIP error 100); HIP finds no AMD GPU, or this user may not open /dev/kfd",
    ]
    assert [message for message in counted if not any(key in message for key in keys)] == []


PAGES = sorted(DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]+`|\n {4}[^\n]*", " code ", page.read_text(), flags=re.DOTALL)
    text = without_outer_links(prose, page)  # which looks for the files outside of docs/
    for address in re.findall(r"\]\(([^)\s#]+)", text):
        assert "://" in address or (page.parent / address).exists(), address


def test_every_page_is_in_the_site_and_in_the_list() -> None:
    site = (REPOSITORY / "mkdocs.yml").read_text()
    listed = (DOCS / "README.md").read_text()
    names = {str(page.relative_to(DOCS)) for page in PAGES}
    assert {name for name in names if f": {name}\n" not in site} == set()
    assert {name for name in names - {"README.md"} if f"({name})" not in listed} == set()
