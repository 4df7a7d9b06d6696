"""The kernels of a GPU program as a shared object of the host (block.h): their very source, compiled as C++.

The stand-in for NVIDIA's driver launches them (CUDA_STAND_IN_KERNELS). Those for AMD's RDNA, whose wavefronts are as
wide, run by themselves.
"""

import os
import re
import shlex
import subprocess
from pathlib import Path

from tools.commands import REPOSITORY

FOLDER = Path(__file__).parent
COMPILER = "clang++-19"
# Halves are rounded after each operation, as NVIDIA's instructions do.
OPTIONS = shlex.split(
    "-std=c++20 -O1 -g1 -fPIC -w -ffp-contract=on -fno-exceptions -fno-strict-aliasing "
    "-march=x86-64-v3 -Xclang -ffloat16-excess-precision=none"
)
ON_NVIDIA = "-D__NVPTX__"
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-shared-libsan"]
SOURCES = [
    f"{name}.cpp" for name in ("async_copy", "block", "block_memory", "fibre", "libclc", "matrix", "warpgroup", "wmma")
]
KERNEL = re.compile(r"__global__ .*?\bvoid (\w+)\(")


def kernel_names(source: str) -> list[str]:
    return KERNEL.findall(source)


def launch_table(source: Path, folder: Path) -> str:
    """For a file in `folder`: the source, and the function by which the stand-in launches its kernels."""
    rows = ", ".join(
        f'{{"{name}", &HostKernel<&onnxc::kernels::{name}>::launch}}' for name in kernel_names(source.read_text())
    )
    rows = rows or '{"", nullptr}'  # a source that runs its blocks itself
    return f"""#include "{os.path.relpath(source.resolve(), folder.resolve())}"
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
    table = output.with_name(f"{output.stem}_table.cpp")
    table.write_text(launch_table(source, table.parent))
    includes = [folder for folder in (FOLDER, FOLDER / "include", headers, REPOSITORY / "src") if folder]
    compiler = [COMPILER, *OPTIONS, *([ON_NVIDIA] if gpu.startswith("sm_") else []), *(SANITIZERS if sanitize else [])]
    objects = []
    for each in (table.resolve(), *(FOLDER / name for name in SOURCES)):
        objects.append(str(output.resolve().with_name(f"{output.stem}_{each.stem}.o")))
        words = [f"-DONNXC_GPU={gpu}", *(f"-I{folder}" for folder in includes), f"-include{FOLDER / 'intrinsics.h'}"]
        subprocess.run([*compiler, *words, "-c", str(each), "-o", objects[-1]], check=True)
    subprocess.run([*compiler, "-shared", *objects, "-o", str(output)], check=True)


def asan_runtime() -> str:
    """The library that LD_PRELOAD must name if the kernels are sanitized."""
    command = [COMPILER, "-print-file-name=libclang_rt.asan-x86_64.so"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return found.stdout.strip()
