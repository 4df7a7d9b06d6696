"""Compiles ONNX models to native code and runs them.

    import onnxc

    model = onnxc.compile("model.onnx")          # or onnxc.InferenceSession("model.so")
    [y] = model.run(None, {"x": x})

    window = onnxc.SlidingWindow("model.so", roi_size=(96, 96, 96), overlap=0.5, mode="gaussian")
    segmentation = window(scan)                  # over a whole volume, as MONAI's SlidingWindowInferer

Sessions are used as onnxruntime's are. Running a model.so needs nothing but numpy and the file. Tensors of PyTorch and
others, on the host or on a GPU, are taken and given without a copy by `model.run_tensors`.
"""

from onnxc import nnunet, ray, video
from onnxc.command import ep_path
from onnxc.compatibility import (
    ExecutionMode,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
    get_available_providers,
    get_device,
)
from onnxc.compiler import compile
from onnxc.errors import ArgumentError, CompileError, OnnxcError, RunError
from onnxc.session import InferenceSession, ValueInfo
from onnxc.sliding_window import SlidingWindow
from onnxc.tensor import Tensor
from onnxc.version import VERSION as __version__

__all__ = [
    "ArgumentError",
    "CompileError",
    "ExecutionMode",
    "GraphOptimizationLevel",
    "InferenceSession",
    "OnnxcError",
    "RunError",
    "RunOptions",
    "SessionOptions",
    "SlidingWindow",
    "Tensor",
    "ValueInfo",
    "__version__",
    "compile",
    "ep_path",
    "get_available_providers",
    "get_device",
    "nnunet",
    "ray",
    "video",
]
