"""The programs that run the suite's models: onnxc for each target, and its peers for comparison."""

from collections.abc import Callable, Sequence
from typing import Any

import onnx

from tests import onnxc_commands

# Gives the outputs for each list of inputs.
Run = Callable[[Sequence[Any]], Sequence[Any]]
Runner = Callable[[onnx.ModelProto], Run]


def on_cpu(model: onnx.ModelProto) -> Run:
    from onnxc import backend

    return backend.prepare(model, "CPU").run


def on_gpu(model: onnx.ModelProto) -> Run:
    """On the simulator: ONNXC_HIP_LIBRARY must name it."""
    from onnxc import backend

    return backend.prepare(model, "HIP").run


def by_onnxruntime(model: onnx.ModelProto) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    return lambda inputs: session.run(None, dict(zip(names, inputs, strict=True)))


def by_openvino(model: onnx.ModelProto) -> Run:
    import io

    import openvino

    core = openvino.Core()
    compiled = core.compile_model(core.read_model(io.BytesIO(model.SerializeToString())), "CPU")
    return lambda inputs: list(compiled(list(inputs)).values())


TARGETS: dict[str, Runner] = {"cpu": on_cpu, "gpu": on_gpu}
PEERS: dict[str, Runner] = {"onnxruntime": by_onnxruntime, "openvino": by_openvino}
SIMULATOR = str(onnxc_commands.SIMULATOR)
