"""Same input, same bytes: two compilers, the models of the tests, and the sources that both emit for each.

    python -m tests.ops.operator_models build/operators
    python -m tools.compare_sources BEFORE AFTER build/operators [--only NAME] [--all] [--jobs 2] [--show]
                                    [--map PATTERN=>TEXT ...]

BEFORE and AFTER are two onnxc commands, say of main and of a branch that only moves code. Each compiles every exported
test model, and every model in the folders named after them, for the CPU (x86-64-v3 and x86-64-v4) and for the GPU,
with --emit source. The emitted files must be equal but for the paths of included headers. Differences are listed, with
--show as diffs.

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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from models.export import export
from models.zoo import ROWS

WAYS = {
    "v3": ("--march", "x86-64-v3"),
    "v4": ("--march", "x86-64-v4"),
    "v4 -O0": ("--march", "x86-64-v4", "-O0"),
    "hip": ("--march", "x86-64-v3", "--target", "hip"),
}
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


def network_models(only: str, everything: bool) -> Iterator[tuple[str, Path]]:
    for name, row in ROWS.items():
        if only in name and (everything or not row.slow):
            yield name, export(row).model


def models_in(folders: Sequence[Path], only: str) -> Iterator[tuple[str, Path]]:
    for folder in folders:
        found = sorted(folder.glob("*.onnx"))
        if not found:
            raise SystemExit(f"{folder} has no .onnx file")
        yield from ((file.stem, file) for file in found if only in file.stem)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="of further models")
    parser.add_argument("--only", default="", metavar="NAME", help="models whose name contains it")
    parser.add_argument("--all", action="store_true", help="the slow ones as well")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="the first lines of each difference")
    parser.add_argument("--map", action="append", default=[], type=replacement, metavar="PATTERN=>TEXT")
    options = parser.parse_args()
    before, after = options.before.resolve(), options.after.resolve()
    models = chain(network_models(options.only, options.all), models_in(options.folders, options.only))
    with ThreadPoolExecutor(options.jobs) as pool:
        pending = [pool.submit(compare, before, after, options.map, *model) for model in models]
        comparisons = [one for future in pending for one in future.result()]
    different = [one for one in comparisons if one.difference]
    for one in different:
        print(f"different: {one.model}, {one.way}" + (f"\n{one.difference}" if options.show else ""))
    print(f"{len(comparisons) - len(different)} of {len(comparisons)} sources are equal")
    return 1 if different or not comparisons else 0


if __name__ == "__main__":
    sys.exit(main())
