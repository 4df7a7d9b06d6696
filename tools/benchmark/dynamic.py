"""The cost of leaving dims open: one model.so for all sizes beside one that was compiled for the size it runs.

That size is the one of the network's static export.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import onnxc
from models.zoo import ROWS
from tools.benchmark.engine import random_feeds
from tools.benchmark.measurement import Compiled, compile_model
from tools.benchmark.turns import Contestant, Plan, Result, take_turns

# The dynamic exports, and the network whose size they run.
NETWORKS = {"unet3d_dynamic": "unet3d", "r3d_18_dynamic": "r3d_18", "x3d_s_dynamic": "x3d_s"}


@dataclass(frozen=True)
class Cost:
    """open, bound: the compiles with symbolic dims and with their values, and by number of threads what they reach."""

    model: str
    symbols: dict[str, int]
    open: Compiled
    bound: Compiled
    open_results: dict[int, Result]
    bound_results: dict[int, Result]


def symbols_of(shared_object: Path, folder: Path, dims: Sequence[int]) -> dict[str, int]:
    """The values that the symbols of a model take with an input of these dims."""
    with onnxc.InferenceSession(shared_object) as session:
        session.run(None, random_feeds(folder, dims))
        return session.symbol_values()


def measure(folder: Path, plan: Plan, output: Path) -> Cost:
    """Raises subprocess.CalledProcessError when the model does not compile."""
    models = output / "models"
    models.mkdir(parents=True, exist_ok=True)
    opened = compile_model(folder, models / f"{folder.name}.so")
    [dims] = ROWS[NETWORKS[folder.name]].inputs
    assert isinstance(dims, tuple)
    symbols = symbols_of(opened.shared_object, folder, dims)
    options = [word for name, value in symbols.items() for word in ("--dim", f"{name}={value}")]
    bound = compile_model(folder, models / f"{folder.name}-bound.so", tuple(options))
    size = ("--dims", *map(str, dims))
    contestants = [
        Contestant(name, "onnxc", ("--shared-object", str(compiled.shared_object), *size))
        for name, compiled in (("open", opened), ("bound", bound))
    ]
    results = take_turns(folder, contestants, plan)
    by_name = {name: {threads: row[name] for threads, row in results.items()} for name in ("open", "bound")}
    return Cost(folder.name, symbols, opened, bound, by_name["open"], by_name["bound"])


def table(costs: Sequence[Cost]) -> str:
    lines = ["| dims left open | threads | open ms | bound ms | time | .so |", "| - | - | - | - | - | - |"]
    for cost in costs:
        size = cost.open.bytes / cost.bound.bytes
        for threads, opened in cost.open_results.items():
            bound = cost.bound_results[threads]
            if "error" in opened or "error" in bound:
                lines.append(f"| {cost.model} | {threads} | {opened.get('error', '')} | {bound.get('error', '')} | | |")
                continue
            times = opened["minimum_ms"], bound["minimum_ms"]
            lines.append(
                f"| {cost.model} | {threads} | {times[0]:.1f} | {times[1]:.1f} | {times[0] / times[1]:.3f}x "
                f"| {size:.3f}x |"
            )
    return "\n".join(lines)
