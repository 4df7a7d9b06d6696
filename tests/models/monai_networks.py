"""Three-dimensional networks that others wrote: MONAI's, with its usual settings, narrowed where a test allows.

Each takes [N, C, D, H, W] float32.
"""

from monai.networks.nets import DenseNet121, DynUNet, SegResNet, SwinUNETR, UNet
from torch import nn


def monai_unet() -> nn.Module:
    network: nn.Module = UNet(
        spatial_dims=3, in_channels=1, out_channels=3, channels=(16, 32, 64, 128), strides=(2, 2, 2), num_res_units=2
    )
    return network


def monai_dynunet() -> nn.Module:
    network: nn.Module = DynUNet(
        spatial_dims=3,
        in_channels=2,
        out_channels=3,
        kernel_size=[3, 3, (1, 3, 3), 3],
        strides=[1, 2, (1, 2, 2), 2],
        upsample_kernel_size=[2, (1, 2, 2), 2],
        filters=[16, 32, 48, 64],
        res_block=True,
    )
    return network


def monai_segresnet() -> nn.Module:
    network: nn.Module = SegResNet(
        spatial_dims=3, init_filters=16, in_channels=2, out_channels=3, blocks_down=(1, 2, 2, 4)
    )
    return network


def monai_swin_unetr() -> nn.Module:
    network: nn.Module = SwinUNETR(in_channels=1, out_channels=2, feature_size=12, spatial_dims=3)
    return network


def monai_densenet121() -> nn.Module:
    network: nn.Module = DenseNet121(spatial_dims=3, in_channels=1, out_channels=5)
    return network
