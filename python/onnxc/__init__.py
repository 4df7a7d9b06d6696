"""Compiles ONNX models to native code and runs them.

    import onnxc

    model = onnxc.compile("model.onnx")          # or onnxc.InferenceSession("model.so")
    [y] = model.run(None, {"x": x})

Sessions are used as onnxruntime's are. Running a model.so needs nothing but numpy and the file.
"""

from onnxc.compiler import compile
from onnxc.errors import CompileError, OnnxcError, RunError
from onnxc.session import InferenceSession, ValueInfo

__version__ = "0.1.0"
__all__ = ["CompileError", "InferenceSession", "OnnxcError", "RunError", "ValueInfo", "__version__", "compile"]
