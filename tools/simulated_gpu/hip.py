"""A small HIP host program in Python: the simulator's libamdhip64 through ctypes, and kernels for it through clang."""

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.commands import SIMULATOR

LIBRARY = SIMULATOR
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
HIP_OPTIONS = (
    "-x hip --cuda-device-only --no-gpu-bundle-output --offload-arch=gfx942 -nogpulib -nogpuinc -O3 "
    "-D__global__=__attribute__((global)) -D__shared__=__attribute__((shared)) -D__device__=__attribute__((device))"
)
ASSEMBLY_OPTIONS = "-target amdgcn-amd-amdhsa -mcpu=gfx942 -x assembler"


class HipError(Exception):
    """A call that did not return hipSuccess."""

    def __init__(self, call: str, code: int, text: str) -> None:
        super().__init__(f"{call}: {text} ({code})")
        self.code = code


class Hip:
    """The library; `hip.hipMalloc(...)` calls and checks."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(LIBRARY))
        self.library.hipGetErrorString.restype = ctypes.c_char_p

    def __getattr__(self, name: str) -> Any:
        function = getattr(self.library, name)

        def checked(*arguments: Any) -> None:
            code = function(*arguments)
            if code != 0:
                raise HipError(name, code, self.library.hipGetErrorString(code).decode())

        return checked

    def allocate(self, size: int) -> ctypes.c_void_p:
        pointer = ctypes.c_void_p()
        self.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def upload(self, array: NDArray[Any]) -> ctypes.c_void_p:
        array = np.ascontiguousarray(array)
        pointer = self.allocate(array.nbytes)
        source = array.ctypes.data_as(ctypes.c_void_p)
        self.hipMemcpy(pointer, source, ctypes.c_size_t(array.nbytes), HOST_TO_DEVICE)
        return pointer

    def download(self, pointer: ctypes.c_void_p, like: NDArray[Any]) -> NDArray[Any]:
        result = np.empty_like(like)
        destination = result.ctypes.data_as(ctypes.c_void_p)
        self.hipMemcpy(destination, pointer, ctypes.c_size_t(result.nbytes), DEVICE_TO_HOST)
        return result

    def load(self, code_object: bytes) -> ctypes.c_void_p:
        module = ctypes.c_void_p()
        self.hipModuleLoadData(ctypes.byref(module), code_object)
        return module

    def launch(
        self, module: ctypes.c_void_p, kernel: str, grid: int, block: int, *arguments: Any, stream: Any = None
    ) -> None:
        function = ctypes.c_void_p()
        self.hipModuleGetFunction(ctypes.byref(function), module, kernel.encode())
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(argument) for argument in arguments])
        self.hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, pointers, None)


def compile_kernels(source: str, options: str, folder: Path) -> bytes:
    """A code object from HIP source or from assembly."""
    (folder / "kernels.txt").write_text(source)
    command: Sequence[str] = ["clang-19", *options.split(), "-o", "kernels.co", "kernels.txt"]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "kernels.co").read_bytes()
