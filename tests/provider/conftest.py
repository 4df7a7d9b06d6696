"""The programs that the tests of the provider need."""

import pytest

from tests.onnxc_commands import BINARIES


@pytest.fixture(scope="session", autouse=True)
def provider(commands: None) -> None:
    library = BINARIES.parent / "lib" / "libonnxc_ep.so"
    if not library.exists():
        pytest.fail(f"{library} is missing: build first (make build), or set ONNXC_BIN")
