"""Optional values of which the model itself says whether they have an element."""

from tests.ops.case import Case, case, graph_case, random
from tests.ops.table import ON_CPU, table_test

X = random(2, 3)
CASES: list[Case] = [
    case("OptionalHasElement", X, opset=18, name="a tensor"),
    graph_case("no input", [("OptionalHasElement", "", "y")], {}, {}, opset=18),
    graph_case("an optional", [("Optional", "x", "o"), ("OptionalHasElement", "o", "y")], {"x": X}, {}, opset=18),
    case("OptionalGetElement", X, opset=18, name="of a tensor"),
    graph_case(
        "of an optional",
        [("Optional", "x", "o"), ("OptionalGetElement", "o", "e"), ("Neg", "e", "y")],
        {"x": X},
        {},
        opset=18,
    ),
]
test_optional = table_test("optional", CASES, ON_CPU)
