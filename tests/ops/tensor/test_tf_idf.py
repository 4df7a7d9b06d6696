"""TfIdfVectorizer of integers, against onnxruntime."""

from typing import Any

import numpy as np

from tests.ops.case import Case, case, with_unknown_dims
from tests.ops.table import EVERYWHERE, table_test

POOL = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7, 1, 1, 2, 3, 5, 2, 3, 1]  # four 1-grams, four 2-grams, two 3-grams
COUNTS = [0, 4, 12]
INDEXES = [0, 1, 2, 3, 4, 5, 6, 9, 8, 7]
WEIGHTS = [1.0, 0.5, 2.0, 3.0, 0.25, 1.5, 4.0, 7.0, 0.125, 2.5]


def vectorize(name: str, rows: int | None, dtype: Any = np.int64, **settings: Any) -> Case:
    generator = np.random.default_rng(3)
    x = generator.integers(1, 9, (25,) if rows is None else (rows, 25)).astype(dtype)
    x[..., :6] = [2, 3, 5, 7, 8, 1]
    given = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0, **settings}
    return case(
        "TfIdfVectorizer", x, name=name, opset=9, ngram_counts=COUNTS, ngram_indexes=INDEXES, pool_int64s=POOL, **given
    )


CASES = [
    *(
        vectorize(f"{mode} skip {skips} {shortest} to {longest}", 3, mode=mode, max_skip_count=skips,
                  min_gram_length=shortest, max_gram_length=longest, weights=WEIGHTS)
        for mode in ("TF", "IDF", "TFIDF")
        for skips, shortest, longest in ((0, 1, 1), (0, 2, 2), (0, 1, 2), (3, 1, 2), (5, 2, 2), (1, 1, 3), (2, 3, 3))
    ),
    vectorize("one sequence", None, max_skip_count=2),
    vectorize("int32", 2, dtype=np.int32),
    vectorize("without weights", 2, mode="IDF"),
]  # fmt: skip

test_tf_idf = table_test("tf_idf", CASES, EVERYWHERE)
test_unknown_dims = table_test("tf_idf_unknown_dims", [with_unknown_dims(one) for one in CASES], ["default"])
