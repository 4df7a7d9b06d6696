"""The cost of a shape that a session meets for the first time: its first run, and the one after it.

Nothing is compiled for a shape: the runtime plans memory, and asks the driver for more of it if it has to. The first
case of a model is run before, since a session's very first run also waits for the weights."""

import time
from collections.abc import Callable, Iterator

from tools.gpu_check.correctness import Checked
from tools.gpu_check.engine import Tensors, loaded, unwritten
from tools.gpu_check.manifest import Case
from tools.gpu_check.results import MEASURED, Result

PART = "shapes"
GOAL_MS = 50  # beyond the time of the second run


def check(checked: Checked) -> Iterator[Result]:
    engine = checked.engine()
    runs = [Run(checked, case) for case in checked.model.cases]
    for _ in range(2):
        runs[0].milliseconds(engine.run)
    for run in runs[1:]:
        first, second = run.milliseconds(engine.run), run.milliseconds(engine.run)
        values = {"first_ms": first, "second_ms": second, "beyond_ms": first - second}
        yield Result(PART, checked.model.name, checked.kind, f"shape {run.shape}", MEASURED, "", values)
    engine.close()


class Run:
    """A case whose inputs and outputs are on the device, so that only a run is timed."""

    def __init__(self, checked: Checked, case: Case) -> None:
        self.device = checked.device
        self.inputs = loaded(case.inputs, checked.folder, checked.device)
        self.outputs = unwritten(case.outputs, checked.device)
        self.shape = " ".join("x".join(map(str, each.shape)) for each in self.inputs.values())

    def milliseconds(self, run: Callable[[Tensors, Tensors], object]) -> float:
        self.device.synchronize()
        start = time.perf_counter()
        run(self.inputs, self.outputs)
        self.device.synchronize()
        return 1e3 * (time.perf_counter() - start)
