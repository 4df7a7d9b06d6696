"""Every version of every operator: those that no other table runs, each by a case of another version.

Most versions only add types; this shows that a model which imports them compiles and means the same.
"""

import functools
from collections.abc import Iterator
from dataclasses import replace

import onnx
from onnx import defs

from tests.ops.case import Case, build_model
from tests.ops.control import test_control_flow
from tests.ops.families import FAMILIES
from tests.ops.onnx_suite import test_onnx_suite
from tests.ops.table import table_test

TABLES = (*FAMILIES.values(), test_control_flow.CASES, test_onnx_suite.CASES)
# No table and no test of ONNX's suite has it: attributes are those of version 16, with other defaults.
WITHOUT_A_CASE = {("RoiAlign", 10)}
# Neither onnxruntime nor ONNX's reference evaluator runs it; its row is that of version 7.
WITHOUT_AN_ORACLE = {("RNN", 1)}

Version = tuple[str, int]


def cases_by_operator() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for table in TABLES:
        for one in table:
            if len(one.nodes) == 1 and not one.nodes[0].domain and not one.slow:
                found.setdefault(one.nodes[0].op_type, []).append(one)
    return found


CANDIDATES = cases_by_operator()


@functools.cache
def version(operator: str, opset: int) -> int:
    return defs.get_schema(operator, opset).since_version


def versions_left() -> Iterator[Version]:
    covered = {(name, version(name, one.opset)) for name, cases in CANDIDATES.items() for one in cases}
    for schema in defs.get_all_schemas_with_history():
        known = not schema.domain and schema.name in CANDIDATES and not schema.deprecated
        one = (schema.name, schema.since_version)
        if known and one not in covered and one not in WITHOUT_AN_ORACLE:
            yield one


def is_valid(one: Case) -> bool:
    unread = replace(one, outputs=())
    model = build_model([unread], {unread: ()})
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


def case_of(operator: str, opset: int) -> Case | None:
    """A case of the nearest version, newer ones first, that is valid in this one."""
    nearest = sorted(CANDIDATES[operator], key=lambda one: (one.opset < opset, abs(one.opset - opset)))
    for one in nearest:
        moved = replace(one, name=f"{operator}-{opset} as {one.name}", opset=opset)
        if is_valid(moved):
            return moved
    return None


LEFT = sorted(versions_left())
FOUND = {left: case_of(*left) for left in LEFT}
test_versions = table_test("versions", [one for one in FOUND.values() if one is not None], ["default"])


def test_every_version_has_a_case() -> None:
    assert {left for left, one in FOUND.items() if one is None} == WITHOUT_A_CASE
