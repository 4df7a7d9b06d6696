"""A hook of MkDocs (mkdocs.yml): links out of docs/ lead to files of the source tree, which the site does not have;
they become the name of the file. The files that they name must be there."""

import os
import re
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"


def without_outer_links(markdown: str, page: Path) -> str:
    """The text of a page, a file of docs/. Raises FileNotFoundError for a link to what is not in the tree."""

    def replace(link: re.Match[str]) -> str:
        text, address = link[1], link[2].partition("#")[0]
        target = Path(os.path.normpath(page.parent / address))
        if "://" in address or not address or target.is_relative_to(DOCS):
            return link[0]
        if not target.exists():
            raise FileNotFoundError(f"{page.relative_to(REPOSITORY)} links to {address}, which is not there")
        return f"{text} (`{target.relative_to(REPOSITORY)}`)"

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", replace, markdown)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return without_outer_links(markdown, Path(page.file.abs_src_path))
