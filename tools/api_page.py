"""Writes docs/reference/python.md: what the Python package offers, from its docstrings. Nothing of it is imported.

python -m tools.api_page
"""

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "python" / "onnxc"
PAGE = REPOSITORY / "docs" / "reference" / "python.md"

Definition = ast.ClassDef | ast.FunctionDef

HEAD = """# The Python package

Written by `python -m tools.api_page` from the docstrings of `python/onnxc`; a test holds it against them. Arguments
have Python's types; `Array` is a numpy array.
"""
# Before the others, which follow by their names.
FIRST = ["compile", "InferenceSession", "SlidingWindow", "Tensor", "ValueInfo"]
# Modules that are used by their own names, and those with a command.
MODULES = ["nnunet", "ray", "video", "backend"]
COMMANDS = ["nnunet", "cache", "quantize", "reduce"]
NOT_RUN = {"ray": "it asks for 32 CPUs of a cluster"}


class Module:
    """A module of the package, by its name below `onnxc`; "" is the package itself."""

    def __init__(self, name: str) -> None:
        path = PACKAGE.joinpath(*name.split(".")) if name else PACKAGE
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        self.lines = file.read_text().splitlines()
        self.tree = ast.parse(file.read_text())

    @property
    def docstring(self) -> str:
        return ast.get_docstring(self.tree) or ""

    def find(self, name: str) -> Definition | None:
        for node in self.tree.body:
            if isinstance(node, Definition) and node.name == name:
                return node
        return None

    def definitions(self) -> Iterator[tuple["Module", Definition]]:
        """Its own that do not begin with an underscore, then those that it imports to offer them."""
        for node in self.tree.body:
            if isinstance(node, Definition) and not node.name.startswith("_"):
                yield self, node
        for name in self.constant("__all__"):
            where = Module(self.imports().get(name, ""))
            if name in self.imports() and (found := where.find(name)) is not None:
                yield where, found

    def imports(self) -> dict[str, str]:
        """From which module of the package each name comes."""
        found = {}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("onnxc"):
                for alias in node.names:
                    found[alias.asname or alias.name] = (node.module or "").partition(".")[2]
        return found

    def constant(self, name: str) -> list[str]:
        """A list of texts, such as __all__."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                return [str(each) for each in ast.literal_eval(node.value)]
        return []


# ---------------------------------------------------------------------------------------------------------- rendering


def signature(name: str, function: ast.FunctionDef) -> str:
    """As the author wrote it, without self; broken if it is long."""
    arguments = [spaced(each) for each in split_arguments(ast.unparse(function.args)) if each not in ("self", "cls")]
    result = f" -> {ast.unparse(function.returns)}" if function.returns and function.name != "__init__" else ""
    line = f"{name}({', '.join(arguments)}){result}"
    if len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){result}"


def spaced(argument: str) -> str:
    """ "a: int = 1" of "a: int=1"."""
    declared, equals, default = argument.rpartition("=")
    return f"{declared} = {default}" if equals and ": " in declared else argument


def split_arguments(text: str) -> list[str]:
    """At the commas that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return [*parts, *([last] if (last := text[start:].strip()) else [])]


def code(text: str) -> str:
    return textwrap.indent(text, "    ")


def prose(docstring: str) -> str:
    """Markdown: a paragraph of "name: text" lines, as our docstrings list arguments, becomes a list."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", docstring):
        lines = paragraph.splitlines()
        if re.match(r"[a-z_]+(, [a-z_]+)*: ", lines[0]):
            lines = [re.sub(r"^([a-z_]+(?:, [a-z_]+)*): ", listed, line) for line in lines]
        paragraphs.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(paragraphs)


def listed(match: re.Match[str]) -> str:
    return "- " + ", ".join(f"`{name}`" for name in match[1].split(", ")) + ": "


def is_maker(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name == "__init__"


def is_property(function: ast.FunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "property" for each in function.decorator_list)


def fields(module: Module, node: ast.ClassDef) -> str:
    """The lines of a class that declare its fields or its members, with their comments."""
    declared = [
        each
        for each in node.body
        if isinstance(each, ast.Assign)
        or (isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.target.id[0] != "_")
    ]
    return "\n".join(module.lines[each.lineno - 1].strip() for each in declared)


def bases(module: Module, node: ast.ClassDef) -> Iterator[tuple[Module, ast.ClassDef]]:
    """A class, then those of the package that it derives from."""
    yield module, node
    for base in node.bases:
        if isinstance(base, ast.Name):
            where = module.imports().get(base.id)
            other = Module(where) if where is not None else module
            found = other.find(base.id)
            if isinstance(found, ast.ClassDef):
                yield from bases(other, found)


def methods(module: Module, node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """With those of its bases."""
    seen = set()
    for _, each in bases(module, node):
        for function in each.body:
            if not isinstance(function, ast.FunctionDef) or function.name in seen:
                continue
            seen.add(function.name)
            if not function.name.startswith("_") or function.name == "__call__":
                yield function


def render(module: Module, node: Definition, name: str, level: int) -> str:
    makers = [node] if isinstance(node, ast.FunctionDef) else [each for each in node.body if is_maker(each)]
    parts = [f"{'#' * level} {name}", *(code(signature(name, maker)) for maker in makers)]
    if docstring := ast.get_docstring(node):
        parts.append(prose(docstring))
    if isinstance(node, ast.ClassDef):
        # Fields of a class that has no __init__ are its arguments.
        if not makers and (declared := fields(module, node)):
            parts.append(code(declared))
        for function in methods(module, node):
            parts.append(render_method(function))
    return "\n\n".join(parts) + "\n"


def render_method(function: ast.FunctionDef) -> str:
    name = "(the object itself)" if function.name == "__call__" else function.name
    if is_property(function) and function.returns is not None:
        head = f"{name}: {ast.unparse(function.returns)}"
    else:
        head = signature(name if function.name != "__call__" else "", function)
    docstring = ast.get_docstring(function)
    return f"**{name}**\n\n{code(head)}" + (f"\n\n{prose(docstring)}" if docstring else "")


def marked(name: str, text: str) -> str:
    """With the mark before the first block that tests/docs/test_pages.py cannot run."""
    reason = NOT_RUN.get(name)
    return re.sub(r"\n\n    ", f"\n\n<!-- not run: {reason} -->\n\n    ", text, count=1) if reason else text


def page() -> str:
    package = Module("")
    places = package.imports()
    sections = [HEAD, prose(package.docstring) + "\n"]
    for name in [*FIRST, *(name for name in package.constant("__all__") if name not in FIRST)]:
        where = places.get(name, "")
        found = Module(where).find(name) if where else None
        if found is not None:
            sections.append(render(Module(where), found, f"onnxc.{name}", 2))
    for name in MODULES:
        module = Module(name)
        sections.append(f"## onnxc.{name}\n\n{marked(name, prose(module.docstring))}\n")
        sections += [render(where, each, f"onnxc.{name}.{each.name}", 3) for where, each in module.definitions()]
    for name in COMMANDS:
        command = Module(f"{name}.__main__" if (PACKAGE / name).is_dir() else name)
        sections.append(f"## python -m onnxc.{name}\n\n{prose(command.docstring)}\n")
    return "\n".join(sections)


if __name__ == "__main__":
    PAGE.write_text(page())
