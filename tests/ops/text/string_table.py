"""Runs tables of cases with strings, through the Python package: many in one compile, with poisoned memory."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import onnxc
from models.tensor_files import Array
from tests.ops.case import Case, build_model, case_prefix, with_unknown_dims
from tests.ops.oracle import expected_outputs

Results = list[dict[str, Array]]
WAYS = ("as it is", "-O0", "of unknown dims", "of constants")


def texts(*values: str | bytes) -> Array:
    return np.array(values, object)


def _changed(one: Case, way: str) -> Case:
    if way == "of unknown dims":
        return with_unknown_dims(one)
    if way == "of constants":
        constants = {name: _in_bytes(array) for name, array in one.inputs.items()}
        return replace(one, inputs={}, constants={**constants, **one.constants})
    return one


def _in_bytes(array: Array) -> Array:
    """Strings as a file has them: also those that are not text."""
    if array.dtype.kind != "O":
        return array
    encoded = [element.encode("utf-8", "surrogateescape") for element in array.ravel()]
    return np.array([*encoded, None], object)[:-1].reshape(array.shape)


def run_together(cases: Sequence[Case], expected: Sequence[Sequence[Array]], options: Sequence[str]) -> Results:
    known = dict(zip(cases, expected, strict=True))
    model = build_model(cases, known)
    # Sizes that only a run knows have no numbers in the file.
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    with tempfile.TemporaryDirectory(prefix="onnxc-strings-") as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(model, path)
        session = onnxc.compile(path, options=list(options))
    feed = {case_prefix(i) + name: array for i, one in enumerate(cases) for name, array in one.inputs.items()}
    names = [info.name for info in session.get_outputs()]
    first, second = (dict(zip(names, session.run(None, feed), strict=True)) for _ in range(2))
    for name in names:
        np.testing.assert_array_equal(first[name], second[name], "a second run")
    return [{name: first[case_prefix(i) + name] for name in one.outputs} for i, one in enumerate(cases)]


def table_test(cases: Sequence[Case]) -> Callable[..., None]:
    """A test for each case in each way; the cases of one opset are compiled together."""
    kept: dict[tuple[int, str], Results | Exception] = {}
    expected: dict[Case, Sequence[Array]] = {}

    @pytest.mark.usefixtures("commands")
    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("one", cases, ids=lambda one: one.name)
    def test(one: Case, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ONNXC_POISON", "1")
        alike = [other for other in cases if (other.opset, other.domain_version) == (one.opset, one.domain_version)]
        for other in alike:
            if other not in expected:
                expected[other] = expected_outputs(other)
        key = one.opset * 100 + one.domain_version, way
        if key not in kept:
            options = [way] if way.startswith("-") else []
            changed = [_changed(other, way) for other in alike]
            try:
                kept[key] = run_together(changed, [expected[other] for other in alike], options)
            except Exception as error:  # of all of them, and said once for each
                kept[key] = error
        results = kept[key]
        if isinstance(results, Exception):
            raise results
        found = results[alike.index(one)]
        for name, wanted in zip(one.outputs, expected[one], strict=True):
            assert found[name].shape == wanted.shape
            if wanted.dtype.kind in "OU":
                assert found[name].tolist() == wanted.tolist()
            else:
                assert found[name].dtype == wanted.dtype
                np.testing.assert_array_equal(found[name], wanted)

    return test
