"""Arguments that are arrays of numpy or tensors of PyTorch, which need not be installed."""

import sys
from typing import Any

import ml_dtypes
from numpy.typing import NDArray

from onnxc import arguments
from onnxc.errors import ArgumentError


def is_tensor(values: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def numbers(name: str, values: Any) -> NDArray[Any]:
    """The elements, real numbers, as an array on the host. A tensor of bfloat16, which numpy lacks, becomes float32."""
    if is_tensor(values):
        torch = sys.modules["torch"]
        tensor = values.detach().as_subclass(torch.Tensor).cpu()
        values = (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()
    array = arguments.array(name, values)
    if array.dtype.kind not in "biuf" and array.dtype != ml_dtypes.bfloat16:
        raise ArgumentError(f"{name}: elements of type {array.dtype} are not converted to float32")
    return array
