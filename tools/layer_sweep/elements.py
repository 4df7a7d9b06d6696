"""Layers that compute each element by itself, or move elements."""

import numpy as np

from tools.layer_sweep.layer import Parameters, Values, extents
from tools.operator_timing import Array, Operator


def elementwise(v: Values, p: Parameters) -> Operator:
    return Operator(p["operator"], {"x": v.positive(*p["shape"], dtype=p["type"])})


def binary(v: Values, p: Parameters) -> Operator:
    left, right = p["shapes"]

    def values(shape: tuple[int, ...]) -> Array:
        if np.issubdtype(p["type"], np.integer):
            return v.whole(1, 9, *shape, dtype=p["type"])
        return v.positive(*shape, dtype=p["type"])

    return Operator(p["operator"], {"a": values(left), "b": values(right)})


def quantize(v: Values, p: Parameters) -> Operator:
    count = p["shape"][1] if p["by channel"] else 0
    scale = np.full(count, 0.02, np.float32) if count else np.array(0.02, np.float32)
    zero = np.full_like(scale, 3, p["type"])
    if p["operator"] == "QuantizeLinear":
        return Operator("QuantizeLinear", {"x": v.normal(*p["shape"])}, {"s": scale, "z": zero}, attributes={"axis": 1})
    x = v.whole(0, 100, *p["shape"], dtype=p["type"])
    return Operator("DequantizeLinear", {"x": x}, {"s": scale, "z": zero}, attributes={"axis": 1})


def transpose(v: Values, p: Parameters) -> Operator | None:
    if len(p["perm"]) != len(p["shape"]):
        return None
    x = v.normal(*p["shape"]) if p["type"] == np.float32 else v.whole(0, 100, *p["shape"], dtype=p["type"])
    return Operator("Transpose", {"x": x}, attributes={"perm": list(p["perm"])})


def pad(v: Values, p: Parameters) -> Operator:
    shape, rank = extents(p), p["rank"]
    pads = [0, 0, *[p["width"]] * rank, 0, 0, *[p["width"]] * rank]
    return Operator("Pad", {"x": v.normal(1, p["channels"], *shape)}, {"pads": np.array(pads, np.int64)},
                    attributes={"mode": p["mode"]})  # fmt: skip


def slices(v: Values, p: Parameters) -> Operator | None:
    shape, axis = (32, 64, 96, 20), p["axis"]
    size = shape[axis]
    begin, end = (size - 1, -size - 1) if p["step"] < 0 else (1, size)
    numbers = {"starts": begin, "ends": end, "axes": axis, "steps": p["step"]}
    return Operator("Slice", {"x": v.normal(*shape)}, {k: np.array([n], np.int64) for k, n in numbers.items()})


def parts(v: Values, p: Parameters) -> Operator:
    shape = [16, 32, 48, 20]
    if p["operator"] == "Concat":
        inputs = {f"x{i}": v.normal(*shape) for i in range(p["count"])}
        return Operator("Concat", inputs, attributes={"axis": p["axis"]})
    shape[p["axis"]] *= p["count"]
    return Operator("Split", {"x": v.normal(*shape)}, outputs=p["count"],
                    attributes={"axis": p["axis"], "num_outputs": p["count"]})  # fmt: skip


def gather(v: Values, p: Parameters) -> Operator | None:
    shape, axis = p["shape"], p["axis"]
    if axis >= len(shape):
        return None
    if p["operator"] == "Gather":
        return Operator("Gather", {"x": v.normal(*shape), "i": v.whole(0, shape[axis], p["count"])},
                        attributes={"axis": axis})  # fmt: skip
    if p["operator"] == "GatherElements":
        return Operator("GatherElements", {"x": v.normal(*shape), "i": v.whole(0, shape[axis], *shape)},
                        attributes={"axis": axis})  # fmt: skip
    if p["operator"] == "GatherND":
        return Operator("GatherND", {"x": v.normal(*shape), "i": v.whole(0, shape[0], p["count"], 1)})
    if p["operator"] == "ScatterND":
        rows = np.sort(np.random.default_rng(0).permutation(shape[0])[: p["count"]]).reshape(-1, 1)
        return Operator("ScatterND", {"x": v.normal(*shape), "i": rows, "u": v.normal(len(rows), *shape[1:])})
    return Operator(
        "ScatterElements",
        {"x": v.normal(*shape), "i": v.whole(0, shape[axis], *shape), "u": v.normal(*shape)},
        attributes={"axis": axis, "reduction": "add"},
    )


def depth_to_space(v: Values, p: Parameters) -> Operator:
    shape = (1, 64, 32, 48) if p["operator"] == "DepthToSpace" else (1, 16, 64, 96)
    attributes: Parameters = {"blocksize": p["block"]}
    if p["operator"] == "DepthToSpace":
        attributes["mode"] = p["mode"]
    return Operator(p["operator"], {"x": v.normal(*shape)}, attributes=attributes)
