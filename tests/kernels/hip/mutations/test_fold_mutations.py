"""The kernel that folds the statistics of a normalisation's parts, broken on purpose."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.codegen.hip.gpu_model import read_in_blocks
from tests.kernels.hip.mutations.broken_kernels import (
    WRONG_RESULT,
    Change,
    Mutation,
    MutationTests,
    Network,
)

CHUNKS = "memory_bound/normalized_chunks.h"
STORED = "    float* const values = folded + number * part_values;\n"

MUTATIONS = [
    Mutation(
        "a part left out of each fold",
        [Change(": begin + length;", ": begin + length - 1;", CHUNKS)],
        WRONG_RESULT,
    ),
    Mutation(
        "two folds stored over each other",
        [Change(STORED, STORED.replace("number *", "number / 2 *"), CHUNKS)],
        "without a release and an acquire",
    ),
    Mutation(
        "elements of a fold not stored",
        [Change("    values[3 * L::lanes] = moments.elements;\n", "", CHUNKS)],
        WRONG_RESULT,
    ),
    Mutation(
        "folded where the parts lie",
        [Change("arguments.partial + parts * partial_values * L::lanes +", "arguments.partial +", CHUNKS)],
        "without a release and an acquire",
    ),
]


def network() -> Network:
    """Among 16 channels with common statistics each has 64 rows of 100 and 64 of 92, in either order, so that whole
    folds have one of them: all of it is exact."""
    random = np.random.default_rng(0)
    signs = np.ones((1, 16, 128, 128), np.float32)
    signs[:, :, 64:] = -1
    signs *= random.choice([-1, 1], 16).reshape(16, 1, 1)
    scale, shift = random.integers(1, 5, 16).astype(np.float32), random.integers(-9, 10, 16).astype(np.float32)
    # Normalised rows gain nothing from the product before them: a convolution reads blocks.
    reader, middle = read_in_blocks("n", 16, 2, np.float32)
    constants = {
        "middle": middle,
        "w": np.eye(16, dtype=np.float32).reshape(16, 16, 1, 1),
        "scale": scale,
        "shift": shift,
    }
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"]),
            helper.make_node("GroupNormalization", ["c", "scale", "shift"], ["n"], epsilon=0.0, num_groups=1),
            reader,
        ],
        "folds",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, signs.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, signs.shape)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    expected = {"y": signs * scale.reshape(-1, 1, 1) + shift.reshape(-1, 1, 1)}
    return Network(graph, {"x": signs * 4 + 96}, ["y"], expected, 21, kernels=("fold_moments<",))


class TestFolds(MutationTests):
    """Each fault must be found."""
