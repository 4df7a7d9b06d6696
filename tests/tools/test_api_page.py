"""docs/reference/python.md is what its tool writes, and has all that the package offers."""

import inspect
import re

import pytest

import onnxc
from tools import api_page


def test_page_is_fresh() -> None:
    assert api_page.PAGE.read_text() == api_page.page(), "python -m tools.api_page writes it"


def test_everything_public_is_there() -> None:
    page = api_page.page()
    titles = set(re.findall(r"^#+ (onnxc\.[\w.]+)$", page, re.MULTILINE))
    public = {f"onnxc.{name}" for name in onnxc.__all__ if not name.startswith("_")}
    assert public <= titles
    for name in ("run", "run_tensors", "symbol_values", "io_binding", "get_modelmeta"):
        assert f"\n**{name}**\n" in page


@pytest.mark.parametrize("name", ["compile", "InferenceSession", "SlidingWindow"])
def test_every_argument_is_in_the_signature(name: str) -> None:
    found = getattr(onnxc, name)
    function = found if inspect.isfunction(found) else found.__init__
    section = api_page.page().split(f"\n## onnxc.{name}\n")[1].split("\n## ")[0]
    for argument in list(inspect.signature(function).parameters):
        if argument != "self":
            assert re.search(rf"\b{argument}: ", section), argument


def test_every_command_of_the_package_is_there() -> None:
    with_a_command = {
        file.stem for file in api_page.PACKAGE.glob("*.py") if '\nif __name__ == "__main__"' in file.read_text()
    } | {file.parent.name for file in api_page.PACKAGE.glob("*/__main__.py")}
    assert with_a_command - {"reference"} == set(api_page.COMMANDS)  # that one is onnxc-run's


def test_arguments_become_a_list() -> None:
    text = api_page.prose("Does it.\n\nfirst, second: numbers.\nthird: a text\n    of two lines.\n\nRaises: nothing.")
    assert text == "Does it.\n\n- `first`, `second`: numbers.\n- `third`: a text\n    of two lines.\n\nRaises: nothing."


def test_long_signatures_are_broken() -> None:
    assert api_page.split_arguments("a: int=1, b: dict[str, int]={}, *, c=(1, 2)") == [
        "a: int=1",
        "b: dict[str, int]={}",
        "*",
        "c=(1, 2)",
    ]
