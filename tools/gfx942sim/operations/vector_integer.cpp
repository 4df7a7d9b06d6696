// Integer arithmetic, bit operations and shifts of the vector unit.
#include <algorithm>
#include <bit>

#include "gfx942sim/operations/vector_operation.h"

namespace gfx942sim {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

constexpr int quarter_rate = 16;

i32 sign_extend_24(u32 value) { return static_cast<i32>(value << 8) >> 8; }
u32 zero_extend_24(u32 value) { return value & 0xffffff; }

u32 bit_field(u32 value, u32 offset, u32 width) {
  return static_cast<u32>((u64{value} >> (offset & 31)) & ((u64{1} << (width & 31)) - 1));
}

i32 signed_bit_field(i32 value, u32 offset, u32 width) {
  offset &= 31;
  width &= 31;
  if (width == 0) return 0;
  const i64 shifted = i64{value} >> offset;
  return static_cast<i32>(static_cast<i64>(static_cast<u64>(shifted) << (64 - width)) >> (64 - width));
}

WithFlag<u32> add_with_carry(u32 a, u32 b, u32 carry) {
  const u64 sum = u64{a} + b + carry;
  return {static_cast<u32>(sum), (sum >> 32) != 0};
}

WithFlag<u32> subtract_with_borrow(u32 a, u32 b, u32 borrow) { return {a - b - borrow, u64{a} < u64{b} + borrow}; }

// For bytes or halves; with `masked`, those for which the second word has zero are left out.
template <class Element, bool masked = false>
u32 sum_of_differences(u32 a, u32 b, u32 addend) {
  for (int shift = 0; shift < 32; shift += 8 * sizeof(Element)) {
    const int x = static_cast<Element>(a >> shift), y = static_cast<Element>(b >> shift);
    if (!masked || y != 0) addend += static_cast<u32>(std::abs(x - y));
  }
  return addend;
}

void add_sums(Operations& rows) {
  add_vector(rows, "v_add_u32", [](u32 a, u32 b) { return ExactSum<u32>{i64{a} + b}; });
  add_vector(rows, "v_sub_u32", [](u32 a, u32 b) { return ExactSum<u32>{i64{a} - b}; });
  add_vector(rows, "v_subrev_u32", [](u32 a, u32 b) { return ExactSum<u32>{i64{b} - a}; });
  add_vector(rows, "v_add_i32", [](i32 a, i32 b) { return ExactSum<i32>{i64{a} + b}; });
  add_vector(rows, "v_sub_i32", [](i32 a, i32 b) { return ExactSum<i32>{i64{a} - b}; });
  add_vector(rows, "v_add_co_u32", [](u32 a, u32 b) { return add_with_carry(a, b, 0); });
  add_vector(rows, "v_sub_co_u32", [](u32 a, u32 b) { return subtract_with_borrow(a, b, 0); });
  add_vector(rows, "v_subrev_co_u32", [](u32 a, u32 b) { return subtract_with_borrow(b, a, 0); });
  add_vector(rows, "v_addc_co_u32", [](u32 a, u32 b, LaneFlag carry) { return add_with_carry(a, b, carry.set); });
  add_vector(rows, "v_subb_co_u32",
             [](u32 a, u32 b, LaneFlag borrow) { return subtract_with_borrow(a, b, borrow.set); });
  add_vector(rows, "v_subbrev_co_u32",
             [](u32 a, u32 b, LaneFlag borrow) { return subtract_with_borrow(b, a, borrow.set); });
  add_vector(rows, "v_add3_u32", [](u32 a, u32 b, u32 c) { return a + b + c; });
}

void add_products(Operations& rows) {
  add_vector(rows, "v_mul_lo_u32", [](u32 a, u32 b) { return a * b; }, quarter_rate);
  add_vector(rows, "v_mul_hi_u32", [](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }, quarter_rate);
  add_vector(rows, "v_mul_hi_i32", [](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); }, quarter_rate);
  add_vector(rows, "v_mul_u32_u24", [](u32 a, u32 b) { return zero_extend_24(a) * zero_extend_24(b); });
  add_vector(rows, "v_mul_i32_i24",
             [](u32 a, u32 b) { return static_cast<u32>(i64{sign_extend_24(a)} * sign_extend_24(b)); });
  add_vector(rows, "v_mul_hi_u32_u24",
             [](u32 a, u32 b) { return static_cast<u32>(u64{zero_extend_24(a)} * zero_extend_24(b) >> 32); });
  add_vector(rows, "v_mul_hi_i32_i24",
             [](u32 a, u32 b) { return static_cast<u32>(i64{sign_extend_24(a)} * sign_extend_24(b) >> 32); });
  add_vector(rows, "v_mad_u32_u24", [](u32 a, u32 b, u32 c) { return zero_extend_24(a) * zero_extend_24(b) + c; });
  add_vector(rows, "v_mad_i32_i24",
             [](u32 a, u32 b, u32 c) { return static_cast<u32>(i64{sign_extend_24(a)} * sign_extend_24(b) + c); });
  add_vector<VectorTraits{.carries_upward = true}>(
      rows, "v_mad_u64_u32",
      [](u32 a, u32 b, u64 c) {
        const u64 sum = u64{a} * b + c;
        return WithFlag<u64>{sum, sum < c};
      },
      quarter_rate);
  add_vector<VectorTraits{.carries_upward = true}>(
      rows, "v_mad_i64_i32",
      // The flag is bit 64 of the sum, its sign (ISA guide, V_MAD_I64_I32; gem5 has the same).
      [](i32 a, i32 b, i64 c) {
        const auto sum = static_cast<__int128>(i64{a} * b) + c;
        return WithFlag<i64>{static_cast<i64>(sum), sum < 0};
      },
      quarter_rate);
}

void add_extremes_and_differences(Operations& rows) {
  add_vector(rows, "v_min_u32", [](u32 a, u32 b) { return std::min(a, b); });
  add_vector(rows, "v_max_u32", [](u32 a, u32 b) { return std::max(a, b); });
  add_vector(rows, "v_min_i32", [](i32 a, i32 b) { return std::min(a, b); });
  add_vector(rows, "v_max_i32", [](i32 a, i32 b) { return std::max(a, b); });
  add_vector(rows, "v_min3_u32", [](u32 a, u32 b, u32 c) { return std::min({a, b, c}); });
  add_vector(rows, "v_max3_u32", [](u32 a, u32 b, u32 c) { return std::max({a, b, c}); });
  add_vector(rows, "v_min3_i32", [](i32 a, i32 b, i32 c) { return std::min({a, b, c}); });
  add_vector(rows, "v_max3_i32", [](i32 a, i32 b, i32 c) { return std::max({a, b, c}); });
  add_vector(rows, "v_med3_u32",
             [](u32 a, u32 b, u32 c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); });
  add_vector(rows, "v_med3_i32",
             [](i32 a, i32 b, i32 c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); });
  add_vector(rows, "v_sad_u8", [](u32 a, u32 b, u32 c) { return sum_of_differences<uint8_t>(a, b, c); });
  add_vector(rows, "v_sad_hi_u8", [](u32 a, u32 b, u32 c) { return (sum_of_differences<uint8_t>(a, b, 0) << 16) + c; });
  add_vector(rows, "v_sad_u16", [](u32 a, u32 b, u32 c) { return sum_of_differences<u16>(a, b, c); });
  add_vector(rows, "v_msad_u8", [](u32 a, u32 b, u32 c) { return sum_of_differences<uint8_t, true>(a, b, c); });
  add_vector(rows, "v_sad_u32", [](u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; });
}

void add_arithmetic_of_16_bits(Operations& rows) {
  add_vector(rows, "v_add_u16", [](u16 a, u16 b) { return ExactSum<u16>{i64{a} + b}; });
  add_vector(rows, "v_sub_u16", [](u16 a, u16 b) { return ExactSum<u16>{i64{a} - b}; });
  add_vector(rows, "v_subrev_u16", [](u16 a, u16 b) { return ExactSum<u16>{i64{b} - a}; });
  add_vector(rows, "v_mul_lo_u16", [](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); });
  add_vector(rows, "v_min_u16", [](u16 a, u16 b) { return std::min(a, b); });
  add_vector(rows, "v_max_u16", [](u16 a, u16 b) { return std::max(a, b); });
  add_vector(rows, "v_min_i16", [](i16 a, i16 b) { return std::min(a, b); });
  add_vector(rows, "v_max_i16", [](i16 a, i16 b) { return std::max(a, b); });
  add_vector<preserving_high>(rows, "v_add_i16", [](i16 a, i16 b) { return ExactSum<i16>{i64{a} + b}; });
  add_vector<preserving_high>(rows, "v_sub_i16", [](i16 a, i16 b) { return ExactSum<i16>{i64{a} - b}; });
  add_vector<preserving_high>(rows, "v_mad_u16", [](u16 a, u16 b, u16 c) { return ExactSum<u16>{i64{a} * b + c}; });
  add_vector<preserving_high>(rows, "v_mad_i16", [](i16 a, i16 b, i16 c) { return ExactSum<i16>{i64{a} * b + c}; });
  add_vector<preserving_high>(rows, "v_mad_legacy_u16",
                              [](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); });
  add_vector<preserving_high>(
      rows, "v_med3_i16", [](i16 a, i16 b, i16 c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); });
  add_vector<preserving_high>(
      rows, "v_med3_u16", [](u16 a, u16 b, u16 c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); });
  add_vector<preserving_high>(rows, "v_min3_u16", [](u16 a, u16 b, u16 c) { return std::min({a, b, c}); });
  add_vector<preserving_high>(rows, "v_max3_u16", [](u16 a, u16 b, u16 c) { return std::max({a, b, c}); });
  add_vector<preserving_high>(rows, "v_min3_i16", [](i16 a, i16 b, i16 c) { return std::min({a, b, c}); });
  add_vector<preserving_high>(rows, "v_max3_i16", [](i16 a, i16 b, i16 c) { return std::max({a, b, c}); });
  add_vector(rows, "v_mad_u32_u16", [](u16 a, u16 b, u32 c) { return u32{a} * b + c; });
  add_vector(rows, "v_mad_i32_i16", [](i16 a, i16 b, u32 c) { return static_cast<u32>(i32{a} * b) + c; });
  add_vector(rows, "v_lshlrev_b16", [](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); });
  add_vector(rows, "v_lshrrev_b16", [](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); });
  add_vector(rows, "v_ashrrev_i16", [](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); });
}

// Bits that were never written may pass through these: compilers combine halves of registers with them.
void add_bit_operations(Operations& rows) {
  add_vector<copying>(rows, "v_and_b32", [](u32 a, u32 b) { return a & b; });
  add_vector<copying>(rows, "v_or_b32", [](u32 a, u32 b) { return a | b; });
  add_vector<copying>(rows, "v_xor_b32", [](u32 a, u32 b) { return a ^ b; });
  add_vector(rows, "v_xnor_b32", [](u32 a, u32 b) { return ~(a ^ b); });
  add_vector<copying>(rows, "v_not_b32", [](u32 a) { return ~a; });
  add_vector<copying>(rows, "v_and_or_b32", [](u32 a, u32 b, u32 c) { return (a & b) | c; });
  add_vector<copying>(rows, "v_or3_b32", [](u32 a, u32 b, u32 c) { return a | b | c; });
  add_vector<copying>(rows, "v_bfi_b32", [](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); });
  add_vector<copying>(rows, "v_lshlrev_b32", [](u32 a, u32 b) { return b << (a & 31); });
  add_vector<copying>(rows, "v_lshrrev_b32", [](u32 a, u32 b) { return b >> (a & 31); });
  add_vector<copying>(rows, "v_ashrrev_i32", [](u32 a, i32 b) { return b >> (a & 31); });
  add_vector<copying>(rows, "v_lshl_or_b32", [](u32 a, u32 b, u32 c) { return a << (b & 31) | c; });
  add_vector(rows, "v_lshlrev_b64", [](u32 a, u64 b) { return b << (a & 63); });
  add_vector(rows, "v_lshrrev_b64", [](u32 a, u64 b) { return b >> (a & 63); });
  add_vector(rows, "v_ashrrev_i64", [](u32 a, i64 b) { return b >> (a & 63); });
  add_vector(rows, "v_lshl_add_u32", [](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; });
  add_vector(rows, "v_add_lshl_u32", [](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); });
  add_vector(rows, "v_xad_u32", [](u32 a, u32 b, u32 c) { return (a ^ b) + c; });
  add_vector(rows, "v_lshl_add_u64", [](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; });
  add_vector(rows, "v_bfe_u32", [](u32 a, u32 b, u32 c) { return bit_field(a, b, c); });
  add_vector(rows, "v_bfe_i32", [](i32 a, u32 b, u32 c) { return signed_bit_field(a, b, c); });
  add_vector(rows, "v_bfm_b32", [](u32 a, u32 b) { return ((1U << (a & 31)) - 1) << (b & 31); });
  add_vector(rows, "v_bfrev_b32", [](u32 a) { return __builtin_bitreverse32(a); });
  add_vector(rows, "v_bcnt_u32_b32", [](u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; });
  add_vector(rows, "v_ffbh_u32", [](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)); });
  add_vector(rows, "v_ffbl_b32", [](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a)); });
  add_vector(rows, "v_ffbh_i32", [](i32 a) {
    const u32 folded = static_cast<u32>(a ^ (a >> 31));
    return folded == 0 ? ~0U : static_cast<u32>(std::countl_zero(folded));
  });
  add_vector<copying>(rows, "v_alignbit_b32",
                      [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c & 31)); });
  add_vector<copying>(rows, "v_alignbyte_b32",
                      [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (8 * (c & 3))); });
}

}  // namespace

void add_vector_integer_operations(Operations& rows) {
  add_sums(rows);
  add_products(rows);
  add_extremes_and_differences(rows);
  add_arithmetic_of_16_bits(rows);
  add_bit_operations(rows);
}

}  // namespace gfx942sim
