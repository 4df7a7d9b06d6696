"""Sizes that a model computes itself, against onnxruntime: with free dims, and the same model with its dims known.

Known values are folded, in the arithmetic of their type; the others are left to the run; and both give the same sizes.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest

from models.tensor_files import Array
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.compare import mismatch
from tests.onnxruntime_sessions import open_session

pytestmark = pytest.mark.usefixtures("commands")

Dims = tuple[int, ...]
OPTIONS: dict[str, Sequence[str]] = {"default": (), "O0": ("-O0",), "gpu": ("--target", "hip")}
EVERYWHERE = [pytest.param(options, id=name) for name, options in OPTIONS.items()]
FIRST_OF_ALL = [
    pytest.param(options, id=name, marks=[pytest.mark.slow] if options else []) for name, options in OPTIONS.items()
]


def parse(text: str, opset: int) -> onnx.ModelProto:
    """A model from "x: A, 3, B | nodes": one float input with these dims, and the output y, of any rank."""
    dims, nodes = text.split("|")
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": {opset}]> sizes (float[{dims.removeprefix("x:").strip()}] x) => (float y)'
        f" {{ {nodes} }}"
    )
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return model


def with_dims(model: onnx.ModelProto, dims: Dims) -> onnx.ModelProto:
    known = onnx.ModelProto()
    known.CopyFrom(model)
    for dim, value in zip(known.graph.input[0].type.tensor_type.shape.dim, dims, strict=True):
        dim.dim_value = value
    return known


def numbers(dims: Dims) -> Array:
    return np.arange(1, np.prod(dims, dtype=int) + 1, dtype=np.float32).reshape(dims) % 11 - 5


def outputs_of(
    model: onnx.ModelProto, folder: Path, inputs: Sequence[Array], options: Sequence[str]
) -> Iterator[Array]:
    onnx.save(model, folder / "model.onnx")
    compiled = onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", *options)
    device = "hip" if "hip" in options else "cpu"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONNXC_HIP_LIBRARY", str(onnxc_commands.SIMULATOR))
        patch.setenv("ONNXC_POISON", "1")
        with InferenceSession(compiled, device=device) as session:
            yield from (session.run(None, {"x": x})[0] for x in inputs)


def check_sizes(
    text: str, all_dims: Sequence[Dims], folder: Path, options: Sequence[str] = (), opset: int = 17
) -> None:
    """Free dims are run with all these; the first are compiled as known dims as well."""
    model = parse(text, opset)
    inputs = [numbers(dims) for dims in all_dims]
    oracle = open_session(model, optimized=False, threads=1)
    expected = [oracle.run(None, {"x": x})[0] for x in inputs]
    for dims, right, result in zip(all_dims, expected, outputs_of(model, folder, inputs, options), strict=True):
        assert mismatch(result, right, 0) is None, f"free, x {dims}: {result.shape}, expected {right.shape}"
    known = with_dims(model, all_dims[0])
    [result] = outputs_of(known, folder, [inputs[0]], options)
    assert mismatch(result, expected[0], 0) is None, f"known, x {all_dims[0]}: {result.shape}, not {expected[0].shape}"


# ------------------------------------------------------------------------------------------ operators without a rule

ROOTS = "x: A, B, C | s = Shape(x) f = Cast<to=1>(s) r = Sqrt(f) z = Cast<to=7>(r) y = ConstantOfShape(z)"


@pytest.mark.parametrize("options", EVERYWHERE)
def test_shape_sqrt(tmp_path: Path, options: Sequence[str]) -> None:
    check_sizes(ROOTS, [(4, 9, 2), (1, 15, 16), (0, 3, 100)], tmp_path, options)


def test_shape_sqrt_chooses_branch(tmp_path: Path) -> None:
    check_sizes(
        """x: A, B, C | n = Size(x) f = Cast<to=1>(n) r = Sqrt(f) ten = Constant<value_float = 10.0>()
        c = Greater(r, ten)
        y = If(c) <then_branch = t() => (float[A, B, C] a) { a = Add(x, x) },
                   else_branch = e() => (float[A, B, C] b) { b = Neg(x) }>""",
        [(2, 3, 4), (5, 5, 4), (5, 5, 5)],
        tmp_path,
    )


@pytest.mark.parametrize("options", EVERYWHERE)
def test_tokens_to_square(tmp_path: Path, options: Sequence[str]) -> None:
    check_sizes(
        """x: N, T, 3 | s = Shape(x) one = Constant<value_int = 1>() d = Gather(s, one) f = Cast<to=1>(d) r = Sqrt(f)
        i = Cast<to=7>(r) first = Constant<value_ints = [0]>() iu = Unsqueeze(i, first)
        xt = Transpose<perm = [0, 2, 1]>(x) batch = Constant<value_ints = [-1]>() c = Constant<value_ints = [3]>()
        sh = Concat<axis = 0>(batch, c, iu, iu) y = Reshape(xt, sh)""",
        [(1, 16, 3), (2, 49, 3), (3, 1, 3)],
        tmp_path,
        options,
    )


def test_position_table_of_root_size(tmp_path: Path) -> None:
    """A table of positions is resized to the root of the number of tokens."""
    check_sizes(
        """x: N, T | s = Shape(x) one = Constant<value_ints = [1]>() d = Gather(s, one) f = Cast<to=1>(d) r = Sqrt(f)
        i = Cast<to=7>(r) table = Constant<value = float[1, 1, 2, 2] {1, 2, 3, 4}>()
        head = Constant<value_ints = [1, 1]>() sizes = Concat<axis = 0>(head, i, i)
        y = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">
            (table, , , sizes)""",
        [(1, 16), (1, 30), (2, 1)],
        tmp_path,
    )


# --------------------------------------------------------------------------------------- known dims, rounded products


@pytest.mark.parametrize("options", EVERYWHERE)
@pytest.mark.parametrize("batch", ["1", "N"])
def test_size_by_float_product(tmp_path: Path, options: Sequence[str], batch: str) -> None:
    check_sizes(
        f"""x: {batch}, 2, 10, 7, 20 | s = Shape(x) i = Constant<value_ints = [2]>() g = Gather(s, i)
        h = Constant<value_float = 1.1>() f = Cast<to=1>(g) m = Mul(f, h) z = Cast<to=7>(m) y = ConstantOfShape(z)""",
        [(1, 2, 10, 7, 20)],
        tmp_path,
        options,
    )


@pytest.mark.parametrize("dims", ["1, 2, 10, 7, 20", "N, 2, 10, 7, 20", "N, C, D, H, W"])
def test_resize10_scales_asked_over_shape(tmp_path: Path, dims: str) -> None:
    check_sizes(
        f"""x: {dims} | s = Shape(x) t = Constant<value = float[5] {{1, 2, 15, 11, 30}}>() f = Cast<to=1>(s)
        sc = Div(t, f) y = Resize<mode = "nearest">(x, sc)""",
        [(1, 2, 10, 7, 20)],
        tmp_path,
        opset=10,
    )


@pytest.mark.parametrize("options", EVERYWHERE)
def test_size_by_argmax_of_shape(tmp_path: Path, options: Sequence[str]) -> None:
    check_sizes(
        """x: A, B, C | s = Shape(x) a = ArgMax<axis = 0, keepdims = 1>(s) one = Constant<value_ints = [1]>()
        z = Add(a, one) y = ConstantOfShape(z)""",
        [(4, 9, 2), (4, 2, 9), (9, 9, 9)],
        tmp_path,
        options,
    )


# Operators that make another size of n: m, between 0 and some hundreds.
SIZES = {
    "times 1.1": "h = Constant<value_float = 1.1>() f = Cast<to=1>(n) p = Mul(f, h) m = Cast<to=7>(p)",
    "times 1.1 in float64": "h = Constant<value = double {1.1}>() f = Cast<to=11>(n) p = Mul(f, h) m = Cast<to=7>(p)",
    "times 0.7 in float16": "h = Constant<value = float {0.7}>() g = Cast<to=10>(h) f = Cast<to=10>(n) p = Mul(f, g)"
    " m = Cast<to=7>(p)",
    "over 0.7": "h = Constant<value_float = 0.7>() f = Cast<to=1>(n) p = Div(f, h) r = Ceil(p) m = Cast<to=7>(r)",
    "over 3 and back": "h = Constant<value_float = 3.0>() f = Cast<to=1>(n) p = Div(f, h) q = Mul(p, h)"
    " m = Cast<to=7>(q)",
    "power": "h = Constant<value_float = 0.5>() f = Cast<to=1>(n) p = Pow(f, h) m = Cast<to=7>(p)",
    "fmod": "h = Constant<value_float = 3.5>() f = Cast<to=1>(n) p = Mod<fmod = 1>(f, h) m = Cast<to=7>(p)",
    "hardmax": "f = Cast<to=1>(n) p = Hardmax<axis = 0>(f) m = Cast<to=7>(p)",
    "hard sigmoid": "f = Cast<to=1>(n) p = HardSigmoid(f) m = Cast<to=7>(p)",
    "selu": "f = Cast<to=1>(n) p = Selu(f) m = Cast<to=7>(p)",
    "in int32, wrapped": "h = Constant<value = int32[1] {1000000000}>() k = Constant<value = int32[1] {50}>()"
    " f = Cast<to=6>(n) p = Mul(f, h) a = Abs(p) q = Mod(a, k) m = Cast<to=7>(q)",
    "in uint8, wrapped": "h = Constant<value = uint8[1] {37}>() k = Constant<value = uint8[1] {50}>()"
    " f = Cast<to=2>(n) p = Mul(f, h) q = Mod(p, k) m = Cast<to=7>(q)",
    "remainder of a negative": "h = Constant<value_ints = [-7]>() f = Neg(n) g = Mod(f, h) m = Neg(g)",
    "shifted": "h = Constant<value = uint64[1] {2}>() f = Cast<to=13>(n) p = BitShift<direction = \"RIGHT\">(f, h)"
    " m = Cast<to=7>(p)",
    "of a bool": "h = Constant<value_ints = [8]>() b = Greater(n, h) c = Not(b) d = Or(b, c) e = Xor(b, d)"
    " m = Cast<to=7>(e)",
    "by Where": "h = Constant<value_ints = [8]>() b = Greater(n, h) k = Constant<value_ints = [3]>()"
    " m = Where(b, k, n)",
    "of parity": "h = Constant<value_ints = [2]>() k = Constant<value_ints = [5]>() b = Mod(n, h) c = Cast<to=9>(b)"
    " m = Where(c, k, n)",
}  # fmt: skip

# Operators that take a size, m, of one element.
CONSUMERS = {
    "ConstantOfShape": "y = ConstantOfShape(m)",
    "Expand": "z = Constant<value = float[1] {3}>() y = Expand(z, m)",
    "Tile": "z = Constant<value = float[2] {3, 4}>() y = Tile(z, m)",
    "Pad": "z = Constant<value = float[2] {3, 4}>() both = Concat<axis = 0>(m, m) y = Pad(z, both)",
    "Slice": "zero = Constant<value_ints = [0]>() one = Constant<value_ints = [1]>() w = Slice(x, zero, m, one)"
    " y = Neg(w)",
    "Resize": "z = Constant<value = float[1, 1, 3] {3, 4, 5}>() w = Constant<value_ints = [1]>()"
    " k = Constant<value_ints = [1]>() l = Max(m, k) v = Concat<axis = 0>(w, w, l)"
    ' y = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(z, , , v)',
    "CenterCropPad": "z = Constant<value = float[3] {3, 4, 5}>() y = CenterCropPad(z, m)",
    "Range": "t = Squeeze(m) z = Constant<value_int = 0>()"
    " u = Constant<value_int = 1>() r = Range(z, t, u) y = Cast<to=1>(r)",
    "Reshape": "z = ConstantOfShape(m) a = Constant<value_ints = [1]>() v = Concat<axis = 0>(a, m) y = Reshape(z, v)",
    "Loop": """t = Squeeze(m) z = Constant<value = float[1] {1}>()
        y = Loop(t, , z) <body = b(int64 i, bool c, float[1] state) => (bool d, float[1] next)
        { d = Identity(c) next = Add(state, z) }>""",
    "If": """limit = Constant<value_int = 6>() t = Squeeze(m) c = Greater(t, limit)
        y = If(c) <then_branch = p() => (float[A, B] a) { a = Neg(x) },
                   else_branch = q() => (float[A, B] b) { b = Abs(x) }>""",
    "Conv": "w0 = ConstantOfShape(m) a = Constant<value_ints = [1, 1, -1]>() v = Reshape(w0, a)"
    " k = Constant<value = float[1, 1, 1] {2}>() y = Conv(v, k)",
}  # fmt: skip


def text_of(size: str, consumer: str, dims: str = "A, B") -> str:
    return (
        f"x: {dims} | s = Shape(x) at = Constant<value_ints = [1]>() n = Gather(s, at) {SIZES[size]}"
        f" {CONSUMERS[consumer].replace('A, B', dims)}"
    )


@pytest.mark.parametrize("size", SIZES)
def test_sizes_by_any_arithmetic(tmp_path: Path, size: str) -> None:
    check_sizes(text_of(size, "ConstantOfShape"), [(2, 10), (1, 7), (3, 24)], tmp_path, opset=18)


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_what_takes_a_size_by_a_rounded_product(tmp_path: Path, consumer: str) -> None:
    check_sizes(text_of("times 1.1", consumer), [(2, 10), (1, 7), (3, 20)], tmp_path, opset=18)
    check_sizes(text_of("times 1.1", consumer, "A, 10"), [(2, 10), (1, 10)], tmp_path, opset=18)


@pytest.mark.slow
@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("size", SIZES)
def test_any_arithmetic_and_what_takes_it(tmp_path: Path, size: str, consumer: str) -> None:
    """The targets take turns."""
    turn = list(SIZES).index(size) + list(CONSUMERS).index(consumer)
    options = list(OPTIONS.values())[turn % len(OPTIONS)]
    check_sizes(text_of(size, consumer), [(2, 10), (1, 7), (3, 20)], tmp_path, options, opset=18)


@pytest.mark.parametrize("options", EVERYWHERE)
def test_products_are_rounded_before_they_are_summed(tmp_path: Path, options: Sequence[str]) -> None:
    """In float32 1*0.7 + 9*0.7 is below 7; a fused multiply-add would give 7."""
    check_sizes(
        """x: A, B | s = Shape(x) f = Cast<to=1>(s) h = Constant<value_float = 0.7>() p = Mul(f, h)
        r = ReduceSum<keepdims = 1>(p) any = Constant<value_ints = [-1]>() q = Reshape(r, any) m = Cast<to=7>(q)
        y = ConstantOfShape(m)""",
        [(1, 9), (2, 18), (1, 4)],
        tmp_path,
        options,
    )


@pytest.mark.parametrize(("element", "sizes"), [(10, (2047, 2049, 2051)), (16, (255, 257, 259))])
def test_sizes_in_half_precision(tmp_path: Path, element: int, sizes: Sequence[int]) -> None:
    """float16 has no 2049, bfloat16 no 257."""
    check_sizes(
        f"""x: A | s = Shape(x) f = Cast<to={element}>(s) g = Cast<to=1>(f) m = Cast<to=7>(g) y = ConstantOfShape(m)""",
        [(size,) for size in sizes],
        tmp_path,
    )


def test_sizes_chosen_among_sizes(tmp_path: Path) -> None:
    """How many are chosen is known where the condition is, and so the rank of what they are the sizes of."""
    check_sizes(
        """x: A, B, C | s = Shape(x) k = Constant<value_ints = [1, 0, 1]>() c = Cast<to=9>(k) m = Compress(s, c)
        y = ConstantOfShape(m)""",
        [(2, 3, 4), (5, 1, 2)],
        tmp_path,
    )


@pytest.mark.parametrize(
    "chosen",
    [
        "z = NonZero(s) t = Shape(z)",
        "u = Unique(s) t = Identity(u)",
        "h = Constant<value_ints = [3]>() c = Greater(s, h) t = Compress(s, c)",
    ],
)
def test_sizes_chosen_by_known_sizes(tmp_path: Path, chosen: str) -> None:
    """Counts among known numbers are made while compiling."""
    text = f"x: 2, 4, 4, 5 | s = Shape(x) {chosen} y = ConstantOfShape(t)"
    check_sizes(text, [(2, 4, 4, 5)], tmp_path)
    onnx.save(parse(text, 17), tmp_path / "model.onnx")
    [y] = onnxc_commands.dump_shapes(tmp_path / "model.onnx", tmp_path / "shapes.json")["outputs"]
    assert all(isinstance(dim, int) for dim in y["dims"])


# ----------------------------------------------------------------------------- every operator of one numeric input

ELEMENT_TYPES = {"float": 1, "int64": 7, "bool": 9, "double": 11, "int32": 6}


def operators_of_one_input(opset: int) -> list[tuple[str, str]]:
    """All that ONNX has, with each type that they take; not those that draw random numbers."""
    schemas = {}
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda each: each.since_version):
        if not schema.domain and schema.since_version <= opset:
            schemas[schema.name] = schema
    return [
        (schema.name, name)
        for schema in schemas.values()
        if schema.inputs and schema.min_input <= 1 and not schema.deprecated and "seed" not in schema.attributes
        for name in ELEMENT_TYPES
        if f"tensor({name})" in schema.inputs[0].types
    ]


def size_of_operator(operator: str, element: str, rank: int, at: int) -> str:
    """Nodes that make of the first result a number, between 0 and 100, and of that a size; n{at} is the size again."""
    dims = ", ".join(["1"] * (rank - 1) + ["3"])
    return f"""
        d{at} = Constant<value_ints = [{dims}]>() e{at} = Reshape(s, d{at})
        f{at} = Cast<to = {ELEMENT_TYPES[element]}>(e{at}) o{at} = {operator}(f{at}) g{at} = Cast<to = 1>(o{at})
        flat{at} = Reshape(g{at}, any) nan{at} = IsNaN(flat{at}) h{at} = Where(nan{at}, seven, flat{at})
        i{at} = ReduceSum(h{at}, first) j{at} = Abs(i{at}) k{at} = Min(j{at}, most) l{at} = Add(k{at}, quarter)
        m{at} = Cast<to = 7>(l{at}) z{at} = ConstantOfShape(m{at}) n{at} = Shape(z{at})"""


def text_of_operators(chosen: Sequence[tuple[str, str, int]]) -> str:
    """Sums are made of few numbers, and a quarter keeps them from the edge of an integer."""
    nodes = "".join(size_of_operator(*each, at) for at, each in enumerate(chosen))
    names = ", ".join(f"n{at}" for at in range(len(chosen)))
    return f"""x: A, B, C | s = Shape(x) any = Constant<value_ints = [-1]>() first = Constant<value_ints = [0]>()
        seven = Constant<value_float = 7.0>() most = Constant<value_float = 100.0>()
        quarter = Constant<value_float = 0.25>() {nodes} sizes = Concat<axis = 0>({names}) y = Cast<to = 1>(sizes)"""


def accepted_rank(operator: str, element: str, opset: int) -> int | None:
    """The least rank that has the operator's default axes and with which onnxruntime runs it, if any."""
    axes = onnx.defs.get_schema(operator, opset).attributes.get("axes")
    for rank in range(max(axes.default_value.ints, default=0) + 1 if axes else 1, 5):
        model = parse(text_of_operators([(operator, element, rank)]), opset)
        try:
            open_session(model, optimized=False, threads=1).run(None, {"x": numbers((4, 9, 2))})
        except Exception:
            continue
        return rank
    return None


@pytest.mark.parametrize("options", FIRST_OF_ALL)
def test_every_operator_of_one_input(tmp_path: Path, options: Sequence[str]) -> None:
    opset = 20
    ranks = [(*each, accepted_rank(*each, opset)) for each in operators_of_one_input(opset)]
    chosen = [(operator, element, rank) for operator, element, rank in ranks if rank is not None]
    assert len({operator for operator, _, _ in chosen}) > 50
    check_sizes(text_of_operators(chosen), [(4, 9, 2), (1, 16, 5)], tmp_path, options, opset)


# ------------------------------------------------------------------------------------------------ Resize by a scale

NEAREST = '<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">'


@pytest.mark.parametrize("options", EVERYWHERE)
def test_resize_scale_0p7_free_size(tmp_path: Path, options: Sequence[str]) -> None:
    check_sizes(
        f"""x: N, 1, D, H, W | k = Constant<value = float[5] {{1, 1, 0.7, 1, 1}}>() y = Resize {NEAREST} (x, , k)""",
        [(1, 1, 10, 2, 3), (2, 1, 20, 3, 2), (1, 1, 9, 1, 1), (1, 1, 0, 2, 2)],
        tmp_path,
        options,
        opset=18,
    )


# Upsample has no scale below 1.
SCALES = {
    "Upsample-9": (1.9, 1.1, 1.4, 1.5, 2.3, 3.3),
    **dict.fromkeys(("Resize-10", "Resize-11", "Resize-18"), (0.9, 1.9, 1.1, 1.4, 1.5, 2.3, 3.3)),
}
FAST_SCALES = (0.9, 1.9)


@pytest.mark.parametrize(
    ("operator", "scale"),
    [
        pytest.param(operator, scale, marks=[] if scale in FAST_SCALES else pytest.mark.slow)
        for operator, scales in SCALES.items()
        for scale in scales
    ],
)
def test_scales_of_a_free_size(tmp_path: Path, operator: str, scale: float) -> None:
    """Not to the size that it has: onnxruntime copies then whatever the scale is."""
    name, opset = operator.split("-")
    has_modes = int(opset) >= 11
    attributes, inputs = (NEAREST, "x, region, k") if has_modes else ('<mode = "nearest">', "x, k")
    check_sizes(
        f"""x: N, 1, D | k = Constant<value = float[3] {{1, 1, {scale}}}>() region = Constant<value = float[0] {{}}>()
        y = {name} {attributes} ({inputs})""",
        [(1, 1, 10), (2, 1, 30), (1, 1, 12), (1, 1, 50)],
        tmp_path,
        opset=int(opset),
    )


def test_an_extent_whose_half_is_rounded_to_even(tmp_path: Path) -> None:
    """5592409 * 1.5 is 8388613.5, which float32 does not have."""
    check_sizes(
        f"""x: 1, 1, D | k = Constant<value = float[3] {{1, 1, 1.5}}>() z = Resize {NEAREST} (x, , k)
        s = Shape(z) y = Cast<to = 1>(s)""",
        [(1, 1, 5592409), (1, 1, 12)],
        tmp_path,
        opset=18,
    )


@pytest.mark.parametrize("scale", [0.7, 1.5])
@pytest.mark.parametrize("options", EVERYWHERE)
def test_skip_connection_beside_a_scaled_size(tmp_path: Path, scale: float, options: Sequence[str]) -> None:
    """A tensor resized by a scale and one resized to its size are added, joined and cut alike."""
    check_sizes(
        f"""x: N, 2, D | k = Constant<value = float[3] {{1, 1, {scale}}}>() a = Resize {NEAREST} (x, , k)
        s = Shape(a) b = Resize {NEAREST} (x, , , s) c = Add(a, b) y = Concat<axis = 1>(a, c, b)""",
        [(1, 2, 10), (2, 2, 30), (1, 2, 7)],
        tmp_path,
        options,
        opset=18,
    )


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("sizes", ["7, 11", "13, 5"])
def test_sizes_that_keep_the_aspect_ratio(tmp_path: Path, policy: str, sizes: str) -> None:
    attributes = NEAREST.replace("<", f'<axes = [1, 2], keep_aspect_ratio_policy = "{policy}", ')
    check_sizes(
        f"x: N, H, W | k = Constant<value_ints = [{sizes}]>() y = Resize {attributes} (x, , , k)",
        [(1, 10, 14), (2, 3, 9), (1, 5, 2), (1, 14, 22), (1, 26, 10)],
        tmp_path,
        opset=18,
    )


# ---------------------------------------------------------------------------------------- sizes that constants decide


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("count", [10, 100_000])
def test_nonzero_of_zeros(tmp_path: Path, count: int, value: int) -> None:
    check_sizes(
        f"""x: A | n = Constant<value_ints = [{count}]>() t = ConstantOfShape<value = float[1] {{{value}}}>(n)
        z = NonZero(t) y = Cast<to = 1>(z)""",
        [(3,)],
        tmp_path,
    )


def test_size_by_constants_too_many_to_fold_early(tmp_path: Path) -> None:
    """A thousand numbers are folded after shapes are inferred: what a size was to come from is a constant then."""
    check_sizes(
        """x: A | zero = Constant<value_int = 0>() many = Constant<value_int = 1000>() one = Constant<value_int = 1>()
        r = Range(zero, many, one) f = Cast<to = 1>(r) h = Constant<value_float = 0.011>() p = Mul(f, h)
        q = ReduceMax<keepdims = 1>(p) m = Cast<to = 7>(q) z = ConstantOfShape(m) t = ReduceSum<keepdims = 0>(p)
        c = Greater(t, h)
        y = If(c) <then_branch = a() => (float[B] v) { v = Neg(z) },
                   else_branch = b() => (float[B] w) { w = Abs(z) }>""",
        [(3,), (5,)],
        tmp_path,
    )


def test_scales_by_constants_too_many_to_fold_early(tmp_path: Path) -> None:
    check_sizes(
        """x: 1, 1, A | many = Constant<value = int64[1] {1000}>() r = ConstantOfShape<value = float[1] {1}>(many)
        q = ReduceSum<keepdims = 1>(r) h = Constant<value = float[1] {400}>() p = Div(q, h)
        u = Constant<value = float[2] {1, 1}>() k = Concat<axis = 0>(u, p) y = Resize<mode = "nearest">(x, k)""",
        [(1, 1, 10), (1, 1, 7)],
        tmp_path,
        opset=10,
    )


# Each gives a list of no integers, and a number that a run computes.
NO_NUMBERS = {
    "Loop": """none = Constant<value_int = 0>() n = Size(x)
        m, sizes = Loop(none, , n) <body = b(int64 i, bool go, int64 a) => (bool same, int64 next, int64 kept) {
            same = Identity(go) next = Sub(a, i) kept = Mul(next, i) }>
        number = Cast<to = 1>(m)""",
    "TopK": """none = Constant<value_ints = [0]>() greatest, sizes = TopK(x, none)
        number = ReduceSum<keepdims = 0>(greatest)""",
    "Split": """parts = Constant<value_ints = [0, 3]>() i = Cast<to = 7>(x) sizes, all = Split(i, parts)
        number = Cast<to = 1>(all)""",
}


@pytest.mark.parametrize("options", EVERYWHERE)
@pytest.mark.parametrize("list_of_none", NO_NUMBERS)
def test_a_shape_of_no_numbers_beside_another_result(tmp_path: Path, list_of_none: str, options: Sequence[str]) -> None:
    """All of its numbers are known, since there are none; the node that gives it still runs."""
    text = f"x: 3 | {NO_NUMBERS[list_of_none]} z = ConstantOfShape(sizes) y = Add(z, number)"
    check_sizes(text, [(3,)], tmp_path, options)


def test_a_condition_of_the_run_selects_a_size(tmp_path: Path) -> None:
    """A boolean that chooses a branch as well is known by a symbol, which is neither true nor false."""
    check_sizes(
        """x: A | zero = Constant<value_ints = [0]>() first = Gather(x, zero) none = Constant<value = float[1] {0}>()
        c = Less(first, none) three = Constant<value_ints = [3]>() five = Constant<value_ints = [5]>()
        m = Where(c, three, five) z = ConstantOfShape(m)
        w = If(c) <then_branch = a() => (float[A] v) { v = Neg(x) }, else_branch = b() => (float[A] u) { u = Abs(x) }>
        y = Concat<axis = 0>(z, w)""",
        [(3,), (1,), (9,)],
        tmp_path,
    )


# ------------------------------------------------------------------------------------------------- counting in floats


@pytest.mark.parametrize("options", EVERYWHERE)
def test_range_to_a_float_size(tmp_path: Path, options: Sequence[str]) -> None:
    """Nearest upsampling as exporters write it: (arange(2 * h) + 0.5) * 0.5 as indices. No run decides its length."""
    text = """x: N, 3 | s = Shape(x) first = Constant<value_ints = [0]>() n = Gather(s, first)
        two = Constant<value_int = 2>()
        d = Mul(n, two) none = Constant<value_ints = [0]>() i = Squeeze(d, none) limit = Cast<to = 1>(i)
        start = Constant<value_float = 0.0>() step = Constant<value_float = 1.0>() r = Range(start, limit, step)
        half = Constant<value_float = 0.5>() m = Add(r, half) p = Mul(m, half) at = Cast<to = 7>(p)
        y = Gather<axis = 0>(x, at)"""
    check_sizes(text, [(4, 3), (1, 3), (17, 3)], tmp_path, options)
    onnx.save(parse(text, 17), tmp_path / "free.onnx")
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(tmp_path / "free.onnx"), "--dump-shapes"]
    shapes = onnxc_commands.execute(command).stdout
    assert "output  y float32[2*N, 3]" in shapes
    assert "run " not in shapes


def test_range_of_steps_that_are_not_whole(tmp_path: Path) -> None:
    check_sizes(
        """x: N | s = Shape(x) none = Constant<value_ints = [0]>() i = Squeeze(s, none) limit = Cast<to = 1>(i)
        start = Constant<value_float = 0.5>() step = Constant<value_float = 0.75>() y = Range(start, limit, step)""",
        [(4,), (1,), (17,)],
        tmp_path,
    )
