"""The examples of the reference pages do what they say, and every option is in one."""

import re
from pathlib import Path

import pytest

from tests.docs import examples
from tests.docs.examples import REFERENCE, Example
from tests.docs.test_reference import help_text, option_words

pytestmark = pytest.mark.usefixtures("commands")

PAGES = ["onnxc.md", "onnxc-run.md", "environment.md"]
ALL = [example for page in PAGES for example in examples.examples(REFERENCE / page)]
# What a machine may lack: the words of the message that says so.
MAY_LACK = {"--compiler zig": "--compiler zig: there is none", "--sandbox -v": "--sandbox: "}


def test_there_are_some_on_every_page() -> None:
    for page in PAGES:
        assert len([each for each in ALL if each.page == page]) > 5


@pytest.mark.parametrize("command", ["onnxc", "onnxc-run"])
def test_every_option_is_in_an_example(command: str) -> None:
    """In its long or its short form."""
    used = {word.partition("=")[0] for example in ALL for word in example.command.split()}
    options = [words for line in help_text(command).splitlines() if (words := option_words(line))]
    assert len(options) > 20
    assert [words for words in options if not used & set(words)] == []


def test_every_exit_code_but_that_of_our_bugs_is_in_an_example() -> None:
    assert {example.exit_code for example in ALL} == {0, 1, 2, 4}


def test_what_counts_as_an_example(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("    onnxc a.onnx -o b.so  # exit code 1: no\n    X=1 onnxc-run a.so\nonnxc no\n    jq a\n")
    assert examples.examples(page) == [
        Example("page.md", "onnxc a.onnx -o b.so", 1),
        Example("page.md", "X=1 onnxc-run a.so", 0),
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, commands: None) -> Path:
    path = tmp_path_factory.mktemp("examples")
    examples.prepare(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("example", ALL, ids=lambda example: re.sub(r"\W+", "-", example.command))
def test_they_run(example: Example, folder: Path) -> None:
    """One after the other, in one folder: some read what others wrote."""
    done = examples.run(example, folder)
    for part, message in MAY_LACK.items():
        if part in example.command and message in done.stderr:
            pytest.skip(done.stderr)
    assert done.returncode == example.exit_code, f"{done.stdout[-2000:]}\n{done.stderr}"
