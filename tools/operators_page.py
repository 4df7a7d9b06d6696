"""Writes docs/operators.md: each operator, how it is compiled, and how many tests of ONNX's suite it passes.

PYTHONPATH=python python -m tools.operators_page
"""

import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from models.onnx_suite import listed
from models.onnx_suite.suite import SuiteTest, collect
from tools.commands import BINARIES, REPOSITORY

PAGE = REPOSITORY / "docs" / "operators.md"

Key = tuple[str, str]  # domain and operator

HEAD = """# Operators

Written by `python -m tools.operators_page` from `onnxc --list-operators=json` and from the lists of ONNX's own suite
(`make suite`); a test holds it against both.

- **form**: `loops`, the operator has a row, its meaning in loop nests, in whose place a target may put a kernel
  (`--report` says where it did); `expansion`, its row puts other operators in its place; `body`, it is compiled through
  the function that ONNX gives for it, as far as the operators in that are; `control flow` and `constant`, the importer
  builds it; `-`, it is not compiled.
- **versions**: those of its domain in which ONNX changed the operator; struck out if they are not compiled.
- **tests**: how many of the suite's node tests of only this operator pass on the CPU. The others are mostly of types
  that onnxc does not compile.
"""


def operators() -> list[dict[str, Any]]:
    command = [str(BINARIES / "onnxc"), "--list-operators=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    content: list[dict[str, Any]] = json.loads(done.stdout)["operators"]
    return content


def key_of(test: SuiteTest) -> Key | None:
    """The operator of a test of one node."""
    nodes = test.load()[0].graph.node
    return (nodes[0].domain, nodes[0].op_type) if len(nodes) == 1 else None


def counts(tests: Sequence[SuiteTest]) -> tuple[Counter[Key], Counter[Key]]:
    """For each operator, its tests, and those that pass."""
    failing = {**listed.read(listed.CANNOT), **listed.read(listed.NOT_YET)}
    total: Counter[Key] = Counter()
    passing: Counter[Key] = Counter()
    for test in tests:
        key = key_of(test) if test.group == "node" else None
        if key is not None:
            total[key] += 1
            passing[key] += not listed.is_listed(failing, "cpu", test.id)
    return total, passing


def line(operator: Mapping[str, Any], total: int, passing: int) -> str:
    versions = [(version, str(version)) for version in operator["versions"]]
    versions += [(version, f"~~{version}~~") for version in operator["missing_versions"]]
    known = ", ".join(text for _, text in sorted(versions))
    tests = f"{passing} of {total}" if total else ""
    return f"| {operator['name']} | {operator['form'] or '-'} | {known} | {tests} |"


def page() -> str:
    total, passing = counts(collect())
    listing = operators()
    text = HEAD
    for domain in dict.fromkeys(operator["domain"] for operator in listing):
        own = [operator for operator in listing if operator["domain"] == domain]
        compiled = sum(bool(operator["form"]) for operator in own)
        text += f"\n## {domain or 'ai.onnx'}: {compiled} of {len(own)}\n\n"
        text += "| operator | form | versions | tests |\n| --- | --- | --- | --- |\n"
        for operator in own:
            key = (domain, operator["name"])
            text += line(operator, total[key], passing[key]) + "\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
