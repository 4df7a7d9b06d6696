"""After a run of the suite: what passed, what is listed and what failed, by target and group."""

import re
from collections import Counter

import pytest

from models.onnx_suite import listed
from models.onnx_suite.suite import GROUPS

COLUMNS = ("passed", "listed", "failed")
OUTCOMES = {"passed": "passed", "failed": "failed", "error": "failed"}
TEST_ID = re.compile(r"test_suite\.py::test_onnx\[(\w+)-(([\w-]+)/[^\]]*)\](@.*)?$")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-listed", action="store_true", help="drop the lines of tests that pass from not_yet.txt")
    parser.addoption("--whole-gpu", action="store_true", help="the suite's GPU half whole, not its fixed part alone")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The GPU's half takes hours: only `make suite` runs more of it than the part that always runs."""
    if config.getoption("--whole-gpu", default=False):
        return
    is_dropped = ["::test_onnx[gpu-" in item.nodeid and bool(item.get_closest_marker("slow")) for item in items]
    config.hook.pytest_deselected(items=[item for item, each in zip(items, is_dropped, strict=True) if each])
    items[:] = [item for item, each in zip(items, is_dropped, strict=True) if not each]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    counts: Counter[tuple[str, str, str]] = Counter()
    begun_to_pass = []
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            found = TEST_ID.search(report.nodeid)
            if not found or (outcome == "passed" and report.when != "call"):
                continue
            target, test, group = found.group(1, 2, 3)
            is_listed = (listed.PROPERTY, True) in [tuple(each) for each in report.user_properties]
            counts[target, group, "listed" if is_listed and outcome == "passed" else OUTCOMES[outcome]] += 1
            if is_listed and outcome == "failed":
                begun_to_pass.append((target, test))
    if not counts:
        return
    terminalreporter.section("ONNX's suite")
    terminalreporter.write_line(f"{'target':6} {'group':18} {'passed':>7} {'listed':>7} {'failed':>7}")
    targets = sorted({target for target, _, _ in counts})
    for target in targets:
        for group in GROUPS:
            _write_row(terminalreporter, target, group, [counts[target, group, each] for each in COLUMNS])
        totals = [sum(counts[target, group, each] for group in GROUPS) for each in COLUMNS]
        _write_row(terminalreporter, target, "all", totals)
    for target, test in sorted(begun_to_pass):
        terminalreporter.write_line(f"passes although it is listed: {target} {test}")
    if config.getoption("--update-listed", default=False):
        listed.remove(listed.NOT_YET, begun_to_pass)


def _write_row(reporter: pytest.TerminalReporter, target: str, group: str, numbers: list[int]) -> None:
    reporter.write_line(f"{target:6} {group:18} " + " ".join(f"{number:7}" for number in numbers))
