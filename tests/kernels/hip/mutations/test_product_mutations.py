"""Convolutions with the normalisation of their results, broken on purpose."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models.tensor_files import Array
from tests.codegen.hip.gpu_model import read_in_blocks
from tests.kernels.hip.mutations.broken_kernels import (
    WRONG_RESULT,
    Change,
    Mutation,
    MutationTests,
    Network,
)

PARTS, MOMENTS, SUMS = "fused/normalized_parts.h", "fused/product_moments.h", "fused/moments_of_parts.h"
LINES, WAVE, WORDS = "memory_bound/normalized_lines.h", "wave/wave.h", "amd/words.h"

MUTATIONS = [
    Mutation(
        "parts: stored over each other",
        [Change("gemm.part * part_size(product)", "0", PARTS)],
        "without a release and an acquire",
    ),
    Mutation(
        "parts: the last left out",
        [Change("if (tensor + set < tensors)", "if (tensor + set < tensors - 1)", LINES)],
        WRONG_RESULT,
    ),
    Mutation(
        "parts: one behind the last loaded",
        [Change("(tensor < tensors ? tensor : tensors - 1) * size", "tensor * size", LINES)],
        "past the end of a device allocation",
    ),
    Mutation(
        "parts: elements of another thread",
        [Change("input + i * step + own", "input + i * step / 2 + own", LINES)],
        WRONG_RESULT,
    ),
    Mutation(
        "parts: the convolution's epilogue left out",
        [Change("  output.apply(inner, 0, values);\n", "", PARTS)],
        WRONG_RESULT,
    ),
    Mutation(
        "moments: barrier in front of the sums dropped",
        [Change("    barrier();  // the product is done with LDS\n", "", MOMENTS)],
        "without a barrier",
    ),
    Mutation(
        "moments: the part of another tile",
        [Change("* parts + part)", "* parts + part / 2)", MOMENTS)],
        "without a release and an acquire",
    ),
    Mutation(
        "moments: columns in another order",
        [Change("return lane >> 3 | (lane >> 1 & 2)", "return lane >> 3 | (lane >> 2 & 2)", WAVE)],
        "writes others with the same instruction",
    ),
    Mutation(
        "moments of parts: not stored where they are normalised",
        [Change("    output.store(begin, values);\n", "", SUMS)],
        WRONG_RESULT,
    ),
    Mutation("moments: lanes added twice", [Change("0xf, 0xa, false);", "0xf, 0xf, false);", WORDS)], WRONG_RESULT),
]


def conv(channels: int, taps: int) -> Array:
    """Gives its input, by the last of the taps."""
    weights = np.zeros((channels, channels, taps, taps, taps), np.float32)
    weights[np.arange(channels), np.arange(channels), -1, -1, -1] = 1
    return weights


def network() -> Network:
    """Channels of as many 4 as -4, in parts and in chunks: all of it is exact."""
    random = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    inputs: dict[str, Array] = {}
    constants: dict[str, Array] = {}
    expected: dict[str, Array] = {}
    for name, channels, taps, size in (("a", 64, 3, (2, 4, 4)), ("b", 20, 1, (5, 16, 8)), ("c", 64, 3, (5, 16, 8))):
        voxels = int(np.prod(size))
        signs = np.stack([random.permutation(np.repeat([-1, 1], voxels // 2)) for _ in range(channels)])
        inputs[name] = (signs * 4).astype(np.float32).reshape(1, channels, *size)
        scale, shift = random.integers(1, 5, channels), random.integers(-9, 10, channels)
        constants |= {
            f"w{name}": conv(channels, taps),
            f"bias{name}": np.arange(channels, dtype=np.float32) + 96,
            f"scale{name}": scale.astype(np.float32),
            f"shift{name}": shift.astype(np.float32),
        }
        nodes += [
            helper.make_node("Conv", [name, f"w{name}", f"bias{name}"], [f"c{name}"], pads=[taps - 1] * 3 + [0] * 3),
            helper.make_node("Neg", [f"c{name}"], [f"q{name}"]),
            helper.make_node(
                "InstanceNormalization", [f"q{name}", f"scale{name}", f"shift{name}"], [f"n{name}"], epsilon=0.0
            ),
            helper.make_node("Add", [f"n{name}", name], [f"s{name}"]),
        ]
        # Normalised rows gain nothing from the product before them: a convolution reads blocks.
        reader, constants[f"middle{name}"] = read_in_blocks(f"s{name}", channels, 3, np.float32)
        reader.input[1], reader.output[0] = f"middle{name}", f"y{name}"
        nodes.append(reader)
        columns = (slice(None), *[None] * 3)
        normal = -signs.reshape(1, channels, *size) * scale[columns] + shift[columns] + inputs[name]
        expected[f"y{name}"] = normal.astype(np.float32)
    graph = helper.make_graph(
        nodes,
        "products",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name, x in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in expected],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    kernels = ("normalized_parts<", "product_moments<", "moments_of_parts<")
    return Network(graph, inputs, list(expected), expected, kernels=kernels)


class TestNormalizedProducts(MutationTests):
    """Each fault must be found."""
