"""The tests of the ONNX package: one node each, small models, models of PyTorch, and networks with made-up weights."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

# As the package's folders are named; "light" is its folder of real networks whose weights are made up.
MODEL_GROUPS = {
    "simple": "simple",
    "pytorch-converted": "pytorch-converted",
    "pytorch-operator": "pytorch-operator",
    "light": "real",
}
GROUPS = ("node", *MODEL_GROUPS)

DataSet = tuple[Sequence[Any], Sequence[Any]]  # inputs and expected outputs


@dataclass(frozen=True, eq=False)
class SuiteTest:
    """relative, absolute: how far a float may be from what is expected, as ONNX's runner asks."""

    group: str
    name: str
    load: Callable[[], tuple[onnx.ModelProto, list[DataSet]]]
    relative: float
    absolute: float

    @property
    def id(self) -> str:
        return f"{self.group}/{self.name.removeprefix('test_')}"

    def is_in_part(self, of: int) -> bool:
        """Whether it is in the fixed part, one test in `of`, that runs more often than the rest."""
        return zlib.crc32(self.id.encode()) % of == 0

    def check(self, expected: Sequence[Any], found: Sequence[Any]) -> None:
        """Raises AssertionError if the outputs are not as expected; the comparison is that of ONNX's runner.

        It would take each tensor of a sequence for a list of outputs, which a scalar is not.
        """
        assert _lengths(expected) == _lengths(found)
        Runner.assert_similar_outputs(_tensors(expected), _tensors(found), self.relative, self.absolute, self.name)


def _lengths(values: Sequence[Any]) -> list[int | None]:
    """The elements of those that are sequences."""
    return [len(value) if isinstance(value, list | tuple) else None for value in values]


def _tensors(values: Sequence[Any]) -> list[Any]:
    return [tensor for value in values for tensor in (value if isinstance(value, list | tuple) else [value])]


def collect() -> list[SuiteTest]:
    return [*_node_tests(), *(test for group in MODEL_GROUPS for test in _model_tests(group))]


def _node_tests() -> Iterator[SuiteTest]:
    for case in collect_testcases(None):  # of every operator

        def load(case: Any = case) -> tuple[onnx.ModelProto, list[DataSet]]:
            sets: list[DataSet] = [
                ([_array(x) for x in given], [_array(y) for y in expected]) for given, expected in case.data_sets
            ]
            return case.model, sets

        yield SuiteTest("node", case.name, load, case.rtol, case.atol)


def _model_tests(group: str) -> Iterator[SuiteTest]:
    package = Path(onnx.__file__).parent.parent
    for case in load_model_tests(kind=MODEL_GROUPS[group]):

        def load(case: Any = case) -> tuple[onnx.ModelProto, list[DataSet]]:
            return _load_light(package / case.url) if case.model_dir is None else _load_folder(Path(case.model_dir))

        yield SuiteTest(group, case.name, load, case.rtol, case.atol)


def _load_folder(folder: Path) -> tuple[onnx.ModelProto, list[DataSet]]:
    model = onnx.load(folder / "model.onnx")
    sets: list[DataSet] = []
    for data in sorted(folder.glob("test_data_set_*")):
        inputs = [_read(data / f"input_{i}.pb", value) for i, value in enumerate(_free_inputs(model, data))]
        outputs = [_read(data / f"output_{i}.pb", value) for i, value in enumerate(model.graph.output)]
        sets.append((inputs, outputs))
    return model, sets


def _free_inputs(model: onnx.ModelProto, data: Path) -> list[onnx.ValueInfoProto]:
    return list(model.graph.input)[: len(list(data.glob("input_*.pb")))]


def _load_light(file: Path) -> tuple[onnx.ModelProto, list[DataSet]]:
    model = onnx.load(file)
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [Runner.generate_dummy_data(value) for value in model.graph.input if value.name not in constants]
    names = [file.with_name(f"{file.stem}_output_{i}.pb") for i in range(len(model.graph.output))]
    return model, [(inputs, [_read(name, value) for name, value in zip(names, model.graph.output, strict=True)])]


def _read(file: Path, value: onnx.ValueInfoProto) -> Any:
    kind = value.type.WhichOneof("value")
    content = file.read_bytes()
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
