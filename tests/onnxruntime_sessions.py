"""onnxruntime, as the tests use it."""

from pathlib import Path

import onnx
import onnxruntime

FATAL = 4


def open_session(
    model: Path | onnx.ModelProto, *, optimized: bool = True, threads: int = 0
) -> onnxruntime.InferenceSession:
    """A session on the CPU that logs nothing. Its threads do not spin while they wait: tests share their machine."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    content = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
