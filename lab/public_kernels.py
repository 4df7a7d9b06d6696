"""Kernels of others with times that they published of an MI300X or MI325X, beside what gfx942sim's model makes of them.

    python -m lab.public_kernels --babelstream CHECKOUT --hipkittens CHECKOUT --include DIR

CHECKOUT is a clone of github.com/UoB-HPC/BabelStream, and of github.com/HazyResearch/HipKittens with the folder
`include` of its branch cdna3. DIR has the headers of HIP 6 or later: /opt/rocm/include, or the folders `include` of
github.com/ROCm/HIP and `hipamd/include` of github.com/ROCm/clr together with a hip_version.h. Prints a table;
each result is checked.
"""

import argparse
import ctypes
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.simulated_gpu.hip import Hip

# ROCm/system-acceptance-docs, docs/common/system-validation.md: megabytes a second of an MI300X, 2^28 doubles an array.
BABELSTREAM = {"copy": 4177285, "mul": 4067069, "add": 3920853, "triad": 3885301, "dot": 3660781}
BABELSTREAM_ELEMENTS = 1 << 25
BABELSTREAM_ARRAYS = {"copy": 2, "mul": 2, "add": 3, "triad": 3, "dot": 2}
DOT_BLOCKS = BABELSTREAM_ELEMENTS // 4096  # four elements a thread
# analysis/bf16_gemm/mi325x/mi325x_bf16_gemm.json: microseconds of an MI325X, whose compute units and clock are an
# MI300X's.
HIPKITTENS = {1024: 35.7, 2048: 57.6, 4096: 192.6}

Floats = NDArray[Any]


@dataclass
class Outcome:
    name: str
    rate: str  # what the model says, and what was published, in a unit of their own
    ratio: float  # modelled time / published time
    bound: str


def bitcode() -> list[str]:
    """Options that link AMD's device libraries, as Debian's rocm-device-libs has them."""
    folder = Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
    names = ["ocml", "ockl", "oclc_daz_opt_off", "oclc_unsafe_math_off", "oclc_finite_only_off", "oclc_isa_version_90a"]
    names += ["oclc_correctly_rounded_sqrt_on", "oclc_wavefrontsize64_on"]
    files = [folder / f"{name}.bc" for name in names]
    return [word for file in files for word in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(file))]


def compile_for_device(source: Path, options: list[str]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "kernels.co"
        command = ["clang++-19", "-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "--offload-arch=gfx942"]
        command += ["-O3", "-std=c++20", "-w", "-nogpulib", "-D__HIP_PLATFORM_AMD__", *bitcode(), *options]
        subprocess.run([*command, "-o", str(output), str(source)], check=True)
        return output.read_bytes()


def kernel_named(code: bytes, part: str) -> str:
    """The one kernel of a code object whose mangled name has `part`."""
    names: set[str] = {found.decode() for found in re.findall(rb"_Z\w+", code) if part.encode() in found}
    (name,) = names
    return name


class Simulator:
    def __init__(self, log: Path) -> None:
        os.environ["GFX942SIM_LOG"] = str(log)
        self.log = log
        self.hip = Hip()

    def launch(self, code: bytes, part: str, grid: int, block: int, lds: int, *arguments: Any) -> dict[str, Any]:
        """Runs one kernel; what the simulator says of it."""
        function = ctypes.c_void_p()
        module = self.hip.load(code)
        self.hip.hipModuleGetFunction(ctypes.byref(function), module, kernel_named(code, part).encode())
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(argument) for argument in arguments])
        self.hip.hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, lds, None, pointers, None)
        self.hip.hipDeviceSynchronize()
        launch: dict[str, Any] = json.loads(self.log.read_text().splitlines()[-1])
        return launch


def expect(what: str, found: Floats, expected: Floats, tolerance: float = 0) -> None:
    if not np.allclose(found, expected, rtol=tolerance, atol=tolerance * float(np.abs(expected).max())):
        raise RuntimeError(f"{what}: the result is off by up to {np.abs(found - expected).max()}")


# --- BabelStream ----------------------------------------------------------------------------------------------------


def babelstream(simulator: Simulator, checkout: Path, include: list[str]) -> Iterator[Outcome]:
    text = (checkout / "src" / "hip" / "HIPStream.cpp").read_text()
    names = [*BABELSTREAM]
    # Explicit instances for double: the host's code, which would make them, is not compiled.
    signatures = {"copy": "const T*, T*", "mul": "T*, const T*", "add": "const T*, const T*, T*"}
    signatures |= {"triad": "T*, const T*, const T*", "dot": "const T*, const T*, T*"}
    kernels = [
        re.search(rf"template <typename T>\n__global__ void {name}_kernel.*?\n}}\n", text, re.S) for name in names
    ]
    source = "#include <hip/hip_runtime.h>\n#define TBSIZE 1024\n#define startScalar 0.4\n"
    source += "".join(found[0] for found in kernels if found)
    for name in names:
        types = signatures[name].replace("T", "double")
        source += f"template __global__ void {name}_kernel<double>({types}, size_t);\n"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "stream.hip").write_text(source)
        code = compile_for_device(Path(folder) / "stream.hip", include)
    random = np.random.default_rng(0)
    a, b, c = (random.integers(-9, 10, BABELSTREAM_ELEMENTS).astype(np.float64) for _ in range(3))
    expected = {"copy": a, "mul": 0.4 * c, "add": a + b, "triad": b + 0.4 * c, "dot": np.array([a @ b])}
    for name in names:
        on_device = [simulator.hip.upload(array) for array in (a, b, c)]
        output = simulator.hip.upload(np.full(BABELSTREAM_ELEMENTS, np.nan))
        first, second, third = on_device
        given = {"copy": [first, output], "mul": [output, third], "add": [first, second, output]}
        given |= {"triad": [output, second, third], "dot": [first, second, output]}
        blocks = DOT_BLOCKS if name == "dot" else BABELSTREAM_ELEMENTS // 1024
        size = ctypes.c_size_t(BABELSTREAM_ELEMENTS)
        launch = simulator.launch(code, f"{name}_kernel", blocks, 1024, 0, *given[name], size)
        found = simulator.hip.download(output, a)
        expect(name, np.array([found[:DOT_BLOCKS].sum()]) if name == "dot" else found, expected[name], 1e-12)
        for pointer in (*on_device, output):
            simulator.hip.hipFree(pointer)
        rate = BABELSTREAM_ARRAYS[name] * 8 * BABELSTREAM_ELEMENTS / launch["modelled_us"]  # bytes/us: megabytes/s
        rates = f"{rate * 1e-6:.2f}, {BABELSTREAM[name] * 1e-6:.2f} TB/s"
        yield Outcome(f"BabelStream {name}, double", rates, BABELSTREAM[name] / rate, launch["bound"])


# --- HipKittens -----------------------------------------------------------------------------------------------------


class GlobalLayout(ctypes.Structure):
    """include/types/global/gl.cuh: a pointer, four sizes, and an empty member."""

    _fields_ = [("data", ctypes.c_void_p), ("sizes", ctypes.c_size_t * 4), ("empty", ctypes.c_size_t)]


class Globals(ctypes.Structure):
    """micro_globals of the kernels: A and B [size, size], C = A B^T, and a stream for the host."""

    _fields_ = [("a", GlobalLayout), ("b", GlobalLayout), ("c", GlobalLayout), ("stream", ctypes.c_void_p)]


def as_bfloat16(array: Floats) -> Floats:
    """Random values that bfloat16 holds."""
    return (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


# In include/ops/warp/memory/util/util.cuh: the bit of a buffer's descriptor by which the L1 cache deals rows of a power
# of two to its banks. AMD documents it only for indexed accesses, and the simulator refuses it; results are the same.
SWIZZLE = "stride_field = stride_field | 0x8000;"


# A wavefront's reads and writes of LDS are not waited for before some of the barriers, and operands that were just read
# are used without a wait: right only by luck, which the simulator refuses.
BARRIER, WAIT = "__builtin_amdgcn_s_barrier();", 'asm volatile("s_waitcnt lgkmcnt(0)"); '


def without_swizzle(include: Path, folder: Path) -> Path:
    """A copy of HipKittens' headers whose buffers are plain ones."""
    copy = Path(shutil.copytree(include, folder / "include"))
    header = copy / "ops/warp/memory/util/util.cuh"
    text = header.read_text()
    if SWIZZLE not in text:
        raise RuntimeError(f"{header} has no line '{SWIZZLE}': is it of the branch cdna3?")
    header.write_text(text.replace(SWIZZLE, ""))
    return copy


def hipkittens(simulator: Simulator, checkout: Path, include: list[str]) -> Iterator[Outcome]:
    folder = checkout / "analysis" / "bf16_gemm" / "mi325x"
    for size, published in HIPKITTENS.items():
        text = (folder / f"kernel_{size}.cpp").read_text()
        # Without the binding to Python, which wants the host's side of HIP.
        text = text[: text.index("void dispatch_micro")].replace('#include "pyutils/pyutils.cuh"', "")
        text = text.replace(BARRIER, WAIT + BARRIER)
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "gemm.hip").write_text(text)
            headers = without_swizzle(checkout / "include", Path(name))
            options = ["-DKITTENS_CDNA3", f"-I{headers}", *include, "-include", "hip/hip_runtime.h"]
            code = compile_for_device(Path(name) / "gemm.hip", options)
        block = re.search(r"BLOCK_SIZE\s*=\s*(\d+)", text)
        if block is None:
            raise RuntimeError(f"kernel_{size}.cpp names no BLOCK_SIZE")
        random = np.random.default_rng(size)
        a, b = (random.integers(-2, 3, (size, size)).astype(np.float32) for _ in range(2))
        pointers = [simulator.hip.upload(as_bfloat16(array)) for array in (a, b, np.full((size, size), np.nan))]
        layouts = [GlobalLayout(pointer.value, (ctypes.c_size_t * 4)(1, 1, size, size), 0) for pointer in pointers]
        tiles = (size // int(block[1])) ** 2
        launch = simulator.launch(code, "micro_tk", tiles, 512, 65536, Globals(*layouts, None))
        found = simulator.hip.download(pointers[2], np.empty((size, size), np.uint16))
        expect(f"GEMM {size}", (found.astype(np.uint32) << 16).view(np.float32), a @ b.T, 2**-8)
        for pointer in pointers:
            simulator.hip.hipFree(pointer)
        rates = [2 * size**3 / time * 1e-6 for time in (launch["modelled_us"], published)]
        text = f"{rates[0]:.0f}, {rates[1]:.0f} TFLOP/s"
        yield Outcome(f"HipKittens GEMM {size}^3, bfloat16", text, launch["modelled_us"] / published, launch["bound"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--babelstream", type=Path, help="a checkout of BabelStream")
    parser.add_argument("--hipkittens", type=Path, help="a checkout of HipKittens, with `include` of its branch cdna3")
    parser.add_argument("--include", type=Path, action="append", default=[], help="a folder of HIP's headers")
    given = parser.parse_args()
    include = [f"-I{folder.absolute()}" for folder in given.include]
    with tempfile.TemporaryDirectory() as folder:
        simulator = Simulator(Path(folder) / "log")
        print("| kernel | by the model, published | modelled / published time | bound |\n| --- | --- | --: | --- |")
        for checkout, run in ((given.babelstream, babelstream), (given.hipkittens, hipkittens)):
            for outcome in run(simulator, checkout.absolute(), include) if checkout else ():
                row = f"| {outcome.name} | {outcome.rate} | {outcome.ratio:.2f} | {outcome.bound} |"
                print(row, flush=True)


if __name__ == "__main__":
    main()
