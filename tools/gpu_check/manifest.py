"""The contents of a bundle, as its manifest.json says them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FILE = "manifest.json"
TESTS = "tests.tar.xz"
# The folders of the models in the archives: some networks to time have the names of test models.
TESTED, TIMED = "tests", "networks"


@dataclass(frozen=True)
class Value:
    """An input or an expected output: an array in a .npy file of the folder of its model.

    dtype: PyTorch's name of the type that the model has. bfloat16 lies in the file as 16-bit integers, or, expected, as
    float32.
    stride: the file has every stride-th element of the output (comparison.py)."""

    name: str
    file: str
    dtype: str
    shape: Sequence[int]
    stride: int = 1


@dataclass(frozen=True)
class Case:
    inputs: Sequence[Value]
    outputs: Sequence[Value]


@dataclass(frozen=True)
class CheckedModel:
    """tolerances: by product kind; each of these is compiled."""

    name: str
    cases: Sequence[Case]
    tolerances: Mapping[str, float]


@dataclass(frozen=True)
class TimedNetwork:
    name: str
    input: str
    output: str
    tolerances: Mapping[str, float]


@dataclass(frozen=True)
class Scan:
    """A volume of these dims in windows; `network` takes `batch` of them a run."""

    network: str
    dims: Sequence[int]
    window: Sequence[int]
    batch: int
    overlap: float = 0.5


@dataclass(frozen=True)
class Manifest:
    target: str
    compiler: str
    models: Sequence[CheckedModel]
    networks: Sequence[TimedNetwork]
    scan: Scan | None

    def model(self, name: str) -> CheckedModel:
        return next(each for each in self.models if each.name == name)

    def network(self, name: str) -> TimedNetwork:
        return next(each for each in self.networks if each.name == name)


def write(manifest: Manifest, folder: Path) -> None:
    (folder / FILE).write_text(json.dumps(asdict(manifest), indent=1) + "\n")


def read(folder: Path) -> Manifest:
    content: dict[str, Any] = json.loads((folder / FILE).read_text())
    models = [
        CheckedModel(each["name"], [case_of(run) for run in each["cases"]], each["tolerances"])
        for each in content["models"]
    ]
    networks = [TimedNetwork(**each) for each in content["networks"]]
    scan = Scan(**content["scan"]) if content["scan"] else None
    return Manifest(content["target"], content["compiler"], models, networks, scan)


def case_of(content: Mapping[str, Any]) -> Case:
    return Case([Value(**each) for each in content["inputs"]], [Value(**each) for each in content["outputs"]])
