"""The results that a benchmark has measured so far, as results.json holds them: saved after each model, and read again
to go on."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tools.benchmark.dynamic import Cost
from tools.benchmark.layers import Layer, Profile
from tools.benchmark.measurement import Compiled, ModelResults
from tools.benchmark.turns import Result

FILE = "results.json"


@dataclass
class Record:
    """models and dynamic: in the order of measurement. profiles: by number of threads and name of the model."""

    machine: dict[str, str]
    models: list[ModelResults] = field(default_factory=list)
    dynamic: list[Cost] = field(default_factory=list)
    profiles: dict[int, dict[str, Profile]] = field(default_factory=dict)

    def add(self, results: ModelResults, profiles: dict[int, Profile]) -> None:
        """In the place of what an earlier run measured of the same model on as many threads."""
        earlier = next((entry for entry in self.models if entry.model == results.model), None)
        if earlier is not None:
            results.threads = dict(sorted((earlier.threads | results.threads).items()))
        replace_or_append(self.models, results)
        for threads, profile in profiles.items():
            self.profiles.setdefault(threads, {})[results.model] = profile

    def add_dynamic(self, cost: Cost) -> None:
        replace_or_append(self.dynamic, cost)

    def save(self, folder: Path) -> None:
        """Whole or not at all: a run that is cut off leaves what it had."""
        partial = folder / (FILE + ".partial")
        partial.write_text(json.dumps(dataclasses.asdict(self), indent=1, default=str))
        partial.rename(folder / FILE)


Entry = TypeVar("Entry", ModelResults, Cost)


def replace_or_append(entries: list[Entry], new: Entry) -> None:
    for index, entry in enumerate(entries):
        if entry.model == new.model:
            entries[index] = new
            return
    entries.append(new)


def by_threads(content: dict[str, Any]) -> dict[int, Any]:
    return {int(threads): value for threads, value in content.items()}


def read_compiled(content: dict[str, Any]) -> Compiled:
    paths = {key: Path(content[key]) for key in ("model", "shared_object")}
    return Compiled(**{**content, **paths})


def read_model(content: dict[str, Any]) -> ModelResults:
    compiled = read_compiled(content["compiled"]) if content["compiled"] else None
    threads: dict[int, dict[str, Result]] = by_threads(content["threads"])
    return ModelResults(content["model"], compiled, content["compile_error"], threads)


def read_cost(content: dict[str, Any]) -> Cost:
    opened, bound = read_compiled(content["open"]), read_compiled(content["bound"])
    opened_results, bound_results = by_threads(content["open_results"]), by_threads(content["bound_results"])
    return Cost(content["model"], content["symbols"], opened, bound, opened_results, bound_results)


def read_profile(content: dict[str, Any]) -> Profile:
    return Profile(**{**content, "layers": [Layer(**layer) for layer in content["layers"]]})


def load(folder: Path) -> Record | None:
    """The record that an earlier run saved in the folder, or None."""
    if not (folder / FILE).exists():
        return None
    content = json.loads((folder / FILE).read_text())
    profiles = {
        threads: {model: read_profile(profile) for model, profile in row.items()}
        for threads, row in by_threads(content["profiles"]).items()
    }
    models = [read_model(model) for model in content["models"]]
    return Record(content["machine"], models, [read_cost(cost) for cost in content["dynamic"]], profiles)
