"""Writes models by the thousand for the fuzzer to begin from: python -m tests.fuzz.make_models FOLDER.

Each test of ONNX's suite that is one node, once more with free dims, and the random networks and loops of tests/random,
one by one. None is larger than 16 KiB: the fuzzer tries small inputs more often. The files are the same each time.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import onnx

from tests.onnx_suite.suite import collect
from tests.random import random_graphs, random_loops

LARGEST = 16 << 10
NETWORKS = 1_000
LOOPS = 300


def free(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with each dim of its inputs open, dims of one size by one name."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for value in result.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_value"):
                dim.dim_param = f"N{dim.dim_value}"
    for value in result.graph.output:
        value.ClearField("type")
    return result


def models() -> Iterator[tuple[str, onnx.ModelProto]]:
    for test in collect():
        if test.group == "node":
            model, _ = test.load()
            yield test.name, model
            yield f"{test.name}_free", free(model)
    for seed in range(NETWORKS):
        opset = random_graphs.opset_of(seed)
        yield f"network{seed}", random_graphs.build_model([random_graphs.random_graph(seed, opset)], opset)
    for seed in range(LOOPS):
        yield f"loops{seed}", random_loops.build_model([random_loops.random_loops(seed)])


def write_models(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, model in models():
        content = model.SerializeToString()
        if len(content) <= LARGEST:
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    write_models(Path(sys.argv[1]))
