"""The kernels of a GPU program as a shared object of the host (block.h): their very source, compiled as C++.

The stand-in for NVIDIA's driver launches them (CUDA_STAND_IN_KERNELS).
"""

import re
import shlex
import subprocess
from pathlib import Path

from tools.commands import REPOSITORY

FOLDER = Path(__file__).parent
COMPILER = "clang++-19"
# Halves are rounded after each operation, as NVIDIA's instructions do.
OPTIONS = shlex.split(
    "-x c++ -std=c++20 -O1 -g1 -fPIC -shared -w -ffp-contract=on -fno-exceptions -fno-strict-aliasing "
    "-march=x86-64-v3 -Xclang -ffloat16-excess-precision=none -D__NVPTX__"
)
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-shared-libsan"]
SOURCES = [f"{name}.cpp" for name in ("async_copy", "block", "block_memory", "fibre", "libclc", "matrix", "warpgroup")]
KERNEL = re.compile(r"__global__ .*?\bvoid (\w+)\(")


def kernel_names(source: str) -> list[str]:
    return KERNEL.findall(source)


def launch_table(source: Path) -> str:
    """The source, and the function by which the stand-in launches its kernels."""
    rows = ", ".join(
        f'{{"{name}", &HostKernel<&onnxc::kernels::{name}>::launch}}' for name in kernel_names(source.read_text())
    )
    rows = rows or '{"", nullptr}'  # a source that runs its blocks itself
    return f"""#include "{source.resolve()}"
#include "launch.h"

using namespace onnxc::host_blocks;
extern "C" void onnxc_host_launch(const char* kernel, uint32_t blocks, uint32_t threads, uint32_t launch_bytes,
                                  void** arguments) {{
  static constexpr KernelRow rows[] = {{{rows}}};
  launch_by_name(rows, kernel, blocks, threads, launch_bytes, arguments);
}}
"""


def build_kernels(source: Path, gpu: str, output: Path, *, sanitize: bool = False, headers: Path | None = None) -> None:
    """Compiles the device source that `onnxc --emit source --gpu-arch GPU` writes. Raises CalledProcessError.

    If `sanitize`, accesses are checked, and a process that loads the result needs asan_runtime() in LD_PRELOAD.
    Headers in the folder `headers` stand in for those of src/.
    """
    table = output.with_suffix(".cpp")
    table.write_text(launch_table(source))
    command = [
        COMPILER,
        *OPTIONS,
        *(SANITIZERS if sanitize else []),
        f"-DONNXC_GPU={gpu}",
        *[f"-I{folder}" for folder in (FOLDER, FOLDER / "include", headers, REPOSITORY / "src") if folder],
        *["-include", str(FOLDER / "intrinsics.h")],
        str(table),
        *[str(FOLDER / name) for name in SOURCES],
        *["-o", str(output)],
    ]
    subprocess.run(command, check=True)


def asan_runtime() -> str:
    """The library that LD_PRELOAD must name if the kernels are sanitized."""
    command = [COMPILER, "-print-file-name=libclang_rt.asan-x86_64.so"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return found.stdout.strip()
