"""Models for the tests of the provider, and sessions that run them with it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import onnxc
from tests.onnxruntime_sessions import open_session

Array = NDArray[Any]
PROVIDER = "OnnxcExecutionProvider"
CPU = "CPUExecutionProvider"
FLOAT = TensorProto.FLOAT
_WARNING = 2


def register() -> None:
    """Makes onnxc known to onnxruntime, once in a process."""
    if not any(device.ep_name == PROVIDER for device in onnxruntime.get_ep_devices()):
        onnxruntime.register_execution_provider_library("onnxc", onnxc.ep_path())


def open_with_onnxc(
    model: onnx.ModelProto | Path,
    *,
    options: Mapping[str, str] | None = None,
    entries: Mapping[str, str] | None = None,
    threads: int = 2,
    profile: Path | None = None,
    all_of_it: bool = False,
) -> onnxruntime.InferenceSession:
    """all_of_it: a session that would leave a node to another provider is refused."""
    register()
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = _WARNING
    settings.intra_op_num_threads = threads
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    for key, value in (entries or {}).items():
        settings.add_session_config_entry(key, value)
    if all_of_it:
        settings.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    if profile:
        settings.enable_profiling = True
        settings.profile_file_prefix = str(profile)
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER]
    settings.add_provider_for_devices(devices, dict(options or {}))
    content = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
    return onnxruntime.InferenceSession(content, settings)


def run_on_cpu(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """The results of onnxruntime's own provider."""
    return list(open_session(model).run(None, dict(inputs)))


def operators_by_provider(session: onnxruntime.InferenceSession) -> dict[str, list[str]]:
    """For a session with a profile: the operators that each provider ran."""
    found: dict[str, list[str]] = {}
    for event in json.loads(Path(session.end_profiling()).read_text()):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            found.setdefault(event["args"]["provider"], []).append(event["args"]["op_name"])
    return found


def compare(session: onnxruntime.InferenceSession, model: onnx.ModelProto, inputs: Mapping[str, Array]) -> None:
    """The session gives what the CPU provider does, within float32's roundings of another order of sums."""
    for found, expected in zip(session.run(None, dict(inputs)), run_on_cpu(model, inputs), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4 * np.abs(expected).max(initial=1e-3))


def make(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, tuple[int, Sequence[int | str | None]]],
    outputs: Mapping[str, tuple[int, Sequence[int | str | None]]],
    constants: Mapping[str, Array] | None = None,
) -> onnx.ModelProto:
    """A model: inputs and outputs by name, as their element type and dims."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, *type_and_dims) for name, type_and_dims in inputs.items()],
        [helper.make_tensor_value_info(name, *type_and_dims) for name, type_and_dims in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def random_array(seed: int, *dims: int) -> Array:
    return np.random.default_rng(seed).standard_normal(dims).astype(np.float32)


def residual_network() -> onnx.ModelProto:
    """Video in, scores out, as R3D in small: a stem, a block with its shortcut, pooling, a linear layer."""
    node = helper.make_node
    return make(
        [
            node("Conv", ["x", "w0", "b0"], ["a"], name="stem", strides=[1, 2, 2], pads=[1, 3, 3, 1, 3, 3]),
            node("Relu", ["a"], ["b"]),
            node("Conv", ["b", "w1"], ["c"], pads=[1] * 6),
            node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["d"]),
            node("Relu", ["d"], ["e"]),
            node("Conv", ["e", "w2"], ["f"], pads=[1] * 6),
            node("Add", ["f", "b"], ["g"]),
            node("Relu", ["g"], ["h"]),
            node("GlobalAveragePool", ["h"], ["i"]),
            node("Flatten", ["i"], ["j"]),
            node("Gemm", ["j", "w3", "b3"], ["y"], transB=1),
        ],
        {"x": (FLOAT, ["N", 3, "D", "H", "W"])},
        {"y": (FLOAT, ["N", 10])},
        {
            "w0": random_array(0, 16, 3, 3, 7, 7) / 20,
            "b0": random_array(1, 16),
            "w1": random_array(2, 16, 16, 3, 3, 3) / 20,
            "scale": random_array(3, 16),
            "shift": random_array(4, 16),
            "mean": random_array(5, 16),
            "variance": np.abs(random_array(6, 16)) + 1,
            "w2": random_array(7, 16, 16, 3, 3, 3) / 20,
            "w3": random_array(8, 10, 16),
            "b3": random_array(9, 10),
        },
    )
