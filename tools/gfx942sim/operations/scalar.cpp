// The scalar unit's arithmetic, logic, comparisons and moves.
#include <algorithm>
#include <bit>

#include "gfx942sim/operations/operation_table.h"
#include "gfx942sim/operations/vector_operation.h"
#include "gfx942sim/wave/wave.h"

namespace gfx942sim {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

// SCC as a lambda's last argument: read with get, written with set.
class ConditionCode {
 public:
  explicit ConditionCode(Wave& wave) : wave_(wave) {}
  bool get() const { return wave_.read_scc(); }
  void set(bool value) const { wave_.write_scc(value); }

 private:
  Wave& wave_;
};

template <class T>
T read_scalar_source(Wave& wave, const Instruction& instruction, size_t position) {
  if constexpr (std::is_same_v<T, ConditionCode>) {
    return ConditionCode(wave);
  } else {
    if (position >= instruction.operands.size()) wave.fail(-1, "has fewer operands than the simulator expects");
    const Operand& operand = instruction.operands[position];
    if constexpr (sizeof(T) == 8)
      return static_cast<T>(wave.read_uniform_pair(operand));
    else
      return static_cast<T>(wave.read_uniform(operand));
  }
}

enum class ScalarResult { register_value, condition_only, nothing };

template <class F, size_t first_source>
void execute_scalar(Wave& wave, const Instruction& instruction) {
  using Call = Signature<F>;
  auto call = [&]<size_t... i>(std::index_sequence<i...>) {
    // Braces keep the order of evaluation.
    std::tuple arguments{
        read_scalar_source<std::tuple_element_t<i, typename Call::Arguments>>(wave, instruction, first_source + i)...};
    return std::apply(F(), arguments);
  };
  using Result = typename Call::Result;
  if constexpr (std::is_void_v<Result>) {
    call(std::make_index_sequence<Call::count>());
  } else {
    const Result result = call(std::make_index_sequence<Call::count>());
    const Operand& destination = instruction.operands[0];
    if (destination.kind != OperandKind::scalar) wave.fail(-1, "has a destination that must be a scalar register");
    if constexpr (sizeof(Result) == 8)
      wave.write_uniform_pair(destination, static_cast<u64>(result));
    else
      wave.write_scalar(destination.index, static_cast<u32>(result));
  }
}

template <class T>
constexpr Type scalar_type() {
  if constexpr (std::is_same_v<T, ConditionCode> || std::is_void_v<T>)
    return Type::none;
  else
    return type_of<T>();
}

// The first operand is the destination, and not a source.
template <class F>
void add_scalar(Operations& rows, std::string name, F) {
  using Call = Signature<F>;
  [&]<size_t... i>(std::index_sequence<i...>) {
    add_row(
        rows, std::move(name), Unit::scalar, &execute_scalar<F, 1>,
        {scalar_type<typename Call::Result>(), scalar_type<std::tuple_element_t<i, typename Call::Arguments>>()...});
  }(std::make_index_sequence<Call::count>());
}

// All operands are sources; the first is the destination too if the lambda gives a result.
template <class F>
void add_scalar_in_place(Operations& rows, std::string name, F) {
  using Call = Signature<F>;
  [&]<size_t... i>(std::index_sequence<i...>) {
    add_row(rows, std::move(name), Unit::scalar, &execute_scalar<F, 0>,
            {scalar_type<std::tuple_element_t<i, typename Call::Arguments>>()...});
  }(std::make_index_sequence<Call::count>());
}

using Scc = ConditionCode;

// The immediate of an SOPK instruction is 16 bits wide.
i32 immediate(u32 bits) { return static_cast<int16_t>(bits); }

template <class T>
T with_scc(T result, Scc scc) {
  scc.set(result != 0);
  return result;
}

u32 count_leading_sign_bits(i64 value, int width) {
  const u64 folded = static_cast<u64>(value ^ (value >> 63));
  return folded == 0 ? ~0U : static_cast<u32>(std::countl_zero(folded) - (64 - width));
}

void add_arithmetic(Operations& rows) {
  add_scalar(rows, "s_add_u32", [](u32 a, u32 b, Scc scc) {
    scc.set(u64{a} + b > 0xffffffff);
    return a + b;
  });
  add_scalar(rows, "s_sub_u32", [](u32 a, u32 b, Scc scc) {
    scc.set(b > a);
    return a - b;
  });
  add_scalar(rows, "s_addc_u32", [](u32 a, u32 b, Scc scc) {
    const u64 sum = u64{a} + b + scc.get();
    scc.set(sum > 0xffffffff);
    return static_cast<u32>(sum);
  });
  add_scalar(rows, "s_subb_u32", [](u32 a, u32 b, Scc scc) {
    const u32 borrow = scc.get();
    scc.set(u64{b} + borrow > a);
    return a - b - borrow;
  });
  add_scalar(rows, "s_add_i32", [](i32 a, i32 b, Scc scc) {
    i32 sum;
    scc.set(__builtin_add_overflow(a, b, &sum));
    return sum;
  });
  add_scalar(rows, "s_sub_i32", [](i32 a, i32 b, Scc scc) {
    i32 difference;
    scc.set(__builtin_sub_overflow(a, b, &difference));
    return difference;
  });
  add_scalar(rows, "s_mul_i32", [](u32 a, u32 b) { return a * b; });
  add_scalar(rows, "s_mul_hi_u32", [](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); });
  add_scalar(rows, "s_mul_hi_i32", [](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); });
  add_scalar(rows, "s_absdiff_i32", [](i32 a, i32 b, Scc scc) {
    return with_scc(a > b ? static_cast<u32>(a) - static_cast<u32>(b) : static_cast<u32>(b) - static_cast<u32>(a), scc);
  });
  add_scalar(rows, "s_abs_i32",
             [](i32 a, Scc scc) { return with_scc(a < 0 ? 0U - static_cast<u32>(a) : static_cast<u32>(a), scc); });
  add_scalar(rows, "s_min_i32", [](i32 a, i32 b, Scc scc) {
    scc.set(a < b);
    return std::min(a, b);
  });
  add_scalar(rows, "s_max_i32", [](i32 a, i32 b, Scc scc) {
    scc.set(a > b);
    return std::max(a, b);
  });
  add_scalar(rows, "s_min_u32", [](u32 a, u32 b, Scc scc) {
    scc.set(a < b);
    return std::min(a, b);
  });
  add_scalar(rows, "s_max_u32", [](u32 a, u32 b, Scc scc) {
    scc.set(a > b);
    return std::max(a, b);
  });
  add_scalar_in_place(rows, "s_addk_i32", [](i32 a, u32 bits, Scc scc) {
    i32 sum;
    scc.set(__builtin_add_overflow(a, immediate(bits), &sum));
    return sum;
  });
  add_scalar_in_place(rows, "s_mulk_i32", [](u32 a, u32 bits) { return a * static_cast<u32>(immediate(bits)); });
}

template <int shift>
void add_shift_add(Operations& rows) {
  add_scalar(rows, "s_lshl" + std::to_string(shift) + "_add_u32", [](u32 a, u32 b, Scc scc) {
    const u64 sum = (u64{a} << shift) + b;
    scc.set(sum > 0xffffffff);
    return static_cast<u32>(sum);
  });
}

// Operations on bits of two sizes; plain logic stands in scalar_logic.cpp. The lowest bit of each four, set if one of
// them is.
template <class T>
T any_of_four(T a) {
  return static_cast<T>((a | a >> 1 | a >> 2 | a >> 3) & static_cast<T>(0x1111111111111111));
}

template <class T>
void add_bits(Operations& rows, const std::string& type) {
  add_scalar(rows, "s_brev_" + type, [](T a) {
    if constexpr (sizeof(T) == 8)
      return __builtin_bitreverse64(a);
    else
      return __builtin_bitreverse32(a);
  });
  add_scalar(rows, "s_quadmask_" + type, [](T a, Scc scc) {
    T packed = 0;
    for (int four = 0; four < static_cast<int>(2 * sizeof(T)); ++four)
      packed |= (any_of_four(a) >> (4 * four) & 1) << four;
    return with_scc(packed, scc);
  });
  add_scalar(rows, "s_wqm_" + type, [](T a, Scc scc) { return with_scc(static_cast<T>(any_of_four(a) * 15), scc); });
  constexpr int mask = 8 * sizeof(T) - 1;
  add_scalar(rows, "s_lshl_" + type, [](T a, u32 b, Scc scc) { return with_scc(a << (b & mask), scc); });
  add_scalar(rows, "s_lshr_" + type, [](T a, u32 b, Scc scc) { return with_scc(a >> (b & mask), scc); });
  add_scalar(rows, "s_bfm_" + type, [](u32 a, u32 b) { return ((T{1} << (a & mask)) - 1) << (b & mask); });
  add_scalar(rows, "s_bcnt1_i32_" + type,
             [](T a, Scc scc) { return with_scc(static_cast<u32>(std::popcount(a)), scc); });
  add_scalar(rows, "s_bcnt0_i32_" + type,
             [](T a, Scc scc) { return with_scc(static_cast<u32>(std::popcount(~a)), scc); });
  add_scalar(rows, "s_ff1_i32_" + type, [](T a) { return a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a)); });
  add_scalar(rows, "s_ff0_i32_" + type, [](T a) { return ~a == 0 ? ~0U : static_cast<u32>(std::countr_one(a)); });
  add_scalar(rows, "s_flbit_i32_" + type, [](T a) { return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)); });
  add_scalar_in_place(rows, "s_bitcmp0_" + type, [](T a, u32 b, Scc scc) { scc.set(!(a >> (b & mask) & 1)); });
  add_scalar_in_place(rows, "s_bitcmp1_" + type, [](T a, u32 b, Scc scc) { scc.set(a >> (b & mask) & 1); });
}

void add_bit_operations(Operations& rows) {
  add_bits<u32>(rows, "b32");
  add_bits<u64>(rows, "b64");
  add_shift_add<1>(rows);
  add_shift_add<2>(rows);
  add_shift_add<3>(rows);
  add_shift_add<4>(rows);
  add_scalar(rows, "s_ashr_i32", [](i32 a, u32 b, Scc scc) { return with_scc(a >> (b & 31), scc); });
  add_scalar(rows, "s_ashr_i64", [](i64 a, u32 b, Scc scc) { return with_scc(a >> (b & 63), scc); });
  // The field's offset stands in the low bits of the second source, its width from bit 16.
  add_scalar(rows, "s_bfe_u32", [](u32 a, u32 b, Scc scc) {
    const u32 width = b >> 16 & 0x7f;
    const u32 mask = width >= 32 ? ~0U : (1U << width) - 1;
    return with_scc((a >> (b & 31)) & mask, scc);
  });
  add_scalar(rows, "s_bfe_i32", [](i32 a, u32 b, Scc scc) {
    const u32 width = std::min(b >> 16 & 0x7f, 32U);
    const i64 shifted = i64{a} >> (b & 31);
    return with_scc(
        width == 0 ? 0 : static_cast<i32>(static_cast<i64>(static_cast<u64>(shifted) << (64 - width)) >> (64 - width)),
        scc);
  });
  add_scalar(rows, "s_bfe_u64", [](u64 a, u32 b, Scc scc) {
    const u32 width = b >> 16 & 0x7f;
    const u64 mask = width >= 64 ? ~u64{0} : (u64{1} << width) - 1;
    return with_scc((a >> (b & 63)) & mask, scc);
  });
  add_scalar(rows, "s_bfe_i64", [](i64 a, u32 b, Scc scc) {
    const u32 offset = b & 63, width = std::min(b >> 16 & 0x7f, 64 - offset);
    return with_scc(
        width == 0 ? i64{0} : static_cast<i64>(static_cast<u64>(a) << (64 - offset - width)) >> (64 - width), scc);
  });
  add_scalar(rows, "s_flbit_i32", [](i32 a) { return count_leading_sign_bits(a, 32); });
  add_scalar(rows, "s_flbit_i32_i64", [](i64 a) { return count_leading_sign_bits(a, 64); });
  add_scalar(rows, "s_sext_i32_i8", [](u32 a) { return i32{static_cast<int8_t>(a)}; });
  add_scalar(rows, "s_sext_i32_i16", [](u32 a) { return i32{static_cast<int16_t>(a)}; });
  add_scalar(rows, "s_pack_ll_b32_b16", [](u32 a, u32 b) { return (a & 0xffff) | b << 16; });
  add_scalar(rows, "s_pack_lh_b32_b16", [](u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); });
  add_scalar(rows, "s_pack_hh_b32_b16", [](u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); });
  add_scalar(rows, "s_movk_i32", [](u32 bits) { return immediate(bits); });
}

// Moves that depend on SCC, and single bits: the destination keeps what is not written.
void add_conditional_moves(Operations& rows) {
  add_row(rows, "s_cmov_b32", Unit::scalar, [](Wave& wave, const Instruction& instruction) {
    if (wave.read_scc()) wave.write_scalar(instruction.operands[0].index, wave.read_uniform(instruction.operands[1]));
  });
  add_row(rows, "s_cmov_b64", Unit::scalar,
          [](Wave& wave, const Instruction& instruction) {
            if (wave.read_scc())
              wave.write_uniform_pair(instruction.operands[0], wave.read_uniform_pair(instruction.operands[1]));
          },
          {Type::u64, Type::u64});
  add_row(rows, "s_cmovk_i32", Unit::scalar, [](Wave& wave, const Instruction& instruction) {
    if (wave.read_scc())
      wave.write_scalar(instruction.operands[0].index,
                        static_cast<u32>(immediate(wave.read_uniform(instruction.operands[1]))));
  });
  add_scalar_in_place(rows, "s_bitset0_b32", [](u32 a, u32 b) { return a & ~(1U << (b & 31)); });
  add_scalar_in_place(rows, "s_bitset1_b32", [](u32 a, u32 b) { return a | 1U << (b & 31); });
}

template <class T>
void add_compares(Operations& rows, const std::string& type) {
  add_scalar_in_place(rows, "s_cmp_eq_" + type, [](T a, T b, Scc scc) { scc.set(a == b); });
  add_scalar_in_place(rows, "s_cmp_lg_" + type, [](T a, T b, Scc scc) { scc.set(a != b); });
  add_scalar_in_place(rows, "s_cmp_gt_" + type, [](T a, T b, Scc scc) { scc.set(a > b); });
  add_scalar_in_place(rows, "s_cmp_ge_" + type, [](T a, T b, Scc scc) { scc.set(a >= b); });
  add_scalar_in_place(rows, "s_cmp_lt_" + type, [](T a, T b, Scc scc) { scc.set(a < b); });
  add_scalar_in_place(rows, "s_cmp_le_" + type, [](T a, T b, Scc scc) { scc.set(a <= b); });
}

// The immediate of the unsigned forms is zero-extended.
template <class T>
void add_immediate_compares(Operations& rows, const std::string& type) {
  auto widen = [](u32 bits) {
    return std::is_signed_v<T> ? static_cast<T>(immediate(bits)) : static_cast<T>(bits & 0xffff);
  };
  (void)widen;
  using Widen = decltype(widen);
  add_scalar_in_place(rows, "s_cmpk_eq_" + type, [](T a, u32 b, Scc scc) { scc.set(a == Widen()(b)); });
  add_scalar_in_place(rows, "s_cmpk_lg_" + type, [](T a, u32 b, Scc scc) { scc.set(a != Widen()(b)); });
  add_scalar_in_place(rows, "s_cmpk_gt_" + type, [](T a, u32 b, Scc scc) { scc.set(a > Widen()(b)); });
  add_scalar_in_place(rows, "s_cmpk_ge_" + type, [](T a, u32 b, Scc scc) { scc.set(a >= Widen()(b)); });
  add_scalar_in_place(rows, "s_cmpk_lt_" + type, [](T a, u32 b, Scc scc) { scc.set(a < Widen()(b)); });
  add_scalar_in_place(rows, "s_cmpk_le_" + type, [](T a, u32 b, Scc scc) { scc.set(a <= Widen()(b)); });
}

}  // namespace

void add_scalar_operations(Operations& rows) {
  add_arithmetic(rows);
  add_bit_operations(rows);
  add_conditional_moves(rows);
  add_compares<u32>(rows, "u32");
  add_compares<i32>(rows, "i32");
  add_scalar_in_place(rows, "s_cmp_eq_u64", [](u64 a, u64 b, Scc scc) { scc.set(a == b); });
  add_scalar_in_place(rows, "s_cmp_lg_u64", [](u64 a, u64 b, Scc scc) { scc.set(a != b); });
  add_immediate_compares<u32>(rows, "u32");
  add_immediate_compares<i32>(rows, "i32");
}

}  // namespace gfx942sim
