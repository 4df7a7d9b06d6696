"""Einsum with dims that only a run knows: each input may broadcast along each of its axes."""

from dataclasses import replace

from tests.ops.case import Case, case, small_integers
from tests.ops.table import EVERYWHERE, table_test

# (equation, shapes): axes that are summed and axes that stay, 1 in the first input, in the second, in both, in none.
BROADCASTS = (
    ("i,i->", ((1,), (3,))),
    ("i,i->", ((3,), (1,))),
    ("i,i->", ((1,), (1,))),
    ("i,i->i", ((1,), (3,))),
    ("bij,bjk->bik", ((2, 3, 1), (2, 4, 5))),
    ("bij,bjk->bik", ((2, 3, 4), (2, 1, 5))),
    ("bij,bjk->bik", ((1, 3, 4), (2, 1, 5))),
    ("ij,ij,ij->i", ((2, 1), (1, 1), (2, 3))),
    ("...i,...i->...", ((1, 2, 1), (4, 1, 3))),
)


def cases() -> list[Case]:
    result = []
    for number, (equation, shapes) in enumerate(BROADCASTS):
        inputs = [small_integers(*shape, seed=i) for i, shape in enumerate(shapes)]
        known = case("Einsum", *inputs, name=f"{number} {equation}", equation=equation)
        result += [known, replace(known, name=f"{known.name} of unknown dims", unknown=frozenset(known.inputs))]
    return result


CASES = cases()
test_einsum = table_test("einsum", CASES, EVERYWHERE)
