"""RotaryEmbedding: inputs of both ranks, halves and interleaved pairs, part of a head, positions."""

from typing import Any

import numpy as np

from tests.ops.case import Case, case, random, with_unknown_dims
from tests.ops.table import EVERYWHERE, table_test

OPERATOR = "RotaryEmbedding"
BATCH, HEADS, POSITIONS, HEAD = 2, 3, 5, 12


def build() -> list[Case]:
    cases = []
    for by_heads in (True, False):
        x = random(BATCH, HEADS, POSITIONS, HEAD) if by_heads else random(BATCH, POSITIONS, HEADS * HEAD)
        rank = f"rank {x.ndim}"
        heads = {} if by_heads else {"num_heads": HEADS}
        for interleaved in (0, 1):
            for rotated in (0, 8, HEAD):
                pairs = (rotated or HEAD) // 2
                attributes: dict[str, Any] = {"interleaved": interleaved, "rotary_embedding_dim": rotated, **heads}
                name = f"{rank}{' interleaved' if interleaved else ''}, {rotated or 'all'} rotated"
                caches = [random(BATCH, POSITIONS, pairs, seed=seed) for seed in (1, 2)]
                one = case(OPERATOR, x, *caches, name=name, opset=23, **attributes)
                cases += [one, with_unknown_dims(one)]
                tables = [random(20, pairs, seed=seed) for seed in (3, 4)]
                places = np.array([[3, 0, 19, 4, 4], [1, 2, 3, 4, 5]])
                one = case(OPERATOR, x, *tables, places, name=f"{name}, positions", opset=23, **attributes)
                cases += [one, with_unknown_dims(one)]
    x, cosine, sine = (
        random(BATCH, HEADS, POSITIONS, HEAD),
        random(1, POSITIONS, 6, seed=5),
        random(1, POSITIONS, 6, seed=6),
    )
    (a, b), c, s = np.split(x, 2, axis=-1), cosine[:, None], sine[:, None]
    turned = np.concatenate([c * a - s * b, s * a + c * b], axis=-1)
    cases.append(case(OPERATOR, x, cosine, sine, name="one cache for the batch", opset=23, expected=[turned]))
    halves = [
        array.astype(np.float16) for array in (random(1, 2, 4, 8), random(1, 4, 4, seed=1), random(1, 4, 4, seed=2))
    ]
    cases.append(case(OPERATOR, *halves, name="float16", opset=23))
    return cases


CASES = build()
test_rotary_embedding = table_test("rotary_embedding", CASES, EVERYWHERE)
