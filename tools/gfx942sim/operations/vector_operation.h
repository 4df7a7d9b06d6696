// How a lambda over the values of one lane becomes a vector operation.
//
//   add_vector(rows, "v_add_f32", [](float a, float b) { return a + b; });
//
// The lambda's types say how operands are read, with their modifiers (negation, SDWA, DPP, op_sel), and how the result
// is stored; inactive lanes are computed and thrown away.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gfx942sim/code/instruction.h"
#include "gfx942sim/operations/operation_table.h"
#include "gfx942sim/wave/wave.h"

namespace gfx942sim {

using f16 = _Float16;

// One bit of a lane mask: a carry, a comparison's result, a condition.
struct LaneFlag {
  bool set = false;
};

// A value, and a flag that goes into a lane mask: the second destination.
template <class T>
struct WithFlag {
  T value{};
  bool flag = false;
};

// A sum of integers before it is cut to T: it wraps around, or is held within T by clamp.
template <class T>
struct ExactSum {
  int64_t value = 0;
};

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, uint16_t>)
    return Type::u16;
  else if constexpr (std::is_same_v<T, int16_t>)
    return Type::i16;
  else if constexpr (std::is_same_v<T, f16>)
    return Type::f16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return Type::u32;
  else if constexpr (std::is_same_v<T, int32_t>)
    return Type::i32;
  else if constexpr (std::is_same_v<T, float>)
    return Type::f32;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return Type::u64;
  else if constexpr (std::is_same_v<T, int64_t>)
    return Type::i64;
  else if constexpr (std::is_same_v<T, double>)
    return Type::f64;
  else {
    static_assert(std::is_same_v<T, LaneFlag>);
    return Type::lane_mask;
  }
}

template <class T>
inline constexpr bool is_float_type = std::is_same_v<T, f16> || std::is_same_v<T, float> || std::is_same_v<T, double>;

template <class T>
struct FlaggedTraits {
  using Value = T;
  static constexpr bool has_flag = false, is_exact = false;
};
template <class T>
struct FlaggedTraits<WithFlag<T>> {
  using Value = T;
  static constexpr bool has_flag = true, is_exact = false;
};
template <class T>
struct FlaggedTraits<ExactSum<T>> {
  using Value = T;
  static constexpr bool has_flag = false, is_exact = true;
};

template <class T>
T cut(ExactSum<T> sum, bool clamp) {
  using Limits = std::numeric_limits<T>;
  return static_cast<T>(clamp ? std::clamp<int64_t>(sum.value, Limits::min(), Limits::max()) : sum.value);
}

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> {
  using Result = R;
  using Arguments = std::tuple<A...>;
  static constexpr size_t count = sizeof...(A);
};

// The state of one execution besides its operands.
struct VectorContext {
  LaneBits lanes = 0;      // that are written
  LaneBits unwritten = 0;  // lanes of copied sources that were never written
  bool has_dpp = false;
  std::array<int8_t, wave_size> dpp_source;  // the lane that each lane reads, or -1
};

// A fault if the instruction has fewer operands than `operands`.
VectorContext begin_vector(Wave& wave, const Instruction& instruction, size_t operands = 0);

// The raw words of a source in all lanes, DPP, SDWA and op_sel applied. `source` counts from 0. For 16-bit types the
// value stands in the low half. With `copies`, lanes that were never written are noted instead of being a fault.
void load_words(Wave& wave, const Instruction& instruction, VectorContext& context, const Operand& operand, int source,
                int word, bool half, bool copies, LaneWords& out);

void store_words(Wave& wave, const Instruction& instruction, const VectorContext& context, const Operand& operand,
                 int word, const LaneWords& values);
// A result of 16 bits: into the half that op_sel asks for, or with zeros above it.
void store_halves(Wave& wave, const Instruction& instruction, const VectorContext& context, const Operand& operand,
                  const LaneWords& values, bool preserves_high);

// The modifiers of a result: omod and clamp.
double modify_result(const Instruction& instruction, double value);

template <class T>
T flush_denormal(T value) {
  const T magnitude = value < 0 ? -value : value;
  if constexpr (std::is_same_v<T, double>)
    return magnitude < 0x1p-1022 ? value * 0.0 : value;
  else if constexpr (std::is_same_v<T, float>)
    return magnitude < 0x1p-126F ? value * 0.0F : value;
  else
    return magnitude < static_cast<T>(0x1p-14F) ? value * static_cast<T>(0) : value;
}

template <class T>
bool flushes_denormals(const Wave& wave) {
  if constexpr (std::is_same_v<T, float>)
    return wave.mode.flush_f32();
  else if constexpr (is_float_type<T>)
    return wave.mode.flush_f16_f64();
  else
    return false;
}

template <class T>
using LaneValues = std::array<T, wave_size>;

// The modifiers |x| and -x of a source, whose sign is its highest bit.
template <class Bits>
void set_signs(const Operand& operand, LaneValues<Bits>& values) {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  if (operand.absolute)
    for (Bits& value : values) value = static_cast<Bits>(value & ~sign);
  if (operand.negate)
    for (Bits& value : values) value = static_cast<Bits>(value ^ sign);
}

// The values of a source in all lanes. Defined for each of the types once: within every operation they would be most of
// its code.
template <class T>
void load_source(Wave& wave, const Instruction& instruction, VectorContext& context, const Operand& operand, int source,
                 bool copies, LaneValues<T>& out, bool copies_upper = false);

template <class T>
void store_result(Wave& wave, const Instruction& instruction, const VectorContext& context, LaneValues<T>& values,
                  bool preserves_high, bool is_clamped = false);

struct VectorTraits {
  bool accumulates = false;     // the last argument is the destination's value before
  bool copies = false;          // moves bits: a register that was never written may pass through
  bool preserves_high = false;  // a result of 16 bits keeps the upper half
  // The upper half of a source of 64 bits reaches only the upper half of the result, which compilers leave undefined if
  // they need 32 bits: it may be what was never written, and then so is the result's.
  bool carries_upward = false;
};

// Marks results of sources that were never written.
void mark_results(Wave& wave, const Instruction& instruction, const VectorContext& context, const VectorTraits& traits);

template <class F, VectorTraits traits>
void execute_vector(Wave& wave, const Instruction& instruction) {
  using Call = Signature<F>;
  using Result = typename Call::Result;
  using Flagged = FlaggedTraits<Result>;
  constexpr size_t destinations = Flagged::has_flag ? 2 : 1;
  constexpr size_t operand_count = destinations + Call::count - (traits.accumulates ? 1 : 0);
  VectorContext context = begin_vector(wave, instruction, operand_count);
  LaneValues<typename Flagged::Value> values;
  uint64_t flags = 0;
  [&]<size_t... source>(std::index_sequence<source...>) {
    std::tuple<LaneValues<std::tuple_element_t<source, typename Call::Arguments>>...> sources;
    (load_source(wave, instruction, context,
                 traits.accumulates && source + 1 == Call::count ? instruction.operands[0]
                                                                 : instruction.operands[destinations + source],
                 static_cast<int>(source), traits.copies, std::get<source>(sources), traits.carries_upward),
     ...);
    for (int lane = 0; lane < wave_size; ++lane) {
      const Result result = F()(std::get<source>(sources)[lane]...);
      if constexpr (Flagged::has_flag) {
        values[lane] = result.value;
        flags |= uint64_t{result.flag} << lane;
      } else if constexpr (Flagged::is_exact) {
        values[lane] = cut(result, instruction.clamp);
      } else {
        values[lane] = result;
      }
    }
  }(std::make_index_sequence<Call::count>());
  store_result(wave, instruction, context, values, traits.preserves_high, Flagged::is_exact);
  if constexpr (Flagged::has_flag) wave.write_uniform_pair(instruction.operands[1], flags & context.lanes);
  if constexpr (traits.copies || traits.carries_upward) mark_results(wave, instruction, context, traits);
}

template <class F>
void add_vector_row(Operations& rows, std::string name, Unit unit, void (*execute)(Wave&, const Instruction&),
                    int cycles) {
  using Call = Signature<F>;
  using Flagged = FlaggedTraits<typename Call::Result>;
  [&]<size_t... i>(std::index_sequence<i...>) {
    if constexpr (Flagged::has_flag)
      add_row(rows, std::move(name), unit, execute,
              {type_of<typename Flagged::Value>(), Type::lane_mask,
               type_of<std::tuple_element_t<i, typename Call::Arguments>>()...},
              cycles);
    else
      add_row(rows, std::move(name), unit, execute,
              {type_of<typename Flagged::Value>(), type_of<std::tuple_element_t<i, typename Call::Arguments>>()...},
              cycles);
  }(std::make_index_sequence<Call::count>());
}

template <VectorTraits traits = VectorTraits{}, class F>
void add_vector(Operations& rows, std::string name, F, int cycles = 4) {
  add_vector_row<F>(rows, std::move(name), Unit::vector, &execute_vector<F, traits>, cycles);
}

inline constexpr VectorTraits accumulating{.accumulates = true};
inline constexpr VectorTraits copying{.copies = true};
inline constexpr VectorTraits preserving_high{.preserves_high = true};

// Transcendental functions run at a quarter of the rate.
template <class F>
void add_transcendental(Operations& rows, std::string name, F) {
  add_vector_row<F>(rows, std::move(name), Unit::transcendental, &execute_vector<F, VectorTraits{}>, 16);
}

}  // namespace gfx942sim
