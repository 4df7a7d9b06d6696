"""The tables of launches: of a small network, and how they get into their document."""

import pytest

from models.zoo import ROWS
from tools.network_launches import HEADING, Line, lines_of, section, table, with_section


def launch(kernel: str, microseconds: float, bound: str) -> dict[str, object]:
    return {"kernel": kernel, "modelled_us": microseconds, "bound": bound}


STEPS = [
    {"step": "conv 8->9", "launches": [launch("kernel0", 90, "matrix"), launch("second1", 3.25, "memory")]},
    {"step": "loops mean", "launches": [launch("nest2", 0.5, "latency")]},
    {"step": "conv 8->9", "launches": [launch("kernel0", 6, "power"), launch("second1", 3, "memory")]},
]


def test_puts_equal_launches_in_one_line() -> None:
    assert table(lines_of(STEPS)).splitlines()[2:] == [
        "| conv 8->9 | 2 | 96.0 | 93% | matrix |",
        "| conv 8->9, second launch | 2 | 6.2 | 6% | memory |",
        "| 1 others, each below 1% | 1 | 0.5 | 0% | latency |",
        "| all; with 3 us a launch 118 us | 5 | 102.8 | | |",
    ]


def test_bound_is_that_of_the_longest_launches() -> None:
    line = Line()
    for microseconds, bound in ((3, "l1"), (2, "lds"), (2, "lds")):
        line.add(launch("", microseconds, bound))
    assert line.bound == "lds"


def test_replaces_its_section_alone() -> None:
    text = f"{HEADING}\nnew\n"
    assert with_section("# Title\n\n## A\n\na\n", text) == f"# Title\n\n## A\n\na\n\n{text}"
    assert with_section(f"## A\n\na\n\n{HEADING}\nold\n\n## B\n", text) == f"## A\n\na\n\n{text}\n## B\n"
    assert with_section(f"## A\n\na\n\n{HEADING}\nold\n", text) == f"## A\n\na\n\n{text}"


@pytest.mark.usefixtures("commands")
def test_a_network_has_the_same_tables_twice() -> None:
    network = {"half": ROWS["window_attention"]}
    first = section(network)
    assert first == section(network)
    assert "### half, [2, 4, 6, 8, 24], float16" in first
    assert "| attention" in first
