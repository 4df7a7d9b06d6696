"""Conv and ConvTranspose over the whole product of groups, strides, dilations, pads, kernels and ranks, tiny.

Small integers, so that every result is exact, on the CPU and on the simulated GPU; weights are constants, and another
time a run's inputs. A part of the product (FRACTION) runs always, the rest with --slow.
"""

import itertools

from tests.ops.case import Case
from tests.ops.network.convolution_cases import conv_case
from tests.ops.table import EVERYWHERE, table_test

CHANNELS = 6
FILTERS = {1: 5, 2: 4, 3: 9, CHANNELS: 12}
SIZES = {1: (11,), 2: (7, 9), 3: (5, 7, 6)}
# Differing by axis, so that one axis taken for another shows.
STRIDES = {1: (1, 1, 1), 2: (2, 3, 1), 3: (3, 1, 2)}
DILATIONS = {1: (1, 1, 1), 2: (2, 1, 2)}
KERNELS = {"1": (1, 1, 1), "2": (2, 2, 2), "3": (3, 3, 3), "even": (4, 3, 1), "long": (7, 1, 3)}
# No common factor with the lengths of the product's axes: every value of each comes up among those that run always.
FRACTION = 47


def pads(kind: str, kernel: tuple[int, ...]) -> list[int]:
    rank = len(kernel)
    before = {"none": (0, 0, 0), "symmetric": (1, 2, 1), "asymmetric": (0, 1, 2)}
    behind = {"none": (0, 0, 0), "symmetric": (1, 2, 1), "asymmetric": (2, 3, 1)}
    if kind == "beyond":  # more padding than the kernel is long: windows that see no input at all
        return [*(size + 1 for size in kernel), *kernel]
    return [*before[kind][:rank], *behind[kind][:rank]]


def has_output(op_type: str, size: int, kernel: int, stride: int, dilation: int, before: int, behind: int) -> bool:
    extent = (kernel - 1) * dilation + 1
    if op_type == "Conv":
        return size + before + behind >= extent
    return stride * (size - 1) + extent - before - behind > 0


def build(op_type: str, *, constant_weights: bool) -> list[Case]:
    cases, weights_name = [], "" if constant_weights else " computed weights"
    product = itertools.product(
        (1, 2, 3), KERNELS, FILTERS, STRIDES, DILATIONS, ("none", "symmetric", "asymmetric", "beyond")
    )
    for index, (rank, kernel_name, group, stride, dilation, pad_name) in enumerate(product):
        kernel, strides, dilations = KERNELS[kernel_name][:rank], STRIDES[stride][:rank], DILATIONS[dilation][:rank]
        pad, sizes = pads(pad_name, kernel), SIZES[rank]
        axes = zip(sizes, kernel, strides, dilations, pad[:rank], pad[rank:], strict=True)
        if not all(has_output(op_type, *axis) for axis in axes):
            continue
        filters = FILTERS[group]
        weights = (filters, CHANNELS // group) if op_type == "Conv" else (CHANNELS, filters // group)
        cases.append(
            conv_case(
                f"{rank}D k {kernel_name} g {group} s {stride} d {dilation} pads {pad_name}{weights_name}",
                op_type,
                (2, CHANNELS, *sizes),
                (*weights, *kernel),
                group=group,
                strides=list(strides),
                dilations=list(dilations),
                pads=pad,
                constant_weights=constant_weights,
                slow=index % FRACTION != 0,
            )
        )
    return cases


CASES = [
    case
    for op in ("Conv", "ConvTranspose")
    for constant in (True, False)
    for case in build(op, constant_weights=constant)
]
test_conv_grid = table_test("conv_grid", CASES, EVERYWHERE)
