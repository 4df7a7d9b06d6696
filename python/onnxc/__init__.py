"""Compiles ONNX models to native code and runs them.

    import onnxc

    model = onnxc.compile("model.onnx")          # or onnxc.InferenceSession("model.so")
    [y] = model.run(None, {"x": x})

    window = onnxc.SlidingWindow("model.so", roi_size=(96, 96, 96), overlap=0.5, mode="gaussian")
    segmentation = window(scan)                  # over a whole volume, as MONAI's SlidingWindowInferer

Sessions are used as onnxruntime's are. Running a model.so needs nothing but numpy and the file.
"""

from onnxc import nnunet
from onnxc.compatibility import (
    ExecutionMode,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
    get_available_providers,
    get_device,
)
from onnxc.compiler import compile
from onnxc.errors import CompileError, OnnxcError, RunError
from onnxc.session import InferenceSession, ValueInfo
from onnxc.sliding_window import SlidingWindow
from onnxc.version import VERSION as __version__

__all__ = [
    "CompileError",
    "ExecutionMode",
    "GraphOptimizationLevel",
    "InferenceSession",
    "OnnxcError",
    "RunError",
    "RunOptions",
    "SessionOptions",
    "SlidingWindow",
    "ValueInfo",
    "__version__",
    "compile",
    "get_available_providers",
    "get_device",
    "nnunet",
]
