"""Single layers: a chain of equal convolutions, whose time over their number is that of one without the launch."""

from collections.abc import Callable

from torch import nn

COUNT = 4


def chain(channels: int) -> Callable[[], nn.Module]:
    return lambda: nn.Sequential(*(nn.Conv3d(channels, channels, 3, padding=1) for _ in range(COUNT)))
