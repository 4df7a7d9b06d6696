"""Reductions in parts, broken on purpose: those of matrix products, whose parts a second launch sums up, and those of
loops, whose parts are a nest of their own. Each fault must be found."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.kernels.hip.mutations.broken_kernels import (
    WRONG_RESULT,
    Change,
    Mutation,
    MutationTests,
    Network,
)

GEMM, BLOCK = "gemm/implicit_gemm.h", "gemm/gemm_block.h"

MUTATIONS = [
    Mutation(
        "sums of a matrix product: a part left out where several are loaded at once",
        [Change("part += at_once)", "part += at_once + 1)", GEMM)],
        WRONG_RESULT,
    ),
    Mutation(
        "sums of a matrix product: the last part left out",
        [Change("for (; part < parts; ++part)", "for (; part + 1 < parts; ++part)", GEMM)],
        WRONG_RESULT,
    ),
    Mutation(
        "sums of a matrix product: parts of another tile",
        [Change("block.partial((part + i) * tiles + tile, four)", "block.partial((part + i) * tiles, four)", GEMM)],
        WRONG_RESULT,
    ),
    Mutation(
        "sums of a matrix product: parts that lie over each other",
        [Change("(tile_of_part * plan.fours_a_thread() + four)", "(tile_of_part + four)", BLOCK)],
        "without a release and an acquire",
    ),
    Mutation(
        "sums of a matrix product: workspace a part short",
        [
            Change(" partial(block, r", " partial(block + launch_tiles(), r", BLOCK),
            Change(
                "  __device__ void store_part(",
                "  __device__ int64_t launch_tiles() const { return arguments.launch.tiles; }\n"
                "  __device__ void store_part(",
                BLOCK,
            ),
        ],
        "past the end of a device allocation",
    ),
    Mutation("sums of loops: the last part left out", [Change("element < 70;", "element < 69;")], WRONG_RESULT),
    Mutation("sums of loops: a part beyond the last", [Change("element < 70;", "element < 71;")], "past the end"),
    Mutation(
        "sums of loops: parts that lie over each other",
        [Change("b0[i0_i1 + 10 * i2] = acc0;", "b0[i0_i1 + 9 * i2] = acc0;")],
        "without a release and an acquire",
    ),
    Mutation(
        "sums of loops: elements counted by two threads",
        [Change("element < 300; element += nest_threads", "element < 300; element += nest_threads - 1")],
        WRONG_RESULT,
    ),
    Mutation(
        "sums of loops: barrier between two halvings dropped",
        [Change("    barrier();\n    if (member < width)", "    if (member < width)", "wave/nest.h")],
        "which was never written",
    ),
]


def network() -> Network:
    """A matrix product whose reduction has more parts than are summed up at once, and a sum over two axes."""
    random = np.random.default_rng(0)
    weights = random.integers(-3, 4, (72, 2000)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w"], ["y"], transB=1),
            helper.make_node("ReduceSum", ["v", "axes"], ["s"], keepdims=0),
        ],
        "parts",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [70, 2000]),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, [2, 5, 70, 300]),
        ],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [70, 72]),
            helper.make_tensor_value_info("s", TensorProto.FLOAT, [2, 5]),
        ],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.array([2, 3]), "axes")],
    )
    x = random.integers(-4, 5, (70, 2000)).astype(np.float32)
    v = random.integers(-4, 5, (2, 5, 70, 300)).astype(np.float32)
    return Network(graph, {"x": x, "v": v}, ["y", "s"])


class TestParts(MutationTests):
    """Each fault must be found."""
