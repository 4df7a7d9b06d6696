"""Writes the network of the volumes' benchmark: MONAI's DynUNet with nnU-Net's choices, random weights.

python tools/benchmark/volume_network.py CLASSES WINDOW FILTERS FILE, such as 14 96x96x96 32x64x128x256x320x320 f.onnx
"""

import sys
from pathlib import Path

import torch
from monai.networks.nets import DynUNet


def main() -> None:
    classes, window, filters, file = sys.argv[1:]
    channels = [int(number) for number in filters.split("x")]
    stages = len(channels)
    torch.manual_seed(0)
    network = DynUNet(
        spatial_dims=3,
        in_channels=1,
        out_channels=int(classes),
        kernel_size=[3] * stages,
        strides=[1] + [2] * (stages - 1),
        upsample_kernel_size=[2] * (stages - 1),
        filters=channels,
        norm_name=("INSTANCE", {"affine": True}),
    ).eval()
    x = torch.zeros(1, 1, *map(int, window.split("x")))
    torch.onnx.export(network, (x,), Path(file), dynamo=True, external_data=False, verbose=False)


if __name__ == "__main__":
    main()
