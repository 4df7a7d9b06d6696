"""Three-dimensional networks that others wrote: MONAI's, with its usual settings, narrowed if a test allows.

Each takes [N, C, D, H, W] float32.
"""

import torch
from monai.networks.nets import (
    UNETR,
    AttentionUnet,
    BasicUNet,
    DenseNet121,
    DynUNet,
    EfficientNetBN,
    HighResNet,
    MedNeXtSmall,
    SegResNet,
    SegResNetDS,
    SEResNext50,
    SwinUNETR,
    UNet,
    ViT,
    VNet,
    resnet50,
)
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


def monai_attention_unet() -> nn.Module:
    network: nn.Module = AttentionUnet(
        spatial_dims=3, in_channels=1, out_channels=2, channels=(16, 32, 64, 128), strides=(2, 2, 2)
    )
    return network


def monai_basic_unet() -> nn.Module:
    network: nn.Module = BasicUNet(spatial_dims=3, in_channels=1, out_channels=2)
    return network


def monai_segresnet_ds() -> nn.Module:
    network: nn.Module = SegResNetDS(
        spatial_dims=3, init_filters=16, in_channels=1, out_channels=2, blocks_down=(1, 2, 2, 4)
    )
    return network


def monai_highresnet() -> nn.Module:
    network: nn.Module = HighResNet(spatial_dims=3, in_channels=1, out_channels=8)
    return network


def monai_vnet() -> nn.Module:
    network: nn.Module = VNet(spatial_dims=3, in_channels=1, out_channels=2)
    return network


def monai_mednext() -> nn.Module:
    network: nn.Module = MedNeXtSmall(spatial_dims=3, in_channels=1, out_channels=2)
    return network


def monai_unetr() -> nn.Module:
    network: nn.Module = UNETR(
        in_channels=1, out_channels=2, img_size=(32, 48, 64), feature_size=16, hidden_size=192, mlp_dim=768, num_heads=6
    )
    return network


class Classes(nn.Module):
    """MONAI's ViT without the list of its layers' outputs."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, volume: torch.Tensor) -> torch.Tensor:
        classes: torch.Tensor = self.network(volume)[0]
        return classes


def monai_vit() -> nn.Module:
    network = ViT(
        in_channels=1,
        img_size=(32, 48, 64),
        patch_size=(16, 16, 16),
        hidden_size=192,
        mlp_dim=768,
        num_layers=6,
        num_heads=6,
        classification=True,
    )
    return Classes(network)


def monai_resnet50() -> nn.Module:
    network: nn.Module = resnet50(spatial_dims=3, n_input_channels=1, num_classes=3)
    return network


def monai_se_resnext50() -> nn.Module:
    network: nn.Module = SEResNext50(spatial_dims=3, in_channels=1, num_classes=3)
    return network


def monai_efficientnet_b0() -> nn.Module:
    network: nn.Module = EfficientNetBN(
        "efficientnet-b0", spatial_dims=3, in_channels=1, num_classes=3, pretrained=False
    )
    return network
