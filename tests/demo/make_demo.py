"""Makes the demo's files: a small 3D U-Net that PyTorch exported, its input and PyTorch's output.

    python -m tests.demo.make_demo

They are checked in, so that the demo needs no PyTorch.
"""

from pathlib import Path

import numpy as np
import onnx
import torch

from models import weights
from models.networks.unet3d import UNet3D

HERE = Path(__file__).parent
SEED = 7


def main() -> None:
    model = weights.initialize(UNet3D((8, 16, 32), classes=2), SEED)
    volume = torch.randn((1, 1, 16, 24, 32), generator=torch.Generator().manual_seed(SEED))
    torch.onnx.export(
        model,
        (volume,),
        str(HERE / "model.onnx"),
        dynamo=True,
        input_names=["volume"],
        output_names=["scores"],
        external_data=False,
    )
    exported = onnx.load(HERE / "model.onnx")
    for node in exported.graph.node:  # the exporter's stack traces hold the paths of the machine it ran on
        del node.metadata_props[:]
    onnx.save(exported, HERE / "model.onnx")
    np.save(HERE / "input.npy", volume.numpy())
    with torch.no_grad():
        np.save(HERE / "expected.npy", model(volume).numpy())


if __name__ == "__main__":
    main()
