"""Layers of networks, drawn: convolutions, products, pools, normalisations, attention."""

from typing import Any

import numpy as np

from tests.random.drawing import LARGEST_TENSOR, RUNS, Dim, Drawing, Tensor, fixed, is_fixed, largest_size, of_each


def window(dim: Dim, kernel: int, stride: int, dilation: int, before: int, after: int) -> Dim | None:
    """How often a window fits; nothing if it does not fit in some run."""
    reach = dilation * (kernel - 1) + 1
    if min(dim) + before + after < reach:
        return None
    return of_each(lambda size: (size + before + after - reach) // stride + 1, dim)


class Layers(Drawing):
    def convolution(self, x: Tensor) -> None:
        if x.rank < 3 or not is_fixed(x.dims[1]):
            return
        channels, spatial = x.dims[1][0], len(x.space)
        groups = self.one_of([g for g in (1, 1, 1, 2, 4, channels) if g and channels % g == 0])
        filters = groups * self.between(1, 20 if groups == 1 else 3)
        kernel = [3] * spatial if self.chance(0.4) else [self.one_of([1, 1, 2, 3, 3, 4, 5]) for _ in x.space]
        strides = [1] * spatial if self.chance(0.5) else [self.one_of([1, 2, 3]) for _ in x.space]
        dilations = [1] * spatial if self.chance(0.6) else [self.one_of([1, 2, 3]) for _ in x.space]
        attributes: dict[str, Any] = {"group": groups, "strides": strides, "dilations": dilations}
        pads = [self.below(3) for _ in range(2 * spatial)]
        if self.chance(0.4):
            pads = [d * (k - 1) // 2 for d, k in zip(dilations, kernel, strict=True)] * 2
        if self.chance(0.15) and set(dilations) == {1}:
            upper = self.chance(0.5)
            attributes["auto_pad"] = "SAME_UPPER" if upper else "SAME_LOWER"
            space: list[Dim | None] = [
                of_each(lambda size, s=stride: -(-size // s), dim) for dim, stride in zip(x.space, strides, strict=True)
            ]
        else:
            attributes["pads"] = pads
            space = [
                window(*each)
                for each in zip(x.space, kernel, strides, dilations, pads[:spatial], pads[spatial:], strict=True)
            ]
        dims = [x.dims[0], fixed(filters), *(dim for dim in space if dim is not None)]
        if None in space or largest_size(dims) > LARGEST_TENSOR:
            return
        weights, growth = self.weights(filters, channels // groups, *kernel)
        x = self.bounded(x, self.kind.largest / (4 * growth + 4))
        inputs = [x.name, weights]
        if self.chance(0.5):
            inputs.append(self.numbers(filters))
        if self.chance(0.5):
            attributes["kernel_shape"] = kernel
        self.node("Conv", inputs, dims, x.bound * growth + 2, exact=False, **attributes)

    def transposed_convolution(self, x: Tensor) -> None:
        if x.rank < 3 or not is_fixed(x.dims[1]):
            return
        channels, spatial = x.dims[1][0], len(x.space)
        groups = self.one_of([g for g in (1, 1, 1, 2, channels) if g and channels % g == 0])
        filters = self.between(1, 8 if groups == 1 else 2)
        plain = self.chance(0.5)
        kernel = [2 if plain else self.between(1, 4) for _ in x.space]
        strides = [2 if plain else self.between(1, 3) for _ in x.space]
        dilations = [1 if plain else self.one_of([1, 1, 2]) for _ in x.space]
        more = [0 if plain else self.below(stride) for stride in strides]
        pads = [0 if plain else self.below(2) for _ in range(2 * spatial)]
        space = [
            of_each(lambda size, s=s, k=k, d=d, m=m, a=a, b=b: s * (size - 1) + m + d * (k - 1) + 1 - a - b, dim)
            for dim, s, k, d, m, a, b in zip(
                x.space, strides, kernel, dilations, more, pads[:spatial], pads[spatial:], strict=True
            )
        ]
        dims = [x.dims[0], fixed(filters * groups), *space]
        if min(min(dim) for dim in [*space, *x.space]) < 1 or largest_size(dims) > LARGEST_TENSOR:
            return
        # An output sums over all input channels of its group and all taps.
        weights, _ = self.weights(channels, filters, *kernel)
        growth = float(np.abs(self.values[weights]).reshape(channels, -1).sum())
        x = self.bounded(x, max(1, self.kind.largest / (4 * growth + 4)))
        if x.bound * growth > self.kind.largest:
            return
        inputs = [x.name, weights]
        if self.chance(0.4):
            inputs.append(self.numbers(filters * groups))
        attributes = {"strides": strides, "dilations": dilations, "output_padding": more, "pads": pads, "group": groups}
        self.node("ConvTranspose", inputs, dims, x.bound * growth + 2, exact=False, **attributes)

    def pool(self, x: Tensor) -> None:
        if x.rank < 3 or min(min(dim) for dim in x.space) < 1:
            return
        spatial = len(x.space)
        kernel = [self.one_of([1, 2, 2, 3]) for _ in x.space]
        strides = [self.one_of([1, 2, 2, 3]) for _ in x.space]
        pads = [self.below((k + 1) // 2) for k in kernel * 2]
        space = [
            window(dim, *each)
            for dim, *each in zip(x.space, kernel, strides, [1] * spatial, pads[:spatial], pads[spatial:], strict=True)
        ]
        if None in space:
            return
        dims = [*x.dims[:2], *(dim for dim in space if dim is not None)]
        attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": pads}
        kind = "MaxPool" if self.whole else self.one_of(["MaxPool", "AveragePool", "AveragePool", "LpPool"])
        if kind == "AveragePool":
            attributes["count_include_pad"] = self.below(2)
        if kind == "LpPool":
            attributes.update(p=self.between(1, 2), pads=[0] * (2 * spatial))
            space = [window(dim, k, s, 1, 0, 0) for dim, k, s in zip(x.space, kernel, strides, strict=True)]
            if None in space:
                return
            dims = [*x.dims[:2], *(dim for dim in space if dim is not None)]
        self.node(kind, [x.name], dims, x.bound * (8 if kind == "LpPool" else 1), exact=x.exact, **attributes)

    def global_pool(self, x: Tensor) -> None:
        if x.rank < 3 or min(min(dim) for dim in x.space) < 1:
            return
        kind = "GlobalMaxPool" if self.whole else self.one_of(["GlobalMaxPool", "GlobalAveragePool"])
        dims = [*x.dims[:2], *[fixed(1)] * len(x.space)]
        y = self.node(kind, [x.name], dims, x.bound, exact=x.exact)
        # And back: a gate over all of space.
        if self.chance(0.7):
            self.node("Add", [x.name, y.name], x.dims, 2 * x.bound, exact=x.exact)

    def upsample(self, x: Tensor) -> None:
        if x.rank < 3 or self.kind.name == "int64":
            return
        factors = [self.one_of([1, 2, 2, 3]) for _ in x.space]
        dims = [*x.dims[:2], *(of_each(lambda s, f=f: s * f, dim) for dim, f in zip(x.space, factors, strict=True))]
        if largest_size(dims) > LARGEST_TENSOR:
            return
        scales = self.constant(np.array([1, 1, *factors], np.float32))
        modes: dict[str, Any] = {
            "mode": "nearest",
            "coordinate_transformation_mode": self.one_of(["asymmetric", "half_pixel"]),
            "nearest_mode": self.one_of(["floor", "round_prefer_floor"]),
        }
        if not self.whole and self.chance(0.6):
            modes = {
                "mode": "linear",
                "coordinate_transformation_mode": self.one_of(["half_pixel", "align_corners", "asymmetric"]),
            }
        roi = "" if self.opset >= 13 else self.constant(np.zeros(0, np.float32))
        self.node("Resize", [x.name, roi, scales], dims, x.bound, exact=x.exact, **modes)

    def normalization(self, x: Tensor) -> None:
        if x.rank < 3 or not is_fixed(x.dims[1]):
            return
        channels = x.dims[1][0]
        kind = self.below(4)
        if self.whole or kind == 0:
            one, none = np.ones(channels, np.float32), np.zeros(channels, np.float32)
            if self.whole:  # a factor and a shift; the variance and epsilon make exactly 1
                statistics = [self.value(none), self.value(one - np.float32(0.25))]
            else:
                statistics = [self.numbers(channels), self.value(self.random.uniform(0.5, 2, channels).astype("f"))]
            inputs = [x.name, self.numbers(channels), self.numbers(channels), *statistics]
            x = self.bounded(x, self.kind.largest / 8)
            self.node("BatchNormalization", [x.name, *inputs[1:]], x.dims, 6 * x.bound + 6, exact=False, epsilon=0.25)
            return
        if min(int(np.prod([dim[run] for dim in x.space])) for run in range(RUNS)) < 5:
            return
        parameters = [self.numbers(channels), self.numbers(channels)]
        if kind == 1:
            self.node("InstanceNormalization", [x.name, *parameters], x.dims, 30, epsilon=0.5)
        elif kind == 2 and self.opset >= 21:
            groups = self.one_of([g for g in (1, 2, channels) if channels % g == 0])
            self.node("GroupNormalization", [x.name, *parameters], x.dims, 30, epsilon=0.5, num_groups=groups)
        elif kind == 3 and self.opset >= 17 and is_fixed(x.dims[-1]):
            last = x.dims[-1][0]
            inputs = [x.name, self.numbers(last), self.numbers(last)]
            self.node("LayerNormalization", inputs, x.dims, 30, epsilon=0.5)

    def product(self, x: Tensor) -> None:
        if x.rank < 2 or not is_fixed(x.dims[-1]) or not 0 < x.dims[-1][0] <= 64:
            return
        depth, width = x.dims[-1][0], self.between(1, 24)
        weights, _ = self.weights(depth, width)
        growth = float(np.abs(self.values[weights]).sum(0).max())
        x = self.bounded(x, self.kind.largest / (4 * growth + 4))
        dims = [*x.dims[:-1], fixed(width)]
        if largest_size(dims) > LARGEST_TENSOR:
            return
        if x.rank == 2 and self.chance(0.5) and not self.kind.is_integer:
            self.node("Gemm", [x.name, weights, self.numbers(width)], dims, x.bound * growth + 2)
        else:
            self.node("MatMul", [x.name, weights], dims, x.bound * growth + 2)

    def product_of_two(self, x: Tensor) -> None:
        """An operator on a tensor and another, turned so that they fit."""
        if x.rank < 2 or max(x.dims[-1]) > 40 or min(x.dims[-1]) < 1:
            return
        other = self.pick(lambda y: y.dims[:-2] == x.dims[:-2] and y.rank >= 2 and y.dims[-1] == x.dims[-1])
        if other is None:
            return
        dims = [*x.dims[:-1], other.dims[-2]]
        x, other = self.bounded(x, 4), self.bounded(other, 4)
        if largest_size(dims) > LARGEST_TENSOR or 16 * max(x.dims[-1]) > self.kind.largest:
            return
        turned = self.raw("Transpose", [other.name], perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2])[0]
        self.node("MatMul", [x.name, turned], dims, 16 * max(x.dims[-1]), exact=x.exact and other.exact)

    def attention(self, x: Tensor) -> None:
        if self.whole or x.rank < 3 or min(x.dims[-1]) < 1 or min(x.dims[-2]) < 1:
            return
        if largest_size([*x.dims[:-1], x.dims[-2]]) > LARGEST_TENSOR:
            return
        turned = self.raw("Transpose", [x.name], perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2])[0]
        scores = self.raw("MatMul", [x.name, turned])[0]
        scaled = self.raw("Mul", [scores, self.value(0.05)])[0]
        probabilities = self.raw("Softmax", [scaled], axis=x.rank - 1)[0]
        self.node("MatMul", [probabilities, x.name], x.dims, x.bound)
