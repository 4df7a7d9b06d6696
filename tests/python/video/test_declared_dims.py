"""Sizes that follow from declared dims."""

import pytest

from onnxc.video.declared_dims import Dims, fits, size_of, symbols_of


@pytest.mark.parametrize(
    ("dim", "size"),
    [
        (7, 7),
        ("H", 6),
        ("2*H + 1", 13),
        ("(H - 1)//2*W", 20),
        ("min(H, W, 1) - max(H, W)", -9),
        ("-H % 4", 2),
        ("H//0", None),
        ("Z", None),
        ("H*Z", None),
        ("a dim of four words", None),
        ("H**2", None),
        ("__import__('os')", None),
    ],
)
def test_size(dim: int | str, size: int | None) -> None:
    assert size_of(dim, {"H": 6, "W": 10}) == size


def test_symbols_are_those_that_stand_alone() -> None:
    declared: Dims = [1, "N", "16*(D//16)", "H*W", "2*K", "a dim"]
    assert symbols_of(declared, [1, 3, 48, 20, 8, 5]) == {"N": 3, "D": 48}


def test_shapes_fit() -> None:
    declared: Dims = [1, "2*H", "P"]
    assert fits((1, 12, 99), declared, {"H": 6})
    assert not fits((1, 13, 99), declared, {"H": 6})
    assert not fits((1, 12), declared, {"H": 6})
