"""A kernel's offer is in a file *_row.cpp, and every such file has one that its target's table names."""

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "codegen"


@pytest.mark.parametrize("target", ["cpu", "hip"])
def test_offers_are_in_files_of_rows(target: str) -> None:
    table = (SOURCE / target / "call" / "kernel_rows.h").read_text()
    named = re.findall(r'^    \{(?:\.name = )?"\w+", (?:\.offer = )?(offer_\w+)', table, re.M)
    offers: dict[str, Path] = {}
    for file in sorted((SOURCE / target).rglob("*.cpp")):
        for name in re.findall(r"^void (offer_\w+)\(", file.read_text(), re.M):
            offers[name] = file
    assert sorted(offers) == sorted(named)
    assert set(offers.values()) == set((SOURCE / target).rglob("*_row.cpp"))
