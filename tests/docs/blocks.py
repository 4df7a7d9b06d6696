"""The parts of a page that a reader can run: blocks of commands and of Python, commands within a sentence, and what
they print.

Two comments of HTML, which a rendered page does not show, speak of the block or paragraph after them:

    <!-- not run: REASON -->   it cannot run in a test
    <!-- prints -->            the block shows what the last block before it prints; a line `...` stands for any lines

A command that is expected to fail says so in a comment of the shell: `# exit code 2`.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

PROGRAMS = {"onnxc", "onnxc-run", "python", "pip", "make", "docker", "cd", "scripts/fuzz.sh", "jq"}
DIRECTIVE = re.compile(r"<!-- (not run|prints)(?:: (.+))? -->$")
# A command within a sentence names a file; without one it is the name of an option.
WITHIN_A_SENTENCE = re.compile(
    r"`((?:[A-Z_]+=\S+\s+)*(?:onnxc|onnxc-run|python -m onnxc\.\w+)\s[^`]*[\w*]\.(?:onnx|so|txt|npy)\b[^`]*)`"
)


@dataclass(frozen=True)
class Block:
    line: int
    """Of the page, from 1."""
    kind: str
    """"shell", "sentence" (a command within one), "python", "prints", "signature", or the language of the fence;
    "unknown" if nothing tells."""
    text: str
    not_run: str = ""
    """The reason of the mark."""


def blocks(page: Path) -> list[Block]:
    """Those of a page, in its order."""
    found: list[Block] = []
    directive, reason = "", ""
    for line, kind, text in pieces(page.read_text()):
        if kind == "directive":
            [(directive, reason)] = DIRECTIVE.findall(text)
            continue
        if kind == "prose":
            made = [Block(line + offset, "sentence", command) for offset, command in commands_of_sentences(text)]
        else:
            made = [Block(line, kind_of(kind, text, directive), text)]
        found += [replace(each, not_run=reason) for each in made]
        directive, reason = "", ""
    return found


def pieces(text: str) -> Iterator[tuple[int, str, str]]:
    """The page as (line, "directive", "prose", "indented" or a fence's language, text)."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        start, line = at, lines[at]
        at += 1
        if not line.strip():
            continue
        if DIRECTIVE.match(line.strip()):
            yield start + 1, "directive", line.strip()
        elif fence := re.match(r"( *)```(\w*)$", line):
            while lines[at].strip() != "```":
                at += 1
            content = [each[len(fence[1]) :] for each in lines[start + 1 : at]]
            yield start + 2, fence[2] or "unknown", "\n".join(content)
            at += 1
        elif line.startswith("    "):
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                at += 1
            content = [each[4:] for each in lines[start:at]]
            yield start + 1, "indented", "\n".join(content).rstrip()
        else:
            while at < len(lines) and lines[at].strip() and not re.match(r" *```|<!-- ", lines[at]):
                at += 1
            yield start + 1, "prose", "\n".join(lines[start:at])


def commands_of_sentences(text: str) -> list[tuple[int, str]]:
    """Each with its line within the paragraph. A cell of a table names messages, not commands."""
    if text.startswith("|"):
        return []
    found = WITHIN_A_SENTENCE.finditer(text)
    return [(text[: each.start()].count("\n"), re.sub(r"\s+", " ", each[1])) for each in found]


def kind_of(kind: str, text: str, directive: str) -> str:
    if directive == "prints":
        return "prints"
    if kind != "indented":
        return {"sh": "shell", "bash": "shell", "console": "shell"}.get(kind, kind)
    words = re.sub(r"^\$ ", "", text).split()
    names_program = [word for word in words if "=" not in word or word.startswith("-")][:1]
    if names_program and names_program[0] in PROGRAMS:
        return "shell"
    if is_signature(text):
        return "signature"
    return "python" if is_python(text) else "unknown"


def is_signature(text: str) -> bool:
    """Such as `onnxc.compile(model: str) -> InferenceSession`, or attributes with their types."""
    try:
        if "(" in text:
            ast.parse("def f" + text[text.index("(") :] + ": ...")
            return True
        return all(isinstance(each, ast.AnnAssign | ast.Assign) for each in ast.parse(text).body)
    except SyntaxError:
        return False


def is_python(text: str) -> bool:
    """Statements that do something, and not a lone name."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    return any(isinstance(each, ast.Call | ast.Import) for each in ast.walk(tree))


@dataclass(frozen=True)
class Command:
    line: int
    text: str
    exit_code: int
    prints: str | None = None
    """What a block of a terminal (`$ command`) shows after it."""


def commands(block: Block) -> list[Command]:
    """Commands of a block of the shell: a line each, or several that `\\`, `|` or an open quote joins."""
    terminal = block.text.startswith("$ ")
    found: list[Command] = []
    pending = ""
    start = block.line
    for line, text in enumerate(block.text.splitlines(), block.line):
        if terminal and not pending and not text.startswith("$ "):
            shown = (found[-1].prints or "") + text + "\n"
            found[-1] = replace(found[-1], prints=shown)
            continue
        start = start if pending else line
        pending += text.removeprefix("$ ") + "\n"
        if text.rstrip().endswith(("\\", "|")) or not text.strip() or text.lstrip().startswith("#"):
            continue
        code = re.search(r"# exit code (\d)", pending)
        found.append(Command(start, pending.strip(), int(code[1]) if code else 0))
        pending = ""
    return found


def shown(expected: str, printed: str) -> bool:
    """Whether what a page shows is what was printed; a line `...` of the page stands for any lines."""
    pattern = ""
    for line in expected.strip("\n").splitlines():
        pattern += r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r"[ \t]*\n"
    return re.fullmatch(pattern, printed.strip("\n") + "\n") is not None
