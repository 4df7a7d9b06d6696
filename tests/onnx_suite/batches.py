"""Many of the suite's tests in one compile: their graphs side by side, the names of each with a prefix.

A compile costs most of its time in starting, so that single tests would take several times as long. If a batch does not
compile or run, it is halved until the tests at fault are single, which then run as they are.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import onnx
from onnx import compose, helper

from models.onnx_suite.suite import SuiteTest
from tests.onnx_suite import runners

Outputs = Sequence[Any] | Exception

SIZE = 50


def run_alone(test: SuiteTest, runner: runners.Runner) -> None:
    """Raises what went wrong."""
    model, data_sets = test.load()
    compiled = runner(model)
    for inputs, expected in data_sets:
        test.check(expected, compiled(inputs))


def may_join(test: SuiteTest) -> bool:
    """Networks are compiled by themselves, and so is a test of several data sets."""
    return test.group != "light" and len(test.load()[1]) == 1


def key_of(test: SuiteTest) -> Hashable:
    """Models with equal keys can be one. Those of sequences are compiled for values of their inputs (onnxc.backend)."""
    model, _ = test.load()
    kinds = {value.type.WhichOneof("value") for value in (*model.graph.input, *model.graph.output)}
    return kinds <= {"tensor_type"}, tuple(sorted((entry.domain, entry.version) for entry in model.opset_import))


class Batches:
    """The tests that share compiles, with the results as far as they were asked for."""

    def __init__(self, tests: Sequence[SuiteTest], target: str) -> None:
        self._runner = runners.TARGETS[target]
        self._results: dict[str, Outputs] = {}
        self._batch_of: dict[str, Sequence[SuiteTest]] = {}
        alike: defaultdict[Hashable, list[SuiteTest]] = defaultdict(list)
        for test in tests:
            if may_join(test):
                alike[key_of(test)].append(test)
        for group in alike.values():
            for start in range(0, len(group), SIZE):
                batch = group[start : start + SIZE]
                self._batch_of.update({test.id: batch for test in batch})

    def name_of(self, test: SuiteTest) -> str:
        """The name of the batch: tests of one batch have to run in one process."""
        return self._batch_of.get(test.id, [test])[0].id

    def run(self, test: SuiteTest) -> None:
        """Raises what went wrong."""
        if test.id not in self._batch_of:
            return run_alone(test, self._runner)
        if test.id not in self._results:
            self._evaluate(self._batch_of[test.id])
        outputs = self._results[test.id]
        if isinstance(outputs, Exception):
            raise outputs
        test.check(test.load()[1][0][1], outputs)

    def _evaluate(self, batch: Sequence[SuiteTest]) -> None:
        if len(batch) == 1:
            self._results[batch[0].id] = self._outputs_alone(batch[0])
            return
        try:
            outputs = self._outputs(batch)
        except Exception:  # whatever went wrong belongs to one of the tests
            middle = len(batch) // 2
            self._evaluate(batch[:middle])
            self._evaluate(batch[middle:])
            return
        self._results.update({test.id: each for test, each in zip(batch, outputs, strict=True)})

    def _outputs_alone(self, test: SuiteTest) -> Outputs:
        model, [(inputs, _)] = test.load()
        try:
            return self._runner(model)(inputs)
        except Exception as error:
            return error

    def _outputs(self, batch: Sequence[SuiteTest]) -> list[Sequence[Any]]:
        joined = onnx.GraphProto(name="batch")
        values, counts = [], []
        opsets, ir_version = batch[0].load()[0].opset_import, 0
        for index, test in enumerate(batch):
            model, [(inputs, expected)] = test.load()
            prefixed = compose.add_prefix(model, f"t{index}_")
            for part in ("node", "initializer", "sparse_initializer", "output"):
                getattr(joined, part).extend(getattr(prefixed.graph, part))
            # The tests give all or none of early versions' inputs that are initializers too.
            joined.input.extend(prefixed.graph.input[: len(inputs)])
            values += list(inputs)
            counts.append(len(expected))
            ir_version = max(ir_version, model.ir_version)
        outputs = list(self._runner(helper.make_model(joined, opset_imports=opsets, ir_version=ir_version))(values))
        starts = [sum(counts[:index]) for index in range(len(counts))]
        return [outputs[start : start + count] for start, count in zip(starts, counts, strict=True)]
