"""A test model in one product kind, in every way in which a program may run it, against PyTorch's values."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch

from onnxc import OnnxcError
from tools.gpu_check.comparison import expected, mismatch
from tools.gpu_check.devices import Cpu, Device
from tools.gpu_check.engine import Engine, Tensors, loaded, type_of, unwritten
from tools.gpu_check.manifest import Case, CheckedModel
from tools.gpu_check.results import FAILED, MEASURED, RIGHT, WRONG, Result
from tools.gpu_check.target import Target

PART = "correctness"
HOST = Cpu()

Way = Callable[["Checked", Case], dict[str, torch.Tensor]]


class Checked:
    """A model in one product kind. folder: of its files, unpacked."""

    def __init__(self, model: CheckedModel, kind: str, folder: Path, target: Target, device: Device) -> None:
        self.model, self.kind, self.folder = model, kind, folder
        self.target, self.device = target, device
        self.tolerance = model.tolerances[kind]
        self.host_decides = False
        """Set by the graph: sizes or conditions depend on data, so that no graph holds a run."""

    def engine(self, *, is_graph: bool = False, is_poisoned: bool = False) -> Engine:
        model = self.folder / f"{self.kind}.so"
        return Engine(model, self.target, self.device, is_graph=is_graph, is_poisoned=is_poisoned)

    def fault(self, case: Case, results: Tensors) -> tuple[str, float]:
        """The first output that is wrong, and the largest error."""
        right = expected(case.outputs, self.folder)
        faults, largest = [], 0.0
        for each in case.outputs:
            text, error = mismatch(results[each.name], right[each.name], type_of(each), self.tolerance)
            largest = max(largest, error)
            if text:
                faults.append(f"output {each.name!r}: {text}")
        return "; ".join(faults[:2]), largest


def plain(checked: Checked, case: Case) -> dict[str, torch.Tensor]:
    """Twice, into outputs of the runtime's: equal to the bit."""
    engine = checked.engine()
    inputs = loaded(case.inputs, checked.folder, checked.device)
    first = {name: each.clone() for name, each in engine.run(inputs).items()}
    for name, each in engine.run(inputs).items():
        if not torch.equal(torch.nan_to_num(each), torch.nan_to_num(first[name])):
            raise OnnxcError(f"output {name!r}: two runs differ")
    return first


def poisoned(checked: Checked, case: Case) -> dict[str, torch.Tensor]:
    """Memory holds NaN before the run."""
    return into_given(checked, case, checked.engine(is_poisoned=True))


def graph(checked: Checked, case: Case) -> dict[str, torch.Tensor]:
    """The second run is a launch of what the first one captured."""
    engine = checked.engine(is_graph=True)
    into_given(checked, case, engine)
    results = into_given(checked, case, engine)
    checked.host_decides = engine.is_on_gpu and engine.session.captured_graphs == 0
    return results


def stream(checked: Checked, case: Case) -> dict[str, torch.Tensor]:
    """Enqueued after work that makes its inputs, and before work that reads its outputs."""
    engine = checked.engine()
    with checked.device.stream():
        inputs = {name: remade(each) for name, each in loaded(case.inputs, checked.folder, checked.device).items()}
        outputs = unwritten(case.outputs, checked.device)
        engine.run(inputs, outputs, wait=False)
        read = {name: each.clone() for name, each in outputs.items()}
    return read


def capture(checked: Checked, case: Case) -> dict[str, torch.Tensor]:
    """A part of a graph of PyTorch's, replayed on other values than it was captured with."""
    engine = checked.engine()
    inputs = loaded(case.inputs, checked.folder, checked.device)
    outputs = unwritten(case.outputs, checked.device)
    engine.run(inputs, outputs)
    given = {name: each.clone() for name, each in inputs.items()}
    replay = checked.device.capture(lambda: engine.run(given, outputs, wait=False))
    for name, each in inputs.items():
        given[name].zero_()
        given[name].copy_(each)
    for name, each in unwritten(case.outputs, checked.device).items():
        outputs[name].copy_(each)
    replay()
    checked.device.synchronize()
    return outputs


def from_host(checked: Checked, case: Case) -> dict[str, torch.Tensor]:
    """Values of the host, in and out."""
    engine = checked.engine()
    inputs = loaded(case.inputs, checked.folder, HOST)
    outputs = unwritten(case.outputs, HOST)
    return engine.run(inputs, outputs)


def unaligned(checked: Checked, case: Case) -> dict[str, torch.Tensor]:
    """Inputs that begin one element after a multiple of 16 bytes, as a slice may."""
    engine = checked.engine()
    inputs = {}
    for name, each in loaded(case.inputs, checked.folder, checked.device).items():
        longer = torch.zeros(each.numel() + 1, dtype=each.dtype, device=each.device)
        inputs[name] = longer[1:].view(each.shape).copy_(each)
    outputs = unwritten(case.outputs, checked.device)
    return engine.run(inputs, outputs)


def into_given(checked: Checked, case: Case, engine: Engine) -> dict[str, torch.Tensor]:
    inputs = loaded(case.inputs, checked.folder, checked.device)
    outputs = unwritten(case.outputs, checked.device)
    return engine.run(inputs, outputs)


def remade(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, by work in the current stream."""
    return (tensor * 0.5) * 2 if tensor.is_floating_point() else tensor + 0


WAYS: Mapping[str, Way] = {
    "plain": plain, "poisoned": poisoned, "graph": graph, "stream": stream, "capture": capture,
    "host": from_host, "unaligned": unaligned,
}  # fmt: skip


def check(checked: Checked) -> Iterator[Result]:
    for name, way in WAYS.items():
        yield one_way(checked, name, way)


def one_way(checked: Checked, name: str, way: Way) -> Result:
    """All runs of the model in one way."""
    largest = 0.0
    for index, case in enumerate(checked.model.cases):
        try:
            text, error = checked.fault(case, way(checked, case))
        except Exception as failure:
            if name == "capture" and checked.host_decides and isinstance(failure, OnnxcError):
                return made(checked, name, MEASURED, "refused, as it must: the host decides")
            wrong = isinstance(failure, OnnxcError) and "two runs differ" in str(failure)
            return made(checked, name, WRONG if wrong else FAILED, f"{type(failure).__name__}: {failure}")
        if text:
            return made(checked, name, WRONG, f"run {index}: {text}", error)
        largest = max(largest, error)
    text = "no graph: the host decides" if name == "graph" and checked.host_decides else ""
    return made(checked, name, RIGHT, text, largest)


def made(checked: Checked, way: str, status: str, text: str, error: float = 0.0) -> Result:
    values = {"error": error, "tolerance": checked.tolerance}
    return Result(PART, checked.model.name, checked.kind, way, status, text, values)
