"""Writes inputs by the thousand for the fuzzer to begin from: python -m tests.fuzz.make_inputs FOLDER.

FOLDER/model: each test of ONNX's suite that is one node, also with free dims; some cases of each table in tests/ops,
with free dims and on constants, which are folded, in turn; the models that tests hold as text; the random networks and
loops of tests/random one by one, some quantised, some as PyTorch's exporter writes them, some with weights in another
file. None is larger than 16 KiB: the fuzzer tries small inputs more often. FOLDER/program: the programs in the C++
tests. The files are the same each time.
"""

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models.onnx_suite.suite import collect
from tests.ops.case import Case, build_model
from tests.ops.control import test_sequence
from tests.ops.control.test_control_flow import parse
from tests.random import random_graphs, random_loops

LARGEST = 16 << 10
CASES_OF_A_TABLE = 60
NETWORKS = 1_000
LOOPS = 300
TESTS = Path(__file__).parents[1]
# The file that harnesses.cpp puts beside a model.
WEIGHTS_FILE, WEIGHTS_BYTES = "weights", 65_536


def with_free_dims(model: onnx.ModelProto) -> None:
    """Dims of one size by one name."""
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_value"):
                dim.dim_param = f"N{dim.dim_value}"
    for value in model.graph.output:
        value.ClearField("type")


def quantized(model: onnx.ModelProto) -> None:
    """The operands of products go through bytes, and their weights are bytes, as quantisers write it."""
    scale = numpy_helper.from_array(np.array(0.5, np.float32), "scale")
    zeros = [
        numpy_helper.from_array(np.array(3, np.uint8), "zero0"),
        numpy_helper.from_array(np.array(0, np.int8), "zero1"),
    ]
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    model.graph.initializer.extend([scale, *zeros])
    nodes = []
    for place, node in enumerate(model.graph.node):
        if node.op_type in ("Conv", "MatMul", "Gemm", "ConvTranspose"):
            for i in range(2):
                read, small, name = node.input[i], f"q{place}_{i}", f"d{place}_{i}"
                if i == 1 and read in weights:
                    numbers = np.clip(np.rint(weights[read].astype(np.float32) / 0.5), -128, 127)
                    model.graph.initializer.append(numpy_helper.from_array(numbers.astype(np.int8), small))
                else:
                    nodes.append(helper.make_node("QuantizeLinear", [read, "scale", f"zero{i}"], [small]))
                nodes.append(helper.make_node("DequantizeLinear", [small, "scale", f"zero{i}"], [name]))
                node.input[i] = name
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def exported(model: onnx.ModelProto) -> None:
    """The exporters' (PyTorch) record of a node's place in the program."""
    for place, node in enumerate(model.graph.node):
        node.name = f"/block.{place % 3}/block.{place % 3}.0/{node.op_type}"
        trace = f'File "/home/user/net/model.py", line {place}, in forward\n    x = self.block(x)\n'
        trace += f'File "/usr/lib/torch/nn/modules/conv.py", line {place}, in forward\n    return y\n'
        scopes = f"['', 'block', 'block.{place % 3}', '{node.op_type}']"
        for key, text in (("stack_trace", trace), ("name_scopes", scopes)):
            node.metadata_props.add(key=f"pkg.torch.onnx.{key}", value=text)


def with_weights_outside(model: onnx.ModelProto) -> None:
    offset = 0
    for tensor in model.graph.initializer:
        length = len(tensor.raw_data)
        if length == 0 or tensor.data_type == TensorProto.INT64 or offset + length > WEIGHTS_BYTES:
            continue
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in (("location", WEIGHTS_FILE), ("offset", str(offset)), ("length", str(length))):
            tensor.external_data.add(key=key, value=text)
        offset += length


def in_typed_fields(model: onnx.ModelProto) -> None:
    """Elements as lists of numbers, which older exporters write."""
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if tensor.data_type in (TensorProto.FLOAT, TensorProto.INT64, TensorProto.DOUBLE, TensorProto.INT32):
            tensor.CopyFrom(helper.make_tensor(tensor.name, tensor.data_type, array.shape, array.flatten().tolist()))


CHANGES: dict[str, Callable[[onnx.ModelProto], None]] = {
    "free": with_free_dims,
    "quantized": quantized,
    "exported": exported,
    "outside": with_weights_outside,
    "typed": in_typed_fields,
}


def changed(model: onnx.ModelProto, change: str) -> onnx.ModelProto:
    result = onnx.ModelProto()
    result.CopyFrom(model)
    CHANGES[change](result)
    return result


def tables() -> Iterator[tuple[str, Case]]:
    """Cases from the whole length of each table of tests/ops, by its module and their places in it."""
    for file in sorted((TESTS / "ops").rglob("test_*.py")):
        name = ".".join(("tests", *file.relative_to(TESTS).with_suffix("").parts))
        cases = getattr(importlib.import_module(name), "CASES", ())
        for place in range(0, len(cases), max(1, len(cases) // CASES_OF_A_TABLE)):
            if isinstance(cases, list) and isinstance(cases[place], Case):
                yield f"{file.stem}{place}", cases[place]


def model_of(one: Case) -> onnx.ModelProto:
    """Without the types of its outputs, which only a run of the oracle would tell."""
    model = build_model([one], {one: [np.zeros((), np.float32)] * len(one.outputs)})
    for value in model.graph.output:
        value.ClearField("type")
    return model


def models() -> Iterator[tuple[str, onnx.ModelProto]]:
    for test in collect():
        if test.group == "node":
            model, _ = test.load()
            yield test.name, model
            yield f"{test.name}_free", changed(model, "free")
    for turn, (name, one) in enumerate(tables()):
        if turn % 3 == 0:
            yield name, model_of(one)
        elif turn % 3 == 1:
            yield f"{name}_free", changed(model_of(one), "free")
        else:
            yield f"{name}_folded", model_of(replace(one, inputs={}, constants={**one.constants, **one.inputs}))
    yield from models_as_text()
    for seed in range(NETWORKS):
        opset = random_graphs.opset_of(seed)
        model = random_graphs.build_model([random_graphs.random_graph(seed, opset)], opset)
        yield f"network{seed}", model
        change = list(CHANGES)[seed % len(CHANGES)]
        yield f"network{seed}_{change}", changed(model, change)
    for seed in range(LOOPS):
        yield f"loops{seed}", random_loops.build_model([random_loops.random_loops(seed)])


def models_as_text() -> Iterator[tuple[str, onnx.ModelProto]]:
    for file in sorted(TESTS.rglob("test_*.py")):
        for place, text in enumerate(re.findall(r'"{3}\s*(model \(.*?)"{3}', file.read_text(), re.DOTALL)):
            if "{{" not in text:  # to be filled in
                yield f"{file.stem}_text{place}", parse(text)
    for place, (graph, _) in enumerate(test_sequence.REFUSED.values()):
        yield f"sequence_refused{place}", parse(f"model {graph}")


def programs() -> Iterator[tuple[str, str]]:
    for file in sorted(TESTS.rglob("*_test.cpp")):
        for place, text in enumerate(re.findall(r'R"\((b0 .*?)\)"', file.read_text(), re.DOTALL)):
            yield f"{file.stem}{place}", text


def write_inputs(folder: Path) -> None:
    everything = {
        "model": ((name, model.SerializeToString()) for name, model in models()),
        "program": ((name, text.encode()) for name, text in programs()),
    }
    for kind, inputs in everything.items():
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for name, content in inputs:
            if len(content) <= LARGEST:
                (folder / kind / name).write_bytes(content)


if __name__ == "__main__":
    write_inputs(Path(sys.argv[1]))
