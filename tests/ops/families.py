"""The tables of cases, by the family of operators that they are of."""

from tests.ops import (
    test_argminmax,
    test_cast,
    test_compare_logic,
    test_conv,
    test_data_movement,
    test_elementwise,
    test_gather_scatter,
    test_matmul_gemm,
    test_normalization,
    test_pool,
    test_reduce,
    test_resize,
    test_shape_like,
    test_softmax,
    test_topk,
)

FAMILIES = {
    "argminmax": test_argminmax.CASES,
    "cast": test_cast.CASES,
    "compare_logic": test_compare_logic.CASES,
    "conv": test_conv.CASES,
    "data_movement": test_data_movement.CASES,
    "elementwise": test_elementwise.CASES,
    "gather_scatter": test_gather_scatter.CASES,
    "matmul_gemm": test_matmul_gemm.CASES,
    "normalization": test_normalization.CASES,
    "pool": test_pool.CASES,
    "reduce": test_reduce.CASES,
    "resize": test_resize.CASES,
    "shape_like": test_shape_like.CASES,
    "softmax": test_softmax.CASES,
    "topk": test_topk.CASES,
}
