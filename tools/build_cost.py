"""The CPU seconds of a build from nothing: each unit is compiled again without a cache, and nothing is kept.

    python -m tools.build_cost build                        every unit, as `scripts/build.sh release` builds them
    python -m tools.build_cost build --target onnxc         what a target needs
    python -m tools.build_cost build-asan --every 8         a sample, from which the sum is estimated
    python -m tools.build_cost build --against OTHER/build  the same units of another checkout, in turns

The folders must be configured. CPU seconds grow with the load of the machine too: two checkouts are compared in turns.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import zlib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

LONGEST = 20
FOLDER_PARTS = 2  # src/ops of src/ops/vision/roi.cpp


@dataclass(frozen=True)
class Unit:
    folder: Path
    words: tuple[str, ...]
    output: str
    source: Path

    @property
    def is_precompiled(self) -> bool:
        return "cmake_pch" in self.source.name

    def sampled(self, every: int) -> bool:
        return self.is_precompiled or zlib.crc32(self.output.encode()) % every == 0

    def seconds(self) -> float:
        """User and system time of one compile. Precompiled headers are kept: the other units read them."""
        words = list(self.words)
        at = words.index("-o") + 1
        if self.is_precompiled:
            (self.folder / words[at]).parent.mkdir(parents=True, exist_ok=True)
        else:
            words[at] = os.devnull
        process = subprocess.Popen(words, cwd=self.folder)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{self.source}: does not compile")
        return usage.ru_utime + usage.ru_stime


def target_outputs(build: Path, targets: list[str]) -> set[Path]:
    """The files that ninja makes for these targets."""
    command = ["ninja", "-C", str(build), "-t", "inputs", *targets]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {(build / line.strip()).resolve() for line in lines}


def read_units(build: Path, targets: list[str]) -> dict[str, Unit]:
    build = build.resolve()
    units = [
        Unit(Path(row["directory"]), tuple(shlex.split(row["command"])), row["output"], Path(row["file"]))
        for row in json.loads((build / "compile_commands.json").read_text())
    ]
    if targets:
        wanted = target_outputs(build, targets)
        units = [unit for unit in units if (build / unit.output).resolve() in wanted]
    return {unit.output: unit for unit in sorted(units, key=lambda unit: not unit.is_precompiled)}


def folder_of(unit: Unit, build: Path) -> str:
    if unit.is_precompiled:
        return "precompiled headers"
    source = unit.source.resolve().relative_to(build.resolve().parent)
    return "/".join(source.parent.parts[:FOLDER_PARTS])


def report(build: Path, units: dict[str, Unit], seconds: dict[str, float]) -> None:
    """Tables by folder and by unit, and the sum, with each folder's mean for the units that were not sampled."""
    counts: defaultdict[str, int] = defaultdict(int)
    measured: defaultdict[str, list[float]] = defaultdict(list)
    for output, unit in units.items():
        counts[folder_of(unit, build)] += 1
        if output in seconds:
            measured[folder_of(unit, build)].append(seconds[output])
    mean = sum(seconds.values()) / max(1, len(seconds))
    sums = {
        folder: count * (sum(measured[folder]) / len(measured[folder]) if measured[folder] else mean)
        for folder, count in counts.items()
    }
    print(f"{build}: {sum(sums.values()):.0f} CPU seconds of {len(units)} units, {len(seconds)} of them measured")
    for folder, total in sorted(sums.items(), key=lambda item: -item[1]):
        print(f"{total:9.1f}  {counts[folder]:4}  {folder}")
    for output, value in sorted(seconds.items(), key=lambda item: -item[1])[:LONGEST]:
        print(f"{value:9.2f}  {output}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--target", action="append", default=[], help="only what this target needs; may be repeated")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="measure one unit of N")
    parser.add_argument("--against", type=Path, metavar="BUILD", help="another checkout's build folder")
    options = parser.parse_args()
    builds = [folder for folder in (options.build, options.against) if folder]
    all_units = [read_units(folder, options.target) for folder in builds]
    seconds: list[dict[str, float]] = [{} for _ in builds]
    names = {output for units in all_units for output, unit in units.items() if unit.sampled(options.every)}
    for output in sorted(names, key=lambda name: ("cmake_pch" not in name, name)):
        for units, times in zip(all_units, seconds, strict=True):
            if output in units:
                times[output] = units[output].seconds()
    for folder, units, times in zip(builds, all_units, seconds, strict=True):
        report(folder, units, times)


if __name__ == "__main__":
    main()
