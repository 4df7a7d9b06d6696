"""Runs tables of operator cases: many in one compile, each judged by itself.

The cases of one opset are merged into models, which are compiled and run once in each way: optimized or not, on the CPU
or on the simulated GPU. If that fails, the model is halved until the cases at fault are single. A case that fails
leaves its own model, inputs and expected outputs in build/failed-cases, with the commands that repeat it.
"""

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest

from models import tensor_files
from models.tensor_files import Array
from tests import compare, onnxc_commands
from tests.ops.case import Case, build_model, case_prefix
from tests.ops.oracle import expected_outputs

FAILED_CASES = onnxc_commands.REPOSITORY / "build" / "failed-cases"


@dataclass(frozen=True)
class Way:
    """How cases are compiled and run.

    interval: of the cases that always run, one in so many does so in this way, the others with --slow.
    """

    compile: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    interval: int = 1


WAYS = {
    "O0": Way(("-O0",), interval=5),
    "default": Way(),
    "gpu": Way(("--target", "hip"), ("--device", "hip"), interval=11),
    "gpu O0": Way(("--target", "hip", "-O0"), ("--device", "hip"), interval=29),
}
ON_CPU = ("O0", "default")
EVERYWHERE = tuple(WAYS)

# A model of more cases than this takes clang long, and long again to halve when one of them fails.
CASES_IN_ONE_MODEL = 150

# A few roundings of the type: functions are approximated, sums are taken in another order.
TOLERANCES = {
    np.dtype(np.float64): 1e-12,
    np.dtype(np.float32): 1e-5,
    np.dtype(np.float16): 2.0**-9,
    np.dtype(ml_dtypes.bfloat16): 2.0**-6,
}

Result = dict[str, Array] | Exception


class Table:
    """The cases of one family and, once asked for, their results."""

    def __init__(self, family: str, cases: Sequence[Case]) -> None:
        names = [one.name for one in cases]
        repeated = sorted({name for name in names if names.count(name) > 1})
        assert not repeated, f"{family}: several cases are named {repeated}"
        self.family = family
        self.cases = cases
        self.positions = {one: position for position, one in enumerate(cases)}
        self.expected: dict[Case, tuple[Array, ...]] = {}
        self.results: dict[tuple[Case, str], Result] = {}

    def expect(self, one: Case) -> tuple[Array, ...]:
        if one not in self.expected:
            self.expected[one] = expected_outputs(one)
        return self.expected[one]

    def is_slow(self, one: Case, way: str) -> bool:
        return one.slow or self.positions[one] % WAYS[way].interval != 0

    def result(self, one: Case, way: str) -> Result:
        """The outputs of a case; computed with those of all cases that share its model."""
        if (one, way) not in self.results:
            slow = self.is_slow(one, way)
            alike = [other for other in self.cases if other.opset == one.opset and self.is_slow(other, way) == slow]
            start = alike.index(one) // CASES_IN_ONE_MODEL * CASES_IN_ONE_MODEL
            self._evaluate(alike[start : start + CASES_IN_ONE_MODEL], way)
        return self.results[one, way]

    def _evaluate(self, cases: Sequence[Case], way: str) -> None:
        known = [one for one in cases if self._has_oracle(one, way)]
        if not known:
            return
        try:
            outputs = self._compile_and_run(known, way)
        except Exception as error:  # whatever went wrong belongs to one of the cases
            if len(known) == 1:
                self.results[known[0], way] = error
                return
            middle = len(known) // 2
            self._evaluate(known[:middle], way)
            self._evaluate(known[middle:], way)
            return
        for index, one in enumerate(known):
            self.results[one, way] = {name: outputs[case_prefix(index) + name] for name in one.outputs}

    def _has_oracle(self, one: Case, way: str) -> bool:
        try:
            self.expect(one)
        except LookupError as error:
            self.results[one, way] = error
            return False
        return True

    def _compile_and_run(self, cases: Sequence[Case], way: str) -> dict[str, Array]:
        with tempfile.TemporaryDirectory(prefix="onnxc-cases-") as name:
            folder = Path(name)
            onnx.save(build_model(cases, {one: self.expect(one) for one in cases}), folder / "model.onnx")
            shared_object = onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", *WAYS[way].compile)
            inputs = {case_prefix(i) + key: array for i, one in enumerate(cases) for key, array in one.inputs.items()}
            outputs = [case_prefix(i) + key for i, one in enumerate(cases) for key in one.outputs]
            return onnxc_commands.run_arrays(shared_object, inputs, outputs, folder / "run", *WAYS[way].run)

    def check(self, one: Case, way: str) -> None:
        """Fails the test when the case's outputs are not as expected."""
        result = self.result(one, way)
        if isinstance(result, LookupError):
            pytest.fail(str(result), pytrace=False)
        if isinstance(result, Exception):
            pytest.fail(f"{result}\n{self._reproduction(one, way)}", pytrace=False)
        failures = []
        for name, expected in zip(one.outputs, self.expect(one), strict=True):
            tolerance = TOLERANCES.get(expected.dtype, 0.0) if one.tolerance is None else one.tolerance
            difference = compare.elementwise_mismatch(result[name], expected, tolerance, tolerance / 10)
            if difference:
                failures.append(f"output {name}: {difference}")
        if failures:
            pytest.fail("\n".join([*failures, self._reproduction(one, way)]), pytrace=False)

    def _reproduction(self, one: Case, way: str) -> str:
        """Writes only the case and gives the commands that run it."""
        folder = FAILED_CASES / self.family / re.sub(r"[^A-Za-z0-9._-]+", "_", one.name)
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(build_model([one], {one: self.expect(one)}), folder / "model.onnx")
        words = []
        for name, array in one.inputs.items():
            words.append(f"--input c0_{name}={tensor_files.save(array, folder / name)}")
        for name, array in zip(one.outputs, self.expect(one), strict=True):
            words.append(f"--expect c0_{name}={tensor_files.save(array, folder / name)}")
        flags = " ".join(WAYS[way].compile)
        nodes = "\n".join(f"  {node.op_type}({', '.join(node.inputs)}) {dict(node.attributes)}" for node in one.nodes)
        shapes = ", ".join(f"{name}: {array.dtype}{list(array.shape)}" for name, array in one.inputs.items())
        constants = ", ".join(
            f"{name} = {array.tolist()}" if array.size <= 12 else f"{name}: {array.dtype}{list(array.shape)}"
            for name, array in one.constants.items()
        )
        environment = f"ONNXC_HIP_LIBRARY={onnxc_commands.SIMULATOR} " if WAYS[way].run else ""
        return (
            f"{nodes}\n  inputs {shapes}\n  constants {constants}\nrepeat:\n"
            f"  build/bin/onnxc {folder}/model.onnx -o {folder}/model.so {flags} &&\n"
            f"  {environment}build/bin/onnxc-run {folder}/model.so {' '.join([*WAYS[way].run, *words])}"
        )


def table_test(family: str, cases: Sequence[Case], ways: Sequence[str] = ON_CPU) -> Callable[[Case, str], None]:
    """The test function of a table: one test for each case and way."""
    table = Table(family, cases)
    parameters = [
        pytest.param(one, way, id=f"{one.name}-{way}", marks=[pytest.mark.slow] if table.is_slow(one, way) else [])
        for one in cases
        for way in ways
    ]

    @pytest.mark.usefixtures("commands")
    @pytest.mark.parametrize(("one", "way"), parameters)
    def test(one: Case, way: str) -> None:
        table.check(one, way)

    return test
