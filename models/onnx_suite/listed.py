"""The tests of the suite that are known to fail, on which target: cannot.txt, with reasons, and not_yet.txt.

A line is a target and a test, such as "cpu node/abs"; a test that fails on the CPU is listed only for the CPU and fails
on the GPU too. In cannot.txt a comment before the lines says why they can never pass. not_yet.txt only shrinks.
"""

from collections.abc import Collection, Iterable
from pathlib import Path

FOLDER = Path(__file__).parent
CANNOT, NOT_YET = FOLDER / "cannot.txt", FOLDER / "not_yet.txt"

PROPERTY = "listed"  # of a test's report

Entry = tuple[str, str]  # target and test


def read(file: Path) -> dict[Entry, str]:
    """The entries of a list, each with the comment above it."""
    entries: dict[Entry, str] = {}
    reason: list[str] = []
    after_entry = False
    for line in file.read_text().splitlines():
        if line.startswith("#"):
            reason = [*([] if after_entry else reason), line.lstrip("# ")]
            after_entry = False
        elif line.strip():
            target, test = line.split()
            if (target, test) in entries:
                raise ValueError(f"{file.name} has '{line}' twice")
            entries[target, test] = " ".join(reason)
            after_entry = True
    return entries


def is_listed(listed: Collection[Entry], target: str, test: str) -> bool:
    return (target, test) in listed or ("cpu", test) in listed


def remove(file: Path, entries: Iterable[Entry]) -> None:
    gone = {" ".join(entry) for entry in entries}
    file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if line.strip() not in gone))
