"""The tables of launches: of a small network, and of steps as a profile has them."""

import pytest

from lab.network_launches import Line, lines_of, page, table
from models.zoo import ROWS


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


@pytest.mark.usefixtures("commands")
def test_a_network_has_the_same_tables_twice() -> None:
    network = {"half": ROWS["window_attention"]}
    first = page(network)
    assert first == page(network)
    assert "## half, [2, 4, 6, 8, 24], float16" in first
    assert "| attention" in first
