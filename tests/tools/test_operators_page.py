"""docs/operators.md is what its tool writes, and `--list-operators` says what the compiler does."""

import json
import subprocess

import pytest

from tests import onnxc_commands
from tools import operators_page

pytestmark = pytest.mark.usefixtures("commands")


def test_page_is_fresh() -> None:
    assert operators_page.PAGE.read_text() == operators_page.page(), "python -m tools.operators_page writes it"


def test_list_as_text() -> None:
    done = subprocess.run(
        [str(onnxc_commands.BINARIES / "onnxc"), "--list-operators"], capture_output=True, text=True, check=True
    )
    lines = {tuple(line.split()[:2]): line.split(maxsplit=2)[2] for line in done.stdout.splitlines()}
    assert lines["ai.onnx", "GridSample"].split(maxsplit=1) == ["loops", "16, 20, 22"]
    assert lines["ai.onnx", "Conv"].startswith("loops")
    assert lines["ai.onnx", "Attention"].startswith("body")
    assert lines["ai.onnx", "LSTM"].startswith("expansion")
    assert lines["com.microsoft", "FusedConv"].startswith("expansion")
    assert lines["ai.onnx", "If"].startswith("control flow")
    assert lines["ai.onnx", "ImageDecoder"].startswith("-")
    assert lines["ai.onnx", "Scan"].split(maxsplit=2) == ["control", "flow", "8, 9, 11, 16, 19, 21, 23, 24, 25"]


def test_list_as_json() -> None:
    listing = operators_page.operators()
    assert {(each["domain"], each["name"]) for each in listing} >= {("", "Conv"), ("ai.onnx.ml", "LabelEncoder")}
    assert all(each["form"] in ("loops", "expansion", "body", "control flow", "constant", "") for each in listing)
    assert all(bool(each["form"]) == bool(each["versions"]) for each in listing if each["missing_versions"])
    assert json.dumps(listing)
