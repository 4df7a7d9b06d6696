"""The shared parts of every Python test: the commands must have been built, and slow tests run on request."""

import os

import pytest

from tests import onnxc_commands
from tests.kept_compiles import keep_compiles

# Nothing that an earlier onnxc compiled stands in for a compile; test_cache.py has a cache of its own.
os.environ["ONNXC_MODEL_CACHE"] = ""
keep_compiles()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: left to the complete test run (--slow)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("slow")])
    items[:] = [item for item in items if not item.get_closest_marker("slow")]


@pytest.fixture(scope="session")
def commands() -> None:
    """Fails, rather than skips, when there is nothing to test."""
    for name in ("onnxc", "onnxc-run"):
        if not (onnxc_commands.BINARIES / name).exists():
            pytest.fail(f"{onnxc_commands.BINARIES / name} is missing: build first (make build), or set ONNXC_BIN")
