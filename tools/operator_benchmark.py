"""Single operators at sizes of real networks, beside onnxruntime: one thread each, in turns, the least times.

    python -m tools.operator_benchmark                      # all
    python -m tools.operator_benchmark topk argmax --free   # whose names hold one of these; all dims free

A ratio is onnxruntime's time over onnxc's. Convolutions and whole networks are in `make bench`; this finds what
surrounds them.
"""

import argparse
from typing import Any

import numpy as np

from tools.operator_timing import Array, Operator, measure

RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def uniform(*shape: int) -> Array:
    return RANDOM.random(shape).astype(np.float32)


def whole(most: int, *shape: int, least: int = 0) -> Array:
    return RANDOM.integers(least, most, shape)


def boxes(count: int) -> Array:
    corners = uniform(1, count, 2)
    return np.concatenate([corners, corners + uniform(1, count, 2) / 20], -1)


def single(value: float, dtype: Any = np.float32) -> Array:
    return np.array(value, dtype)


def vector(*values: float, dtype: Any = np.int64) -> Array:
    return np.array(values, dtype)


VOLUME = normal(1, 32, 32, 48, 40)
LOGITS = normal(1, 14, 64, 64, 48)
MATRIX = normal(2048, 1024)


def unary(type: str, x: Array = MATRIX, **attributes: Any) -> Operator:
    return Operator(type, {"x": x}, attributes=attributes)


OPERATORS = {
    # selection
    "topk 1000 of 200000": Operator("TopK", {"x": normal(1, 200000)}, {"k": vector(1000)}, 2),
    "topk 10 of 1000": Operator("TopK", {"x": normal(64, 1000)}, {"k": vector(10)}, 2),
    "topk of channels": Operator("TopK", {"x": normal(1, 64, 32, 32, 32)}, {"k": vector(3)}, 2, attributes={"axis": 1}),
    "unique": Operator("Unique", {"x": whole(500, 100000)}, outputs=4),
    "nms": Operator(
        "NonMaxSuppression",
        {"boxes": boxes(5000), "scores": uniform(1, 2, 5000)},
        {"most": vector(200), "overlap": vector(0.5, dtype=np.float32), "score": vector(0.1, dtype=np.float32)},
    ),
    "nonzero": unary("NonZero", normal(64, 64, 64) > 1),
    "argmax of channels": unary("ArgMax", LOGITS, axis=1),
    "argmax of rows": unary("ArgMax", normal(64, 32000), axis=-1),
    "hardmax": unary("Hardmax", normal(1024, 1000)),
    "onehot": Operator(
        "OneHot",
        {"x": whole(14, 64, 64, 48)},
        {"depth": single(14, np.int64), "values": vector(0, 1, dtype=np.float32)},
    ),
    # reductions and normalisations
    "reduce mean of rows": Operator("ReduceMean", {"x": normal(4096, 1000)}, {"axes": vector(-1)}),
    "reduce mean of columns": Operator("ReduceMean", {"x": normal(1000, 4096)}, {"axes": vector(0)}),
    "reduce sum of a middle axis": Operator("ReduceSum", {"x": normal(64, 256, 256)}, {"axes": vector(1)}),
    "reduce max of all": Operator("ReduceMax", {"x": normal(4000000)}, {"axes": vector(0)}),
    "reduce log sum exp": Operator("ReduceLogSumExp", {"x": normal(4096, 1000)}, {"axes": vector(-1)}),
    "cumsum of rows": Operator("CumSum", {"x": normal(64, 100000)}, {"axis": single(1, np.int64)}),
    "cumsum of columns": Operator("CumSum", {"x": normal(1000, 4000)}, {"axis": single(0, np.int64)}),
    "softmax of rows": unary("Softmax", normal(1024, 1000)),
    "softmax of channels": unary("Softmax", LOGITS, axis=1),
    "layer normalization": Operator(
        "LayerNormalization", {"x": normal(2048, 384)}, {"s": normal(384), "b": normal(384)}
    ),
    "layer normalization of 32": Operator(
        "LayerNormalization", {"x": normal(16384, 32)}, {"s": normal(32), "b": normal(32)}
    ),
    "instance normalization": Operator("InstanceNormalization", {"x": VOLUME}, {"s": normal(32), "b": normal(32)}),
    "group normalization": Operator(
        "GroupNormalization", {"x": VOLUME}, {"s": normal(32), "b": normal(32)}, opset=21, attributes={"num_groups": 8}
    ),
    # moves
    "transpose of matrices": unary("Transpose", normal(64, 256, 256), perm=[0, 2, 1]),
    "transpose to channels last": unary("Transpose", VOLUME, perm=[0, 2, 3, 4, 1]),
    "gather of rows": Operator("Gather", {"x": normal(32000, 256), "i": whole(32000, 4096)}),
    "gather elements": Operator(
        "GatherElements", {"x": normal(1024, 1024), "i": whole(1024, 1024, 1024)}, attributes={"axis": 1}
    ),
    "scatter add": Operator(
        "ScatterElements",
        {"x": normal(1024, 1024), "i": whole(1024, 1024, 1024), "u": normal(1024, 1024)},
        attributes={"axis": 1, "reduction": "add"},
    ),
    "compress": Operator("Compress", {"x": normal(100000, 32), "c": uniform(100000) > 0.5}, attributes={"axis": 0}),
    "concat": Operator("Concat", {"x": VOLUME, "y": VOLUME}, attributes={"axis": 1}),
    "pad": Operator("Pad", {"x": VOLUME}, {"pads": vector(0, 0, 2, 2, 2, 0, 0, 2, 2, 2)}),
    "pad by reflection": Operator(
        "Pad", {"x": VOLUME}, {"pads": vector(0, 0, 2, 2, 2, 0, 0, 2, 2, 2)}, attributes={"mode": "reflect"}
    ),
    "expand": Operator("Expand", {"x": normal(32, 1, 1, 40)}, {"shape": vector(32, 32, 48, 40)}),
    "tile": Operator("Tile", {"x": normal(32, 32, 40)}, {"repeats": vector(2, 3, 4)}),
    "resize trilinear": Operator(
        "Resize",
        {"x": VOLUME},
        {"roi": None, "scales": vector(1, 1, 2, 2, 2, dtype=np.float32)},
        attributes={"mode": "linear"},
    ),
    "max pool": unary("MaxPool", VOLUME, kernel_shape=[3, 3, 3], pads=[1] * 6),
    "average pool": unary("AveragePool", VOLUME, kernel_shape=[3, 3, 3], pads=[1] * 6),
    "grid sample": Operator(
        "GridSample",
        {"x": normal(1, 4, 32, 48, 40), "grid": 2 * uniform(1, 32, 48, 40, 3) - 1},
        attributes={"mode": "linear"},
    ),
    "roi align": Operator(
        "RoiAlign",
        {"x": normal(1, 64, 50, 50), "rois": np.sort(400 * uniform(200, 4), 1), "images": whole(1, 200)},
        attributes={"output_height": 7, "output_width": 7, "spatial_scale": 0.125, "sampling_ratio": 2},
    ),
    # elementwise
    **{name.lower(): unary(name) for name in ("Gelu", "Erf", "Tanh", "Exp", "Sin", "Cos", "Atan", "Softplus", "Round")},
    "pow": Operator("Pow", {"x": uniform(1024, 1024), "y": normal(1024, 1024)}),
    "fmod": Operator("Mod", {"x": normal(1024, 1024), "y": normal(1024, 1024)}, attributes={"fmod": 1}),
    "div of integers": Operator("Div", {"x": whole(99, 1024, 1024), "y": whole(99, 1024, 1024, least=1)}),
    "quantize": Operator("QuantizeLinear", {"x": VOLUME}, {"s": single(0.02), "z": single(3, np.uint8)}),
    "dynamic quantize": Operator("DynamicQuantizeLinear", {"x": normal(256, 1024)}, outputs=3),
    # products
    "matmul of computed matrices": Operator("MatMul", {"a": normal(512, 512), "b": normal(512, 512)}),
    "matmul of a row": Operator("MatMul", {"a": normal(1, 2048)}, {"b": normal(2048, 4096)}),
    "attention": Operator("Attention", {name: normal(1, 8, 256, 64) for name in "qkv"}, opset=23),
    "rotary embedding": Operator(
        "RotaryEmbedding", {"x": normal(1, 8, 256, 64), "c": normal(1, 256, 32), "s": normal(1, 256, 32)}, opset=23
    ),
    "lstm": Operator(
        "LSTM",
        {"x": normal(50, 8, 64)},
        {"w": normal(1, 512, 64) / 10, "r": normal(1, 512, 128) / 10},
        3,
        attributes={"hidden_size": 128},
    ),
    "dft": Operator(
        "DFT", {"x": normal(64, 512, 1)}, {"length": None, "axis": single(1, np.int64)}, attributes={"onesided": 1}
    ),
    "stft": Operator(
        "STFT",
        {"x": normal(1, 16000, 1)},
        {"step": single(160, np.int64), "window": np.hanning(400).astype(np.float32), "length": single(400, np.int64)},
    ),
    "convolution with computed weights": Operator(
        "Conv", {"x": normal(1, 16, 16, 24, 20), "w": normal(16, 16, 3, 3, 3)}, attributes={"pads": [1] * 6}
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names")
    parser.add_argument("--free", action="store_true", help="compile for all sizes")
    parser.add_argument("--seconds", type=float, default=0.4, help="for each operator (default %(default)s)")
    arguments = parser.parse_args()
    print("| operator | onnxc, ms | onnxruntime | ratio |\n| --- | --- | --- | --- |")
    for name, operator in OPERATORS.items():
        if arguments.names and not any(part in name for part in arguments.names):
            continue
        times = measure(operator, arguments.free, arguments.seconds)
        ratio = times.onnxruntime / times.onnxc
        print(f"| {name} | {times.onnxc:.3f} | {times.onnxruntime:.3f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
