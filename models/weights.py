"""Seeded weights under which activations keep their magnitude through the depth of a network.

A result is judged by its largest difference over its largest magnitude. That only says something when no layer's output
has shrunk to nothing or grown so far that it hides the others. So convolutions get Kaiming's scale and batch
normalizations get the statistics of the data that flows through them, slightly off, as in a trained network.
"""

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

AFFINE_NORMALIZATIONS = (
    _BatchNorm,
    nn.GroupNorm,
    nn.LayerNorm,
    nn.InstanceNorm1d,
    nn.InstanceNorm2d,
    nn.InstanceNorm3d,
)


def initialize(model: nn.Module, seed: int) -> nn.Module:
    """Fills every parameter of `model` from `seed`, in the order of its modules, and puts it in evaluation mode."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(tensor: torch.Tensor, low: float, high: float) -> None:
        tensor.copy_(low + (high - low) * torch.rand(tensor.shape, generator=generator))

    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, (nn.modules.conv._ConvNd, nn.Linear)):
                fan_in = module.weight[0].numel()
                if isinstance(module, nn.modules.conv._ConvTransposeNd):
                    kernel_over_stride = module.weight[0, 0].numel()
                    for stride in module.stride:
                        kernel_over_stride //= stride
                    fan_in = max(1, kernel_over_stride) * module.in_channels // module.groups
                module.weight.copy_(torch.randn(module.weight.shape, generator=generator) * (2.0 / fan_in) ** 0.5)
                if module.bias is not None:
                    uniform(module.bias, -0.1, 0.1)
            elif isinstance(module, AFFINE_NORMALIZATIONS):
                if module.weight is not None:
                    uniform(module.weight, 0.5, 1.0)
                    uniform(module.bias, -0.2, 0.2)
            elif isinstance(module, nn.PReLU):
                uniform(module.weight, 0.05, 0.4)
    return model.eval()


def calibrate(model: nn.Module, inputs: Sequence[torch.Tensor], seed: int) -> nn.Module:
    """Sets each batch normalization's running statistics to those of `inputs`, moved by up to a quarter."""
    generator = torch.Generator().manual_seed(seed)
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    momenta = [layer.momentum for layer in layers]
    for layer in layers:
        layer.momentum = 1.0
        layer.train()
    with torch.no_grad():
        model(*inputs)
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
            layer.eval()
            assert layer.running_mean is not None
            assert layer.running_var is not None
            # A channel that these inputs hardly move would be magnified without bound.
            mean_variance = layer.running_var.mean()
            layer.running_var.copy_(
                torch.where(layer.running_var < 0.01 * mean_variance, mean_variance, layer.running_var)
            )
            deviation = layer.running_var.sqrt()
            layer.running_mean += 0.25 * deviation * (2 * torch.rand(deviation.shape, generator=generator) - 1)
            layer.running_var *= 0.8 + 0.45 * torch.rand(deviation.shape, generator=generator)
    return model
