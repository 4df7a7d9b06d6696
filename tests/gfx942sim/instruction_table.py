"""Vector instructions, each with what AMD's instruction set guide says of it as a function of numpy arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
TYPES: dict[str, Any] = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "u16": np.uint16,
    "i16": np.int16,
    "u32": np.uint32,
    "i32": np.int32,
    "u64": np.uint64,
    "i64": np.int64,
}
LANES = 1024
# The mask that VCC holds before each instruction.
CARRY = np.tile(np.array([True, False, True, True, False], bool), 13)[:64]


@dataclass
class Row:
    text: str
    result: str | None  # None: only the mask counts
    sources: str  # types; "old:TYPE" is the destination's value before, "carry" the mask in VCC
    function: Callable[..., Any]
    flag: bool = False  # the function gives (value, mask), or the mask if there is no result
    steps: int = 0  # units in the last place that an approximation may be off

    @property
    def name(self) -> str:
        """The mnemonic; what stands in front of the last line makes ready for it."""
        return self.text.splitlines()[-1].split()[0]


def wide(function: Callable[..., Values], narrow: Any) -> Callable[..., Values]:
    """The function in the widest float, rounded once."""
    return lambda *arrays: function(*[array.astype(np.longdouble) for array in arrays]).astype(narrow)


def nearest(exact: Fraction, kind: Any) -> Any:
    """An exact value rounded once, to the nearest, ties to even."""
    limit = (
        Fraction(float(np.finfo(kind).max))
        + Fraction(float(np.finfo(kind).max - np.nextafter(np.finfo(kind).max, kind(0)))) / 2
    )
    if abs(exact) >= limit:
        return kind(np.inf if exact > 0 else -np.inf)
    guess = kind(float(exact))
    candidates = [
        x for x in (guess, np.nextafter(guess, kind(-np.inf)), np.nextafter(guess, kind(np.inf))) if np.isfinite(x)
    ]
    bits = f"u{np.dtype(kind).itemsize}"
    return min(candidates, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(bits)) & 1))


def fma(a: Values, b: Values, c: Values) -> Values:
    def one(x: Any, y: Any, z: Any) -> Any:
        if not np.isfinite(x) or not np.isfinite(y):
            return x * y + z
        if not np.isfinite(z):
            return z
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        return nearest(exact, type(z)) if exact != 0 else x * y + z

    shape = a.shape
    flat = [one(*lane) for lane in zip(a.ravel(), b.ravel(), c.ravel(), strict=True)]
    return np.array(flat, c.dtype).reshape(shape)


def is_signaling(a: Values) -> Values:
    bits = np.ascontiguousarray(a).view(f"u{a.itemsize}")
    return np.isnan(a) & (bits >> np.array(np.finfo(a.dtype).nmant - 1, bits.dtype) & 1 == 0)


def smaller(a: Values, b: Values) -> Values:
    """The minimum in IEEE mode: NaN of a signaling NaN, a number of a quiet one and a number, -0 below +0."""
    result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.where(a < b, a, b)))
    result = np.where((a == b) & np.signbit(a), a, np.where(a == b, b, result))
    return np.where(is_signaling(a) | is_signaling(b), np.nan, result).astype(a.dtype)


def larger(a: Values, b: Values) -> Values:
    return (-smaller(-a, -b)).astype(a.dtype)


def middle(a: Values, b: Values, c: Values) -> Values:
    if a.dtype.kind == "f":
        has_nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
        return np.where(has_nan, smaller(smaller(a, b), c), np.median(np.stack([a, b, c]), axis=0)).astype(a.dtype)
    return np.sort(np.stack([a, b, c]), axis=0)[1]


def to_integer(array: Values, kind: Any) -> Values:
    limits = np.iinfo(kind)
    with np.errstate(invalid="ignore"):
        clipped = np.clip(np.nan_to_num(np.trunc(array.astype(np.float64)), nan=0.0), limits.min, limits.max)
    return clipped.astype(np.int64).astype(kind)


def u64(array: Values) -> Values:
    return array.astype(np.uint64)


def i64(array: Values) -> Values:
    return array.astype(np.int64)


def signed(value: int, bits: int) -> int:
    """The low bits of a value as a signed integer."""
    low = value & ((1 << bits) - 1)
    return low - ((low >> (bits - 1)) << bits)


def field(value: int, offset: int, width: int) -> int:
    return value >> (offset & 31) & ((1 << (width & 31)) - 1)


def signed_field(value: int, offset: int, width: int) -> int:
    return signed(value >> (offset & 31), width & 31) if width & 31 else 0


def each(function: Callable[..., int], kind: Any) -> Callable[..., Values]:
    """A function of Python's integers, lane by lane, cut to the result's bits."""
    mask = (1 << np.dtype(kind).itemsize * 8) - 1
    unsigned = np.dtype(f"u{np.dtype(kind).itemsize}")

    def run(*arrays: Values) -> Values:
        lanes = [function(*[int(x) for x in lane]) & mask for lane in zip(*arrays, strict=True)]
        return np.array(lanes, unsigned).view(kind)

    return run


def perm_byte(data: int, selector: int) -> int:
    if selector >= 13:
        return 0xFF
    if selector == 12:
        return 0
    if selector >= 8:
        return 0xFF if data >> (16 * (selector - 8) + 15) & 1 else 0
    return data >> 8 * selector & 0xFF


def perm(a: int, b: int, selectors: int) -> int:
    data = a << 32 | b
    return sum(perm_byte(data, selectors >> 8 * i & 0xFF) << 8 * i for i in range(4))


def float_class(a: Values, mask: Values) -> Values:
    sign, magnitude = np.signbit(a), np.abs(a)
    quiet = (a.view(f"u{a.itemsize}") >> np.array(np.finfo(a.dtype).nmant - 1, f"u{a.itemsize}")) & 1 == 1
    tiny = magnitude < np.finfo(a.dtype).smallest_normal
    infinite, zero = np.isinf(a), a == 0
    normal = ~np.isnan(a) & ~infinite & ~tiny
    classes = [
        np.isnan(a) & ~quiet,
        np.isnan(a) & quiet,
        infinite & sign,
        normal & sign,
        tiny & ~zero & sign,
        zero & sign,
    ]
    classes += [zero & ~sign, tiny & ~zero & ~sign, normal & ~sign, infinite & ~sign]
    return np.any([present & (mask >> bit & 1 == 1) for bit, present in enumerate(classes)], axis=0)


def halves(array: Values, kind: Any = np.float16) -> Values:
    return array.astype(np.uint32).view(kind).reshape(-1, 2)


def on_halves(function: Callable[..., Values], kind: Any = np.float16) -> Callable[..., Values]:
    return lambda *arrays: np.ascontiguousarray(function(*[halves(x, kind) for x in arrays]).astype(kind)).view(
        np.uint32
    )[:, 0]


def toward_zero(a: Values, b: Values) -> Values:
    def cut(x: Values) -> Values:
        near = x.astype(np.float16)
        away = np.abs(near.astype(np.float64)) > np.abs(x.astype(np.float64))
        return np.where(away & ~np.isnan(x), (near.view(np.uint16) - 1).astype(np.uint16), near.view(np.uint16))

    return cut(a).astype(np.uint32) | cut(b).astype(np.uint32) << 16


def float_rows(kind: str) -> list[Row]:
    two, three = f"{kind} {kind}", f"{kind} {kind} {kind}"
    rows = [
        Row(f"v_add_{kind} {{d}}, {{0}}, {{1}}", kind, two, lambda a, b: a + b),
        Row(f"v_add_{kind}_e64 {{d}}, -{{0}}, |{{1}}|", kind, two, lambda a, b: -a + np.abs(b)),
        Row(f"v_mul_{kind} {{d}}, {{0}}, {{1}}", kind, two, lambda a, b: a * b),
        Row(f"v_min_{kind} {{d}}, {{0}}, {{1}}", kind, two, smaller),
        Row(f"v_max_{kind} {{d}}, {{0}}, {{1}}", kind, two, larger),
        Row(f"v_fma_{kind} {{d}}, {{0}}, {{1}}, {{2}}", kind, three, fma),
        Row(f"v_floor_{kind} {{d}}, {{0}}", kind, kind, np.floor),
        Row(f"v_ceil_{kind} {{d}}, {{0}}", kind, kind, np.ceil),
        Row(f"v_trunc_{kind} {{d}}, {{0}}", kind, kind, np.trunc),
        Row(f"v_rndne_{kind} {{d}}, {{0}}", kind, kind, np.rint),
        Row(f"v_cmp_class_{kind} {{f}}, {{0}}, {{1}}", None, f"{kind} u32", float_class, flag=True),
    ]
    comparisons: dict[str, Callable[..., Values]] = {
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "eq": np.equal,
        "neq": lambda a, b: ~np.equal(a, b),
        "lg": lambda a, b: np.less(a, b) | np.greater(a, b),
        "nlt": lambda a, b: ~np.less(a, b),
        "nle": lambda a, b: ~np.less_equal(a, b),
        "ngt": lambda a, b: ~np.greater(a, b),
        "nge": lambda a, b: ~np.greater_equal(a, b),
        "nlg": lambda a, b: ~(np.less(a, b) | np.greater(a, b)),
        "u": lambda a, b: np.isnan(a) | np.isnan(b),
        "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    }
    rows += [
        Row(f"v_cmp_{name}_{kind} {{f}}, {{0}}, {{1}}", None, two, f, flag=True) for name, f in comparisons.items()
    ]
    return rows


def integer_compare_rows(kind: str) -> list[Row]:
    names = {
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "eq": np.equal,
        "ne": np.not_equal,
    }
    return [
        Row(f"v_cmp_{name}_{kind} {{f}}, {{0}}, {{1}}", None, f"{kind} {kind}", f, flag=True)
        for name, f in names.items()
    ]


def approximation_rows() -> list[Row]:
    """Functions that the hardware approximates; denormals count as zero in float32."""

    def flushed(function: Callable[..., Values]) -> Callable[..., Values]:
        def flush(a: Values) -> Values:
            return np.where(np.abs(a) < np.finfo(np.float32).smallest_normal, np.copysign(np.float32(0), a), a)

        return lambda a: flush(wide(function, np.float32)(flush(a)))

    return [
        Row("v_rcp_f32 {d}, {0}", "f32", "f32", flushed(lambda a: 1 / a), steps=1),
        Row("v_rsq_f32 {d}, {0}", "f32", "f32", flushed(lambda a: 1 / np.sqrt(a)), steps=1),
        Row("v_sqrt_f32 {d}, {0}", "f32", "f32", flushed(np.sqrt), steps=1),
        Row("v_exp_f32 {d}, {0}", "f32", "f32", flushed(np.exp2), steps=1),
        Row("v_log_f32 {d}, {0}", "f32", "f32", flushed(np.log2), steps=1),
        Row("v_rcp_f64 {d}, {0}", "f64", "f64", lambda a: 1 / a, steps=1),
        Row("v_sqrt_f64 {d}, {0}", "f64", "f64", np.sqrt, steps=1),
        Row("v_rcp_f16 {d}, {0}", "f16", "f16", wide(lambda a: 1 / a, np.float16), steps=1),
        Row("v_sqrt_f16 {d}, {0}", "f16", "f16", wide(np.sqrt, np.float16), steps=1),
        Row("v_exp_f16 {d}, {0}", "f16", "f16", wide(np.exp2, np.float16), steps=1),
        Row("v_log_f16 {d}, {0}", "f16", "f16", wide(np.log2, np.float16), steps=1),
    ]


def more_float_rows() -> list[Row]:
    return [
        Row("v_sub_f32 {d}, {0}, {1}", "f32", "f32 f32", lambda a, b: a - b),
        Row("v_subrev_f32 {d}, {0}, {1}", "f32", "f32 f32", lambda a, b: b - a),
        Row("v_sub_f16 {d}, {0}, {1}", "f16", "f16 f16", lambda a, b: a - b),
        Row("v_mul_f32_e64 {d}, {0}, {1} clamp", "f32", "f32 f32", lambda a, b: np.nan_to_num(np.clip(a * b, 0, 1))),
        Row("v_add_f32 {d}, 0.5, {0}", "f32", "f32", lambda a: a + np.float32(0.5)),
        Row("v_add_f16 {d}, 0.5, {0}", "f16", "f16", lambda a: a + np.float16(0.5)),
        Row("v_add_f64 {d}, {0}, -4.0", "f64", "f64", lambda a: a - 4),
        Row("v_mul_f32 {d}, 0x40490fdb, {0}", "f32", "f32", lambda a: a * np.float32(np.pi)),
        Row("v_fmac_f32 {d}, {0}, {1}", "f32", "f32 f32 old:f32", fma),
        Row("v_fmac_f64 {d}, {0}, {1}", "f64", "f64 f64 old:f64", fma),
        Row("v_fmaak_f32 {d}, {0}, {1}, 0x40000000", "f32", "f32 f32", lambda a, b: fma(a, b, np.full_like(a, 2))),
        Row("v_fmamk_f32 {d}, {0}, 0x40000000, {1}", "f32", "f32 f32", lambda a, b: fma(a, np.full_like(a, 2), b)),
        Row("v_min3_f32 {d}, {0}, {1}, {2}", "f32", "f32 f32 f32", lambda a, b, c: smaller(smaller(a, b), c)),
        Row("v_max3_f32 {d}, {0}, {1}, {2}", "f32", "f32 f32 f32", lambda a, b, c: larger(larger(a, b), c)),
        Row("v_med3_f32 {d}, {0}, {1}, {2}", "f32", "f32 f32 f32", middle),
        Row(
            "v_ldexp_f32 {d}, {0}, {1}",
            "f32",
            "f32 i32",
            lambda a, b: wide(lambda x: np.ldexp(x, np.clip(b, -600, 600)), np.float32)(a),
        ),
        Row("v_frexp_mant_f32 {d}, {0}", "f32", "f32", lambda a: np.frexp(a)[0]),
        Row("v_frexp_exp_i32_f32 {d}, {0}", "i32", "f32", lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0)),
        Row("v_cvt_f32_f16 {d}, {0}", "f32", "f16", lambda a: a.astype(np.float32)),
        Row("v_cvt_f16_f32 {d}, {0}", "f16", "f32", lambda a: a.astype(np.float16)),
        Row("v_cvt_f64_f32 {d}, {0}", "f64", "f32", lambda a: a.astype(np.float64)),
        Row("v_cvt_f32_f64 {d}, {0}", "f32", "f64", lambda a: a.astype(np.float32)),
        Row("v_cvt_f32_i32 {d}, {0}", "f32", "i32", lambda a: a.astype(np.float32)),
        Row("v_cvt_f32_u32 {d}, {0}", "f32", "u32", lambda a: a.astype(np.float32)),
        Row("v_cvt_f64_i32 {d}, {0}", "f64", "i32", lambda a: a.astype(np.float64)),
        Row("v_cvt_f64_u32 {d}, {0}", "f64", "u32", lambda a: a.astype(np.float64)),
        Row("v_cvt_f16_u16 {d}, {0}", "f16", "u16", lambda a: a.astype(np.float16)),
        Row("v_cvt_f16_i16 {d}, {0}", "f16", "i16", lambda a: a.astype(np.float16)),
        Row("v_cvt_i32_f32 {d}, {0}", "i32", "f32", lambda a: to_integer(a, np.int32)),
        Row("v_cvt_u32_f32 {d}, {0}", "u32", "f32", lambda a: to_integer(a, np.uint32)),
        Row("v_cvt_i32_f64 {d}, {0}", "i32", "f64", lambda a: to_integer(a, np.int32)),
        Row("v_cvt_u32_f64 {d}, {0}", "u32", "f64", lambda a: to_integer(a, np.uint32)),
        Row("v_cvt_i16_f16 {d}, {0}", "i16", "f16", lambda a: to_integer(a, np.int16)),
        Row("v_cvt_u16_f16 {d}, {0}", "u16", "f16", lambda a: to_integer(a, np.uint16)),
        Row("v_cvt_f32_ubyte2 {d}, {0}", "f32", "u32", lambda a: (a >> 16 & 0xFF).astype(np.float32)),
        Row("v_cvt_pkrtz_f16_f32 {d}, {0}, {1}", "u32", "f32 f32", toward_zero),
        Row(
            "v_pack_b32_f16 {d}, {0}, {1}",
            "u32",
            "u16 u16",
            lambda a, b: a.astype(np.uint32) | b.astype(np.uint32) << 16,
        ),
        Row("v_pk_add_f16 {d}, {0}, {1}", "u32", "u32 u32", on_halves(lambda a, b: a + b)),
        Row("v_pk_mul_f16 {d}, {0}, {1}", "u32", "u32 u32", on_halves(lambda a, b: a * b)),
        Row("v_pk_fma_f16 {d}, {0}, {1}, {2}", "u32", "u32 u32 u32", on_halves(fma)),
        Row(
            "v_pk_mul_f16 {d}, {0}, {1} op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1]",
            "u32",
            "u32 u32",
            on_halves(lambda a, b: a[:, ::-1] * (b * np.array([-1, 1], np.float16))),
        ),
        Row("v_pk_add_f16 {d}, {0}, 1.0 op_sel_hi:[1,0]", "u32", "u32", on_halves(lambda a: a + np.float16(1))),
        Row(
            "v_pk_fma_f32 {d}, {0}, {1}, {2}",
            "u64",
            "u64 u64 u64",
            lambda a, b, c: fma(*[x.view(np.float32) for x in (a, b, c)]).view(np.uint64),
        ),
        Row(
            "v_pk_mul_f32 {d}, {0}, {1} op_sel_hi:[0,1]",
            "u64",
            "u64 u64",
            lambda a, b: (a.view(np.float32).reshape(-1, 2)[:, :1] * b.view(np.float32).reshape(-1, 2)).view(np.uint64)[
                :, 0
            ],
        ),
        Row(
            "v_fma_mix_f32 {d}, {0}, {1}, {2} op_sel:[1,0,0] op_sel_hi:[1,0,0]",
            "f32",
            "u32 f32 f32",
            lambda a, b, c: fma(halves(a)[:, 1].astype(np.float32), b, c),
        ),
    ]


def clamped(kind: Any, sum_of: Callable[..., Values]) -> Callable[..., Values]:
    """A sum or difference held within a type of at most 32 bits."""
    limits = np.iinfo(kind)
    return lambda a, b: np.clip(sum_of(a.astype(np.int64), b.astype(np.int64)), limits.min, limits.max).astype(kind)


def integer_rows() -> list[Row]:
    one, two, three = "u32", "u32 u32", "u32 u32 u32"
    return [
        Row("v_add_u32 {d}, {0}, {1}", "u32", two, lambda a, b: a + b),
        Row("v_sub_u32 {d}, {0}, {1}", "u32", two, lambda a, b: a - b),
        Row("v_subrev_u32 {d}, {0}, {1}", "u32", two, lambda a, b: b - a),
        Row("v_add_u32 {d}, -16, {0}", "u32", one, lambda a: a - np.uint32(16)),
        Row("v_add_u32_e64 {d}, {0}, {1} clamp", "u32", two, clamped(np.uint32, np.add)),
        Row("v_sub_u32_e64 {d}, {0}, {1} clamp", "u32", two, clamped(np.uint32, np.subtract)),
        Row("v_subrev_u32_e64 {d}, {1}, {0} clamp", "u32", two, clamped(np.uint32, np.subtract)),
        Row("v_add_i32 {d}, {0}, {1} clamp", "i32", "i32 i32", clamped(np.int32, np.add)),
        Row("v_sub_i32 {d}, {0}, {1} clamp", "i32", "i32 i32", clamped(np.int32, np.subtract)),
        Row("v_add_u16_e64 {d}, {0}, {1} clamp", "u16", "u16 u16", clamped(np.uint16, np.add)),
        Row("v_sub_u16_e64 {d}, {0}, {1} clamp", "u16", "u16 u16", clamped(np.uint16, np.subtract)),
        Row("v_add_i16 {d}, {0}, {1} clamp", "i16", "i16 i16", clamped(np.int16, np.add)),
        Row("v_sub_i16 {d}, {0}, {1} clamp", "i16", "i16 i16", clamped(np.int16, np.subtract)),
        Row(
            "v_add_co_u32_e64 {d}, {f}, {0}, {1}",
            "u32",
            two,
            lambda a, b: (a + b, u64(a) + u64(b) > 0xFFFFFFFF),
            flag=True,
        ),
        Row("v_sub_co_u32_e64 {d}, {f}, {0}, {1}", "u32", two, lambda a, b: (a - b, b > a), flag=True),
        Row(
            "v_addc_co_u32_e64 {d}, {f}, {0}, {1}, vcc",
            "u32",
            two + " carry",
            lambda a, b, c: (a + b + c, u64(a) + u64(b) + u64(c) > 0xFFFFFFFF),
            flag=True,
        ),
        Row(
            "v_subb_co_u32_e64 {d}, {f}, {0}, {1}, vcc",
            "u32",
            two + " carry",
            lambda a, b, c: (a - b - c, u64(b) + u64(c) > u64(a)),
            flag=True,
        ),
        Row("v_cndmask_b32 {d}, {0}, {1}, vcc", "u32", two + " carry", lambda a, b, c: np.where(c == 1, b, a)),
        Row("v_add3_u32 {d}, {0}, {1}, {2}", "u32", three, lambda a, b, c: a + b + c),
        Row("v_mul_lo_u32 {d}, {0}, {1}", "u32", two, lambda a, b: a * b),
        Row("v_mul_hi_u32 {d}, {0}, {1}", "u32", two, lambda a, b: (u64(a) * u64(b) >> 32).astype(np.uint32)),
        Row("v_mul_hi_i32 {d}, {0}, {1}", "i32", "i32 i32", lambda a, b: (i64(a) * i64(b) >> 32).astype(np.int32)),
        Row("v_mul_u32_u24 {d}, {0}, {1}", "u32", two, lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
        Row("v_mul_i32_i24 {d}, {0}, {1}", "i32", two, each(lambda a, b: signed(a, 24) * signed(b, 24), np.int32)),
        Row("v_mad_u32_u24 {d}, {0}, {1}, {2}", "u32", three, lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c),
        Row(
            "v_mad_u64_u32 {d}, {f}, {0}, {1}, {2}",
            "u64",
            "u32 u32 u64",
            lambda a, b, c: (u64(a) * u64(b) + c, u64(a) * u64(b) + c < c),
            flag=True,
        ),
        Row(
            "v_mad_i64_i32 {d}, {f}, {0}, {1}, {2}",
            "i64",
            "i32 i32 i64",
            lambda a, b, c: (
                i64(a) * i64(b) + c,
                np.array([int(x) * int(y) + int(z) < 0 for x, y, z in zip(a, b, c, strict=True)]),
            ),
            flag=True,
        ),
        Row("v_min_i32 {d}, {0}, {1}", "i32", "i32 i32", np.minimum),
        Row("v_max_i32 {d}, {0}, {1}", "i32", "i32 i32", np.maximum),
        Row("v_min_u32 {d}, {0}, {1}", "u32", two, np.minimum),
        Row("v_max_u32 {d}, {0}, {1}", "u32", two, np.maximum),
        Row("v_med3_i32 {d}, {0}, {1}, {2}", "i32", "i32 i32 i32", middle),
        Row("v_max3_u32 {d}, {0}, {1}, {2}", "u32", three, lambda a, b, c: np.maximum(np.maximum(a, b), c)),
        Row("v_add_u16 {d}, {0}, {1}", "u16", "u16 u16", lambda a, b: a + b),
        Row("v_mul_lo_u16 {d}, {0}, {1}", "u16", "u16 u16", lambda a, b: a * b),
        Row("v_max_i16 {d}, {0}, {1}", "i16", "i16 i16", np.maximum),
        Row("v_min3_u16 {d}, {0}, {1}, {2}", "u16", "u16 u16 u16", lambda a, b, c: np.minimum(np.minimum(a, b), c)),
        Row("v_max3_u16 {d}, {0}, {1}, {2}", "u16", "u16 u16 u16", lambda a, b, c: np.maximum(np.maximum(a, b), c)),
        Row("v_max3_i16 {d}, {0}, {1}, {2}", "i16", "i16 i16 i16", lambda a, b, c: np.maximum(np.maximum(a, b), c)),
        Row("v_mad_u32_u16 {d}, {0}, {1}, {2}", "u32", "u16 u16 u32", lambda a, b, c: a.astype(np.uint32) * b + c),
        Row("v_pk_add_u16 {d}, {0}, {1}", "u32", two, on_halves(lambda a, b: a + b, np.uint16)),
        Row("v_pk_mul_lo_u16 {d}, {0}, {1}", "u32", two, on_halves(lambda a, b: a * b, np.uint16)),
        Row("v_pk_max_i16 {d}, {0}, {1}", "u32", two, on_halves(np.maximum, np.int16)),
        Row("v_pk_lshlrev_b16 {d}, {0}, {1}", "u32", two, on_halves(lambda a, b: b << (a & 15), np.uint16)),
        Row("v_and_b32 {d}, {0}, {1}", "u32", two, lambda a, b: a & b),
        Row("v_or_b32 {d}, {0}, {1}", "u32", two, lambda a, b: a | b),
        Row("v_xor_b32 {d}, {0}, {1}", "u32", two, lambda a, b: a ^ b),
        Row("v_xnor_b32 {d}, {0}, {1}", "u32", two, lambda a, b: ~(a ^ b)),
        Row("v_not_b32 {d}, {0}", "u32", one, lambda a: ~a),
        Row("v_and_or_b32 {d}, {0}, {1}, {2}", "u32", three, lambda a, b, c: a & b | c),
        Row("v_or3_b32 {d}, {0}, {1}, {2}", "u32", three, lambda a, b, c: a | b | c),
        Row("v_xad_u32 {d}, {0}, {1}, {2}", "u32", three, lambda a, b, c: (a ^ b) + c),
        Row("v_bfi_b32 {d}, {0}, {1}, {2}", "u32", three, lambda a, b, c: a & b | ~a & c),
        Row("v_lshlrev_b32 {d}, {0}, {1}", "u32", two, lambda a, b: b << (a & 31)),
        Row("v_lshrrev_b32 {d}, {0}, {1}", "u32", two, lambda a, b: b >> (a & 31)),
        Row("v_ashrrev_i32 {d}, {0}, {1}", "i32", "u32 i32", lambda a, b: b >> (a & 31).astype(np.int32)),
        Row("v_lshlrev_b64 {d}, {0}, {1}", "u64", "u32 u64", lambda a, b: b << u64(a & 63)),
        Row("v_lshrrev_b64 {d}, {0}, {1}", "u64", "u32 u64", lambda a, b: b >> u64(a & 63)),
        Row("v_ashrrev_i64 {d}, {0}, {1}", "i64", "u32 i64", lambda a, b: b >> i64(a & 63)),
        Row("v_lshl_add_u32 {d}, {0}, {1}, {2}", "u32", three, lambda a, b, c: (a << (b & 31)) + c),
        Row("v_add_lshl_u32 {d}, {0}, {1}, {2}", "u32", three, lambda a, b, c: (a + b) << (c & 31)),
        Row("v_lshl_or_b32 {d}, {0}, {1}, {2}", "u32", three, lambda a, b, c: a << (b & 31) | c),
        Row("v_lshl_add_u64 {d}, {0}, 3, {1}", "u64", "u64 u64", lambda a, b: (a << np.uint64(3)) + b),
        Row("v_bfe_u32 {d}, {0}, {1}, {2}", "u32", three, each(field, np.uint32)),
        Row("v_bfe_i32 {d}, {0}, {1}, {2}", "i32", "i32 u32 u32", each(signed_field, np.int32)),
        Row("v_bfm_b32 {d}, {0}, {1}", "u32", two, each(lambda a, b: ((1 << (a & 31)) - 1) << (b & 31), np.uint32)),
        Row("v_bfrev_b32 {d}, {0}", "u32", one, each(lambda a: int(f"{a:032b}"[::-1], 2), np.uint32)),
        Row("v_bcnt_u32_b32 {d}, {0}, {1}", "u32", two, each(lambda a, b: a.bit_count() + b, np.uint32)),
        Row("v_ffbh_u32 {d}, {0}", "u32", one, each(lambda a: 32 - a.bit_length() if a else -1, np.uint32)),
        Row("v_ffbl_b32 {d}, {0}", "u32", one, each(lambda a: (a & -a).bit_length() - 1, np.uint32)),
        Row(
            "v_ffbh_i32 {d}, {0}",
            "u32",
            "i32",
            each(lambda a: 32 - (a if a >= 0 else ~a).bit_length() if a not in (0, -1) else -1, np.uint32),
        ),
        Row(
            "v_alignbit_b32 {d}, {0}, {1}, {2}",
            "u32",
            three,
            each(lambda a, b, c: (a << 32 | b) >> (c & 31), np.uint32),
        ),
        Row(
            "v_alignbyte_b32 {d}, {0}, {1}, {2}",
            "u32",
            three,
            each(lambda a, b, c: (a << 32 | b) >> 8 * (c & 3), np.uint32),
        ),
        Row("v_perm_b32 {d}, {0}, {1}, {2}", "u32", three, each(perm, np.uint32)),
        Row("v_mov_b32 {d}, {0}", "u32", one, lambda a: a),
        Row("v_mov_b64 {d}, {0}", "u64", "u64", lambda a: a),
        Row(
            "v_pk_mov_b32 {d}, {0}, {1} op_sel:[1,0]",
            "u64",
            "u64 u64",
            lambda a, b: (a >> np.uint64(32)) | b << np.uint64(32),
        ),
        Row(
            "v_mbcnt_lo_u32_b32 {d}, -1, {0}",
            "u32",
            one,
            lambda a: a + np.tile(np.minimum(np.arange(64), 32), LANES // 64).astype(np.uint32),
        ),
        Row(
            "v_mbcnt_hi_u32_b32 {d}, -1, {0}",
            "u32",
            one,
            lambda a: a + np.tile(np.maximum(np.arange(64) - 32, 0), LANES // 64).astype(np.uint32),
        ),
        Row(
            "v_sad_u8 {d}, {0}, {1}, {2}",
            "u32",
            three,
            each(lambda a, b, c: c + sum(abs((a >> s & 255) - (b >> s & 255)) for s in (0, 8, 16, 24)), np.uint32),
        ),
        Row(
            "v_dot4_i32_i8 {d}, {0}, {1}, {2}",
            "i32",
            "u32 u32 i32",
            each(lambda a, b, c: c + sum(signed(a >> s, 8) * signed(b >> s, 8) for s in (0, 8, 16, 24)), np.int32),
        ),
    ]


def sub_dword_rows() -> list[Row]:
    """SDWA and DPP: operands that are parts of a register, or come from another lane."""

    def lanes(function: Callable[[int], int]) -> Callable[[Values], Values]:
        index = np.array([lane // 64 * 64 + function(lane % 64) for lane in range(LANES)])
        return lambda a: a[index]

    sdwa = "dst_sel:{} dst_unused:{} src0_sel:{} src1_sel:{}"
    return [
        Row(
            "v_add_u32_sdwa {d}, {0}, {1} " + sdwa.format("DWORD", "UNUSED_PAD", "BYTE_1", "WORD_1"),
            "u32",
            "u32 u32",
            lambda a, b: (a >> 8 & 0xFF) + (b >> 16),
        ),
        Row(
            "v_add_u32_sdwa {d}, sext({0}), {1} " + sdwa.format("DWORD", "UNUSED_PAD", "BYTE_3", "DWORD"),
            "u32",
            "u32 u32",
            each(lambda a, b: signed(a >> 24, 8) + b, np.uint32),
        ),
        Row(
            "v_add_u32_sdwa {d}, {0}, {1} " + sdwa.format("WORD_1", "UNUSED_PAD", "DWORD", "DWORD"),
            "u32",
            "u32 u32",
            lambda a, b: (a + b) << 16,
        ),
        Row(
            "v_add_u32_sdwa {d}, {0}, {1} " + sdwa.format("BYTE_2", "UNUSED_PRESERVE", "DWORD", "DWORD"),
            "u32",
            "u32 u32 old:u32",
            lambda a, b, old: old & 0xFF00FFFF | (a + b & 0xFF) << 16,
        ),
        Row(
            "v_add_f16_sdwa {d}, {0}, {1} " + sdwa.format("WORD_0", "UNUSED_PAD", "WORD_1", "WORD_0"),
            "f16",
            "u32 u32",
            lambda a, b: halves(a)[:, 1] + halves(b)[:, 0],
        ),
        Row(
            "v_mov_b32_dpp {d}, {0} quad_perm:[3,1,0,2] row_mask:0xf bank_mask:0xf",
            "u32",
            "u32",
            lanes(lambda i: i // 4 * 4 + [3, 1, 0, 2][i % 4]),
        ),
        Row(
            "v_mov_b32_dpp {d}, {0} row_ror:3 row_mask:0xf bank_mask:0xf",
            "u32",
            "u32",
            lanes(lambda i: i // 16 * 16 + (i - 3) % 16),
        ),
        Row("v_mov_b32_dpp {d}, {0} row_mirror row_mask:0xf bank_mask:0xf", "u32", "u32", lanes(lambda i: i ^ 15)),
        Row("v_mov_b32_dpp {d}, {0} row_half_mirror row_mask:0xf bank_mask:0xf", "u32", "u32", lanes(lambda i: i ^ 7)),
        Row(
            "v_mov_b32_dpp {d}, {0} row_newbcast:5 row_mask:0xf bank_mask:0xf",
            "u32",
            "u32",
            lanes(lambda i: i // 16 * 16 + 5),
        ),
        Row(
            "v_mov_b32_dpp {d}, {0} row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:0",
            "u32",
            "u32",
            lambda a: np.where(np.arange(LANES) % 16 >= 2, np.roll(a, 2), 0),
        ),
        Row(
            "v_mov_b32_dpp {d}, {0} row_shl:2 row_mask:0xf bank_mask:0xf",
            "u32",
            "u32 unused old:u32",
            lambda a, _, old: np.where(np.arange(LANES) % 16 < 14, np.roll(a, -2), old),
        ),
        Row(
            "v_add_u32_dpp {d}, {0}, {1} row_bcast:15 row_mask:0xa bank_mask:0xf",
            "u32",
            "u32 u32 old:u32",
            lambda a, b, old: np.where(np.arange(LANES) // 16 % 2 == 1, a[np.arange(LANES) // 16 * 16 - 1] + b, old),
        ),
    ]


ROWS = [row for kind in ("f32", "f64", "f16") for row in float_rows(kind)]
ROWS += [row for kind in ("u32", "i32", "u64", "i64", "u16", "i16") for row in integer_compare_rows(kind)]
ROWS += approximation_rows() + more_float_rows() + integer_rows() + sub_dword_rows()
