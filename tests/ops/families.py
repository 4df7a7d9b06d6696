"""The tables of cases, by the family of operators that they are of."""

from tests.ops.algebra import test_argminmax, test_einsum, test_matmul_gemm, test_reduce
from tests.ops.elementwise import test_cast, test_compare_logic, test_elementwise
from tests.ops.microsoft import test_microsoft
from tests.ops.network import (
    test_conv,
    test_conv_seeds,
    test_conv_transpose,
    test_normalization,
    test_pool,
    test_resize,
    test_softmax,
)
from tests.ops.quantization import test_quantization
from tests.ops.recurrent import test_recurrent
from tests.ops.tensor import test_data_movement, test_gather_scatter, test_shape_like, test_topk

FAMILIES = {
    "argminmax": test_argminmax.CASES,
    "cast": test_cast.CASES,
    "compare_logic": test_compare_logic.CASES,
    "conv": test_conv.CASES,
    "conv_seeds": test_conv_seeds.CASES,
    "conv_transpose": test_conv_transpose.CASES,
    "data_movement": test_data_movement.CASES,
    "einsum": test_einsum.CASES,
    "elementwise": test_elementwise.CASES,
    "gather_scatter": test_gather_scatter.CASES,
    "matmul_gemm": test_matmul_gemm.CASES,
    "microsoft": test_microsoft.CASES,
    "normalization": test_normalization.CASES,
    "pool": test_pool.CASES,
    "quantization": test_quantization.CASES,
    "recurrent": test_recurrent.CASES,
    "reduce": test_reduce.CASES,
    "resize": test_resize.CASES,
    "shape_like": test_shape_like.CASES,
    "softmax": test_softmax.CASES,
    "topk": test_topk.CASES,
}
