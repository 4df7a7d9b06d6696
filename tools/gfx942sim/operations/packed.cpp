// VOP3P: two values in one register (or in two), dot products, and mixed-precision multiply-adds.
#include <algorithm>
#include <cmath>

#include "gfx942sim/operations/float_functions.h"
#include "gfx942sim/operations/vector_operation.h"

namespace gfx942sim {
namespace {

// A half of each source, as op_sel (for the low result) or op_sel_hi (for the high one) names it, with its sign changed
// if neg_lo or neg_hi asks.
void load_halves(Wave& wave, const Instruction& instruction, VectorContext& context, int source, bool high_result,
                 LaneValues<uint16_t>& out, bool has_sign) {
  const uint8_t selection = high_result ? instruction.op_sel_hi : instruction.op_sel;
  const uint8_t negation = high_result ? instruction.neg_hi : instruction.neg_lo;
  const bool upper = selection >> source & 1;
  const Operand& operand = instruction.operands[static_cast<size_t>(1 + source)];
  const bool negate = has_sign && (negation >> source & 1);
  auto take = [&](uint32_t word) {
    const auto half = static_cast<uint16_t>(upper ? word >> 16 : word);
    return static_cast<uint16_t>(negate ? half ^ 0x8000 : half);
  };
  if (operand.kind == OperandKind::vector || operand.kind == OperandKind::accumulator) {
    const LaneWords& words = wave.read_vector(operand, 0, context.lanes, upper ? 0b1100 : 0b0011);
    for (int lane = 0; lane < wave_size; ++lane) out[lane] = take(words[lane]);
  } else {
    out.fill(take(wave.read_uniform(operand)));
  }
}

template <class T, class F, size_t... source>
void packed_half(Wave& wave, const Instruction& instruction, VectorContext& context, bool high,
                 LaneValues<uint16_t>& out, std::index_sequence<source...>) {
  LaneValues<uint16_t> sources[sizeof...(source)];
  (load_halves(wave, instruction, context, source, high, sources[source], is_float_type<T>), ...);
  for (int lane = 0; lane < wave_size; ++lane) {
    T value = F()(std::bit_cast<T>(sources[source][lane])...);
    if constexpr (is_float_type<T>) {
      if (instruction.clamp) value = static_cast<T>(modify_result(instruction, static_cast<double>(value)));
    }
    out[lane] = std::bit_cast<uint16_t>(value);
  }
}

// Pairs of 16-bit values in one register.
template <class F>
void execute_packed_halves(Wave& wave, const Instruction& instruction) {
  using Call = Signature<F>;
  using T = typename Call::Result;
  if (!is_float_type<T> && instruction.clamp) wave.fail(-1, "clamps integers, which is not known to the simulator");
  VectorContext context = begin_vector(wave, instruction);
  LaneValues<uint16_t> low, high;
  packed_half<T, F>(wave, instruction, context, false, low, std::make_index_sequence<Call::count>());
  packed_half<T, F>(wave, instruction, context, true, high, std::make_index_sequence<Call::count>());
  LaneWords words;
  for (int lane = 0; lane < wave_size; ++lane) words[lane] = low[lane] | uint32_t{high[lane]} << 16;
  wave.write_vector(instruction.operands[0], 0, words, context.lanes);
}

template <class F>
void add_packed_halves(Operations& rows, std::string name, F) {
  const bool is_float = is_float_type<typename Signature<F>::Result>;
  const Type type = is_float ? Type::packed_f16 : Type::packed_i16;
  add_row(rows, std::move(name), Unit::vector, &execute_packed_halves<F>, {type, type, type, type});
}

// Pairs of floats in two registers; op_sel and op_sel_hi choose a register of each source.
template <class F>
void execute_packed_floats(Wave& wave, const Instruction& instruction) {
  constexpr size_t count = Signature<F>::count;
  const VectorContext context = begin_vector(wave, instruction);
  LaneWords results[2];
  // Compilers put a lone float into a pair whose other half is of no use: a half that was never written gives such a
  // half.
  LaneBits unwritten[2] = {};
  for (int word = 0; word < 2; ++word) {
    const uint8_t selection = word ? instruction.op_sel_hi : instruction.op_sel;
    const uint8_t negation = word ? instruction.neg_hi : instruction.neg_lo;
    LaneValues<float> sources[count];
    for (size_t i = 0; i < count; ++i) {
      const Operand& operand = instruction.operands[1 + i];
      const int half = selection >> i & 1;
      if (operand.kind == OperandKind::vector || operand.kind == OperandKind::accumulator) {
        const VectorRegister& source = wave.peek_vector(operand, half);
        for (const LaneBits written : source.written) unwritten[word] |= context.lanes & ~written;
        for (int lane = 0; lane < wave_size; ++lane) sources[i][lane] = std::bit_cast<float>(source.lanes[lane]);
      } else {
        // A constant has one word, which serves both.
        sources[i].fill(
            std::bit_cast<float>(wave.read_uniform(operand, operand.kind == OperandKind::constant ? 0 : half)));
      }
      if (negation >> i & 1)
        for (float& value : sources[i]) value = -value;
    }
    for (int lane = 0; lane < wave_size; ++lane) {
      float value;
      if constexpr (count == 2)
        value = F()(sources[0][lane], sources[1][lane]);
      else
        value = F()(sources[0][lane], sources[1][lane], sources[2][lane]);
      if (instruction.clamp) value = static_cast<float>(modify_result(instruction, value));
      results[word][lane] = std::bit_cast<uint32_t>(value);
    }
  }
  for (int word = 0; word < 2; ++word) {
    wave.write_vector(instruction.operands[0], word, results[word], context.lanes);
    wave.mark_unwritten(instruction.operands[0], word, unwritten[word]);
  }
}

template <class F>
void add_packed_floats(Operations& rows, std::string name, F) {
  add_row(rows, std::move(name), Unit::vector, &execute_packed_floats<F>,
          {Type::packed_f32, Type::packed_f32, Type::packed_f32, Type::packed_f32});
}

// v_fma_mix: each source is a float, or the half of a register that op_sel names where op_sel_hi is set. neg_hi takes
// the absolute value.
void load_mixed(Wave& wave, const Instruction& instruction, VectorContext& context, int source,
                LaneValues<float>& out) {
  const Operand& operand = instruction.operands[static_cast<size_t>(1 + source)];
  if (instruction.op_sel_hi >> source & 1) {
    LaneWords words;
    load_words(wave, instruction, context, operand, source, 0, true, false, words);
    for (int lane = 0; lane < wave_size; ++lane) out[lane] = widen(half_bits(static_cast<uint16_t>(words[lane])));
  } else {
    LaneWords words;
    load_words(wave, instruction, context, operand, 3, 0, false, false, words);
    for (int lane = 0; lane < wave_size; ++lane) out[lane] = std::bit_cast<float>(words[lane]);
  }
  if (operand.absolute || (instruction.neg_hi >> source & 1))
    for (float& value : out) value = std::fabs(value);
  if (operand.negate || (instruction.neg_lo >> source & 1))
    for (float& value : out) value = -value;
}

enum class MixedResult { single, low_half, high_half };

template <MixedResult kind>
void execute_mixed(Wave& wave, const Instruction& instruction) {
  VectorContext context = begin_vector(wave, instruction);
  LaneValues<float> a, b, c;
  load_mixed(wave, instruction, context, 0, a);
  load_mixed(wave, instruction, context, 1, b);
  load_mixed(wave, instruction, context, 2, c);
  LaneWords words;
  for (int lane = 0; lane < wave_size; ++lane) {
    const float exact = std::fma(a[lane], b[lane], c[lane]);
    const float value = instruction.clamp ? static_cast<float>(modify_result(instruction, exact)) : exact;
    if constexpr (kind == MixedResult::single)
      words[lane] = std::bit_cast<uint32_t>(value);
    else
      words[lane] = uint32_t{bits_of_half(static_cast<f16>(value))} << (kind == MixedResult::high_half ? 16 : 0);
  }
  constexpr uint8_t bytes = kind == MixedResult::single     ? whole_register
                            : kind == MixedResult::low_half ? 0b0011
                                                            : 0b1100;
  wave.write_vector(instruction.operands[0], 0, words, context.lanes, bytes);
}

float dot_of_halves(uint32_t a, uint32_t b, float addend) {
  const double low = static_cast<double>(half_bits(static_cast<uint16_t>(a))) *
                     static_cast<double>(half_bits(static_cast<uint16_t>(b)));
  const double high = static_cast<double>(half_bits(static_cast<uint16_t>(a >> 16))) *
                      static_cast<double>(half_bits(static_cast<uint16_t>(b >> 16)));
  return static_cast<float>(low + high + static_cast<double>(addend));
}

template <class Element>
int32_t dot_of_integers(uint32_t a, uint32_t b, int32_t addend) {
  constexpr int width = 8 * sizeof(Element);
  int64_t sum = addend;
  for (int shift = 0; shift < 32; shift += width)
    sum += int64_t{static_cast<Element>(a >> shift)} * static_cast<Element>(b >> shift);
  return static_cast<int32_t>(sum);
}

// Eight integers of four bits.
template <bool is_signed>
int32_t dot_of_quarters(uint32_t a, uint32_t b, int32_t addend) {
  auto element = [](uint32_t word, int shift) {
    const auto bits = static_cast<int32_t>(word >> shift & 15);
    return is_signed && bits >= 8 ? bits - 16 : bits;
  };
  int64_t sum = addend;
  for (int shift = 0; shift < 32; shift += 4) sum += int64_t{element(a, shift)} * element(b, shift);
  return static_cast<int32_t>(sum);
}

void add_dot_products(Operations& rows) {
  add_vector(rows, "v_dot2_f32_f16", [](uint32_t a, uint32_t b, float c) { return dot_of_halves(a, b, c); });
  add_vector<accumulating>(rows, "v_dot2c_f32_f16",
                           [](uint32_t a, uint32_t b, float c) { return dot_of_halves(a, b, c); });
  auto signed_bytes = [](uint32_t a, uint32_t b, int32_t c) { return dot_of_integers<int8_t>(a, b, c); };
  auto unsigned_bytes = [](uint32_t a, uint32_t b, int32_t c) { return dot_of_integers<uint8_t>(a, b, c); };
  auto signed_halves = [](uint32_t a, uint32_t b, int32_t c) { return dot_of_integers<int16_t>(a, b, c); };
  auto unsigned_halves = [](uint32_t a, uint32_t b, int32_t c) { return dot_of_integers<uint16_t>(a, b, c); };
  add_vector(rows, "v_dot4_i32_i8", signed_bytes);
  add_vector(rows, "v_dot4_u32_u8", unsigned_bytes);
  add_vector(rows, "v_dot2_i32_i16", signed_halves);
  add_vector(rows, "v_dot2_u32_u16", unsigned_halves);
  add_vector(rows, "v_dot8_i32_i4", [](uint32_t a, uint32_t b, int32_t c) { return dot_of_quarters<true>(a, b, c); });
  add_vector(rows, "v_dot8_u32_u4", [](uint32_t a, uint32_t b, int32_t c) { return dot_of_quarters<false>(a, b, c); });
  add_vector<accumulating>(rows, "v_dot4c_i32_i8", signed_bytes);
  add_vector<accumulating>(rows, "v_dot2c_i32_i16", signed_halves);
}

}  // namespace

void add_packed_operations(Operations& rows) {
  using u16 = uint16_t;
  using i16 = int16_t;
  add_packed_halves(rows, "v_pk_add_f16", [](f16 a, f16 b) { return static_cast<f16>(a + b); });
  add_packed_halves(rows, "v_pk_mul_f16", [](f16 a, f16 b) { return static_cast<f16>(a * b); });
  add_packed_halves(rows, "v_pk_fma_f16", [](f16 a, f16 b, f16 c) { return fused_multiply_add(a, b, c); });
  add_packed_halves(rows, "v_pk_min_f16", [](f16 a, f16 b) { return minimum(a, b); });
  add_packed_halves(rows, "v_pk_max_f16", [](f16 a, f16 b) { return maximum(a, b); });
  add_packed_halves(rows, "v_pk_add_u16", [](u16 a, u16 b) { return static_cast<u16>(a + b); });
  add_packed_halves(rows, "v_pk_add_i16", [](u16 a, u16 b) { return static_cast<u16>(a + b); });
  add_packed_halves(rows, "v_pk_sub_u16", [](u16 a, u16 b) { return static_cast<u16>(a - b); });
  add_packed_halves(rows, "v_pk_sub_i16", [](u16 a, u16 b) { return static_cast<u16>(a - b); });
  add_packed_halves(rows, "v_pk_mul_lo_u16", [](u16 a, u16 b) { return static_cast<u16>(uint32_t{a} * b); });
  add_packed_halves(rows, "v_pk_mad_u16", [](u16 a, u16 b, u16 c) { return static_cast<u16>(uint32_t{a} * b + c); });
  add_packed_halves(rows, "v_pk_mad_i16", [](u16 a, u16 b, u16 c) { return static_cast<u16>(uint32_t{a} * b + c); });
  add_packed_halves(rows, "v_pk_min_u16", [](u16 a, u16 b) { return std::min(a, b); });
  add_packed_halves(rows, "v_pk_max_u16", [](u16 a, u16 b) { return std::max(a, b); });
  add_packed_halves(rows, "v_pk_min_i16", [](i16 a, i16 b) { return std::min(a, b); });
  add_packed_halves(rows, "v_pk_max_i16", [](i16 a, i16 b) { return std::max(a, b); });
  add_packed_halves(rows, "v_pk_lshlrev_b16", [](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); });
  add_packed_halves(rows, "v_pk_lshrrev_b16", [](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); });
  add_packed_halves(rows, "v_pk_ashrrev_i16", [](i16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); });
  add_packed_floats(rows, "v_pk_add_f32", [](float a, float b) { return a + b; });
  add_packed_floats(rows, "v_pk_mul_f32", [](float a, float b) { return a * b; });
  add_packed_floats(rows, "v_pk_fma_f32", [](float a, float b, float c) { return std::fma(a, b, c); });
  const std::initializer_list<Type> mixed = {Type::f32, Type::f32, Type::f32, Type::f32};
  add_row(rows, "v_fma_mix_f32", Unit::vector, &execute_mixed<MixedResult::single>, mixed);
  add_row(rows, "v_fma_mixlo_f16", Unit::vector, &execute_mixed<MixedResult::low_half>, mixed);
  add_row(rows, "v_fma_mixhi_f16", Unit::vector, &execute_mixed<MixedResult::high_half>, mixed);
  add_dot_products(rows);
}

}  // namespace gfx942sim
