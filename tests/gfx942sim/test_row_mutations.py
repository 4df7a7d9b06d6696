"""The kernels of normalised rows, broken on purpose: as test_mutations.py does it with a convolution."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests import onnxc_commands
from tests.gfx942sim.test_mutations import WRONG_RESULT, Change, Model, Mutation, changed_kernels
from tests.test_install import device_libraries

pytestmark = pytest.mark.usefixtures("commands")

ROWS, WAVE = "normalized_rows.h", "wave.h"

MUTATIONS = [
    Mutation(
        "barrier before what is exchanged dropped",
        [Change("      barrier();  // the block may still be reading what an earlier call left\n", "", ROWS)],
        "without a barrier",
    ),
    Mutation(
        "barrier behind what is exchanged dropped",
        [Change("partial[i][thread] = values[i];\n      barrier();\n", "partial[i][thread] = values[i];\n", ROWS)],
        "never written",
    ),
    Mutation(
        "wavefront left out of what is exchanged",
        [Change("part < row_threads / part_threads;", "part < row_threads / part_threads - 1;", ROWS)],
        WRONG_RESULT,
    ),
    Mutation(
        "lanes folded with the wrong ones",
        [Change("distance == 2               ? 0x4e", "distance == 2               ? 0xb1", WAVE)],
        WRONG_RESULT,
    ),
    Mutation(
        "load behind the end of a row",
        [Change("(first, at < last ? at : last)", "(first, at)", ROWS)],
        "behind the end of a device allocation",
    ),
    Mutation(
        "store behind the end of a row",
        [Change("if (row_.is_real & row_.is_inside(begin, i))", "if (row_.is_real)", ROWS)],
        "behind the end of a device allocation",
    ),
    Mutation(
        "what lies behind the end of a row counted",
        [Change("    pad(begin, 0.0f, values);\n    float sums", "    float sums", ROWS)],
        WRONG_RESULT,
    ),
    Mutation(
        "last chunk counted as a whole one",
        [Change("rest < plan.capacity() ? rest : plan.capacity()", "plan.capacity()", ROWS)],
        WRONG_RESULT,
    ),
    Mutation(
        "part of the results of a chunk not stored",
        [Change("  partial[2 * launch.inner] = moments.squares;\n", "", ROWS)],
        WRONG_RESULT,
    ),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A row of 9,980 elements in chunks, then ten rows that four wavefronts share, with a tail. Both count in the
    result, and all of it is exact."""
    folder = tmp_path_factory.mktemp("row_mutations")
    random = np.random.default_rng(0)
    signs = np.stack([random.permutation(np.repeat([-1, 1], 499)) for _ in range(10)]).astype(np.float32)
    scale = random.integers(-4, 5, 998).astype(np.float32)
    shift = random.integers(-9, 10, 998).astype(np.float32)
    constants = {
        "one": np.ones(1, np.float32),
        "zero": np.zeros(1, np.float32),
        "shape": np.array([10, 998], np.int64),
        "scale": scale,
        "shift": shift,
    }
    graph = helper.make_graph(
        [
            helper.make_node("InstanceNormalization", ["x", "one", "zero"], ["i"], epsilon=0.0),
            helper.make_node("Reshape", ["i", "shape"], ["r"]),
            helper.make_node("LayerNormalization", ["r", "scale", "shift"], ["l"], epsilon=0.0),
            helper.make_node("Add", ["l", "r"], ["y"]),
        ],
        "rows",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 20, 499])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [10, 998])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), str(folder / "model.onnx"))
    np.save(folder / "x.npy", (signs * 4 + 96).reshape(1, 1, 20, 499))
    onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", "--target", "hip")
    onnxc_commands.compile_model(folder / "model.onnx", folder / "source", "--target", "hip", "--emit", "source")
    (folder / "cpu").mkdir()
    np.save(folder / "cpu" / "y.npy", signs * scale + shift + signs)
    source = (folder / "source.device.hip").read_text()
    assert "partial_moments<" in source
    assert "normalized_rows<" in source
    return Model(folder, source, ["x"], ["y"])


def compiled(model: Model, kernels: Path | None) -> Path:
    """With the elementary functions that a square root takes."""
    libraries = device_libraries(model.folder / "source.device.hip").split()
    return model.compile(model.source, kernels, *libraries)


def test_unchanged_kernels_pass(model: Model) -> None:
    done = model.run(compiled(model, None))
    assert done.returncode == 0, done.stderr
    assert "output 'y': equal" in done.stdout


@pytest.mark.parametrize("mutation", [pytest.param(mutation, id=mutation.name) for mutation in MUTATIONS])
def test_mutation_is_found(model: Model, mutation: Mutation) -> None:
    done = model.run(compiled(model, changed_kernels(model, mutation)))
    assert done.returncode == (4 if mutation.report == WRONG_RESULT else 1), done.stdout + done.stderr
    assert mutation.report in done.stdout + done.stderr
