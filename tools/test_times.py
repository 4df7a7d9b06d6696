"""The time of a test run: seconds by folder, and the longest files.

    python -m tools.test_times build/test-results/*.xml

The files are JUnit's, as pytest and ctest write them. Prints tables in Markdown, the longest first.
"""

import argparse
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

FOLDER_PARTS = 2  # tests.ops of tests.ops.vision.test_grid_sample
LONGEST_FILES = 30


def times_of(results: Path) -> Iterable[tuple[str, float]]:
    """The module, or the C++ suite, and the seconds of each test."""
    for case in ElementTree.parse(results).iter("testcase"):
        module = case.get("classname", "")
        if not module.startswith(("tests.", "lab.")):
            module = f"C++.{case.get('name', '').split('.')[0].split('/')[-1]}"
        yield module, float(case.get("time", "0"))


def longest(times: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(times.items(), key=lambda item: item[1], reverse=True)


def table(heading: str, times: Iterable[tuple[str, float]]) -> str:
    rows = [f"| {name} | {seconds:.1f} |" for name, seconds in times]
    return "\n".join([f"| {heading} | seconds |", "| --- | ---: |", *rows])


def report(files: Iterable[Path]) -> str:
    times: defaultdict[str, float] = defaultdict(float)
    for file in files:
        for module, seconds in times_of(file):
            times[module] += seconds
    folders: defaultdict[str, float] = defaultdict(float)
    for module, seconds in times.items():
        folders[".".join(module.split(".")[: 1 if module.startswith("C++") else FOLDER_PARTS])] += seconds
    return "\n\n".join(
        [
            f"{sum(times.values()):.0f} seconds of tests, in all processes together.",
            table("folder", longest(folders)),
            table("file or suite", longest(times)[:LONGEST_FILES]),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=Path)
    print(report(parser.parse_args().results))


if __name__ == "__main__":
    main()
