"""Reads the pages of --report=FILE.html and --profile=FILE.html as a browser would."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

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
    """The page's sections; fails where a name of the model became markup, or the page loads anything."""
    page = _Page()
    page.feed(file.read_text(encoding="utf-8"))
    assert page.tags == TAGS
    assert page.addresses == []
    sections: list[Section] = json.loads(page.scripts[0])
    return sections


def section(sections: list[Section], title: str) -> Section:
    [found] = [each for each in sections if each["title"] == title]
    return found
