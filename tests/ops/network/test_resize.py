"""Resize and Upsample: every mode, coordinate transformation and rounding, up and down, of one to three axes."""

from typing import Any

import numpy as np

from tests.ops.case import Case, case, constant, ints, random, type_id, with_unknown_dims
from tests.ops.table import EVERYWHERE, table_test

LINE, IMAGE, VOLUME = random(2, 3, 7), random(2, 3, 5, 6), random(2, 3, 4, 5, 6)
TRANSFORMATIONS = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
)
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def scales(*values: float) -> Any:
    return constant(values)


def by_sizes(x: Any, *spatial: int, name: str, **attributes: Any) -> Case:
    return case("Resize", x, None, None, ints(*x.shape[:2], *spatial), name=name, **attributes)


def by_scales(x: Any, *spatial: float, name: str, **attributes: Any) -> Case:
    return case("Resize", x, None, scales(1, 1, *spatial), name=name, **attributes)


def nearest_cases() -> list[Case]:
    cases = []
    for transformation in TRANSFORMATIONS:
        for rounding in ROUNDINGS:
            settings = {"coordinate_transformation_mode": transformation, "nearest_mode": rounding}
            cases.append(by_sizes(IMAGE, 8, 3, name=f"nearest {transformation} {rounding}", **settings))
    cases += [
        by_scales(
            VOLUME,
            2,
            2,
            2,
            name="nearest 3D doubled",
            mode="nearest",
            nearest_mode="floor",
            coordinate_transformation_mode="asymmetric",
        ),
        by_scales(VOLUME, 2, 3, 1, name="nearest 3D", mode="nearest"),
        by_scales(VOLUME, 0.5, 0.6, 1.7, name="nearest 3D mixed", mode="nearest"),
        by_sizes(VOLUME, 7, 3, 11, name="nearest 3D sizes", mode="nearest"),
        by_scales(LINE, 2.5, name="nearest 1D", mode="nearest"),
        by_sizes(VOLUME, 1, 1, 1, name="nearest to one", mode="nearest"),
    ]
    for dtype in (np.float16, np.int32, np.uint8, np.int8):
        cases.append(by_scales(random(1, 2, 3, 4, dtype=dtype), 2, 3, name=f"nearest {type_id(dtype)}"))
    return cases


def linear_cases() -> list[Case]:
    cases = []
    for transformation in TRANSFORMATIONS:
        settings = {"mode": "linear", "coordinate_transformation_mode": transformation}
        cases += [
            by_sizes(LINE, 10, name=f"linear 1D {transformation}", **settings),
            by_sizes(IMAGE, 8, 9, name=f"linear 2D up {transformation}", **settings),
            by_sizes(IMAGE, 3, 4, name=f"linear 2D down {transformation}", **settings),
            by_sizes(VOLUME, 8, 9, 4, name=f"linear 3D {transformation}", **settings),
            by_scales(VOLUME, 2, 2, 2, name=f"linear 3D doubled {transformation}", **settings),
        ]
    cases += [
        by_scales(VOLUME, 1.5, 0.7, 2.3, name="linear 3D fractional scales", mode="linear"),
        # microsoft/onnxruntime#12091: two of the three sizes are one.
        by_sizes(VOLUME, 11, 1, 1, name="linear 3D to lines", mode="linear"),
        by_sizes(
            VOLUME,
            11,
            1,
            1,
            name="linear 3D to lines, corners",
            mode="linear",
            coordinate_transformation_mode="align_corners",
        ),
        by_sizes(random(1, 1, 1, 3, 1), 4, 5, 3, name="linear 3D from one", mode="linear"),
        # microsoft/onnxruntime#17564: a long thin image whose corners were not aligned.
        by_sizes(
            random(1, 2, 20, 2),
            40,
            4,
            name="linear 2D thin, corners",
            mode="linear",
            coordinate_transformation_mode="align_corners",
        ),
        by_sizes(VOLUME, 4, 5, 6, name="linear 3D same size", mode="linear"),
    ]
    return cases


def cubic_cases() -> list[Case]:
    cases = []
    for transformation in ("half_pixel", "align_corners", "asymmetric"):
        settings = {"mode": "cubic", "coordinate_transformation_mode": transformation}
        cases.append(by_sizes(IMAGE, 8, 9, name=f"cubic up {transformation}", **settings))
        cases.append(by_sizes(IMAGE, 3, 4, name=f"cubic down {transformation}", **settings))
    return [
        *cases,
        by_scales(IMAGE, 2, 3, name="cubic coefficient", mode="cubic", cubic_coeff_a=-0.5),
        by_scales(IMAGE, 2, 3, name="cubic exclude_outside", mode="cubic", exclude_outside=1),
        by_scales(VOLUME, 2, 1.5, 2, name="cubic 3D", mode="cubic"),
    ]


def crop_cases() -> list[Case]:
    roi = constant([0, 0, 0.1, 0.2, 1, 1, 0.8, 0.9])
    crop: dict[str, Any] = {"coordinate_transformation_mode": "tf_crop_and_resize"}
    outside = constant([0, 0, -0.3, 0.2, 1, 1, 1.2, 0.9])
    return [
        case("Resize", IMAGE, roi, None, ints(2, 3, 4, 7), name="crop linear", mode="linear", **crop),
        case("Resize", IMAGE, roi, None, ints(2, 3, 4, 7), name="crop nearest", mode="nearest", **crop),
        case(
            "Resize",
            IMAGE,
            outside,
            None,
            ints(2, 3, 4, 7),
            name="crop outside",
            mode="linear",
            extrapolation_value=10.0,
            **crop,
        ),
    ]


def newer_cases() -> list[Case]:
    """The attributes that came with versions 18 and 19: axes, aspect ratio, antialiasing."""
    cases = [
        case("Resize", VOLUME, None, constant([2.0, 0.5]), name="axes by scales", axes=[2, 4], mode="linear"),
        case("Resize", VOLUME, None, None, ints(7, 3), name="axes by sizes", axes=[3, 2], mode="nearest"),
    ]
    for policy in ("not_larger", "not_smaller"):
        cases.append(
            case("Resize", IMAGE, None, None, ints(8, 14), name=policy, axes=[2, 3], keep_aspect_ratio_policy=policy)
        )
    for mode in ("linear", "cubic"):
        cases.append(by_sizes(IMAGE, 3, 4, name=f"antialias {mode}", mode=mode, antialias=1))
        cases.append(by_scales(IMAGE, 0.6, 0.6, name=f"antialias scales {mode}", mode=mode, antialias=1))
    cases.append(by_sizes(VOLUME, 2, 3, 4, name="antialias 3D", mode="linear", antialias=1))
    return cases


def run_time_cases() -> list[Case]:
    """Scales, sizes and a region that are inputs of the graph."""

    def scaled(x: Any, *spatial: float, name: str, **attributes: Any) -> Case:
        return case("Resize", x, None, np.array((1, 1, *spatial), np.float32), name=f"run time {name}", **attributes)

    cases = [
        scaled(IMAGE, 1.7, 0.6, name="nearest", mode="nearest"),
        scaled(VOLUME, 2, 0.5, 1.3, name="linear 3D", mode="linear"),
        scaled(IMAGE, 1.5, 2, name="linear align_corners", mode="linear",
               coordinate_transformation_mode="align_corners"),
        scaled(IMAGE, 0.6, 1.8, name="cubic", mode="cubic", exclude_outside=1),
        scaled(IMAGE, 0.6, 0.5, name="antialias linear", mode="linear", antialias=1),
        scaled(IMAGE, 0.4, 1.7, name="antialias cubic", mode="cubic", antialias=1),
        case("Resize", VOLUME, None, np.array([2.0, 0.5], np.float32), name="run time axes", axes=[2, 4],
             mode="linear"),
        case("Resize", IMAGE, np.array([1, 1, 0.6, 1.5], np.float32), opset=10, name="run time nearest",
             mode="nearest"),
        case("Upsample", IMAGE, np.array([1, 1, 2, 1.5], np.float32), opset=9, name="run time", mode="linear"),
        case("Resize", IMAGE, np.array([0, 0, 0.2, 0.1, 1, 1, 0.7, 1.2], np.float32), None, ints(2, 3, 4, 7),
             name="run time roi", mode="linear", coordinate_transformation_mode="tf_crop_and_resize",
             extrapolation_value=10.0),
    ]  # fmt: skip
    for policy in ("not_larger", "not_smaller"):
        sizes = np.array([8, 14], np.int64)
        cases += [
            case("Resize", IMAGE, None, None, sizes, name=f"run time {policy}", axes=[2, 3],
                 keep_aspect_ratio_policy=policy),
            with_unknown_dims(
                case("Resize", IMAGE, None, None, ints(8, 14), name=policy, axes=[2, 3], mode="linear",
                     keep_aspect_ratio_policy=policy)
            ),
        ]  # fmt: skip
    return cases


def older_cases() -> list[Case]:
    half = constant([1, 1, 2, 1.5])
    return [
        case("Upsample", IMAGE, opset=7, name="nearest", mode="nearest", scales=[1.0, 1.0, 2.0, 3.0]),
        case("Upsample", IMAGE, opset=7, name="linear", mode="linear", scales=[1.0, 1.0, 2.0, 3.0]),
        case("Upsample", IMAGE, half, opset=9, name="nearest", mode="nearest"),
        case("Upsample", IMAGE, half, opset=9, name="linear", mode="linear"),
        case(
            "Upsample",
            IMAGE,
            opset=1,
            name="attributes",
            width_scale=3.0,
            height_scale=2.0,
            expected=[IMAGE.repeat(2, axis=2).repeat(3, axis=3)],
        ),
        case("Resize", IMAGE, half, opset=10, name="nearest", mode="nearest"),
        case("Resize", IMAGE, half, opset=10, name="linear", mode="linear"),
        case("Resize", IMAGE, constant([1, 1, 0.6, 0.5]), opset=10, name="nearest down", mode="nearest"),
        case("Resize", IMAGE, constant([], np.float32), half, opset=11, name="linear", mode="linear"),
        case(
            "Resize",
            IMAGE,
            constant([], np.float32),
            constant([], np.float32),
            ints(2, 3, 7, 4),
            opset=11,
            name="sizes",
            mode="nearest",
        ),
        case(
            "Resize",
            IMAGE,
            constant([], np.float32),
            half,
            opset=11,
            name="tf_half_pixel_for_nn",
            mode="nearest",
            coordinate_transformation_mode="tf_half_pixel_for_nn",
        ),
        case("Resize", IMAGE, None, half, opset=13, name="cubic", mode="cubic"),
        case("Resize", IMAGE, None, None, ints(2, 3, 7, 4), opset=18, name="linear", mode="linear"),
    ]


CASES = [
    *nearest_cases(),
    *linear_cases(),
    *cubic_cases(),
    *crop_cases(),
    *newer_cases(),
    *run_time_cases(),
    *older_cases(),
]
test_resize = table_test("resize", CASES, EVERYWHERE)
