"""RoiAlign and NonMaxSuppression, against onnxruntime."""

from typing import Any

import numpy as np

from models.tensor_files import Array
from tests.ops.case import Case, case, constant, ints, random, with_unknown_dims
from tests.ops.table import EVERYWHERE, table_test


def boxes_on_map(count: int, height: float, width: float, seed: int = 0) -> Array:
    """x1, y1, x2, y2, some of them beyond the map and some small."""
    generator = np.random.default_rng(seed)
    corners = generator.uniform(-2, [width, height], (count, 2))
    lengths = generator.uniform(0.1, [width, height], (count, 2))
    return np.concatenate([corners, corners + lengths], 1).astype(np.float32)


def roi_align(name: str, opset: int = 22, count: int = 5, dtype: Any = np.float32, **settings: Any) -> Case:
    x = random(2, 3, 9, 11, dtype=dtype)
    rois = boxes_on_map(count, 9, 11).astype(dtype)
    images = np.arange(count) % 2
    # onnxruntime lacks 22 for RoiAlign; the operator is that of 16.
    return case("RoiAlign", x, rois, images, name=name, opset=opset, tolerance=2e-5, **settings)


def roi_cases() -> list[Case]:
    cases = []
    for mode in ("avg", "max"):
        for samples in (0, 1, 3):
            size: dict[str, Any] = {"output_height": 3, "output_width": 4, "sampling_ratio": samples, "mode": mode}
            name = f"{mode} {samples}"
            cases += [
                roi_align(name, opset=16, **size),
                roi_align(f"{name} scaled", opset=16, spatial_scale=0.6, **size),
                roi_align(f"{name} early", opset=10, **size),
                roi_align(
                    f"{name} output_half_pixel", opset=16, coordinate_transformation_mode="output_half_pixel", **size
                ),
            ]
    cases += [
        roi_align("one bin", opset=16),
        roi_align("no boxes", opset=16, count=0, output_height=2, output_width=2, sampling_ratio=2),
        roi_align("no boxes, adaptive", opset=16, count=0, output_height=2, output_width=2),
        roi_align("float64", opset=16, dtype=np.float64, output_height=2, output_width=3),
    ]
    return cases


def candidates(images: int, classes: int, boxes: int, center: int, seed: int = 0) -> tuple[Array, Array]:
    generator = np.random.default_rng([seed, images, classes, boxes])
    first, second = generator.uniform(0, 10, (2, images, boxes, 2))
    if center:
        second = generator.uniform(0.5, 4, second.shape)
    # Few scores, so that some are equal: of these the first box comes first.
    scores = generator.integers(0, 8, (images, classes, boxes)) / 8
    return np.concatenate([first, second], 2).astype(np.float32), scores.astype(np.float32)


def suppression_cases() -> list[Case]:
    cases = []
    for images, classes, boxes in ((1, 1, 6), (2, 3, 17), (1, 2, 40), (3, 1, 1)):
        for center in (0, 1):
            given = candidates(images, classes, boxes, center)
            for most, overlap, score in ((3, 0.5, 0.3), (100, 0.2, 0.0), (0, 0.5, 0.1), (5, 0.0, 0.9)):
                cases.append(
                    case(
                        "NonMaxSuppression", *given, ints(most), constant([overlap]), constant([score]), opset=11,
                        name=f"{images}x{classes}x{boxes} center {center} most {most} overlap {overlap}",
                        center_point_box=center,
                    )
                )  # fmt: skip
    given = candidates(2, 2, 12, 0)
    most_asked, overlap_asked, score_asked = np.array([4]), np.array([0.3], np.float32), np.array([0.25], np.float32)
    everything = (most_asked, overlap_asked, score_asked)
    cases += [
        case("NonMaxSuppression", *given, *everything, name="at run time", opset=11),
        case("NonMaxSuppression", *given, most_asked, overlap_asked, name="no score", opset=11),
        case("NonMaxSuppression", *given, most_asked, name="no thresholds", opset=11),
        case("NonMaxSuppression", *given, name="nothing asked for", opset=11, expected=[np.zeros((0, 3), np.int64)]),
        case("NonMaxSuppression", *given, *everything, name="early", opset=10),
    ]
    return cases


ROIS, SUPPRESSIONS = roi_cases(), suppression_cases()
CASES = [*ROIS, *SUPPRESSIONS]
test_detection = table_test("detection", CASES, EVERYWHERE)
test_unknown_dims = table_test("detection_unknown_dims", [with_unknown_dims(one) for one in CASES], ["default"])
