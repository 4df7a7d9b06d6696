"""The implicit GEMM, broken on purpose: each fault must be found, by the simulator's report or by the result."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.kernels.hip.mutations.broken_kernels import WRONG_RESULT, Change, Mutation, MutationTests, Network

GEMM, LOADS = "gemm/implicit_gemm.h", "gemm/gemm_loads.h"
BLOCK, TILE, MFMA = "gemm/gemm_block.h", "gemm/gemm_tile.h", "gemm/matrix_tile.h"

MUTATIONS = [
    Mutation(
        "barrier before the stores dropped",
        [Change("    barrier();  // the product of the step before is done with LDS\n", "", GEMM)],
        "without a barrier",
    ),
    Mutation(
        "barrier behind the stores dropped",
        [Change("    store_to_lds(set);\n    barrier();\n", "    store_to_lds(set);\n", GEMM)],
        "which was never written",
    ),
    Mutation(
        "barrier that a wave does not reach",
        [
            Change(
                "    store_to_lds(set);\n",
                "    store_to_lds(set);\n    if (thread_index() / 64 == 3) __builtin_amdgcn_endpgm();\n",
                GEMM,
            )
        ],
        "waits at a barrier that wave 3 never reached",
    ),
    Mutation(
        "tail of the loops shifted by one",
        [Change("point < arguments.points;", "point < arguments.points + 1;")],
        "0 bytes past the end of a device allocation",
    ),
    Mutation(
        "barrier of a transposed tile dropped",
        [Change("    barrier();\n    #pragma unroll", "    #pragma unroll")],
        "never written",
    ),
    Mutation(
        "tail of a transposed tile shifted by one",
        [Change("(along_stored >= stored_end)", "(along_stored > stored_end)")],
        "with the same instruction",
    ),
    Mutation(
        "rows of a transposed tile exchanged on one side only",
        [Change("] = values[round]", " ^ 1] = values[round]")],
        "which was never written",
    ),
    Mutation(
        "tail of the convolution shifted by one",
        [Change("< arguments.launch.rows}", "< arguments.launch.rows + 1}", BLOCK)],
        "without a release and an acquire",
    ),
    Mutation(
        "chunks of a row exchanged on one side only",
        [
            Change(
                "shared.rows + lds_place(first_row(), chunk)",
                "shared.rows + lds_place(first_row(), chunk ^ 1)",
                MFMA,
            )
        ],
        WRONG_RESULT,
    ),
    Mutation(
        "weights that stay a tap behind",
        [
            Change(
                "weight_way(at.lanes, at.lane) * weight_step",
                "(at.lane == 1 ? 0 : weight_way(at.lanes, at.lane)) * weight_step",
                GEMM,
            )
        ],
        WRONG_RESULT,
    ),
    Mutation(
        "rows that miss a tap's way",
        [Change("move_rows(of_lane(at.lanes.way, at.lane))", "move_rows(of_lane(at.lanes.way, at.lane & ~2))", GEMM)],
        "past the end of a device allocation",
    ),
    Mutation(
        "fetches behind the last step that do not stop",
        [Change("at.left <= 0 ? end_lane", "at.left <= -2 ? end_lane", GEMM)],
        "bytes at",
    ),
    Mutation(
        "registers of two steps exchanged",
        [Change("reduce_step(set, next);", "reduce_step(1 - set, next);", GEMM)],
        WRONG_RESULT,
    ),
    Mutation(
        "an odd last step left out",
        [Change("count % 2 == 1) reduce_step(0, next)", "count < 0) reduce_step(0, next)", GEMM)],
        WRONG_RESULT,
    ),
    Mutation(
        "parts of the reduction that overlap",
        [Change("share + (part < more)}", "share + 1}", BLOCK)],
        "past the end of a device allocation",
    ),
    Mutation(
        "part of the reduction left out of the sum",
        [Change("int64_t part = 1;", "int64_t part = 2;", GEMM)],
        WRONG_RESULT,
    ),
    Mutation(
        "LDS one row short",
        [
            Change(
                "columns[lds_columns(tile) * lds_row_bytes]", "columns[(lds_columns(tile) - 1) * lds_row_bytes]", TILE
            ),
            Change("  static_assert(sizeof(Shared) == plan.lds_bytes(own_gpu));\n", "", LOADS),
        ],
        "bytes of LDS at",
    ),
    Mutation(
        "row of LDS never written",
        [
            Change(
                "    *reinterpret_cast<Chunk*>(operand + lds_place(row, chunk)) = value;\n",
                "    if (thread_index() != 255)\n"
                "    *reinterpret_cast<Chunk*>(operand + lds_place(row, chunk)) = value;\n",
                TILE,
            )
        ],
        "which was never written",
    ),
    Mutation(
        "load of the padding unguarded",
        [Change("is_inside(i, tap) & is_real ? inside : outside", "inside", LOADS)],
        "bytes at",
    ),
    Mutation(
        "accumulator not cleared",
        [Change("sums[i][j] = Sums{};", 'asm volatile("" : "=a"(sums[i][j]));', TILE)],
        "which was never written",
    ),
    Mutation("bias index off by one", [Change("p0[c];", "p0[c + 1];")], WRONG_RESULT),
    Mutation(
        "kernel arguments in another order",
        [
            Change(
                "  GemmArguments<float, float, float> call;\n  Epilogue1 epilogue;\n",
                "  Epilogue1 epilogue;\n  GemmArguments<float, float, float> call;\n",
            )
        ],
        "bytes at",
    ),
    Mutation(
        "kernel argument that the host does not pass",
        [Change("  Epilogue1 epilogue;\n};", "  Epilogue1 epilogue;\n  int64_t more;\n};")],
        "bytes of arguments, but is given",
    ),
    Mutation(
        "wait for memory removed",
        [Change("s_waitcnt vmcnt(0)\n\tds_write", "ds_write")],
        "before an s_waitcnt vmcnt",
        assembly=True,
    ),
    Mutation(
        "wait for LDS removed",
        [Change("s_waitcnt lgkmcnt(0)\n\tv_mfma", "v_mfma")],
        "before an s_waitcnt lgkmcnt",
        assembly=True,
    ),
    Mutation(
        "wait state removed",
        [Change("s_nop 1\n\tv_addc_co_u32", "v_addc_co_u32")],
        "0 wait states, but 2 are needed",
        assembly=True,
    ),
]


def network() -> Network:
    """A convolution whose tiles have tails on all sides, and a transpose; what the convolution gives is compared."""
    random = np.random.default_rng(0)
    weights = random.integers(-3, 4, (72, 20, 3, 3, 3)).astype(np.float32)
    bias = random.integers(-9, 10, 72).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1] * 6),
            helper.make_node("Transpose", ["x"], ["z"], perm=[0, 2, 3, 4, 1]),
        ],
        "convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 20, 3, 7, 9])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 72, 3, 7, 9]),
            helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 3, 7, 9, 20]),
        ],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")],
    )
    x = random.integers(-4, 5, (1, 20, 3, 7, 9)).astype(np.float32)
    return Network(graph, {"x": x}, ["y"])


class TestImplicitGemm(MutationTests):
    """Each fault must be found."""
