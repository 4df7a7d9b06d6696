"""The kernels of normalised lines, broken on purpose."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.kernels.hip.mutations.broken_kernels import (
    WRONG_RESULT,
    Change,
    Mutation,
    MutationTests,
    Network,
)

LINES, CHUNKS, WORDS = "memory_bound/normalized_lines.h", "memory_bound/normalized_chunks.h", "amd/words.h"

MUTATIONS = [
    Mutation(
        "barrier before what is exchanged dropped",
        [Change("      barrier();  // the block may still be reading what an earlier call left\n", "", LINES)],
        "without a barrier",
    ),
    Mutation(
        "barrier behind what is exchanged dropped",
        [Change("partial[i][thread] = values[i];\n      barrier();\n", "partial[i][thread] = values[i];\n", LINES)],
        "never written",
    ),
    Mutation(
        "wavefront left out of what is exchanged",
        [Change("part < line_threads / part_threads;", "part < line_threads / part_threads - 1;", LINES)],
        WRONG_RESULT,
    ),
    Mutation(
        "lanes folded with the wrong ones",
        [Change("distance == 2               ? 0x4e", "distance == 2               ? 0xb1", WORDS)],
        WRONG_RESULT,
    ),
    Mutation(
        "load past the end of a line",
        [Change("(first, at < last ? at : last, view_)", "(first, at, view_)", LINES)],
        "past the end of a device allocation",
    ),
    Mutation(
        "store past the end of a line",
        [Change("if (line_.is_real & line_.is_inside(begin, i))", "if (line_.is_real)", LINES)],
        "past the end of a device allocation",
    ),
    Mutation(
        "values past the end of a line counted",
        [Change("    pad(begin, 0.0f, values);\n    float sums", "    float sums", LINES)],
        WRONG_RESULT,
    ),
    Mutation(
        "first part counted for those that are missing",
        [Change("const bool counts = i + j * L::threads < end;", "const bool counts = true;", CHUNKS)],
        WRONG_RESULT,
    ),
    Mutation(
        "one of a part's results not stored",
        [Change("  partial[2 * L::lanes] = static_cast<float>(statistics.squares);\n", "", CHUNKS)],
        WRONG_RESULT,
    ),
]


def network() -> Network:
    """A line of 9,980 elements in chunks, then ten lines that four wavefronts share, with a tail. Both count in the
    result, and all of it is exact."""
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
        "lines",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 20, 499])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [10, 998])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    x = (signs * 4 + 96).reshape(1, 1, 20, 499)
    expected = {"y": signs * scale + shift + signs}
    return Network(graph, {"x": x}, ["y"], expected, kernels=("partial_moments<", "normalized_lines<"))


class TestLines(MutationTests):
    """Each fault must be found."""
