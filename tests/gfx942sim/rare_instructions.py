"""More vector instructions: the steps of divisions, angles, what the MODE register changes, and what is seldom used."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tests.gfx942sim.instruction_table import Row, Values, each, i64, nearest, signed


def division_fixup(quotient: Values, denominator: Values, numerator: Values) -> Values:
    """AMD's pseudo-code; below all denormals zero, and infinity for an estimate of NaN."""
    kind = quotient.dtype.type
    bias = int(np.finfo(kind).maxexp) - 1

    def one(q: Any, d: Any, n: Any) -> Any:
        sign = kind(-1 if np.signbit(d) != np.signbit(n) else 1)
        if np.isnan(n) or np.isnan(d) or (d == 0 and n == 0) or (np.isinf(d) and np.isinf(n)):
            return kind(np.nan)
        if d == 0 or np.isinf(n):
            return sign * kind(np.inf)
        if np.isinf(d) or n == 0:
            return sign * kind(0)
        if kind is not np.float16:
            difference = max(int(np.frexp(n)[1]), 2 - bias) - max(int(np.frexp(d)[1]), 2 - bias)
            denormal = [int(abs(x) < np.finfo(kind).smallest_normal) for x in (n, d)]
            if difference - denormal[0] + denormal[1] < -bias - np.finfo(kind).nmant:
                return sign * kind(0)
            if np.isnan(q):
                return sign * kind(np.inf)
        return sign * abs(q)

    return np.array([one(*lane) for lane in zip(quotient, denominator, numerator, strict=True)], kind)


def division_fmas(a: Values, b: Values, c: Values, carry: Values) -> Values:
    """A fused multiply-add and its scale, rounded once."""
    kind = a.dtype.type
    scale = 64 if kind is np.float32 else 128

    def one(x: Any, y: Any, z: Any, scaled: Any) -> Any:
        if not np.isfinite(x) or not np.isfinite(y):
            return x * y + z
        if not np.isfinite(z):
            return z
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        up = abs(z) >= 2
        return (
            nearest(exact * Fraction(2) ** ((scale if up else -scale) if scaled else 0), kind) if exact else x * y + z
        )

    return np.array([one(*lane) for lane in zip(a, b, c, carry, strict=True)], kind)


# The steps of LLVM's fdiv, by which each quotient is correctly rounded.
DIVISION = """v_div_scale_{k} {a}, s[22:23], {{1}}, {{1}}, {{0}}
  v_div_scale_{k} {b}, vcc, {{0}}, {{1}}, {{0}}
  v_rcp_{k} {c}, {a}
  s_nop 4
  v_fma_{k} {e}, -{a}, {c}, 1.0
  v_fma_{k} {c}, {e}, {c}, {c}
  v_fma_{k} {e}, -{a}, {c}, 1.0
  v_fma_{k} {c}, {e}, {c}, {c}
  v_mul_{k} {e}, {b}, {c}
  v_fma_{k} {a}, -{a}, {e}, {b}
  s_nop 4
  v_div_fmas_{k} {a}, {a}, {c}, {e}
  v_div_fixup_{k} {{d}}, {a}, {{1}}, {{0}}"""


def two_over_pi(bits: int) -> int:
    """The first bits of 2/pi after the point, by Machin's formula."""

    def arc_tangent_of_inverse(x: int) -> int:
        power = total = (1 << (bits + 64)) // x
        for n in range(3, 2 * bits, 2):
            power //= -x * x
            total += power // n
        return total

    pi = 4 * (4 * arc_tangent_of_inverse(5) - arc_tangent_of_inverse(239))
    return (2 << (2 * bits + 64)) // pi


def trig_preop(angle: Values, segment: Values) -> Values:
    table = two_over_pi(1201) << 4000
    exponents = (angle.view(np.uint64) >> np.uint64(52) & np.uint64(0x7FF)).astype(np.int64)
    shifts = (segment.astype(np.int64) & 31) * 53 + np.maximum(exponents - 1077, 0)
    bits = [table >> (5201 - int(shift) - 53) & (1 << 53) - 1 for shift in shifts]
    return np.ldexp(np.array(bits, np.float64), -53 - shifts + 128 * (exponents >= 1968))


def division_rows() -> list[Row]:
    def steps(kind: str, *registers: str) -> str:
        return DIVISION.format(k=kind, **dict(zip("abce", registers, strict=True)))

    return [
        Row("v_div_fixup_f16 {d}, {0}, {1}, {2}", "f16", "f16 f16 f16", division_fixup),
        Row("v_div_fixup_f32 {d}, {0}, {1}, {2}", "f32", "f32 f32 f32", division_fixup),
        Row("v_div_fixup_f64 {d}, {0}, {1}, {2}", "f64", "f64 f64 f64", division_fixup),
        Row("v_div_fmas_f32 {d}, {0}, {1}, {2}", "f32", "f32 f32 f32 carry", division_fmas),
        Row("v_div_fmas_f64 {d}, {0}, {1}, {2}", "f64", "f64 f64 f64 carry", division_fmas),
        Row(steps("f32", "v3", "v4", "v5", "v6"), "f32", "f32 f32", lambda a, b: a / b),
        Row(steps("f64", "v[4:5]", "v[6:7]", "v[8:9]", "v[24:25]"), "f64", "f64 f64", lambda a, b: a / b),
    ]


def rare_float_rows() -> list[Row]:
    flushed = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\n  s_nop 4\n  "
    without_ieee = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0\n  s_nop 1\n  "

    def flush(a: Values) -> Values:
        return np.where(np.abs(a) < np.finfo(np.float32).smallest_normal, np.copysign(np.float32(0), a), a)

    def scaled(factor: float) -> Callable[..., Values]:
        def run(a: Values, b: Values) -> Values:
            result = flush((flush(a) + flush(b)) * np.float32(factor))
            return np.where(result == 0, np.float32(0), result)

        return run

    fraction = [
        Row(
            f"v_fract_{kind} {{d}}, {{0}}",
            kind,
            kind,
            lambda a: np.minimum(a - np.floor(a), np.nextafter(a.dtype.type(1), a.dtype.type(0))),
        )
        for kind in ("f16", "f32", "f64")
    ]
    return [
        *fraction,
        Row("v_trig_preop_f64 {d}, {0}, {1}", "f64", "f64 u32", trig_preop),
        Row(without_ieee + flushed + "v_add_f32_e64 {d}, {0}, {1} mul:4", "f32", "f32 f32", scaled(4)),
        Row(without_ieee + flushed + "v_add_f32_e64 {d}, {0}, {1} div:2", "f32", "f32 f32", scaled(0.5)),
        Row(
            flushed + "v_cndmask_b32 {d}, {0}, {1}, vcc",
            "u32",
            "u32 u32 carry",
            lambda a, b, c: np.where(c == 1, b, a),
        ),
        Row(
            flushed + "v_cndmask_b32_e64 {d}, -{0}, |{1}|, vcc",
            "f32",
            "f32 f32 carry",
            lambda a, b, c: np.where(c == 1, np.abs(b), -a),
        ),
        Row(
            "v_cvt_norm_i16_f16 {d}, {0}",
            "i16",
            "f16",
            lambda a: np.rint(np.clip(np.nan_to_num(a.astype(np.float32), nan=0), -1, 1) * np.float32(32767)),
        ),
        Row(
            "v_cvt_norm_u16_f16 {d}, {0}",
            "u16",
            "f16",
            lambda a: np.rint(np.clip(np.nan_to_num(a.astype(np.float32), nan=0), 0, 1) * np.float32(65535)),
        ),
    ]


def rare_integer_rows() -> list[Row]:
    def differences(bits: int, masked: bool = False) -> Callable[[int, int], int]:
        def total(a: int, b: int) -> int:
            parts = [(a >> s & (1 << bits) - 1, b >> s & (1 << bits) - 1) for s in range(0, 32, bits)]
            return sum(abs(x - y) for x, y in parts if y or not masked)

        return total

    def quarters(element: Callable[[int], int]) -> Callable[[int, int, int], int]:
        return lambda a, b, c: c + sum(element(a >> s) * element(b >> s) for s in range(0, 32, 4))

    def of_first_lane(function: Callable[[int], int], kind: Any) -> Callable[[Values], Values]:
        return lambda a: np.repeat(each(function, kind)(a[::64]), 64)

    def quad_mask(a: int) -> int:
        return sum((a >> 4 * i & 15 != 0) << i for i in range(16))

    def whole_quads(a: int) -> int:
        return sum((a >> 4 * i & 15 != 0) * 15 << 4 * i for i in range(16))

    one = "v_readfirstlane_b32 s24, {0}\n  s_nop 4\n  s_NAME_b32 s24, s24\n  v_mov_b32 {d}, s24"
    three = "u32 u32 u32"
    return [
        Row(
            "v_sad_hi_u8 {d}, {0}, {1}, {2}",
            "u32",
            three,
            each(lambda a, b, c: c + (differences(8)(a, b) << 16), np.uint32),
        ),
        Row("v_sad_u16 {d}, {0}, {1}, {2}", "u32", three, each(lambda a, b, c: c + differences(16)(a, b), np.uint32)),
        Row(
            "v_msad_u8 {d}, {0}, {1}, {2}",
            "u32",
            three,
            each(lambda a, b, c: c + differences(8, True)(a, b), np.uint32),
        ),
        Row("v_dot8_u32_u4 {d}, {0}, {1}, {2}", "u32", three, each(quarters(lambda x: x & 15), np.uint32)),
        Row("v_dot8_i32_i4 {d}, {0}, {1}, {2}", "i32", "u32 u32 i32", each(quarters(lambda x: signed(x, 4)), np.int32)),
        Row(
            "v_mad_u16 {d}, {0}, {1}, {2} clamp",
            "u16",
            "u16 u16 u16",
            lambda a, b, c: np.clip(i64(a) * i64(b) + i64(c), 0, 0xFFFF).astype(np.uint16),
        ),
        Row(
            "v_mad_i16 {d}, {0}, {1}, {2} clamp",
            "i16",
            "i16 i16 i16",
            lambda a, b, c: np.clip(i64(a) * i64(b) + i64(c), -0x8000, 0x7FFF).astype(np.int16),
        ),
        Row(one.replace("NAME", "quadmask"), "u32", "u32", of_first_lane(quad_mask, np.uint32)),
        Row(one.replace("NAME", "wqm"), "u32", "u32", of_first_lane(whole_quads, np.uint32)),
    ]


ROWS = division_rows() + rare_float_rows() + rare_integer_rows()
