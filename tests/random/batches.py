"""Random networks that keep the rows of a batch apart: each row of a result depends on that row of the input and on no
other."""

from tests.random.drawing import KINDS, Dim, Tensor, fixed
from tests.random.random_graphs import Builder, RandomGraph

# Whole batch, and the two parts that it is cut into.
WHOLE, FIRST, REST = range(3)
OPERATORS = [
    "convolution", "convolution", "convolution", "transposed_convolution", "pool", "global_pool", "upsample",
    "normalization", "product", "attention", "activation", "activation", "function", "with_constant", "of_two",
    "of_many", "clip", "slope", "squeeze_and_excite", "flatten",
]  # fmt: skip


class BatchBuilder(Builder):
    """The batch is the input's only free dim."""

    def begin(self) -> None:
        rank = int(self.random.choice([3, 4, 5], p=[0.2, 0.4, 0.4]))
        # Parts of two samples at least: a matrix product of a single row sums in an order of its own (matmul.h).
        first, rest = self.between(2, 4), self.between(2, 4)
        longest = {3: 40, 4: 14, 5: 7}[rank]
        dims: list[Dim] = [(first + rest, first, rest), fixed(self.one_of([1, 2, 3, 4, 8, 16, 17]))]
        dims += [fixed(self.between(3, longest)) for _ in range(rank - 2)]
        self.symbols = [self.prefix + "N", *[None] * (rank - 1)]
        self.bound = 4
        self.tensors.append(Tensor(self.prefix + "x", tuple(dims), self.bound))


def random_batched(seed: int, opset: int) -> RandomGraph:
    builder = BatchBuilder(seed, opset, KINDS["float32"], whole=False)
    builder.begin()
    builder.grow(3 + builder.below(10), OPERATORS)
    return builder.graph()
