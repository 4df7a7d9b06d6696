"""Modelled times of the GPU check's networks on a card that is not at hand, in milliseconds.

    python -m lab.modelled_gpu_times                              # an H100
    python -m lab.modelled_gpu_times --gpu a100 --networks r3d_18
    python -m lab.modelled_gpu_times --gpu rx7900xtx              # kinds of products that it lacks are left out
    python -m lab.modelled_gpu_times --gpu mi250x --networks kits19_128    # MLPerf's 3D U-Net, which the check has not

A time is the sum over all launches of one run. It knows no gaps between launches, and nothing of the host. In brackets:
the share of matrix products, and the number of launches. Only products are held to measured layers
(gemm_choice_test.cpp).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from models.export import SEED, export_onnx
from models.networks.unet3d import UNet3D
from models.zoo import ModelRow
from tools.commands import BINARIES
from tools.gpu_check.kinds import KINDS
from tools.gpu_check.networks.table import DRY, NETWORKS, Network, cube

PRODUCTS = ("conv ", "conv_transpose ", "matmul ", "attention")
SHOWN = ("float16", "tf32", "bf16x3", "ieee")
# Its convolutions, transposed ones and norms, but LeakyReLU for ReLU.
KITS19 = Network("kits19_128", lambda: UNet3D((32, 64, 128, 256, 320, 320), classes=3), cube(128))


@dataclass(frozen=True)
class Modelled:
    """launches: of a run. milliseconds: of all of them; product_milliseconds: of matrix products."""

    launches: int
    milliseconds: float
    product_milliseconds: float


def exported(row: Network, folder: Path) -> Path:
    torch.manual_seed(SEED)
    path = folder / f"{row.name}.onnx"
    zoo_row = ModelRow(row.name, row.build, (row.shape,))
    export_onnx(zoo_row, row.build().eval(), (torch.zeros(row.shape),), path)
    return path


def modelled(model: Path, gpu: str, options: Sequence[str]) -> Modelled | None:
    """Returns None if the card lacks such products."""
    command = [
        str(BINARIES / "onnxc"),
        str(model),
        "--target",
        "gpu",
        "--gpu-arch",
        gpu,
        "--report",
        "--json",
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if "has no such products" in done.stderr:
        return None
    done.check_returncode()
    report = json.loads(done.stdout)
    kernels: list[dict[str, Any]] = report["gpu"]["kernels"]
    times = [(kernel["description"], kernel["modelled_us"] or 0, len(kernel["steps"])) for kernel in kernels]
    return Modelled(
        launches=sum(count for _, _, count in times),
        milliseconds=sum(each * count for _, each, count in times) / 1e3,
        product_milliseconds=sum(each * count for name, each, count in times if name.startswith(PRODUCTS)) / 1e3,
    )


def table_row(row: Network, gpu: str, folder: Path) -> str:
    model = exported(row, folder)
    cells = [row.name, " x ".join(map(str, row.shape))]
    for kind in SHOWN:
        if kind not in row.kinds:
            cells.append("")
            continue
        found = modelled(model, gpu, KINDS[kind].options)
        if found is None:
            cells.append("")
            continue
        share = found.product_milliseconds / found.milliseconds
        cells.append(f"{found.milliseconds / row.divisor:.3f} ({share:.0%} of {found.launches})")
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m lab.modelled_gpu_times", description=__doc__.split("\n")[0])
    parser.add_argument("--gpu", default="h100", help="a card or an architecture, as --gpu-arch takes it")
    parser.add_argument(
        "--networks", help="names of tools/gpu_check/networks/table.py, or kits19_128; with commas (default: all)"
    )
    options = parser.parse_args(arguments)
    names = options.networks.split(",") if options.networks else [r.name for r in NETWORKS.values() if r.part != DRY]
    networks = {**NETWORKS, KITS19.name: KITS19}
    print(f"| network | input | {' | '.join(SHOWN)} |\n| --- | --- |{' --- |' * len(SHOWN)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            print(table_row(networks[name], options.gpu, Path(folder)), flush=True)
            print(name, file=sys.stderr)


if __name__ == "__main__":
    main()
