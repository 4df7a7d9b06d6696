"""The plain modules give what MONAI's and nnU-Net's own give, with the same weights."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import nn

from models.weights import initialize
from tools.gpu_check.networks.dynunet import DynUNet
from tools.gpu_check.networks.residual_unet import ResidualUNet
from tools.gpu_check.networks.segresnet import SegResNet
from tools.gpu_check.networks.swin_unetr import SwinUNETR
from tools.gpu_check.networks.unetr import UNETR

Shape = tuple[int, ...]


def monai_dynunet() -> nn.Module:
    from monai.networks.nets import DynUNet as Original  # here, since it takes seconds

    network: nn.Module = Original(3, 1, 5, [3] * 4, [1, 2, 2, 2], [2] * 3, filters=[4, 6, 8, 10])
    return network


def monai_segresnet() -> nn.Module:
    from monai.networks.nets import SegResNet as Original

    network: nn.Module = Original(3, 8, in_channels=4, out_channels=3)
    return network


def monai_unetr() -> nn.Module:
    from monai.networks.nets import UNETR as Original

    network: nn.Module = Original(1, 5, 32, feature_size=4, hidden_size=24, mlp_dim=40, num_heads=3)
    return network


def monai_swin_unetr() -> nn.Module:
    from monai.networks.nets import SwinUNETR as Original

    network: nn.Module = Original(1, 5, feature_size=12)
    return network


def nnunet_residual_encoder() -> nn.Module:
    from dynamic_network_architectures.architectures.unet import ResidualEncoderUNet

    network: nn.Module = ResidualEncoderUNet(
        input_channels=1, n_stages=4, features_per_stage=(4, 6, 8, 8), conv_op=nn.Conv3d, kernel_sizes=3,
        strides=(1, 2, 2, 2), n_blocks_per_stage=(1, 3, 2, 2), num_classes=3, n_conv_per_stage_decoder=(1, 1, 1),
        conv_bias=True, norm_op=nn.InstanceNorm3d, norm_op_kwargs={"eps": 1e-5, "affine": True},
        nonlin=nn.LeakyReLU, nonlin_kwargs={"inplace": True}, deep_supervision=False,
    )  # fmt: skip
    return network


@dataclass(frozen=True)
class Pair:
    plain: Callable[[], nn.Module]
    original: Callable[[], nn.Module]
    shape: Shape


PAIRS = {
    "dynunet": Pair(lambda: DynUNet((4, 6, 8, 10), classes=5), monai_dynunet, (1, 1, 16, 24, 32)),
    "segresnet": Pair(lambda: SegResNet(8, 4, 3), monai_segresnet, (1, 4, 16, 24, 32)),
    "unetr": Pair(lambda: UNETR(32, 4, 24, 40, 3, 5), monai_unetr, (1, 1, 32, 32, 32)),
    "swin_unetr": Pair(lambda: SwinUNETR(64, 12, classes=5), monai_swin_unetr, (1, 1, 64, 64, 64)),
    "residual_unet": Pair(
        lambda: ResidualUNet((4, 6, 8, 8), (1, 3, 2, 2)), nnunet_residual_encoder, (1, 1, 32, 16, 24)
    ),
}


def live_parameters(network: nn.Module, x: torch.Tensor) -> list[nn.Parameter]:
    """Those that the output depends on, in their order: nnU-Net keeps heads, and MONAI a norm, that nothing reads."""
    network(x).sum().backward()
    return [each for each in network.parameters() if each.grad is not None]


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_plain_module_is_the_original(name: str) -> None:
    pair = PAIRS[name]
    plain, original = initialize(pair.plain(), 1), pair.original().eval()
    torch.manual_seed(2)
    for each in plain.parameters():
        with torch.no_grad():
            each.add_(0.02 * torch.randn(each.shape))
    x = torch.randn(pair.shape)
    mine, theirs = live_parameters(plain, x), live_parameters(original, x)
    assert len(mine) == len(list(plain.parameters()))
    assert [each.shape for each in mine] == [each.shape for each in theirs]
    with torch.no_grad():
        for source, target in zip(mine, theirs, strict=True):
            target.copy_(source)
        expected = original(x)
        assert expected.std() > 0.01
        assert (plain(x) - expected).abs().max() <= 2e-5 * expected.abs().max()
