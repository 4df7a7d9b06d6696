"""The prose of the repository: paragraphs and sentences of its comments, docstrings and pages."""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

# What can hold or hide a comment in C++: a raw string, a string, a character, and the comments themselves.
CPP_TOKEN = re.compile(
    r'R"(?P<fence>[^(\s]*)\(.*?\)(?P=fence)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"
    r"|(?P<comment>//[^\n]*|/\*.*?\*/)",
    re.DOTALL,
)
NOT_ENGLISH = re.compile(r"NOLINT|clang-format (?:off|on)|type: ignore|noqa|fmt: (?:off|on|skip)")
FORMULA = re.compile(r"^\s{2,}.*(?:[\w\])] [-+*/]?= |==)")
ITEM = re.compile(r"(?:[-*] |\d+\. )")
ARGUMENT = re.compile(r"[a-z_]\w*(?:, [a-z_]\w*)*: ")
END_OF_SENTENCE = re.compile(r"(?<!e\.g)(?<!i\.e)(?<=[.!?])\s+(?=[A-Z0-9`'\"(])")
# A literal with fewer is not a sentence but a name or a part of a text.
LEAST_WORDS = 4


@dataclass
class Line:
    """A piece of prose in a line of a file: text[column:column + len(text)]."""

    number: int
    column: int
    text: str


@dataclass
class Paragraph:
    lines: list[Line] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(line.text.strip() for line in self.lines)


def cpp_comments(source: str) -> Iterator[list[Line]]:
    """Blocks of comments: a comment, and the lines below it that have only a comment in the same column."""
    block: list[Line] = []
    for token in CPP_TOKEN.finditer(source):
        if (comment := token["comment"]) is None:
            continue
        number = source.count("\n", 0, token.start())
        column = token.start() - (source.rfind("\n", 0, token.start()) + 1)
        only = not source[token.start() - column : token.start()].strip()
        continues = block and only and (block[-1].number, block[-1].column - 2) == (number - 1, column)
        if block and not continues:
            yield block
            block = []
        if comment.startswith("//"):
            block.append(Line(number, column + 2, comment[2:].rstrip()))
        else:
            for i, text in enumerate(comment[2:-2].splitlines()):
                stripped = re.sub(r"^\s*\*? ?" if i else "^ ", "", text)
                block.append(Line(number + i, (0 if i else column + 2) + len(text) - len(stripped), stripped.rstrip()))
    if block:
        yield block


def python_comments(source: str) -> Iterator[list[Line]]:
    block: list[Line] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            number, column = token.start[0] - 1, token.start[1]
            continues = not token.line[:column].strip() and block and block[-1].number == number - 1
            if block and not continues:
                yield block
                block = []
            block.append(Line(number, column + 1, token.string[1:].rstrip()))
    if block:
        yield block


def python_docstrings(source: str) -> Iterator[list[Line]]:
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if ast.get_docstring(node) is None:
            continue
        text = node.body[0]
        assert isinstance(text, ast.Expr)
        first, last = text.lineno - 1, (text.end_lineno or 0) - 1
        block = []
        for number in range(first, last + 1):
            line = lines[number]
            end = line.rindex('"""') if number == last else len(line)
            column = line.index('"""') + 3 if number == first else min(text.col_offset, len(line))
            block.append(Line(number, column, line[column:end].rstrip()))
        yield block


def page_blocks(source: str) -> Iterator[list[Line]]:
    """A page in Markdown, without its code; each cell of a table for itself."""
    fenced = False
    block: list[Line] = []
    for number, line in enumerate(source.splitlines()):
        fence = line.lstrip().startswith("```")
        if fence or fenced or line.startswith(("#", "|", "    ")):
            yield block
            block = []
        else:
            block.append(Line(number, 0, line.rstrip()))
        if line.startswith("|") and not fenced:
            for cell in re.finditer(r"[^|]+", line):
                yield [Line(number, cell.start(), cell[0].rstrip())]
        fenced ^= fence
    yield block


def is_english(line: Line) -> bool:
    return not NOT_ENGLISH.search(line.text) and not FORMULA.search(line.text)


def paragraphs(block: Iterable[Line]) -> Iterator[Paragraph]:
    """Cut at empty lines, before items of lists and arguments, and around tables and formulas, line by line."""
    paragraph = Paragraph()
    hang, may_hang_further = 0, False
    for line in block:
        bare = line.text.strip()
        indent = len(line.text) - len(line.text.lstrip())
        item = ITEM.match(bare)
        is_argument = bool(ARGUMENT.match(bare)) and (not paragraph.lines or paragraph.text.endswith((".", ":", ";")))
        is_at_hang = indent == hang or (may_hang_further and indent > hang)
        continues = bool(bare) and not item and not is_argument and is_at_hang and is_english(line)
        if paragraph.lines and not continues:
            yield paragraph
            paragraph = Paragraph()
        if bare and is_english(line):
            paragraph.lines.append(line)
        if not continues:
            is_text = indent <= 1 and "  " not in bare
            hang = indent + (len(item[0]) if item else 0) if is_text or item else -1
            may_hang_further = is_argument and is_text
    if paragraph.lines:
        yield paragraph


def blocks(file: Path) -> Iterator[list[Line]]:
    source = file.read_text()
    if file.suffix == ".py":
        yield from python_comments(source)
        yield from python_docstrings(source)
    elif file.suffix == ".md":
        yield from page_blocks(source)
    else:
        yield from cpp_comments(source)


def file_paragraphs(file: Path) -> Iterator[Paragraph]:
    for block in blocks(file):
        yield from paragraphs(block)


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """The line and the text of each literal of C++ with a sentence or more, such as those of errors and of --help."""
    source = file.read_text()
    literals: list[tuple[int, int, str]] = []
    for token in CPP_TOKEN.finditer(source):
        if token["comment"] is None and token[0].startswith('"'):
            begin, end, text = token.start(), token.end(), token[0][1:-1]
            if literals and not source[literals[-1][1] : begin].strip():
                begin, text = literals[-1][0], literals.pop()[2] + text
            literals.append((begin, end, text))
    for begin, _, text in literals:
        if len(text.split()) >= LEAST_WORDS:
            yield source.count("\n", 0, begin), text


def sentences(text: str) -> list[str]:
    return END_OF_SENTENCE.split(text)
