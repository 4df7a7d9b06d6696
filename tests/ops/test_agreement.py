"""The ways in which onnxc computes an operator, compared with one another.

Some cases of each family stand twice in one model: once on inputs of the graph, once on constants, which the compiler
folds by interpreting the operator's definition. So two compiles give the interpreter, the default schedule (-O0) and
what an optimized model runs: fused loops and kernel templates.
"""

from collections.abc import Sequence
from dataclasses import replace

import onnx
import pytest

from models.tensor_files import Array
from tests import onnxc_commands
from tests.compare import elementwise_mismatch
from tests.ops.case import DEFAULT_OPSET, Case, build_model, case_prefix
from tests.ops.families import FAMILIES
from tests.ops.oracle import expected_outputs
from tests.ops.table import TOLERANCES

CASES_OF_A_FAMILY = 8

Results = dict[str, dict[str, Array]]


def chosen(cases: Sequence[Case]) -> list[Case]:
    """Some cases from the whole length of a table."""
    usable = [one for one in cases if one.opset == DEFAULT_OPSET and not one.slow]
    return usable[:: max(1, -(-len(usable) // CASES_OF_A_FAMILY))]


# Operators of other domains may have no case of the opset.
CHOSEN = {family: some for family, cases in FAMILIES.items() if (some := chosen(cases))}


@pytest.fixture(scope="module")
def results(commands: None, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The outputs of every case by the way they were computed, each under the prefix of its place among all cases."""
    folder = tmp_path_factory.mktemp("agreement")
    on_inputs = [one for cases in CHOSEN.values() for one in cases]
    on_constants = [replace(one, inputs={}, constants={**one.constants, **one.inputs}) for one in on_inputs]
    everything = [*on_inputs, *on_constants]
    outputs_of = {one: expected_outputs(one) for one in on_inputs}
    shapes = {**outputs_of, **{copy: outputs_of[one] for one, copy in zip(on_inputs, on_constants, strict=True)}}
    onnx.save(build_model(everything, shapes), folder / "model.onnx")
    feeds = {case_prefix(i) + key: array for i, one in enumerate(on_inputs) for key, array in one.inputs.items()}
    names = [case_prefix(i) + name for i, one in enumerate(everything) for name in one.outputs]
    by_way: Results = {}
    for way, options in (("-O0", ["-O0"]), ("optimized", [])):
        shared_object = onnxc_commands.compile_model(folder / "model.onnx", folder / f"{way}.so", *options)
        by_way[way] = onnxc_commands.run_arrays(shared_object, feeds, names, folder / way)
    by_way["interpreted"] = {
        case_prefix(i) + name: by_way["-O0"][case_prefix(i + len(on_inputs)) + name]
        for i, one in enumerate(on_inputs)
        for name in one.outputs
    }
    return by_way


@pytest.mark.parametrize("family", CHOSEN)
def test_agreement(results: Results, family: str) -> None:
    first = sum(len(cases) for other, cases in CHOSEN.items() if list(CHOSEN).index(other) < list(CHOSEN).index(family))
    failures = []
    for index, one in enumerate(CHOSEN[family], start=first):
        for name in (case_prefix(index) + output for output in one.outputs):
            reference = results["-O0"][name]
            tolerance = TOLERANCES.get(reference.dtype, 0.0)
            for way in ("interpreted", "optimized"):
                difference = elementwise_mismatch(results[way][name], reference, tolerance, tolerance / 10)
                if difference:
                    failures.append(f"{one.name}: {way} against -O0: {difference}")
    assert not failures, "\n".join(failures)
