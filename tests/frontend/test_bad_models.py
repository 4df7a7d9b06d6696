"""The errors for models that are wrong: exit code 1, the file and the culprit named, and no file left behind."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnxc_commands import BINARIES

pytestmark = pytest.mark.usefixtures("commands")

Bytes: TypeAlias = bytes | onnx.ModelProto


def value(name: str, shape: Sequence[int | str], element_type: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element_type, list(shape))


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto] | None = None,
    outputs: Sequence[str] = ("y",),
    initializers: Sequence[onnx.TensorProto] = (),
    opset: int = 18,
) -> onnx.ModelProto:
    """A model that is not checked on the way: `outputs` have no declared shape."""
    graph = helper.make_graph(
        list(nodes),
        "g",
        list(inputs if inputs is not None else [value("x", [1, 4, 8, 8, 8])]),
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        list(initializers),
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


def weight(name: str, shape: Sequence[int]) -> onnx.TensorProto:
    return numpy_helper.from_array(np.ones(shape, np.float32), name)


def relu() -> onnx.ModelProto:
    return model_of([helper.make_node("Relu", ["x"], ["y"], name="activation")])


def changed(model: onnx.ModelProto, change: Callable[[onnx.ModelProto], object]) -> onnx.ModelProto:
    change(model)
    return model


def conv(shape: Sequence[int] = (6, 4, 3, 3, 3), **attributes: object) -> onnx.ModelProto:
    return model_of(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="conv1", **attributes)], None, ("y",), [weight("w", shape)]
    )


def conv_transpose(shape: Sequence[int] = (4, 6, 3, 3, 3), **attributes: object) -> onnx.ModelProto:
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], name="up1", **attributes)
    return model_of([node], None, ("y",), [weight("w", shape)])


def with_weight(change: Callable[[onnx.TensorProto], object]) -> onnx.ModelProto:
    return changed(conv(), lambda model: change(model.graph.initializer[0]))


def external(**entries: str) -> onnx.ModelProto:
    """The convolution, its weights in a file."""

    def move(tensor: onnx.TensorProto) -> None:
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in entries.items():
            tensor.external_data.add(key=key, value=text)

    return with_weight(move)


def elsewhere(tensor: onnx.TensorProto, location: str) -> onnx.TensorProto:
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return tensor


def sparse(location: str) -> onnx.ModelProto:
    """A sparse initializer whose values stand in a file."""
    model = model_of([helper.make_node("Add", ["x", "s"], ["y"])], [value("x", [4])])
    values = elsewhere(weight("s", [1]), location)
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, helper.make_tensor("", 7, [1], [0]), [4]))
    return model


def constant_node(location: str) -> onnx.ModelProto:
    """A Constant whose value stands in a file."""
    node = helper.make_node("Constant", [], ["y"], name="k1", value=elsewhere(weight("", [4]), location))
    return model_of([node])


def resize(scale: float) -> onnx.ModelProto:
    scales = numpy_helper.from_array(np.array([1, 1, scale, 1, 1], np.float32), "s")
    return model_of([helper.make_node("Resize", ["x", "", "s"], ["y"], name="n1")], None, ("y",), [scales])


def pad(*pads: int) -> onnx.ModelProto:
    return model_of(
        [helper.make_node("Pad", ["x", "p"], ["y"], name="n1")],
        [value("x", [3])],
        ("y",),
        [numpy_helper.from_array(np.array(pads), "p")],
    )


def one(operator: str, *, inputs: Sequence[onnx.ValueInfoProto] | None = None, **attributes: object) -> onnx.ModelProto:
    """A model of one node named n1."""
    given = inputs if inputs is not None else [value("x", [2, 3, 4])]
    return model_of([helper.make_node(operator, [i.name for i in given], ["y"], name="n1", **attributes)], given)


# Each: the model, and texts that the error must hold besides the file's name.
CASES: dict[str, tuple[Bytes, tuple[str, ...]]] = {
    "empty": (b"", ("empty",)),
    "text": (b"not a model at all\n", ("not an ONNX model",)),
    "zeros": (bytes(4096), ("not an ONNX model",)),
    "truncated": (conv().SerializeToString()[:-700], ("cut short",)),
    "git_lfs": (b"version https://git-lfs.github.com/spec/v1\n", ("git lfs pull",)),
    "no_graph": (onnx.ModelProto(ir_version=8), ("holds no graph",)),
    "no_opset": (changed(relu(), lambda m: m.ClearField("opset_import")), ("opset_import",)),
    "opset_of_the_future": (model_of([], opset=1000), ("version 1000", "ai.onnx")),
    "cycle": (
        model_of(
            [helper.make_node("Exp", ["b"], ["a"], name="n1"), helper.make_node("Exp", ["a"], ["b"], name="n2")],
            outputs=["b"],
        ),
        ("a cycle of 2 nodes", "'n1'", "'n2'"),
    ),
    "missing_input": (model_of([helper.make_node("Add", ["x", "lost"], ["y"], name="n1")]), ("'n1'", "'lost'")),
    "missing_output": (model_of([], outputs=["lost"]), ("output 'lost'",)),
    "duplicate_value": (
        model_of([helper.make_node("Exp", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["y"], name="n2")]),
        ("'n2'", "'y'", "another value"),
    ),
    "duplicate_initializer": (
        model_of([helper.make_node("Exp", ["w"], ["y"])], [], ("y",), [weight("w", [1]), weight("w", [2])]),
        ("'w'", "two values"),
    ),
    "duplicate_input": (
        model_of([helper.make_node("Exp", ["x"], ["y"])], [value("x", [1]), value("x", [2])]),
        ("'x'", "two values"),
    ),
    "unknown_operators": (
        model_of([helper.make_node("Foo", ["x"], ["t"], name="n1"), helper.make_node("Bar", ["t"], ["y"], name="n2")]),
        ("2 nodes cannot be compiled", "'n1': Foo of ai.onnx version 18", "'n2': Bar of ai.onnx version 18"),
    ),
    "unknown_domain": (
        model_of([helper.make_node("Foo", ["x"], ["y"], name="n1", domain="custom")]),
        ("'n1'", "domain custom", "opset_import"),
    ),
    "too_few_inputs": (
        model_of([helper.make_node("Conv", ["x"], ["y"], name="n1")]),
        ("'n1'", "2 to 3 inputs", "found 1"),
    ),
    "too_many_inputs": (model_of([helper.make_node("Relu", ["x", "x"], ["y"], name="n1")]), ("'n1'", "found 2")),
    "wrong_type": (
        one("Conv", inputs=[value("x", [1, 1, 8], TensorProto.INT64), value("w", [1, 1, 3], TensorProto.INT64)]),
        ("'n1'", "input 0 (X) 'x'", "tensor(int64)"),
    ),
    "types_that_differ": (
        one("Add", inputs=[value("x", [3]), value("i", [3], TensorProto.INT32)]),
        ("'n1'", "'i'", "tensor(float)", "tensor(int32)"),
    ),
    "complex_input": (one("Identity", inputs=[value("x", [3], TensorProto.COMPLEX64)]), ("input 'x'", "COMPLEX64")),
    "strings_where_numbers_belong": (
        one("Add", inputs=[value("x", [3], TensorProto.STRING), value("z", [3], TensorProto.STRING)]),
        ("'n1'", "input 0 (A) 'x'", "tensor(string)"),
    ),
    "strings_resized": (
        one("Resize", inputs=[value("x", [2, 3], TensorProto.STRING), value("r", [0]), value("s", [2])]),
        ("'n1' (Resize)", "strings cannot be interpolated"),
    ),
    "strings_added_in_a_scatter": (
        one(
            "ScatterElements",
            reduction="add",
            inputs=[
                value("x", [3], TensorProto.STRING),
                value("i", [1], TensorProto.INT64),
                value("u", [1], TensorProto.STRING),
            ],
        ),
        ("'n1' (ScatterElements)", "strings have no reduction 'add'"),
    ),
    "input_without_rank": (
        one("Relu", inputs=[helper.make_tensor_value_info("x", TensorProto.FLOAT, None)]),
        ("input 'x'", "rank"),
    ),
    "negative_input_dim": (one("Relu", inputs=[value("x", [2, -3])]), ("input 'x', dim 1", "-3")),
    "input_dims_past_int64": (one("Relu", inputs=[value("x", [2**40, 2**40])]), ("input 'x', dim 1", "64 bits")),
    "input_bytes_past_int64": (one("Size", inputs=[value("x", [2**62])]), ("input 'x', dim 0", "64 bits")),
    "temporary_past_int64": (
        one("Unique", inputs=[value("x", [2**31, 2], TensorProto.INT8)], axis=0),
        ("node 'n1' (Unique)", "does not fit in 64 bits"),
    ),
    "steps_past_int64": (
        one("MatMul", inputs=[value("x", [2**21, 2**22]), value("z", [2**22, 2**21])]),
        ("node 'n1' (MatMul)", "does not fit in 64 bits"),
    ),
    "attribute_of_wrong_type": (conv(strides=[1.0, 1.0, 1.0]), ("'conv1'", "'strides'", "INTS", "FLOATS")),
    "unknown_attribute": (conv(stride=[1, 1, 1]), ("'conv1'", "no attribute 'stride'")),
    "missing_attribute": (one("Concat"), ("'n1'", "'axis'", "required")),
    "stride_0": (conv(strides=[1, 0, 1]), ("'conv1'", "stride")),
    "negative_stride": (conv(strides=[1, -1, 1]), ("'conv1'", "stride")),
    "negative_dilation": (conv(dilations=[1, 1, -2]), ("'conv1'", "dilation")),
    "negative_kernel": (conv(kernel_shape=[3, -3, 3]), ("'conv1'", "kernel")),
    "kernel_unlike_the_weight": (conv(kernel_shape=[3, 3, 5]), ("'conv1'", "kernel")),
    "stride_past_32_bits": (conv(strides=[1, 2**40, 1]), ("'conv1'", "1099511627776", "from 1 to 2147483647")),
    "pads_past_32_bits": (conv(pads=[2**40] * 6), ("'conv1'", "'pads' holds 1099511627776", "at most 2147483647")),
    "kernel_larger_than_the_input": (
        one("MaxPool", inputs=[value("x", [1, 2, 4])], kernel_shape=[9]),
        ("'n1'", "spans 9 elements", "4"),
    ),
    "group_0": (conv(group=0), ("'conv1'", "group")),
    "group_that_does_not_divide": (conv(group=3), ("'conv1'", "group")),
    "pads_of_wrong_length": (conv(pads=[1, 1, 1]), ("'conv1'", "pads")),
    "strides_of_wrong_length": (conv(strides=[1, 1]), ("'conv1'", "strides")),
    "auto_pad_of_no_kind": (conv(auto_pad="SOMEHOW"), ("'conv1'", "SOMEHOW")),
    "weight_of_other_rank": (conv(shape=(6, 4, 3, 3)), ("'conv1'",)),
    "weight_of_other_channels": (conv(shape=(6, 5, 3, 3, 3)), ("'conv1'", "5")),
    "weight_without_channels": (conv(shape=(0, 4, 3, 3, 3)), ("'conv1'", "[0, 4, 3, 3, 3] have no channels")),
    "weight_without_a_kernel": (conv(shape=(6, 4, 0, 3, 3)), ("'conv1'", "kernel's size", "found 0")),
    "repeated_attribute": (
        changed(conv(group=1), lambda m: m.graph.node[0].attribute.append(helper.make_attribute("group", 2))),
        ("'conv1'", "'group' twice"),
    ),
    "transposed_weight_of_other_rank": (conv_transpose((4, 6, 3, 3)), ("'up1'", "rank 5", "rank 4")),
    "transposed_weight_of_other_channels": (conv_transpose((5, 6, 3, 3, 3)), ("'up1'", "4 channels", "expect 5")),
    "transposed_dilation_0": (conv_transpose(dilations=[0, 1, 1]), ("'up1'", "'dilations' holds 0")),
    "transposed_group_that_does_not_divide": (conv_transpose(group=3), ("'up1'", "group = 3")),
    "transposed_pads_beyond_the_output": (conv_transpose(pads=[9] * 6), ("'up1'", "padding 9 and 9", "10 elements")),
    "output_padding_of_a_stride": (conv_transpose(output_padding=[1, 0, 0]), ("'up1'", "output_padding 1", "stride 1")),
    "negative_output_padding": (conv_transpose(output_padding=[-1, 0, 0]), ("'up1'", "'output_padding' holds -1")),
    "output_shape_of_wrong_length": (conv_transpose(output_shape=[9, 9]), ("'up1'", "'output_shape' has 2 values")),
    "negative_output_shape": (conv_transpose(output_shape=[-7, 9, 9]), ("'up1'", "'output_shape' holds -7")),
    "matrices_of_rank_0": (one("Gemm", inputs=[value("a", []), value("b", [2, 3])]), ("'n1'", "[] and [2, 3]")),
    "scale_without_end": (resize(1e18), ("'n1'", "scale of 1e+18", "below 1000000")),
    "scale_that_is_no_number": (resize(float("nan")), ("'n1'", "scale of nan")),
    "negative_scale": (resize(-1), ("'n1'", "scale of -1")),
    "pads_of_other_rank": (pad(1, 1, 1), ("'n1'", "3 pads", "2 are expected")),
    "pads_that_take_too_much": (pad(-5, 0), ("'n1'", "negative pad")),
    "pads_past_64_bits": (pad(2**62, 2**62), ("'n1'", "does not fit in 64 bits")),
    "dim_of_division_by_zero": (one("Relu", inputs=[value("x", ["N//0"])]), ("input 'x', dim 0", "divides by zero")),
    "dim_of_a_long_text": (one("Relu", inputs=[value("x", ["(" * 9999 + "N"])]), ("input 'x', dim 0", "10000 char")),
    "axis_out_of_range": (one("Softmax", axis=3), ("'n1'", "axis", "3")),
    "negative_axis_out_of_range": (one("Softmax", axis=-4), ("'n1'", "axis", "-4")),
    "permutation_that_is_none": (one("Transpose", perm=[0, 1, 1]), ("'n1'", "perm")),
    "shapes_that_do_not_broadcast": (
        one("Add", inputs=[value("x", [2, 3]), value("z", [2, 4])]),
        ("'n1'", "3", "4"),
    ),
    "concat_of_other_dims": (
        one("Concat", inputs=[value("x", [2, 3]), value("z", [4, 5])], axis=0),
        ("'n1'",),
    ),
    "reshape_to_other_size": (
        model_of(
            [helper.make_node("Reshape", ["x", "s"], ["y"], name="n1")],
            [value("x", [2, 3])],
            ("y",),
            [numpy_helper.from_array(np.array([7]), "s")],
        ),
        ("'n1'", "6", "7"),
    ),
    "result_past_64_bits": (
        model_of(
            [helper.make_node("Expand", ["x", "s"], ["y"], name="n1")],
            [value("x", [1])],
            ("y",),
            [numpy_helper.from_array(np.array([2**40, 2**40]), "s")],
        ),
        ("'n1'", "does not fit in 64 bits"),
    ),
    "bytes_past_64_bits": (
        model_of(
            [helper.make_node("Range", ["a", "b", "c"], ["y"], name="n1")],
            [],
            ("y",),
            [numpy_helper.from_array(np.int64(number), name) for name, number in (("a", 0), ("b", 2**62), ("c", 1))],
        ),
        ("'n1'", "does not fit in 64 bits"),
    ),
    "step_of_0": (
        model_of(
            [helper.make_node("Slice", ["x", "a", "b", "c", "d"], ["y"], name="n1")],
            [value("x", [3])],
            ("y",),
            [
                numpy_helper.from_array(np.array([number]), name)
                for name, number in zip("abcd", (0, 2, 0, 0), strict=True)
            ],
        ),
        ("'n1'", "step of 0"),
    ),
    "einsum_of_other_rank": (one("Einsum", inputs=[value("x", [3])], equation="ij->i"), ("'n1'", "'ij'", "rank 1")),
    "cast_to_nothing": (one("Cast", to=77), ("'n1'", "77")),
    "data_too_short": (
        with_weight(lambda w: setattr(w, "raw_data", w.raw_data[:-1])),
        ("initializer 'w'", "needs 2592 bytes", "found 2591"),
    ),
    "data_too_long": (
        with_weight(lambda w: setattr(w, "raw_data", w.raw_data + b"x")),
        ("initializer 'w'", "needs 2592 bytes", "found 2593"),
    ),
    "negative_dim": (with_weight(lambda w: w.dims.__setitem__(1, -4)), ("initializer 'w'", "-4")),
    "dims_past_int64": (
        with_weight(lambda w: w.dims.__setitem__(slice(0, 2), [2**40, 2**40])),
        ("initializer 'w'", "64 bits"),
    ),
    "type_of_no_kind": (with_weight(lambda w: setattr(w, "data_type", 99)), ("initializer 'w'", "99")),
    "external_missing": (external(location="missing.bin"), ("initializer 'w'", "'missing.bin'", "No such file")),
    "external_beyond_the_end": (
        external(location="data.bin", offset="64"),
        ("initializer 'w'", "'data.bin'", "100 bytes"),
    ),
    "external_negative_offset": (external(location="data.bin", offset="-1"), ("initializer 'w'", "'-1'")),
    "external_negative_length": (external(location="data.bin", length="-1"), ("initializer 'w'", "'-1'")),
    "external_without_a_file": (external(), ("initializer 'w'", "names no file")),
    "external_pipe": (external(location="pipe"), ("initializer 'w'", "'pipe'", "not a regular file")),
    "external_file_of_a_sparse_tensor": (sparse("../secret.bin"), ("initializer 's'", "refused")),
    "external_file_of_a_constant": (constant_node("../secret.bin"), ("'k1'", "refused")),
    "external_parent": (external(location="../secret.bin"), ("initializer 'w'", "'../secret.bin'", "refused")),
    "external_parent_inside": (external(location="a/../../secret.bin"), ("initializer 'w'", "refused")),
    "external_absolute": (external(location="/etc/passwd"), ("initializer 'w'", "'/etc/passwd'", "refused")),
    "external_link": (external(location="link.bin"), ("initializer 'w'", "symbolic link")),
    "external_folder_link": (external(location="link/secret.bin"), ("initializer 'w'", "symbolic link")),
    "external_hard_link": (external(location="hard.bin"), ("initializer 'w'", "hard links")),
    "external_unknown_key": (external(location="data.bin", basepath="/"), ("initializer 'w'", "'basepath'")),
}


class Outcome:
    """One run of onnxc in a folder of its own, which must not gain a file."""

    def __init__(self, folder: Path, model: Bytes, *options: str, environment: dict[str, str] | None = None) -> None:
        self.path = folder / "in" / "model.onnx"
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
        (folder / "out").mkdir(exist_ok=True)
        command = [str(BINARIES / "onnxc"), str(self.path), "-o", str(folder / "out" / "model.so"), *options]
        self.done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **(environment or {})}
        )
        self.left = sorted(path.name for path in (folder / "out").iterdir())

    def expect_refusal(self, *texts: str) -> None:
        assert self.done.returncode == 1, f"exit code {self.done.returncode}\n{self.done.stderr}"
        assert self.done.stderr.startswith("onnxc: error: ")
        for text in texts:
            assert text in self.done.stderr
        assert self.left == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files that models may lead to: in/ holds the model's own, secret.bin lies outside."""
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "data.bin").write_bytes(bytes(100))
    secret = tmp_path / "secret.bin"
    secret.write_bytes(bytes(2592))
    (inside / "link.bin").symlink_to(secret)
    (inside / "link").symlink_to(tmp_path)
    (inside / "hard.bin").hardlink_to(secret)
    os.mkfifo(inside / "pipe")
    return tmp_path


@pytest.mark.parametrize("name", CASES)
def test_is_refused(name: str, folder: Path) -> None:
    model, texts = CASES[name]
    outcome = Outcome(folder, model)
    outcome.expect_refusal(f"'{outcome.path}'", *texts)


def test_cut_anywhere(folder: Path) -> None:
    whole = conv().SerializeToString()
    for size in (*range(1, 40, 3), *range(40, len(whole), 301), len(whole) - 1):
        outcome = Outcome(folder, whole[:size])
        outcome.expect_refusal(f"'{outcome.path}'", "cut short")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(BINARIES / "onnxc"), str(tmp_path / "no.onnx"), "-o", str(tmp_path / "model.so")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"cannot open '{tmp_path / 'no.onnx'}': No such file or directory" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_limits(folder: Path) -> None:
    Outcome(folder, relu(), "--max-nodes", "0").expect_refusal("more than 0 nodes")
    Outcome(folder, conv(), "--max-memory", "1000").expect_refusal("initializer 'w'", "2592 bytes", "--max-memory")


def test_dims_and_outputs_that_are_not_there(folder: Path) -> None:
    for options in (["--dim", "N=4"], ["--outputs", "z"]):
        outcome = Outcome(folder, relu(), *options)
        assert outcome.done.returncode == 2, outcome.done.stderr
        assert options[0] in outcome.done.stderr
        assert outcome.left == []


@pytest.mark.parametrize("name", ["relu", "conv", "external"])
def test_the_models_that_these_are_made_from_are_accepted(name: str, folder: Path) -> None:
    (folder / "in" / "good.bin").write_bytes(np.ones((6, 4, 3, 3, 3), np.float32).tobytes())
    model = {"relu": relu(), "conv": conv(), "external": external(location="good.bin", length="2592")}[name]
    outcome = Outcome(folder, model)
    assert outcome.done.returncode == 0, outcome.done.stderr
