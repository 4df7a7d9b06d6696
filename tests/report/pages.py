"""Reads the pages of --report=FILE.html and --profile=FILE.html as a browser would, and by one."""

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from tests.report import annotated_model

Section = dict[str, Any]


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.scripts: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href")]
        if tag == "script":
            self.scripts.append("")
            self._in_script = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data


TAGS = ["html", "head", "meta", "meta", "meta", "title", "style", "body", "h1", "main", "script", "script"]


def read_page(file: Path) -> list[Section]:
    """The page's sections; fails if a name of the model became markup, or the page loads anything."""
    page = _Page()
    page.feed(file.read_text(encoding="utf-8"))
    assert page.tags == TAGS
    assert page.addresses == []
    sections: list[Section] = json.loads(page.scripts[0])
    return sections


def section(sections: list[Section], title: str) -> Section:
    [found] = [each for each in sections if each["title"] == title]
    return found


def dom_in_a_browser(file: Path, width: int = 1400) -> str:
    """The page when its script has run, in Chromium without a window; width: of the page, in pixels."""
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert browser, "make test-all installs Debian's chromium-headless-shell"
    command = [
        browser, "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={width},2000",
        "--virtual-time-budget=5000", "--dump-dom", file.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def drawn_by_a_browser(file: Path) -> str:
    """The content of the page's <main> when its script has run."""
    return dom_in_a_browser(file).split("<main>")[1].split("</main>")[0]


def chain(nodes: int) -> onnx.ModelProto:
    """Convolutions and activations, each with its place, as an export of a real network has them."""
    operators = ["Conv(t{0}, w)", "Relu(t{0})"]
    lines = [f"[n{i}] t{i + 1} = {operators[i % 2].format(i)}" for i in range(nodes)]
    head = f'<ir_version: 10, opset_import: ["" : 20]> chain (float[N, 16, D, H, W] t0) => (t{nodes}) {{'
    model = onnx.parser.parse_model(head + "\n".join(lines) + "}")
    weights = np.ones((16, 16, 1, 1, 1), np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    for number, node in enumerate(model.graph.node):
        annotated_model.annotate(
            node, number, "out = torch.cat((out, skip), dim=1)", f"skip_layers.upsample.conv{number}"
        )
    return model
