"""Layers that reduce or normalise: along an axis, over rows, channels and groups."""

import numpy as np

from tools.layer_sweep.layer import Parameters, Values, extents
from tools.operator_timing import Array, Operator


def row_normalization(v: Values, p: Parameters) -> Operator:
    scale, shift = v.positive(p["width"], dtype=p["type"]), v.normal(p["width"], dtype=p["type"])
    constants = {"s": scale} if p["type of norm"] == "RMSNormalization" else {"s": scale, "b": shift}
    x = v.normal(max(1, p["elements"] // p["width"]), p["width"], dtype=p["type"])
    return Operator(p["type of norm"], {"x": x}, dict(constants), opset=23)


def channel_normalization(v: Values, p: Parameters) -> Operator | None:
    if p["type of norm"] == "GroupNormalization" and p["channels"] % p["groups"]:
        return None
    c, dtype = p["channels"], p["type"]
    constants: dict[str, Array | None] = {"s": v.positive(c, dtype=dtype), "b": v.normal(c, dtype=dtype)}
    if p["type of norm"] == "BatchNormalization":
        constants |= {"m": v.normal(c, dtype=dtype), "v": v.positive(c, dtype=dtype)}
    attributes = {"num_groups": p["groups"]} if p["type of norm"] == "GroupNormalization" else {}
    return Operator(p["type of norm"], {"x": v.normal(p["batch"], c, *extents(p), dtype=dtype)}, constants, opset=21,
                    attributes=attributes, followers=(p["behind"],) if p["behind"] else ())  # fmt: skip


def other_normalization(v: Values, p: Parameters) -> Operator:
    attributes: Parameters = {
        "LpNormalization": {"axis": p["axis"], "p": p["p"]},
        "LRN": {"size": 5},
        "MeanVarianceNormalization": {"axes": [0, 2, 3]},
    }[p["type of norm"]]
    return Operator(p["type of norm"], {"x": v.normal(2, p["channels"], p["side"], p["side"])}, attributes=attributes)


def along_an_axis(v: Values, p: Parameters) -> Operator | None:
    """Softmax, ArgMax, CumSum and the reductions."""
    shape = p["shape"]
    if p["axis"] >= len(shape):
        return None
    x = {"x": v.normal(*shape, dtype=p["type"])}
    type_of = p["operator"]
    if type_of in ("Softmax", "LogSoftmax", "Hardmax"):
        return Operator(type_of, x, attributes={"axis": p["axis"]})
    if type_of in ("ArgMax", "ArgMin"):
        return Operator(type_of, x, attributes={"axis": p["axis"], "keepdims": 0})
    if type_of == "CumSum":
        return Operator(type_of, x, {"axis": np.array(p["axis"], np.int64)})
    if type_of == "TopK":
        return Operator(type_of, x, {"k": np.array([3], np.int64)}, 2, attributes={"axis": p["axis"]})
    return Operator(type_of, x, {"axes": np.array([p["axis"]], np.int64)}, attributes={"keepdims": 0})
