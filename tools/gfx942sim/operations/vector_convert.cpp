// Conversions between number formats.
#include <algorithm>
#include <cmath>

#include "gfx942sim/operations/float_functions.h"
#include "gfx942sim/operations/matrix/eight_bit_floats.h"
#include "gfx942sim/operations/vector_operation.h"

namespace gfx942sim {
namespace {

uint32_t pack(uint16_t low, uint16_t high) { return low | uint32_t{high} << 16; }
uint32_t pack(f16 low, f16 high) { return pack(bits_of_half(low), bits_of_half(high)); }

// A float in [-1, 1] or [0, 1] to an integer over its whole range.
template <class Integer>
uint16_t normalized(float value) {
  constexpr float limit = std::numeric_limits<Integer>::max();
  return static_cast<uint16_t>(
      saturate<Integer>(std::nearbyint(std::clamp(value, std::is_signed_v<Integer> ? -1.0F : 0.0F, 1.0F) * limit)));
}

template <int byte>
void add_byte_to_float(Operations& rows) {
  add_vector(rows, "v_cvt_f32_ubyte" + std::to_string(byte),
             [](uint32_t a) { return static_cast<float>(a >> (8 * byte) & 0xff); });
}

// Two floats to two 8-bit floats in one half of the destination, which op_sel chooses; the other half stays.
template <class Format>
void execute_pack_eight_bit(Wave& wave, const Instruction& instruction) {
  VectorContext context = begin_vector(wave, instruction);
  LaneValues<float> low, high;
  load_source(wave, instruction, context, instruction.operands[1], 0, false, low);
  load_source(wave, instruction, context, instruction.operands[2], 1, false, high);
  LaneWords words;
  for (int lane = 0; lane < wave_size; ++lane)
    words[lane] = uint32_t{Format::encode(low[lane])} | uint32_t{Format::encode(high[lane])} << 8;
  store_halves(wave, instruction, context, instruction.operands[0], words, true);
}

template <class Format>
void execute_unpack_eight_bit_pair(Wave& wave, const Instruction& instruction) {
  VectorContext context = begin_vector(wave, instruction);
  LaneWords source;
  load_words(wave, instruction, context, instruction.operands[1], 0, 0, true, false, source);
  for (int word = 0; word < 2; ++word) {
    LaneWords words;
    for (int lane = 0; lane < wave_size; ++lane)
      words[lane] = std::bit_cast<uint32_t>(Format::decode(static_cast<uint8_t>(source[lane] >> (8 * word))));
    wave.write_vector(instruction.operands[0], word, words, context.lanes);
  }
}

template <class Format>
void add_eight_bit_float(Operations& rows, const std::string& format) {
  add_vector(rows, "v_cvt_f32_" + format, [](uint32_t a) { return Format::decode(static_cast<uint8_t>(a)); });
  add_row(rows, "v_cvt_pk_" + format + "_f32", Unit::vector, &execute_pack_eight_bit<Format>,
          {Type::u32, Type::f32, Type::f32});
  add_row(rows, "v_cvt_pk_f32_" + format, Unit::vector, &execute_unpack_eight_bit_pair<Format>);
}

}  // namespace

void add_vector_convert_operations(Operations& rows) {
  add_vector(rows, "v_cvt_f32_f16", [](f16 a) { return static_cast<float>(a); });
  add_vector(rows, "v_cvt_f16_f32", [](float a) { return static_cast<f16>(a); });
  add_vector(rows, "v_cvt_f32_f64", [](double a) { return static_cast<float>(a); });
  add_vector(rows, "v_cvt_f64_f32", [](float a) { return static_cast<double>(a); });
  add_vector(rows, "v_cvt_f32_i32", [](int32_t a) { return static_cast<float>(a); });
  add_vector(rows, "v_cvt_f32_u32", [](uint32_t a) { return static_cast<float>(a); });
  add_vector(rows, "v_cvt_f64_i32", [](int32_t a) { return static_cast<double>(a); });
  add_vector(rows, "v_cvt_f64_u32", [](uint32_t a) { return static_cast<double>(a); });
  add_vector(rows, "v_cvt_i32_f32", [](float a) { return saturate<int32_t>(a); });
  add_vector(rows, "v_cvt_u32_f32", [](float a) { return saturate<uint32_t>(a); });
  add_vector(rows, "v_cvt_i32_f64", [](double a) { return saturate<int32_t>(a); });
  add_vector(rows, "v_cvt_u32_f64", [](double a) { return saturate<uint32_t>(a); });
  add_vector(rows, "v_cvt_f16_i16", [](int16_t a) { return static_cast<f16>(a); });
  add_vector(rows, "v_cvt_f16_u16", [](uint16_t a) { return static_cast<f16>(a); });
  add_vector(rows, "v_cvt_i16_f16", [](f16 a) { return saturate<int16_t>(a); });
  add_vector(rows, "v_cvt_u16_f16", [](f16 a) { return saturate<uint16_t>(a); });
  add_vector(rows, "v_cvt_norm_i16_f16", [](f16 a) { return normalized<int16_t>(widen(a)); });
  add_vector(rows, "v_cvt_norm_u16_f16", [](f16 a) { return normalized<uint16_t>(widen(a)); });
  add_vector(rows, "v_cvt_flr_i32_f32", [](float a) { return saturate<int32_t>(std::floor(a)); });
  add_vector(rows, "v_cvt_rpi_i32_f32", [](float a) { return saturate<int32_t>(std::floor(a + 0.5F)); });
  add_byte_to_float<0>(rows);
  add_byte_to_float<1>(rows);
  add_byte_to_float<2>(rows);
  add_byte_to_float<3>(rows);
  add_vector(rows, "v_cvt_pkrtz_f16_f32",
             [](float a, float b) { return pack(to_half_toward_zero(a), to_half_toward_zero(b)); });
  add_vector(rows, "v_cvt_pknorm_i16_f32",
             [](float a, float b) { return pack(normalized<int16_t>(a), normalized<int16_t>(b)); });
  add_vector(rows, "v_cvt_pknorm_u16_f32",
             [](float a, float b) { return pack(normalized<uint16_t>(a), normalized<uint16_t>(b)); });
  add_vector(rows, "v_cvt_pk_u16_u32", [](uint32_t a, uint32_t b) {
    return pack(static_cast<uint16_t>(std::min(a, 0xffffU)), static_cast<uint16_t>(std::min(b, 0xffffU)));
  });
  add_vector(rows, "v_cvt_pk_i16_i32", [](int32_t a, int32_t b) {
    return pack(static_cast<uint16_t>(std::clamp(a, -32768, 32767)),
                static_cast<uint16_t>(std::clamp(b, -32768, 32767)));
  });
  add_vector<preserving_high>(rows, "v_pack_b32_f16", [](uint16_t a, uint16_t b) { return pack(a, b); });
  add_vector(rows, "v_cvt_pk_u8_f32", [](float a, uint32_t position, uint32_t old) {
    const uint32_t shift = 8 * (position & 3);
    return (old & ~(0xffU << shift)) | static_cast<uint32_t>(saturate<uint8_t>(a)) << shift;
  });
  add_eight_bit_float<Fp8>(rows, "fp8");
  add_eight_bit_float<Bf8>(rows, "bf8");
}

}  // namespace gfx942sim
