"""A MONAI bundle's network from end to end: exported, compiled, and run over a CT in windows, beside MONAI itself.

    PYTHONPATH=python python -m tools.examples.segment_phantom --output build/phantom

The bundle has a network of random weights, so the labels mean nothing; what counts is that both agree. The CT is a
phantom of ellipsoids in Hounsfield units, a NIfTI file as scanners give them: int16 with a scale and an offset. Under
the output folder: bundle/, ct.nii.gz, network.onnx, network.so, labels.nii.gz, and slices.png, which shows three slices
of the CT (above), with onnxc's labels (middle), and with the voxels that differ from MONAI's in red (below).
"""

import argparse
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import torch
from monai.bundle import ConfigParser
from numpy.typing import NDArray
from PIL import Image

Array = NDArray[Any]

SIZE = (112, 104, 88)
WINDOW, OVERLAP = 64, 0.5
LOW, HIGH = -200, 300  # Hounsfield units that become 0 and 1

# The part of a bundle's configs/inference.json on the way from a file to labels.
BUNDLE: dict[str, Any] = {
    "network_def": {
        "_target_": "UNet",
        "spatial_dims": 3,
        "in_channels": 1,
        "out_channels": 5,
        "channels": [16, 32, 64, 128],
        "strides": [2, 2, 2],
        "num_res_units": 2,
        "norm": "batch",
    },
    "preprocessing": {
        "_target_": "Compose",
        "transforms": [
            {"_target_": "LoadImaged", "keys": "image"},
            {"_target_": "EnsureChannelFirstd", "keys": "image"},
            {
                "_target_": "ScaleIntensityRanged",
                "keys": "image",
                "a_min": LOW,
                "a_max": HIGH,
                "b_min": 0.0,
                "b_max": 1.0,
                "clip": True,
            },
        ],
    },
    "inferer": {"_target_": "SlidingWindowInferer", "roi_size": [WINDOW] * 3, "overlap": OVERLAP, "mode": "gaussian"},
}

COLOURS = np.array([[0, 0, 0], [230, 159, 0], [86, 180, 233], [0, 158, 115], [240, 228, 66]], np.float64)


def ellipsoid(middle: tuple[float, float, float], radii: tuple[float, float, float]) -> Array:
    """Which voxels are inside; in fractions of the volume."""
    grid = np.meshgrid(*(np.linspace(0, 1, size) for size in SIZE), indexing="ij")
    distances = [((axis - m) / r) ** 2 for axis, m, r in zip(grid, middle, radii, strict=True)]
    inside: Array = np.sum(distances, axis=0) < 1
    return inside


def phantom() -> Array:
    """A trunk in Hounsfield units: air, soft tissue, lungs, a liver, a spleen, a spine, and noise."""
    ct = np.full(SIZE, -1000.0)
    ct[ellipsoid((0.5, 0.5, 0.5), (0.45, 0.36, 0.9))] = 20
    ct[ellipsoid((0.31, 0.45, 0.75), (0.14, 0.2, 0.25))] = -820
    ct[ellipsoid((0.69, 0.45, 0.75), (0.14, 0.2, 0.25))] = -820
    ct[ellipsoid((0.34, 0.42, 0.3), (0.2, 0.18, 0.2))] = 110
    ct[ellipsoid((0.74, 0.55, 0.32), (0.1, 0.12, 0.13))] = 140
    ct[ellipsoid((0.5, 0.25, 0.5), (0.07, 0.07, 0.9))] = 600
    return ct + np.random.default_rng(0).normal(0, 12, SIZE)


def save_ct(ct: Array, path: Path) -> None:
    image: Any = nibabel.Nifti1Image(np.rint(ct + 1024).astype(np.int16), np.diag([0.8, 0.8, 2.5, 1.0]))
    image.header.set_slope_inter(1, -1024)
    nibabel.save(image, path)


def export(network: torch.nn.Module, path: Path) -> None:
    """The model of windows whose number and sizes are open."""
    axes = {0: torch.export.Dim("N"), **{2 + i: 8 * torch.export.Dim(name) for i, name in enumerate("DHW")}}
    windows = torch.zeros(2, 1, WINDOW, WINDOW, WINDOW)
    torch.onnx.export(
        network, (windows,), path, dynamo=True, dynamic_shapes=(axes,), external_data=False, verbose=False
    )


def run(*words: str | Path) -> None:
    binaries = Path(os.environ.get("ONNXC_BIN", "build/bin"))
    subprocess.run([str(binaries / words[0]), *map(str, words[1:])], check=True)


def by_monai(parser: ConfigParser, network: torch.nn.Module, ct: Path) -> Array:
    scan = parser.get_parsed_content("preprocessing")({"image": str(ct)})["image"]
    with torch.inference_mode():
        values = parser.get_parsed_content("inferer")(scan[None], network)
    labels: Array = values[0].argmax(0).numpy().astype(np.uint8)
    return labels


def picture(ct: Array, labels: Array, differ: Array) -> Image.Image:
    """Three slices through the middle, one of each axis; the first axis that is left to the right, the second up."""
    side = max(SIZE) + 4
    sheet = np.zeros((3 * side, 3 * side, 3))
    for axis, size in enumerate(SIZE):
        grey = np.clip((ct.take(size // 2, axis) - LOW) / (HIGH - LOW), 0, 1)[..., None] * np.full(3, 255.0)
        label, wrong = labels.take(size // 2, axis), differ.take(size // 2, axis)
        coloured = np.where(label[..., None] > 0, 0.5 * grey + 0.5 * COLOURS[label], grey)
        marked = np.where(wrong[..., None], [255.0, 0.0, 0.0], 0.6 * grey)
        for row, tile in enumerate((grey, coloured, marked)):
            upright = tile.swapaxes(0, 1)[::-1]
            top, left = row * side + 2, axis * side + 2
            sheet[top : top + upright.shape[0], left : left + upright.shape[1]] = upright
    image = Image.fromarray(sheet.astype(np.uint8))
    return image.resize((3 * image.width, 3 * image.height), Image.Resampling.NEAREST)


def segment(folder: Path) -> float:
    """Everything; the fraction of voxels to which onnxc and MONAI give the same label."""
    (folder / "bundle" / "configs").mkdir(parents=True, exist_ok=True)
    config = folder / "bundle" / "configs" / "inference.json"
    config.write_text(json.dumps(BUNDLE, indent=2))
    ct = phantom()
    save_ct(ct, folder / "ct.nii.gz")

    parser = ConfigParser()
    parser.read_config(config)
    torch.manual_seed(3)
    network: torch.nn.Module = parser.get_parsed_content("network_def").eval()
    export(network, folder / "network.onnx")
    run("onnxc", folder / "network.onnx", "-o", folder / "network.so")
    run("onnxc-run", folder / "network.so", "--volume", folder / "ct.nii.gz", "--window", str(WINDOW), "--overlap",
        str(OVERLAP), "--blend", "gaussian", "--clip", f"{LOW},{HIGH}", "--normalize", f"range:{LOW},{HIGH}",
        "--labels", "--output", folder / "labels.nii.gz")  # fmt: skip

    image: Any = nibabel.load(folder / "labels.nii.gz")
    ours = np.asarray(image.dataobj)
    theirs = by_monai(parser, network, folder / "ct.nii.gz")
    picture(ct, ours, ours != theirs).save(folder / "slices.png")
    return float(np.mean(ours == theirs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("build/phantom"))
    arguments = parser.parse_args()
    print(f"{100 * segment(arguments.output):.4f}% of the voxels have the same label by onnxc and by MONAI")


if __name__ == "__main__":
    main()
