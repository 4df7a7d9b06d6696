"""Many scans on a Ray cluster, which is a local one here: one scan is damaged, and one worker dies on the way.

    PYTHONPATH=python python -m tools.examples.segment_with_ray --output build/ray

Ray restarts the worker and gives its scan to it again; the damaged scan is reported and skipped. Under the output
folder: network.onnx, network.so, scans/ and labels/.
"""

import argparse
import os
import signal
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import ray
import torch
from monai.networks.nets import UNet
from numpy.typing import NDArray

import onnxc.ray

Array = NDArray[Any]

COUNT, DAMAGED, DEADLY = 8, "scan3.nii.gz", "scan5.nii.gz"
SIZE = (48, 40, 56)
WINDOWS: dict[str, Any] = {"roi_size": 32, "overlap": 0.5, "mode": "gaussian"}


def make_scans(folder: Path) -> list[Path]:
    """Blocks of other brightness in noise; one file without its end."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    paths = [folder / f"scan{i}.nii.gz" for i in range(COUNT)]
    for i, path in enumerate(paths):
        scan = generator.normal(0, 20, SIZE)
        scan[8 + i : 30 + i, 10:30, 10:40] += 200
        nibabel.save(nibabel.Nifti1Image(np.rint(scan).astype(np.int16), np.diag([1.0, 1.0, 2.0, 1.0])), path)
        if path.name == DAMAGED:
            path.write_bytes(path.read_bytes()[:-5000])
    return paths


def compile_network(folder: Path) -> Path:
    """A small U-Net of random weights; windows of any number and of sizes that are multiples of 4."""
    torch.manual_seed(1)
    network = UNet(3, 1, 4, channels=(8, 16, 32), strides=(2, 2), norm="batch").eval()
    axes = {0: torch.export.Dim("N"), **{2 + i: 4 * torch.export.Dim(name) for i, name in enumerate("DHW")}}
    torch.onnx.export(network, (torch.zeros(2, 1, 32, 32, 32),), folder / "network.onnx", dynamo=True,
                      dynamic_shapes=(axes,), external_data=False, verbose=False)  # fmt: skip
    onnxc.compile(folder / "network.onnx", folder / "network.so").close()
    return folder / "network.so"


def normalize(image: Array) -> Array:
    return image.astype(np.float32) / 200


class SegmentOrDie(onnxc.ray.SegmentVolumes):
    """Its worker is killed by the first sight of one of the scans."""

    def __init__(self, *arguments: Any, mark: Path, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.mark = mark

    def __call__(self, batch: dict[str, Array]) -> dict[str, Array]:
        if any(Path(path).name == DEADLY for path in batch["path"]) and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        rows = super().__call__(batch)
        count = len(batch["path"])
        return {
            **rows,
            "threads": np.full(count, self.window.sessions[0].threads),
            "worker": np.full(count, os.getpid()),
        }


def segment(folder: Path) -> list[dict[str, Any]]:
    """The outcome of each scan, in their order."""
    paths = make_scans(folder / "scans")
    mark = folder / "a-worker-died"
    mark.unlink(missing_ok=True)
    arguments = {"model": compile_network(folder), "folder": folder / "labels", "output": "labels",
                 "prepare": normalize, "mark": mark, **WINDOWS}  # fmt: skip
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    try:
        scans = ray.data.from_items([{"path": str(path)} for path in paths], override_num_blocks=len(paths))
        workers = ray.data.ActorPoolStrategy(size=2)
        done = scans.map_batches(
            SegmentOrDie, fn_constructor_kwargs=arguments, batch_size=1, num_cpus=1, compute=workers
        )
        rows: list[dict[str, Any]] = done.take_all()
    finally:
        ray.shutdown()
    return sorted(rows, key=lambda row: str(row["path"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("build/ray"))
    arguments = parser.parse_args()
    rows = segment(arguments.output.absolute())
    for row in rows:
        print(f"{Path(row['path']).name}: {row['output'] or row['error']}")
    print(f"{sum(not row['error'] for row in rows)} of {len(rows)} scans are segmented; a worker died on {DEADLY}")


if __name__ == "__main__":
    main()
