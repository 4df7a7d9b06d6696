"""Results as lines of JSON, each on disk before the next begins: a run that is killed keeps what it has."""

import json
import os
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FILE = "results.jsonl"

# A result was checked; a time or a fact, without an opinion; no result.
RIGHT, WRONG, MEASURED, FAILED = "right", "wrong", "measured", "failed"


@dataclass(frozen=True)
class Result:
    """One thing that the check found.

    part: of the check.
    name: of the model, network or layer.
    kind: of products.
    what: the way it ran, such as "poisoned" or "torch eager".
    status: one of the four above.
    text: why, if it is wrong or failed.
    values: numbers.
    """

    part: str
    name: str
    kind: str
    what: str
    status: str
    text: str = ""
    values: dict[str, Any] = field(default_factory=dict)


class Results:
    """Appends to the file of a folder, from several threads."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / FILE
        self._lock = threading.Lock()

    def add(self, result: Result) -> None:
        line = json.dumps(asdict(result)) + "\n"
        with self._lock, self.file.open("a") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())


def read(folder: Path) -> list[Result]:
    """The last result of each thing; a line that was cut off by the end of a process is left out."""
    found: dict[tuple[str, str, str, str], Result] = {}
    file = folder / FILE
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            result = Result(**json.loads(line))
        except (ValueError, TypeError):
            continue
        found[result.part, result.name, result.kind, result.what] = result
    return list(found.values())
