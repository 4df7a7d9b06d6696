"""Small decoders of video as ONNX files, onnxruntime as what computes them, and diffusers' loops written plainly."""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from tests.onnxc_commands import BINARIES, compile_model, execute
from tests.onnxruntime_sessions import open_session

Array = NDArray[Any]

CHANNELS = 2
ZOOM = 2  # of height, width, and frames

# Features of a frame and of the two before it, twice as large in time and planes, then a convolution of each plane.
# Without a cache zeros come before, and the first frame is there once.
BODY = """
  features = Conv <pads = [0, 1, 1, 0, 1, 1]> (all, w0)
  bent = Tanh(features)
  large = Resize <mode = "nearest"> (bent, , scales)
  {cut}
  frames = Conv <pads = [0, 1, 1, 0, 1, 1]> ({large}, w1)
  next = Slice(all, last, end, axis)
}}
"""
CONSTANTS = """
  <float[5] scales = {1, 1, 2, 2, 2}, int64[10] pads = {0, 0, 2, 0, 0, 0, 0, 0, 0, 0}, int64[1] last = {-2},
   int64[1] end = {1000000}, int64[1] axis = {2}, int64[1] one = {1}>
"""
HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'
FIRST = (
    HEAD
    + "first (float[1, 2, T, H, W] latents) => (frames, next)"
    + CONSTANTS
    + "{ all = Pad(latents, pads)"
    + BODY.format(cut="cut = Slice(large, one, end, axis)", large="cut")
)
LATER = (
    HEAD
    + "later (float[1, 2, T, H, W] latents, float[1, 2, 2, H, W] cache) => (frames, next)"
    + CONSTANTS
    + "{ all = Concat <axis = 2> (cache, latents)"
    + BODY.format(cut="", large="large")
)
# The same as FIRST, without the cache.
CAUSAL = (
    FIRST.replace("first (", "causal (")
    .replace("(frames, next)", "(frames)")
    .replace("next = Slice(all, last, end, axis)", "")
)
# Each frame by itself.
STILL = (
    HEAD
    + "still (float[1, 2, T, H, W] latents) => (frames) { frames = Conv <pads = [0, 1, 1, 0, 1, 1]> (latents, w2) }"
)

# Half the planes and frames; without a cache zeros come before, and the features of the first frame are there twice.
ENCODER_CONSTANTS = """
  <int64[10] pads = {0, 0, 2, 0, 0, 0, 0, 0, 0, 0}, int64[1] last = {-2}, int64[1] zero = {0}, int64[1] end = {1000000},
   int64[1] axis = {2}, int64[1] one = {1}>
"""
ENCODER_BODY = """
  features = Conv <pads = [0, 1, 1, 0, 1, 1]> (all, e0)
  bent = Tanh(features)
  {twice}
  latents = AveragePool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> ({pooled})
  next = Slice(all, last, end, axis)
}}
"""
ENCODER_FIRST = (
    HEAD
    + "begin (float[1, 3, T, H, W] frames) => (latents, next)"
    + ENCODER_CONSTANTS
    + "{ all = Pad(frames, pads)"
    + ENCODER_BODY.format(
        twice="start = Slice(bent, zero, one, axis) twice = Concat <axis = 2> (start, bent)", pooled="twice"
    )
)
ENCODER_LATER = (
    HEAD
    + "go_on (float[1, 3, T, H, W] frames, float[1, 3, 2, H, W] cache) => (latents, next)"
    + ENCODER_CONSTANTS
    + "{ all = Concat <axis = 2> (cache, frames)"
    + ENCODER_BODY.format(twice="", pooled="bent")
)
ENCODER = (
    ENCODER_FIRST.replace("begin (", "encoder (")
    .replace("(latents, next)", "(latents)")
    .replace("next = Slice(all, last, end, axis)", "")
)


def save(path: Path, text: str) -> Path:
    model = onnx.parser.parse_model(text)
    random = np.random.default_rng(0)
    shapes = {"e0": (4, 3, 3, 3, 3), "w0": (6, CHANNELS, 3, 3, 3), "w1": (3, 6, 1, 3, 3), "w2": (3, CHANNELS, 1, 3, 3)}
    used = {name for node in model.graph.node for name in node.input}
    for name, shape in shapes.items():
        weights = (random.standard_normal(shape) * 0.3).astype(np.float32)
        if name in used:
            model.graph.initializer.append(numpy_helper.from_array(weights, name))
    onnx.save(model, path)
    return path


def compiled(folder: Path, name: str, *texts: str, options: Sequence[str] = ()) -> Path:
    """A model.so of several graphs, which keep the names that they have in their texts."""
    models = [save(folder / f"{text[len(HEAD) :].split(' ')[0]}.onnx", text) for text in texts]
    shared_object = folder / f"{name}.so"
    if len(models) == 1:
        return compile_model(models[0], shared_object, *options)
    execute([str(BINARIES / "onnxc"), *map(str, models), "-o", str(shared_object), *options])
    return shared_object


def latents(*shape: int) -> Array:
    return np.random.default_rng(list(shape)).standard_normal(shape, np.float32)


def reference(file: Path, given: str = "latents", made: str = "frames") -> Callable[[Array], Array]:
    """onnxruntime on a whole video, by a model without caches."""
    session = open_session(file)
    return lambda values: session.run([made], {given: np.ascontiguousarray(values)})[0].astype(np.float64)


def run_lines_over(before: Array, own: Array, extent: int, axis: int) -> None:
    extent = min(before.shape[axis], own.shape[axis], extent)
    before, own = np.moveaxis(before, axis, 0), np.moveaxis(own, axis, 0)
    for line in range(extent):
        own[line] = before[len(before) - extent + line] * (1 - line / extent) + own[line] * (line / extent)


def decoded_in_tiles(
    decode: Callable[[Array], Array],
    values: Array,
    tile: tuple[int, int],
    overlap: tuple[int, int],
    zoom: Fraction = Fraction(ZOOM),
) -> Array:
    """diffusers' tiled_decode and tiled_encode: all tiles in full, then blended in place, row by row."""
    height, width = values.shape[3:]
    if height <= tile[0] and width <= tile[1]:
        return decode(values)
    stride = tile[0] - overlap[0], tile[1] - overlap[1]
    rows = [
        [decode(values[..., top : top + tile[0], left : left + tile[1]]) for left in range(0, width, stride[1])]
        for top in range(0, height, stride[0])
    ]
    for i, row in enumerate(rows):
        for j, own in enumerate(row):
            if i > 0:
                run_lines_over(rows[i - 1][j], own, int(overlap[0] * zoom), 3)
            if j > 0:
                run_lines_over(row[j - 1], own, int(overlap[1] * zoom), 4)
    kept = [[each[..., : int(stride[0] * zoom), : int(stride[1] * zoom)] for each in row] for row in rows]
    return np.concatenate([np.concatenate(row, axis=4) for row in kept], axis=3)


def decoded_in_windows(
    decode: Callable[[Array], Array], values: Array, tile: int, overlap: int, zoom: Fraction = Fraction(ZOOM)
) -> Array:
    """diffusers' _temporal_tiled_decode and _temporal_tiled_encode, HunyuanVideo's."""
    frames = values.shape[2]
    if frames <= tile:
        return decode(values)
    stride = tile - overlap
    windows = [decode(values[:, :, start : start + tile + 1]) for start in range(0, frames, stride)]
    windows[1:] = [window[:, :, 1:] for window in windows[1:]]
    for before, own in itertools.pairwise(windows):
        run_lines_over(before, own, int(overlap * zoom), 2)
    kept = [window[:, :, : int(stride * zoom) + (index == 0)] for index, window in enumerate(windows)]
    return np.concatenate(kept, axis=2)[:, :, : int((frames - 1) * zoom) + 1]
