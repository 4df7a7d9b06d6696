"""GridSample and AffineGrid: every mode, padding and alignment, of images, volumes and lines.

PyTorch is the oracle if it has the mode: grid_sample of images in all, of volumes in nearest and linear, and
affine_grid. ONNX's reference evaluator has the others.
"""

import itertools
from typing import Any

import numpy as np
import torch
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from models.tensor_files import Array
from tests.ops.case import Case, case, ints, random, type_id, with_unknown_dims
from tests.ops.table import EVERYWHERE, table_test

MODES = ("nearest", "linear", "cubic")
PADDINGS = ("zeros", "border", "reflection")
TORCH_MODES = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}
EARLY_MODES = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}


def by_torch(x: Array, grid: Array, mode: str, padding: str, align_corners: int) -> Array:
    result: Array = torch.nn.functional.grid_sample(
        torch.from_numpy(x),
        torch.from_numpy(grid),
        mode=TORCH_MODES[mode],
        padding_mode=padding,
        align_corners=bool(align_corners),
    ).numpy()
    return result


def by_reference(x: Array, grid: Array, mode: str, padding: str, align_corners: int) -> Array:
    """Expected outputs by ONNX's evaluator, which knows only the modes' names of version 20."""
    names = ("x", "grid", "y")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names]
    settings = {"mode": mode, "padding_mode": padding, "align_corners": align_corners}
    graph = helper.make_graph(
        [helper.make_node("GridSample", names[:2], names[2:], **settings)], "g", values[:2], values[2:]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    result: Array = ReferenceEvaluator(model).run(None, {"x": x, "grid": grid})[0]
    return result


def places(*shape: int, reach: float = 1.4, seed: int = 0) -> Array:
    """Coordinates inside and around the image. None stands half between two elements, at which rounding would
    decide."""
    generator = np.random.default_rng([seed, *shape])
    return generator.uniform(-reach, reach, shape).astype(np.float32)


def sample(x: Array, grid: Array, mode: str, padding: str, align: int, name: str, **settings: Any) -> Case:
    # PyTorch leaves a cubic place at the border as it is, ONNX moves it to the last element.
    has_torch = (x.ndim == 4 or (x.ndim == 5 and mode != "cubic")) and (mode, padding) != ("cubic", "border")
    oracle = by_torch if has_torch else by_reference
    return case(
        "GridSample",
        x,
        grid,
        name=f"{name} {mode} {padding} align {align}",
        expected=[oracle(x, grid, mode, padding, align)],
        tolerance=settings.pop("tolerance", 1e-4),
        opset=settings.pop("opset", 22),
        mode=settings.pop("mode_name", mode),
        padding_mode=padding,
        align_corners=align,
        **settings,
    )


def every_mode() -> list[Case]:
    image, image_grid = random(2, 3, 5, 6), places(2, 4, 7, 2)
    volume, volume_grid = random(2, 3, 4, 5, 6), places(2, 3, 2, 5, 3)
    line, line_grid = random(2, 3, 7), places(2, 5, 1)
    cases = []
    for mode, padding, align in itertools.product(MODES, PADDINGS, (0, 1)):
        cases += [
            sample(image, image_grid, mode, padding, align, "image"),
            sample(volume, volume_grid, mode, padding, align, "volume"),
            sample(line, line_grid, mode, padding, align, "line"),
            sample(image, image_grid, mode, padding, align, "early", opset=16, mode_name=EARLY_MODES[mode]),
        ]
    return cases


def sizes() -> list[Case]:
    """Axes of one element, far places, an identity, blocks of channels, no places."""
    cases = []
    for padding, align in itertools.product(PADDINGS, (0, 1)):
        cases += [
            sample(random(1, 2, 1, 4), places(1, 3, 3, 2), "linear", padding, align, "flat"),
            sample(random(1, 1, 5, 3, 4), places(1, 2, 3, 4, 3, reach=9), "linear", padding, align, "far"),
            sample(random(1, 17, 3, 3, 4), places(1, 2, 3, 4, 3), "linear", padding, align, "many channels"),
        ]
    lines = np.meshgrid(*(np.linspace(-1, 1, n) for n in (4, 5, 6)), indexing="ij")
    identity = np.stack(lines[::-1], -1)[None].astype(np.float32)
    cases += [
        sample(random(1, 2, 4, 5, 6), identity, "linear", "border", 1, "identity"),
        sample(random(2, 3, 4, 5), np.zeros((2, 0, 3, 2), np.float32), "linear", "zeros", 0, "no places"),
    ]
    return cases


def types() -> list[Case]:
    cases = []
    grid = places(1, 3, 2, 2)
    for dtype in (np.float64, np.float16):
        x = random(1, 2, 4, 5, dtype=dtype)
        wide = by_torch(x.astype(np.float64), grid.astype(dtype).astype(np.float64), "linear", "border", 0)
        cases.append(
            case(
                "GridSample", x, grid.astype(dtype), name=type_id(dtype), opset=22, padding_mode="border",
                expected=[wide.astype(dtype)], tolerance=1e-6 if dtype == np.float64 else 2e-2,
            )
        )  # fmt: skip
    for integer in (np.int32, np.uint8, np.int64):
        whole = random(1, 2, 4, 5, dtype=integer)
        nearest = by_torch(whole.astype(np.float32), grid, "nearest", "zeros", 0).astype(integer)
        cases.append(
            case("GridSample", whole, grid, name=type_id(integer), opset=22, mode="nearest", expected=[nearest])
        )
    return cases


def affine_grids() -> list[Case]:
    cases = []
    for align in (0, 1):
        for size in ((2, 3, 4, 5), (2, 3, 4, 5, 6), (1, 2, 1, 3)):
            axes = len(size) - 2
            theta = random(size[0], axes, axes + 1)
            expected = torch.nn.functional.affine_grid(torch.from_numpy(theta), list(size), bool(align)).numpy()
            name = f"{axes}D {size[2]} align {align}"
            known = case("AffineGrid", theta, ints(*size), name=name, expected=[expected], align_corners=align)
            at_run_time = case(
                "AffineGrid", theta, np.array(size), name=f"{name} run time", expected=[expected], align_corners=align
            )
            cases += [known, with_unknown_dims(known), at_run_time]
    return cases


SAMPLES = [*every_mode(), *sizes(), *types()]
CASES = [*SAMPLES, *affine_grids()]
test_grid_sample = table_test("grid_sample", CASES, EVERYWHERE)
test_unknown_dims = table_test("grid_sample_unknown_dims", [with_unknown_dims(one) for one in SAMPLES], ["default"])
