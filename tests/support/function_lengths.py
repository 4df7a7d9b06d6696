"""How long the functions of C++ and Python sources are, in lines from the first of the signature to the last brace."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Comments, and texts in quotes, raw ones among them: their braces count nothing.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
# The text before a brace that opens another thing than a function.
OTHER = re.compile(
    r"^\s*(?:(?:inline\s+)?namespace|(?:template\s*<.*>\s*)?(?:class|struct|enum|union)|extern\b[^(]*$)\b"
)


@dataclass(frozen=True)
class Function:
    file: Path
    line: int
    name: str
    lines: int


def blanked(text: str) -> str:
    """The text with spaces in place of comments, literals and directives."""
    return DIRECTIVE.sub(_spaces, NO_CODE.sub(_spaces, text))


def _spaces(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def cpp_functions(file: Path) -> Iterator[Function]:
    """The bodies that lie in no other body; a lambda belongs to the function around it."""
    text = blanked(file.read_text())
    heads: list[tuple[int, str] | None] = []  # of the open braces: the function's start and name, or another thing
    start = 0  # of what is before the next brace
    for found in re.finditer(r"[{};]", text):
        place, inside = found.start(), any(heads)
        if found[0] == "{":
            head = text[start:place]
            name = re.search(r"(~?[\w:]+|operator\W+)\s*\(", head)
            is_function = not inside and name is not None and not OTHER.match(head) and not re.search(r"=\s*$", head)
            heads.append((start + len(head) - len(head.lstrip()), name[1]) if is_function and name else None)
        elif found[0] == "}" and heads and (opened := heads.pop()):
            first = text.count("\n", 0, opened[0])
            yield Function(file, first + 1, opened[1], text.count("\n", 0, place) - first + 1)
        start = found.end()


def python_functions(file: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
            yield Function(file, node.lineno, node.name, node.end_lineno - node.lineno + 1)


def functions(file: Path) -> Iterator[Function]:
    return python_functions(file) if file.suffix == ".py" else cpp_functions(file)
