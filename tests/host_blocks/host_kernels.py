"""Small kernels on the host: compiled once a session, launched through ctypes or in a process of their own."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.onnxc_commands import REPOSITORY
from tools.host_blocks import asan_runtime

THREADS = 256
Array = NDArray[Any]


class HostKernels:
    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))

    def launch(self, name: str, blocks: int, *arguments: Array | int, shared_bytes: int = 0) -> None:
        """Arrays are passed by their addresses, numbers as int. `shared_bytes`: what the launch asks for."""
        values = [
            ctypes.c_int(value) if isinstance(value, int) else ctypes.c_void_p(value.ctypes.data) for value in arguments
        ]
        places = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        self.library.onnxc_host_launch(name.encode(), blocks, THREADS, shared_bytes, places)


def launch_apart(
    library: Path,
    name: str,
    *arguments: int,
    shared_bytes: int = 0,
    order: str = "forward",
    sanitized: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Launches one block with a place for THREADS floats and the arguments in a process, which may die of it, and
    prints the result."""
    environment = os.environ | {"ONNXC_HOST_ORDER": order, "ASAN_OPTIONS": "detect_leaks=0"}
    if sanitized:
        environment["LD_PRELOAD"] = asan_runtime()
    command = [sys.executable, "-m", __name__, str(library), str(shared_bytes), name, *map(str, arguments)]
    return subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True)


def main() -> None:
    library, shared_bytes, name, *arguments = sys.argv[1:]
    output = np.zeros(THREADS, np.float32)
    HostKernels(Path(library)).launch(name, 1, output, *map(int, arguments), shared_bytes=int(shared_bytes))
    print(json.dumps(output.tolist()))


if __name__ == "__main__":
    main()
