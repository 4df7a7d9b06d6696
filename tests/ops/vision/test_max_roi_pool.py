"""MaxRoiPool against a plain loop, and onnxruntime, which knows no maximum below 0."""

from typing import Any

import numpy as np

from models.tensor_files import Array
from tests.ops.case import Case, case, random, with_unknown_dims
from tests.ops.table import EVERYWHERE, table_test


def boxes(count: int, images: int, dtype: Any = np.float32) -> Array:
    """Image, x1, y1, x2, y2: quarters, so that some are halves between elements; some beyond the map, some empty."""
    generator = np.random.default_rng(5)
    corners = np.round(generator.uniform(-3, 13, (count, 2)) * 4) / 4
    lengths = np.round(generator.uniform(-2, 9, (count, 2)) * 4) / 4
    return np.concatenate([np.arange(count)[:, None] % images, corners, corners + lengths], 1).astype(dtype)


def pooled(x: Array, rois: Array, shape: tuple[int, int], scale: float = 1) -> Array:
    """As Fast R-CNN has it; 0 for a bin outside of the map."""
    y = np.zeros((len(rois), x.shape[1], *shape), x.dtype)
    for r, roi in enumerate(rois.astype(np.float64)):
        x1, y1, x2, y2 = np.sign(roi[1:]) * np.floor(np.abs(roi[1:]) * scale + 0.5)
        for i in range(shape[0]):
            for j in range(shape[1]):
                bins = []
                for start, end, index, size, extent in (
                    (y1, y2, i, shape[0], x.shape[2]),
                    (x1, x2, j, shape[1], x.shape[3]),
                ):
                    step = np.float32(max(end - start + 1, 1)) / np.float32(size)
                    edges = np.floor(np.float32(index) * step) + start, np.ceil(np.float32(index + 1) * step) + start
                    bins.append(slice(*(int(np.clip(edge, 0, extent)) for edge in edges)))
                part = x[int(roi[0]), :, bins[0], bins[1]]
                if part.size:
                    y[r, :, i, j] = part.max((1, 2))
    return y


def pool(name: str, x: Array, rois: Array, shape: tuple[int, int], use_runtime: bool = False, **more: Any) -> Case:
    expected = None if use_runtime else [pooled(x, rois, shape, more.get("spatial_scale", 1))]
    settings: dict[str, Any] = {"opset": 20 if use_runtime else 22, "expected": expected, "tolerance": 0}
    return case("MaxRoiPool", x, rois, name=name, pooled_shape=list(shape), **settings, **more)


def cases() -> list[Case]:
    x = random(3, 2, 9, 11)
    return [
        pool("onnxruntime", np.abs(x), boxes(13, 3), (3, 4), use_runtime=True),
        pool("onnxruntime, scaled", np.abs(x), boxes(13, 3), (2, 5), use_runtime=True, spatial_scale=0.5),
        pool("negative", x - 5, boxes(13, 3), (3, 4)),
        pool("scaled", x, boxes(13, 3), (1, 7), spatial_scale=0.25),
        pool("more bins than elements", x, boxes(5, 3), (13, 12)),
        pool("one bin", x, boxes(5, 3), (1, 1)),
        pool("no boxes", x, np.zeros((0, 5), np.float32), (2, 3)),
        pool("float64", x.astype(np.float64), boxes(5, 3, np.float64), (2, 3)),
        pool("float16", x.astype(np.float16), boxes(5, 3, np.float16), (2, 3)),
    ]


CASES = cases()
test_max_roi_pool = table_test("max_roi_pool", CASES, EVERYWHERE)
test_unknown_dims = table_test("max_roi_pool_unknown_dims", [with_unknown_dims(one) for one in CASES], ["default"])
