"""The laboratory's tests need the built commands, as those of tests/ do."""

from tests.conftest import commands

__all__ = ["commands"]
