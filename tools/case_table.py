"""Writes runtime/strings/case_table.h: Unicode's full case mapping, character by character, as this Python knows it.

    python -m tools.case_table

A mapping of one character to one is a row for each run of characters that lie `stride` apart and move by the same
distance; those to several have a row each.
"""

import sys
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HEADER = Path(__file__).parent.parent / "runtime" / "strings" / "case_table.h"


@dataclass
class Run:
    first: int
    last: int
    stride: int
    distance: int


def mappings(change: Callable[[str], str]) -> tuple[list[Run], dict[int, str]]:
    runs: list[Run] = []
    special: dict[int, str] = {}
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        changed = change(character)
        if changed == character or 0xD800 <= code < 0xE000:
            continue
        if len(changed) > 1:
            special[code] = changed
            continue
        distance, last = ord(changed) - code, runs[-1] if runs else None
        if last is not None and last.distance == distance:
            if last.first == last.last and code - last.last in (1, 2):
                last.last, last.stride = code, code - last.last
                continue
            if code - last.last == last.stride:
                last.last = code
                continue
        runs.append(Run(code, code, 1, distance))
    return runs, special


def text() -> str:
    lines = [
        f"// Written by tools/case_table.py from Unicode {unicodedata.unidata_version}: do not edit.",
        "#pragma once",
        "",
        "#include <stdint.h>",
        "",
        "namespace onnxc::runtime {",
        "",
        "// The characters first, first + stride, ... up to last become those that lie `distance` further.",
        "struct CaseRun {",
        "  uint32_t first, last, stride;",
        "  int32_t distance;",
        "};",
        "",
        "// A character that becomes several, up to three; then zeros.",
        "struct CaseExpansion {",
        "  uint32_t from, to[3];",
        "};",
        "",
        "// clang-format off",
    ]
    for name, change in (("lower", str.lower), ("upper", str.upper)):
        runs, special = mappings(change)
        lines.append(f"inline constexpr CaseRun {name}_runs[] = {{")
        lines += [f"    {{{run.first:#x}, {run.last:#x}, {run.stride}, {run.distance}}}," for run in runs]
        lines += ["};", f"inline constexpr CaseExpansion {name}_expansions[] = {{"]
        for code, changed in special.items():
            points = ", ".join(f"{ord(each):#x}" for each in changed.ljust(3, "\0"))
            lines.append(f"    {{{code:#x}, {{{points}}}}},")
        lines.append("};")
    return "\n".join([*lines, "// clang-format on", "", "}  // namespace onnxc::runtime", ""])


if __name__ == "__main__":
    HEADER.write_text(text())
