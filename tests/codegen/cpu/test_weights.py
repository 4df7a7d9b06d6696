"""--weights: the memory of a model.so and of its run, with results beside onnxruntime's."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from models.tensor_files import Array
from tests import onnxc_commands
from tests.compare import relative_error
from tests.onnxruntime_sessions import open_session

CHANNELS, LAYERS = 96, 4
WEIGHT_BYTES = LAYERS * CHANNELS * CHANNELS * 27 * 4
CODE_BYTES = 1_000_000


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(0)
    names = ["x", *(f"h{i}" for i in range(1, LAYERS)), "y"]
    filters = [random.normal(0, 0.02, (CHANNELS, CHANNELS, 3, 3, 3)).astype(np.float32) for _ in range(LAYERS)]
    nodes = [helper.make_node("Conv", [names[i], f"w{i}"], [names[i + 1]], pads=[1] * 6) for i in range(LAYERS)]
    shape = [1, CHANNELS, "T", "H", "W"]
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(each, f"w{i}") for i, each in enumerate(filters)],
    )
    path = tmp_path_factory.mktemp("layers") / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8), path)
    return path


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(("form", "least", "most"), [("compact", 1.0, 1.05), ("fast", 2.0, 6.0)])
def test_weights_are_held_once_or_transformed(
    model: Path, tmp_path: Path, form: str, least: float, most: float
) -> None:
    compiled = onnxc_commands.compile_model(model, tmp_path / "model.so", "--weights", form)
    size = compiled.stat().st_size
    assert least * WEIGHT_BYTES < size < most * WEIGHT_BYTES + CODE_BYTES
    for extents in ((3, 17, 9), (1, 8, 8)):
        x: Array = np.random.default_rng(1).normal(size=(1, CHANNELS, *extents)).astype(np.float32)
        (expected,) = open_session(model).run(None, {"x": x})
        assert relative_error(onnxc_commands.run_arrays(compiled, {"x": x}, ["y"], tmp_path)["y"], expected) < 2e-5
