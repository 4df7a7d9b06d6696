"""The places of the built commands and of the simulated GPUs' libraries."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BINARIES = Path(os.environ.get("ONNXC_BIN", REPOSITORY / "build" / "bin"))
# A libamdhip64 that runs gfx942's machine code on the CPU.
SIMULATOR = BINARIES.parent / "gfx942sim" / "libamdhip64.so.6"
# A libcuda that stands in for NVIDIA's driver, and launches what tools/host_blocks builds.
CUDA_STAND_IN = BINARIES.parent / "cuda_stand_in" / "libcuda.so.1"
