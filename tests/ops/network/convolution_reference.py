"""Conv and ConvTranspose by a plain loop over kernel taps in double precision, written from ONNX's text.

A tap multiplies the whole input by one matrix of the filter, so there is neither im2col nor a filter order that the
compiler could share.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from models.tensor_files import Array


def split_pads(
    auto_pad: str, pads: Sequence[int], sizes: Sequence[int], strides: Sequence[int], extents: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Pads before and after of a Conv, per axis."""
    rank = len(sizes)
    if auto_pad in ("NOTSET", "VALID"):
        return list(pads[:rank]), list(pads[rank:])
    before, behind = [], []
    for size, stride, extent in zip(sizes, strides, extents, strict=True):
        total = max((-(-size // stride) - 1) * stride + extent - size, 0)
        small, large = total // 2, total - total // 2
        before.append(small if auto_pad == "SAME_UPPER" else large)
        behind.append(large if auto_pad == "SAME_UPPER" else small)
    return before, behind


def places_of(
    tap: Sequence[int], dilations: Sequence[int], sizes: Sequence[int], strides: Sequence[int]
) -> tuple[slice, ...]:
    """The elements that a tap of the kernel touches: `sizes` of them, `strides` apart, per axis."""
    return tuple(
        slice(t * dilation, t * dilation + (size - 1) * stride + 1, stride)
        for t, dilation, size, stride in zip(tap, dilations, sizes, strides, strict=True)
    )


def conv(x: Array, w: Array, b: Array | None = None, **attributes: Any) -> Array:
    """x [N, C, *S], w [F, C/group, *K], b [F], attributes as ONNX's Conv has them."""
    rank = x.ndim - 2
    group = attributes.get("group", 1)
    strides = attributes.get("strides", [1] * rank)
    dilations = attributes.get("dilations", [1] * rank)
    pads = attributes.get("pads", [0] * (2 * rank))
    kernel = w.shape[2:]
    extents = [(kernel[i] - 1) * dilations[i] + 1 for i in range(rank)]
    before, behind = split_pads(attributes.get("auto_pad", "NOTSET"), pads, x.shape[2:], strides, extents)
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *zip(before, behind, strict=True)])
    sizes = [(padded.shape[2 + i] - extents[i]) // strides[i] + 1 for i in range(rank)]
    filters, channels = w.shape[0] // group, w.shape[1]
    y = np.zeros((x.shape[0], w.shape[0], *sizes))
    for tap in np.ndindex(*kernel):
        window = places_of(tap, dilations, sizes, strides)
        for g in range(group):
            read, written = slice(g * channels, (g + 1) * channels), slice(g * filters, (g + 1) * filters)
            taken = padded[(slice(None), read, *window)]
            y[:, written] += np.einsum("nc...,fc->nf...", taken, w[(written, slice(None), *tap)].astype(np.float64))
    if b is not None:
        y += b.astype(np.float64).reshape(-1, *([1] * rank))
    return y.astype(x.dtype)


def transposed_pads(
    attributes: dict[str, Any], sizes: Sequence[int], fulls: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The begin of the output in the full result, and how long it is, per axis. A begin may be negative.

    fulls: stride * (size - 1) + output_padding + (kernel - 1) * dilation + 1.
    """
    rank = len(sizes)
    auto_pad = attributes.get("auto_pad", "NOTSET")
    strides = attributes.get("strides", [1] * rank)
    pads = attributes.get("pads", [0] * (2 * rank))
    shape = attributes.get("output_shape")
    if shape is None and auto_pad in ("NOTSET", "VALID"):
        return list(pads[:rank]), [fulls[i] - pads[i] - pads[rank + i] for i in range(rank)]
    lengths = list(shape)[-rank:] if shape is not None else [sizes[i] * strides[i] for i in range(rank)]
    begins = []
    for full, length in zip(fulls, lengths, strict=True):
        total = max(full - length, 0)
        begins.append(total // 2 if auto_pad == "SAME_UPPER" else total - total // 2)
    return begins, lengths


def conv_transpose(x: Array, w: Array, b: Array | None = None, **attributes: Any) -> Array:
    """x [N, C, *S], w [C, F/group, *K], b [F], attributes as ONNX's ConvTranspose has them."""
    rank = x.ndim - 2
    group = attributes.get("group", 1)
    strides = attributes.get("strides", [1] * rank)
    dilations = attributes.get("dilations", [1] * rank)
    output_padding = attributes.get("output_padding", [0] * rank)
    sizes, kernel = x.shape[2:], w.shape[2:]
    fulls = [strides[i] * (sizes[i] - 1) + output_padding[i] + (kernel[i] - 1) * dilations[i] + 1 for i in range(rank)]
    begins, lengths = transposed_pads(attributes, sizes, fulls)
    channels, filters = w.shape[0] // group, w.shape[1]
    full = np.zeros((x.shape[0], filters * group, *fulls))
    wide = x.astype(np.float64)
    for tap in np.ndindex(*kernel):
        window = places_of(tap, dilations, sizes, strides)
        for g in range(group):
            read, written = slice(g * channels, (g + 1) * channels), slice(g * filters, (g + 1) * filters)
            scaled = np.einsum("nc...,cf->nf...", wide[:, read], w[(read, slice(None), *tap)].astype(np.float64))
            full[(slice(None), written, *window)] += scaled
    y = np.zeros((x.shape[0], filters * group, *lengths))
    source, target = [slice(None), slice(None)], [slice(None), slice(None)]
    for i in range(rank):
        first, last = max(begins[i], 0), min(begins[i] + lengths[i], fulls[i])
        source.append(slice(first, last))
        target.append(slice(first - begins[i], last - begins[i]))
    y[tuple(target)] = full[tuple(source)]
    if b is not None:
        y += b.astype(np.float64).reshape(-1, *([1] * rank))
    return y.astype(x.dtype)
