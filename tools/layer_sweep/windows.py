"""Layers whose outputs read a window: convolutions and pools."""

import math

import numpy as np

from tools.layer_sweep.layer import Parameters, Values, extents
from tools.operator_timing import Operator


def window_attributes(p: Parameters) -> Parameters:
    """Padding that keeps the size at stride 1, for odd kernels."""
    rank, reach = p["rank"], p.get("dilation", 1) * (p["kernel"] - 1)
    return {
        "strides": [p["stride"]] * rank,
        "pads": [reach // 2] * (2 * rank),
        **({"dilations": [p["dilation"]] * rank} if "dilation" in p else {}),
    }


MOST_PRODUCTS = 4e8


def convolution(v: Values, p: Parameters) -> Operator | None:
    groups = p["channels"] if p["groups"] == "each" else p["groups"]
    filters = p["channels"] * p["multiplier"] if p["groups"] == "each" else p["filters"] or p["channels"]
    if p["channels"] % groups or filters % groups:
        return None
    kernel = (p["kernel"],) * p["rank"]
    per_group = p["channels"] // groups
    if p["voxels"] * filters * per_group * math.prod(kernel) > MOST_PRODUCTS * p["stride"] ** p["rank"]:
        return None
    w = v.normal(filters, per_group, *kernel, dtype=p["type"]) / np.sqrt(per_group * math.prod(kernel)).astype(
        p["type"]
    )
    return Operator(
        "Conv",
        {"x": v.normal(p["batch"], p["channels"], *extents(p), dtype=p["type"])},
        {"w": w, "b": v.normal(filters, dtype=p["type"]) if p["bias"] else None},
        attributes={"group": groups, **window_attributes(p)},
        followers=(p["behind"],) if p["behind"] else (),
    )


def transposed_convolution(v: Values, p: Parameters) -> Operator | None:
    groups = p["channels"] if p["groups"] == "each" else p["groups"]
    filters = p["channels"] if p["groups"] == "each" else p["filters"] or p["channels"]
    if p["channels"] % groups or filters % groups:
        return None
    kernel, rank = (p["kernel"],) * p["rank"], p["rank"]
    if p["voxels"] * p["channels"] * (filters // groups) * math.prod(kernel) > MOST_PRODUCTS:
        return None
    return Operator(
        "ConvTranspose",
        {"x": v.normal(1, p["channels"], *extents(p), dtype=p["type"])},
        {"w": v.normal(p["channels"], filters // groups, *kernel, dtype=p["type"]) / np.float16(8)},
        attributes={
            "group": groups,
            "strides": [p["stride"]] * rank,
            "dilations": [p["dilation"]] * rank,
            "pads": [p["padding"]] * (2 * rank),
        },
    )


def grouped(p: Parameters) -> Parameters:
    """The parameters of a convolution whose groups have so many inputs and outputs each."""
    inputs, outputs = p["width"]
    groups = max(2, 64 // max(inputs, outputs))
    return {**p, "groups": groups, "channels": groups * inputs, "filters": groups * outputs}


def grouped_convolution(v: Values, p: Parameters) -> Operator | None:
    return convolution(v, grouped(p))


def grouped_transposed_convolution(v: Values, p: Parameters) -> Operator | None:
    return transposed_convolution(v, grouped(p))


def byte_convolution(v: Values, p: Parameters) -> Operator | None:
    groups = p["channels"] if p["groups"] == "each" else p["groups"]
    filters = p["channels"]
    kernel = (p["kernel"],) * p["rank"]
    scales = np.full(filters, 0.01, np.float32) if p["by filter"] else np.array(0.01, np.float32)
    return Operator(
        "QLinearConv",
        {"x": v.whole(0, 256, 1, p["channels"], *extents(p), dtype=p["type"])},
        {
            "xs": np.array(0.02, np.float32),
            "xz": np.array(128, p["type"]),
            "w": v.whole(-127, 128, filters, p["channels"] // groups, *kernel, dtype=np.int8),
            "ws": scales,
            "wz": np.zeros_like(scales, np.int8),
            "ys": np.array(0.05 * np.sqrt(p["channels"] // groups), np.float32),
            "yz": np.array(128, p["type"]),
        },
        attributes={"group": groups, **window_attributes(p)},
    )


def pool(v: Values, p: Parameters) -> Operator | None:
    if p["type of pool"] == "LpPool" and (p["type"] != np.float32 or p["dilation"] != 1):
        return None
    attributes = {"kernel_shape": [p["kernel"]] * p["rank"], "ceil_mode": int(p["ceil"]), **window_attributes(p)}
    if p["type of pool"] == "AveragePool":
        attributes["count_include_pad"] = int(p["counts padding"])
    return Operator(p["type of pool"], {"x": v.normal(1, p["channels"], *extents(p), dtype=p["type"])},
                    attributes=attributes)  # fmt: skip


def global_pool(v: Values, p: Parameters) -> Operator:
    return Operator(p["type of pool"], {"x": v.normal(p["batch"], p["channels"], *extents(p), dtype=p["type"])})


def deformed_convolution(v: Values, p: Parameters) -> Operator | None:
    taps, size = p["kernel"] ** 2, extents({**p, "rank": 2})
    if p["channels"] % (p["groups"] * p["offset groups"]):
        return None
    out = tuple((extent - 1) // p["stride"] + 1 for extent in size)
    mask = v.positive(1, p["offset groups"] * taps, *out) if p["mask"] else None
    weights = v.normal(p["channels"], p["channels"] // p["groups"], p["kernel"], p["kernel"]) / 8
    # All are inputs: in a network another convolution gives the offsets.
    inputs = {
        "x": v.normal(1, p["channels"], *size),
        "w": weights,
        "o": v.normal(1, 2 * p["offset groups"] * taps, *out),
    }
    return Operator(
        "DeformConv",
        inputs if mask is None else {**inputs, "b": np.zeros(p["channels"], np.float32), "m": mask},
        attributes={
            "group": p["groups"],
            "offset_group": p["offset groups"],
            "strides": [p["stride"]] * 2,
            "pads": [p["kernel"] // 2] * 4,
        },
        opset=22,
        dims={"w": weights.shape},
    )
