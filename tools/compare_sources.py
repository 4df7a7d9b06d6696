"""Same input, same bytes: two compilers, the models of the tests, and the sources that both emit for each.

    python -m tools.compare_sources BEFORE AFTER [--only NAME] [--all] [--jobs 2] [--show] [--map PATTERN=>TEXT ...]

BEFORE and AFTER are two onnxc commands, say of main and of a branch that only moves code. Each compiles every exported
test model and every operator case for the CPU (x86-64-v3 and x86-64-v4) and for the GPU, with --emit source. The
emitted files must be equal but for the paths of included headers. Differences are listed, with --show as diffs.

--map takes a change that is meant, such as a renamed function, out of the comparison: what matches the regular
expression, in the sources of AFTER, becomes TEXT, as BEFORE writes it.
"""

import argparse
import difflib
import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import onnx

from models.export import export
from models.zoo import ROWS
from tests.ops.case import Case, build_model
from tests.ops.families import FAMILIES
from tests.ops.oracle import expected_outputs

WAYS = {
    "v3": ("--march", "x86-64-v3"),
    "v4": ("--march", "x86-64-v4"),
    "v4 -O0": ("--march", "x86-64-v4", "-O0"),
    "hip": ("--march", "x86-64-v3", "--target", "hip"),
}
CASES_IN_ONE_MODEL = 60
INCLUDE = re.compile(rb'#include "[^"]*/([^"/]*)"')
SHOWN_LINES = 40


@dataclass(frozen=True)
class Comparison:
    model: str
    way: str
    difference: str  # empty if both are equal


Replacements = list[tuple[re.Pattern[bytes], bytes]]


def replacement(argument: str) -> tuple[re.Pattern[bytes], bytes]:
    pattern, separator, text = argument.partition("=>")
    if not separator:
        raise argparse.ArgumentTypeError(f"must be PATTERN=>TEXT, found {argument!r}")
    return re.compile(pattern.encode()), text.encode()


def emitted(command: Path, model: Path, way: str, folder: Path, mapped: Replacements) -> dict[str, bytes]:
    """The files that a compiler writes for a model, with headers only by name; its message if it refuses."""
    folder.mkdir()
    done = subprocess.run(
        [command, model, "-o", folder / "model.cpp", "--emit", "source", *WAYS[way]], capture_output=True, check=False
    )
    if done.returncode != 0:
        return {"refused": b"exit code %d\n%b" % (done.returncode, done.stderr)}
    return {file.name: comparable(file, mapped) for file in sorted(folder.iterdir())}


def comparable(file: Path, mapped: Replacements) -> bytes:
    """The text of a source, with its replacements and its includes sorted by name; the hash of a file of weights."""
    if file.suffix == ".weights":
        return hashlib.sha256(file.read_bytes()).digest()
    text = file.read_bytes()
    for pattern, replaced in mapped:
        text = pattern.sub(replaced, text)
    lines = INCLUDE.sub(rb'#include "\1"', text).splitlines(keepends=True)
    includes = iter(sorted(line for line in lines if line.startswith(b"#include")))
    return b"".join(next(includes) if line.startswith(b"#include") else line for line in lines)


def difference(before: dict[str, bytes], after: dict[str, bytes]) -> str:
    if before.keys() != after.keys():
        return f"files {sorted(before)} and {sorted(after)}"
    for name, text in before.items():
        if text != after[name]:
            old, new = (part.decode(errors="replace").splitlines() for part in (text, after[name]))
            return "\n".join([name, *list(difflib.unified_diff(old, new, lineterm="", n=1))[:SHOWN_LINES]])
    return ""


def compare(before: Path, after: Path, mapped: Replacements, name: str, model: Path) -> list[Comparison]:
    found = []
    for way in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            sides = [
                emitted(before, model, way, Path(folder) / "a", []),
                emitted(after, model, way, Path(folder) / "b", mapped),
            ]
        found.append(Comparison(name, way, difference(*sides)))
    return found


def operator_models(folder: Path, only: str, everything: bool) -> Iterator[tuple[str, Path]]:
    """Some dozens of cases of one opset a model, as the tables compile them."""
    for family, cases in FAMILIES.items():
        if only not in family:
            continue
        chosen = [one for one in cases if everything or not one.slow]
        for opset in sorted({one.opset for one in chosen}):
            alike = [one for one in chosen if one.opset == opset]
            for start in range(0, len(alike), CASES_IN_ONE_MODEL):
                name = f"{family}-{opset}-{start}"
                yield name, write_model(alike[start : start + CASES_IN_ONE_MODEL], folder / f"{name}.onnx")


def write_model(cases: list[Case], path: Path) -> Path:
    onnx.save(build_model(cases, {one: expected_outputs(one) for one in cases}), path)
    return path


def network_models(only: str, everything: bool) -> Iterator[tuple[str, Path]]:
    for name, row in ROWS.items():
        if only in name and (everything or not row.slow):
            yield name, export(row).model


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--only", default="", metavar="NAME", help="models and families whose name contains it")
    parser.add_argument("--all", action="store_true", help="the slow ones as well")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="the first lines of each difference")
    parser.add_argument("--map", action="append", default=[], type=replacement, metavar="PATTERN=>TEXT")
    options = parser.parse_args()
    before, after = options.before.resolve(), options.after.resolve()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        networks = network_models(options.only, options.all)
        operators = operator_models(Path(folder), options.only, options.all)
        pending = [pool.submit(compare, before, after, options.map, *model) for model in chain(networks, operators)]
        comparisons = [one for future in pending for one in future.result()]
    different = [one for one in comparisons if one.difference]
    for one in different:
        print(f"different: {one.model}, {one.way}" + (f"\n{one.difference}" if options.show else ""))
    print(f"{len(comparisons) - len(different)} of {len(comparisons)} sources are equal")
    return 1 if different or not comparisons else 0


if __name__ == "__main__":
    sys.exit(main())
