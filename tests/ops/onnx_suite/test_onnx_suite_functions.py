"""ONNX's node tests of operators that onnxc compiles through the bodies that ONNX gives for them.

The suite has each of its function operators a second time, with the body written out as nodes: that is a test of the
operators in it, and of what onnxc makes of them together.
"""

import re
from dataclasses import replace

from tests.ops.onnx_suite.test_onnx_suite import FUNCTIONS, SUITE, as_case, is_left_out, operator
from tests.ops.table import table_test

# Bodies of operators that onnxc lacks. Those of Range have a loop that reads values from outside of it, whose names
# build_model() does not change there.
NOT_YET = r"affine_grid|bernoulli|dynamicquantizelinear|range|sequence_map"

# Written out, they are what onnxc makes of the operator itself.
REPEATED = r"attention|causal|nllloss|rotary|sce|swiglu"


def is_body(name: str) -> bool:
    return "_expanded" in name and not re.search(NOT_YET, name)


FUNCTION_CASES = [as_case(test) for test in SUITE if operator(test) in FUNCTIONS and not is_left_out(test.name)]
BODY_CASES = [
    replace(as_case(test), slow=bool(re.search(REPEATED, test.name)))
    for test in SUITE
    if operator(test) is None and is_body(test.name) and not is_left_out(test.name)
]

test_functions = table_test("onnx_suite_functions", FUNCTION_CASES)
test_bodies = table_test("onnx_suite_bodies", BODY_CASES)
