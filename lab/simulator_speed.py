"""How fast gfx942sim runs onnxc's float32 convolution (64 -> 64 channels, 3x3x3): GFLOP of matrix instructions that a
core of this machine simulates in a second. At least 1 is wanted.

    python -m lab.simulator_speed
"""

import tempfile
from pathlib import Path

from lab.iree_comparison import Layer, make_data, run_onnxc

LAYER = Layer("64->64", 64, 64, (4, 28, 28))


def main() -> None:
    data = make_data(LAYER)
    with tempfile.TemporaryDirectory() as name:
        _, launches = run_onnxc(LAYER, data, Path(name))
    print(f"{'kernel':12} {'core seconds':>12} {'GFLOP/s a core':>15}")
    for launch in launches:
        seconds, operations = launch["simulation_seconds"], launch["matrix_flops"]
        rate = f"{operations / seconds * 1e-9:15.2f}" if operations else f"{'-':>15}"
        print(f"{launch['kernel']:12} {seconds:12.3f} {rate}")


if __name__ == "__main__":
    main()
