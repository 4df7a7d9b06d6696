"""Every test of the ONNX package's own suite, compiled and run as it is: `make suite`.

A fixed sixteenth of the CPU's half, and a smaller part of the GPU's, is in every test run; the rest is slow, and what
is left of the GPU's half runs only if it is asked for. A test that cannot pass, or does not yet, is in a list
(listed.py) and must fail: when it begins to pass its line has to go.
"""

from collections.abc import Callable

import pytest

from models.onnx_suite import listed
from models.onnx_suite.suite import GROUPS, SuiteTest, collect
from tests.onnx_suite import runners
from tests.onnx_suite.batches import Batches

# For each target, one test in so many always runs.
ALWAYS = {"cpu": 16, "gpu": 96}

TESTS = collect()
CANNOT, NOT_YET = listed.read(listed.CANNOT), listed.read(listed.NOT_YET)
LISTED = {**NOT_YET, **CANNOT}


def in_batches(target: str) -> tuple[Batches, Batches]:
    """The tests that always run, and the others; those that are listed run by themselves."""
    expected = [test for test in TESTS if not listed.is_listed(LISTED, target, test.id)]
    is_always = [test.is_in_part(ALWAYS[target]) for test in expected]
    always, others = (
        [test for test, each in zip(expected, is_always, strict=True) if each == kind] for kind in (True, False)
    )
    return Batches(always, target), Batches(others, target)


BATCHES = {target: in_batches(target) for target in runners.TARGETS}


def batches_of(test: SuiteTest, target: str) -> Batches:
    return BATCHES[target][0 if test.is_in_part(ALWAYS[target]) else 1]


def marks_of(test: SuiteTest, target: str) -> list[pytest.MarkDecorator]:
    marks = [pytest.mark.xdist_group(f"{target} {batches_of(test, target).name_of(test)}")]
    if not test.is_in_part(ALWAYS[target]):
        marks.append(pytest.mark.slow)
    return marks


PARAMETERS = [
    pytest.param(test, target, id=f"{target}-{test.id}", marks=marks_of(test, target))
    for target in runners.TARGETS
    for test in TESTS
]


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(("test", "target"), PARAMETERS)
def test_onnx(
    test: SuiteTest,
    target: str,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", runners.SIMULATOR)
    monkeypatch.setenv("ONNXC_POISON", "1")  # buffers begin as NaN
    if not listed.is_listed(LISTED, target, test.id):
        batches_of(test, target).run(test)
        return
    # Not xfail, which pytest would print a line for.
    record_property(listed.PROPERTY, True)
    try:
        batches_of(test, target).run(test)
    except Exception:
        return
    pytest.fail(f"it passes: take its line out of models/{listed.FOLDER.name}/*.txt", pytrace=False)


def test_lists_name_tests_that_exist() -> None:
    known = {test.id for test in TESTS}
    assert len(known) == len(TESTS)
    gone = [entry for entry in LISTED if entry[1] not in known or entry[0] not in runners.TARGETS]
    assert not gone
    assert not CANNOT.keys() & NOT_YET.keys()
    covered = [(target, test) for target, test in LISTED if target != "cpu" and ("cpu", test) in LISTED]
    assert not covered, "what fails on the CPU is listed there alone"
    assert all(CANNOT.values()), "each has its reason"


def test_suite_is_the_one_that_was_counted() -> None:
    """A new version of the package brings tests: they are run, and this number follows."""
    counts = {group: sum(test.group == group for test in TESTS) for group in GROUPS}
    assert counts == {"node": 1884, "simple": 23, "pytorch-converted": 82, "pytorch-operator": 35, "light": 9}
