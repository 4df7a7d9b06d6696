"""Layers that resample or transform: Resize, GridSample, Fourier transforms."""

import numpy as np

from tools.layer_sweep.layer import Parameters, Values, extents
from tools.operator_timing import Array, Operator


def fourier(v: Values, p: Parameters) -> Operator | None:
    if p["onesided"] and p["parts"] == 2:
        return None
    attributes = {"onesided": int(p["onesided"]), "inverse": int(p["inverse"])}
    if p["onesided"] and p["inverse"]:
        return None
    shape = [p["rows"], p["length"], p["parts"]]
    if p["axis"] == 0:
        shape[0], shape[1] = shape[1], shape[0]
    constants: dict[str, Array | None] = {"length": None, "axis": np.array(p["axis"], np.int64)}
    dims = {"x": ("rows", "length", p["parts"])}
    return Operator("DFT", {"x": v.normal(*shape)}, constants, attributes=attributes, dims=dims)


def short_fourier(v: Values, p: Parameters) -> Operator:
    return Operator(
        "STFT",
        {"x": v.normal(p["batch"], p["length"], 1)},
        {
            "step": np.array(p["frame"] // p["overlap"], np.int64),
            "window": np.hanning(p["frame"]).astype(np.float32),
            "frame": np.array(p["frame"], np.int64),
        },
        attributes={"onesided": int(p["onesided"])},
        dims={"x": ("batch", "length", 1)},
    )


def resize(v: Values, p: Parameters) -> Operator | None:
    if p["mode"] == "cubic" and p["rank"] != 2:
        return None
    scales = np.array([1, 1, *[p["scale"]] * p["rank"]], np.float32)
    attributes: Parameters = {"mode": p["mode"], "coordinate_transformation_mode": p["coordinates"]}
    if p["mode"] == "nearest":
        attributes["nearest_mode"] = p["nearest"]
    elif p["antialias"]:
        attributes["antialias"] = 1
    return Operator("Resize", {"x": v.normal(1, p["channels"], *extents(p), dtype=p["type"])},
                    {"roi": None, "scales": scales}, attributes=attributes)  # fmt: skip


def grid_sample(v: Values, p: Parameters) -> Operator | None:
    size = extents(p)
    if p["rank"] == 3 and p["mode"] == "cubic":
        return None
    grid = 2 * v.positive(1, *size, p["rank"]) - 2
    attributes = {"mode": p["mode"], "padding_mode": p["padding"], "align_corners": int(p["aligned"])}
    return Operator("GridSample", {"x": v.normal(1, p["channels"], *size), "grid": grid}, attributes=attributes)
