"""Operators that work element by element, drawn."""

from onnx import TensorProto

from tests.random.drawing import Drawing, Tensor, fixed, is_fixed

# A function that does not jump, by how much it lets a magnitude grow at most beyond it, and since when it is there.
SMOOTH = {
    "Sigmoid": 1, "Tanh": 1, "Erf": 1, "Softsign": 1, "Atan": 2, "Sin": 1, "Cos": 1, "Softplus": 9, "Elu": 1,
    "Selu": 20, "LeakyRelu": 1, "HardSigmoid": 1, "Celu": 1, "ThresholdedRelu": 1, "Identity": 0, "Abs": 0, "Neg": 0,
    "Relu": 0, "Dropout": 0,
}  # fmt: skip
LATER = {"HardSwish": 14, "Mish": 18, "Gelu": 20, "Swish": 24, "Celu": 12}
EXACT = ["Relu", "Relu", "Neg", "Abs", "Identity", "Sign", "Shrink"]
OF_TWO = ["Add", "Add", "Sub", "Mul", "Max", "Min"]


class Pointwise(Drawing):
    def activation(self, x: Tensor) -> None:
        if self.kind.is_integer:
            op_type = self.one_of(["Neg", "Abs", "Identity", "Sign"])
            self.node(op_type, [x.name], x.dims, x.bound)
        elif self.whole:
            op_type = self.one_of(EXACT)
            if op_type == "Sign":
                x = self.settled(x)
            attributes = {"lambd": 1.5, "bias": 0.0} if op_type == "Shrink" else {}
            self.node(op_type, [x.name], x.dims, x.bound, exact=x.exact, **attributes)
        else:
            names = [name for name in (*SMOOTH, *LATER) if LATER.get(name, 0) <= self.opset]
            op_type = self.one_of([name for name in names if name not in ("ThresholdedRelu",)])
            self.node(op_type, [x.name], x.dims, x.bound + 1)

    def function(self, x: Tensor) -> None:
        """Functions that are defined, or stay small, only on part of the numbers."""
        if self.whole:
            return
        kind = self.below(6)
        positive = self.raw("Add", [self.raw("Abs", [x.name])[0], self.value(0.5)])[0]
        if kind == 0:
            self.node(self.one_of(["Sqrt", "Log"]), [positive], x.dims, x.bound + 1)
        elif kind == 1:
            self.node("Reciprocal", [positive], x.dims, 2)
        elif kind == 2:
            self.node("Div", [x.name, positive], x.dims, 1)
        elif kind == 3:
            small = self.raw("Tanh", [x.name])[0]
            names = ["Exp", "Sinh", "Cosh", "Tan", "Asinh", "Atan"]
            self.node(self.one_of(names), [small], x.dims, 3)
        elif kind == 4:
            half = self.raw("Mul", [self.raw("Tanh", [x.name])[0], self.value(0.9)])[0]
            self.node(self.one_of(["Asin", "Acos", "Atanh"]), [half], x.dims, 4)
        else:
            exponent = self.value(self.one_of([0.5, 2.0, 1.5]))
            self.node("Pow", [positive, exponent], x.dims, (x.bound + 0.5) ** 2)

    def with_constant(self, x: Tensor) -> None:
        if x.rank < 2:
            return
        axis = self.below(x.rank)
        if not is_fixed(x.dims[axis]):
            axis = 0
        dims = [x.dims[axis][0] if i == axis and is_fixed(x.dims[axis]) else 1 for i in range(x.rank)]
        op_type = self.one_of(["Add", "Mul", "Sub", "Max", "Min"])
        if self.opset < 12 and self.kind.is_integer and op_type in ("Max", "Min"):
            op_type = "Add"
        operands = [x.name, self.numbers(*dims[self.below(axis + 1) :])]
        self.node(op_type, operands[:: self.one_of([1, -1])], x.dims, 2 * x.bound + 2, exact=x.exact)

    def of_two(self, x: Tensor) -> None:
        """With a tensor of the same dims, or one that is broadcast."""

        def fits(y: Tensor) -> bool:
            pairs = zip(y.dims[::-1], x.dims[::-1], strict=False)
            return y.rank <= x.rank and all(a in (b, fixed(1)) for a, b in pairs)

        other = self.pick(fits)
        assert other is not None
        op_type = self.one_of(OF_TWO)
        if self.opset < 12 and self.kind.is_integer and op_type in ("Max", "Min"):
            op_type = "Add"
        if op_type == "Mul":
            x, other = (
                self.bounded(x, 30 if self.kind.largest > 2**11 else 8),
                self.bounded(other, 30 if self.kind.largest > 2**11 else 8),
            )
            bound = x.bound * other.bound
        else:
            bound = x.bound + other.bound
        operands = [x.name, other.name][:: self.one_of([1, -1])]
        self.node(op_type, operands, x.dims, bound, exact=x.exact and other.exact)

    def of_many(self, x: Tensor) -> None:
        if self.kind.is_integer:
            return
        others = [self.pick(lambda y: y.dims == x.dims) for _ in range(self.between(1, 3))]
        parts = [x, *(each for each in others if each is not None)]
        op_type = self.one_of(["Sum", "Max", "Min"] if self.whole else ["Sum", "Mean", "Max", "Min"])
        exact = all(part.exact for part in parts)
        self.node(op_type, [part.name for part in parts], x.dims, sum(part.bound for part in parts), exact=exact)

    def clip(self, x: Tensor) -> None:
        if self.kind.is_integer and self.opset < 12:
            return
        low, high = -self.between(0, 3), self.between(1, 6)
        limits = [self.value(low) if self.chance(0.8) else "", self.value(high)]
        bound = high if limits[0] and -low <= high else max(x.bound, high)
        self.node("Clip", [x.name, *limits], x.dims, bound, exact=x.exact)

    def slope(self, x: Tensor) -> None:
        if self.kind.is_integer or x.rank < 2 or not is_fixed(x.dims[1]) or (self.whole and self.kind.largest < 2**11):
            return
        slopes = self.numbers(x.dims[1][0], *[1] * (x.rank - 2))
        self.node("PRelu", [x.name, slopes], x.dims, 2 * x.bound, exact=x.exact)

    def comparison(self, x: Tensor) -> None:
        """Comparisons of numbers that are not near the bound, so that rounding does not decide them."""
        if not self.whole:
            return
        x = self.settled(x)
        other = self.pick(lambda y: y.dims == x.dims)
        assert other is not None
        other = self.settled(other)
        names = ["Greater", "Less", "Equal", *(["GreaterOrEqual", "LessOrEqual"] if self.opset >= 12 else [])]
        if self.kind.name == "bfloat16" and self.opset < 13:
            return
        truth = self.raw(self.one_of(names), [x.name, other.name])[0]
        if self.chance(0.4):
            more = self.raw(self.one_of(names), [x.name, self.value(self.between(-2, 2))])[0]
            truth = self.raw(self.one_of(["And", "Or", "Xor"]), [truth, more])[0]
        if self.chance(0.3):
            truth = self.raw("Not", [truth])[0]
        if self.chance(0.5):
            number = self.cast(truth)
            self.keep(Tensor(number, x.dims, 1))
        else:
            self.node("Where", [truth, x.name, other.name], x.dims, max(x.bound, other.bound))

    def rounding(self, x: Tensor) -> None:
        """A quarter from where it jumps, or at a half, which is rounded to even."""
        if not self.whole or self.kind.is_integer or self.kind.name == "bfloat16":
            return
        op_type = self.one_of(["Floor", "Ceil", "Round"])
        x = self.bounded(self.settled(x), 64)
        shifted = self.raw("Add", [x.name, self.value(0.5 if op_type == "Round" else 0.25)])[0]
        self.node(op_type, [shifted], x.dims, x.bound + 1)

    def bits(self, x: Tensor) -> None:
        """Integers: remainders, shifts and bits."""
        if not self.kind.is_integer:
            return
        kind = self.below(4)
        if kind == 0:
            self.node("Mod", [x.name, self.value(self.between(2, 7))], x.dims, 7)
        elif kind == 1 and self.opset >= 18:
            op_type = self.one_of(["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
            other = self.pick(lambda y: y.dims == x.dims)
            assert other is not None
            self.node(op_type, [x.name, other.name], x.dims, 2 * (x.bound + other.bound) + 2)
        elif kind == 2 and self.opset >= 18:
            self.node("BitwiseNot", [x.name], x.dims, x.bound + 1)
        else:
            self.node("Div", [x.name, self.value(self.between(2, 5))], x.dims, x.bound)

    def through_another_type(self, x: Tensor) -> None:
        """Integers survive it."""
        if not self.whole:
            return
        x = self.bounded(self.settled(x), 100)
        types = [TensorProto.INT32, TensorProto.INT64, TensorProto.INT8, TensorProto.INT16, TensorProto.DOUBLE]
        middle = self.raw("Cast", [x.name], to=self.one_of(types))[0]
        self.keep(Tensor(self.cast(middle), x.dims, x.bound))

    def classes(self, x: Tensor) -> None:
        """NaN and infinities are nowhere."""
        if self.kind.name != "float32":
            return
        truth = self.raw(self.one_of(["IsNaN", "IsInf"]), [x.name])[0]
        self.node("Where", [truth, self.value(0.0), x.name], x.dims, x.bound, exact=x.exact)
