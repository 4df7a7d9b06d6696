"""Attention in one kernel, broken on purpose: each fault must be found."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.kernels.hip.mutations.broken_kernels import (
    WRONG_RESULT,
    Change,
    Mutation,
    MutationTests,
    Network,
)

OPERANDS, WAVE = "attention/attention_operands.h", "attention/attention_mfma.h"

MUTATIONS = [
    Mutation(
        "barrier before the stores dropped",
        [Change("      barrier();  // the products of the keys before are done with LDS\n", "", OPERANDS)],
        "without a barrier",
    ),
    Mutation(
        "barrier behind the stores dropped",
        [
            Change(
                "      store_to_lds(keys - first);\n      barrier();\n",
                "      store_to_lds(keys - first);\n",
                OPERANDS,
            )
        ],
        "which was never written",
    ),
    Mutation(
        "columns of padding never written",
        [Change("i < column_tiles * tile * words;", "i < columns * words;", OPERANDS)],
        "which was never written",
    ),
    Mutation(
        "chunks of a key in another order",
        [Change("lds_place(lane_, i % 2 * 2 + half_)", "lds_place(lane_, i % 2 * 2 + 1 - half_)", WAVE)],
        WRONG_RESULT,
    ),
    Mutation(
        "values of other keys",
        [
            Change(
                "(quad / chunk_elements * 2 + half_) * chunk_bytes",
                "(quad / chunk_elements * 2) * chunk_bytes",
                WAVE,
            )
        ],
        WRONG_RESULT,
    ),
    Mutation(
        "keys behind the last counted",
        [Change("row_of(r) < rest ? scores[r] : -__builtin_inff()", "scores[r]", WAVE)],
        WRONG_RESULT,
    ),
    Mutation(
        "halves of a wavefront with a largest score each",
        [Change("__builtin_fmaxf(largest, exchange<32, false>(largest))", "largest", WAVE)],
        WRONG_RESULT,
    ),
    Mutation(
        "results not scaled when the largest score grows",
        [Change("sums_[i] *= factor;", "sums_[i] *= 1.0f;", WAVE)],
        WRONG_RESULT,
    ),
    Mutation(
        "sum of exponentials not scaled when the largest score grows",
        [Change("total_ * factor + total;", "total_ + total;", WAVE)],
        WRONG_RESULT,
    ),
    Mutation(
        "scores back in the lanes of other queries",
        [Change("if (lane_ / 16 == part)", "if (lane_ / 16 != part)", WAVE)],
        WRONG_RESULT,
    ),
    Mutation(
        "bias read behind the last query",
        [Change("smaller(query, last_query_)", "query", WAVE)],
        "past the end of a device allocation",
    ),
    Mutation(
        "keys loaded behind the last",
        [Change("at.row < rest ? at.row *", "at.row < tile ? at.row *", OPERANDS)],
        "past the end of a device allocation",
    ),
    Mutation(
        "results stored behind the last query",
        [Change("    if (query > last_query_) return;\n", "", WAVE)],
        "without a release and an acquire",
    ),
]

QUERIES, KEYS, DEPTH, COLUMNS = 45, 77, 16, 20


def network() -> Network:
    """Scores of a row are 256 apart: the exponential of all but one is 0, and the result is a key's value, exactly."""
    random = np.random.default_rng(0)
    bias = np.stack([random.permutation(KEYS) for _ in range(QUERIES)]).astype(np.float32) * 256
    types = {"q": (2, 3, QUERIES, DEPTH), "k": (2, 3, DEPTH, KEYS), "v": (2, 3, KEYS, COLUMNS)}
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["q", "k"], ["products"]),
            helper.make_node("Mul", ["products", "scale"], ["scaled"]),
            helper.make_node("Add", ["scaled", "bias"], ["scores"]),
            helper.make_node("Softmax", ["scores"], ["weights"], axis=-1),
            helper.make_node("MatMul", ["weights", "v"], ["y"]),
        ],
        "attention",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in types.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 3, QUERIES, COLUMNS))],
        [numpy_helper.from_array(bias, "bias"), numpy_helper.from_array(np.array(256 * KEYS, np.float32), "scale")],
    )
    inputs = {name: random.integers(-4, 5, shape).astype(np.float32) for name, shape in types.items()}
    return Network(graph, inputs, ["y"], kernels=("attention<",))


class TestAttention(MutationTests):
    """Each fault must be found."""
