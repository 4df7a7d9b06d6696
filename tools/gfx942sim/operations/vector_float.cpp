// Floating-point arithmetic of the vector unit.
#include <algorithm>
#include <cmath>

#include "gfx942sim/operations/division_functions.h"
#include "gfx942sim/operations/float_functions.h"
#include "gfx942sim/operations/two_over_pi.h"
#include "gfx942sim/operations/vector_operation.h"

namespace gfx942sim {
namespace {

// These functions of the hardware take denormals for zero and give none.
template <class F>
auto flushing(F function) {
  return [](float x) { return flush_denormal(F()(flush_denormal(x))); };
}

// The scale that division_scale took away, put back after a fused multiply-add; the flag is VCC's.
template <class T>
void execute_division_fmas(Wave& wave, const Instruction& instruction) {
  VectorContext context = begin_vector(wave, instruction);
  LaneValues<T> a, b, c, result;
  load_source(wave, instruction, context, instruction.operands[1], 0, false, a);
  load_source(wave, instruction, context, instruction.operands[2], 1, false, b);
  load_source(wave, instruction, context, instruction.operands[3], 2, false, c);
  const uint64_t scaled =
      wave.read_mask({.kind = OperandKind::scalar, .index = vcc_register, .registers = 2}, context.lanes);
  for (int lane = 0; lane < wave_size; ++lane)
    result[lane] =
        (scaled >> lane & 1) ? division_fmas(a[lane], b[lane], c[lane]) : std::fma(a[lane], b[lane], c[lane]);
  store_result(wave, instruction, context, result, false);
}

template <class T>
void add_arithmetic(Operations& rows, const std::string& type) {
  add_vector(rows, "v_add_" + type, [](T a, T b) { return static_cast<T>(a + b); });
  add_vector(rows, "v_mul_" + type, [](T a, T b) { return static_cast<T>(a * b); });
  add_vector(rows, "v_min_" + type, [](T a, T b) { return minimum(a, b); });
  add_vector(rows, "v_max_" + type, [](T a, T b) { return maximum(a, b); });
  add_vector<preserving_high>(rows, "v_fma_" + type, [](T a, T b, T c) { return fused_multiply_add(a, b, c); });
  add_vector<preserving_high>(rows, "v_div_fixup_" + type, [](T a, T b, T c) { return division_fixup(a, b, c); });
  add_vector(rows, "v_floor_" + type, [](T a) { return static_cast<T>(std::floor(static_cast<double>(a))); });
  add_vector(rows, "v_ceil_" + type, [](T a) { return static_cast<T>(std::ceil(static_cast<double>(a))); });
  add_vector(rows, "v_trunc_" + type, [](T a) { return static_cast<T>(std::trunc(static_cast<double>(a))); });
  add_vector(rows, "v_rndne_" + type, [](T a) { return static_cast<T>(std::nearbyint(static_cast<double>(a))); });
  add_vector(rows, "v_frexp_mant_" + type, [](T a) {
    int exponent;
    return static_cast<T>(std::frexp(static_cast<double>(a), &exponent));
  });
}

// x - floor(x), as the ISA guide has it: of an infinity, and of NaN, that is NaN. LLVM's fract() builds on it.
template <class T>
T fraction(T value) {
  if (!std::isfinite(static_cast<double>(value)))
    return is_nan(value) ? quiet(value) : static_cast<T>(std::numeric_limits<double>::quiet_NaN());
  // Below 1 even if the subtraction would round up to it.
  constexpr T below_one = sizeof(T) == 8   ? static_cast<T>(0x1.fffffffffffffp-1)
                          : sizeof(T) == 4 ? static_cast<T>(0x1.fffffep-1F)
                                           : static_cast<T>(0x1.ffcp-1F);
  return minimum(static_cast<T>(static_cast<double>(value) - std::floor(static_cast<double>(value))), below_one);
}

template <class T>
int32_t frexp_exponent(T value) {
  int exponent = 0;
  if (std::isfinite(static_cast<double>(value)) && value != 0) std::frexp(static_cast<double>(value), &exponent);
  return exponent;
}

void add_short_arithmetic(Operations& rows) {
  add_vector(rows, "v_sub_f32", [](float a, float b) { return a - b; });
  add_vector(rows, "v_subrev_f32", [](float a, float b) { return b - a; });
  add_vector(rows, "v_sub_f16", [](f16 a, f16 b) { return static_cast<f16>(a - b); });
  add_vector(rows, "v_subrev_f16", [](f16 a, f16 b) { return static_cast<f16>(b - a); });
  add_vector<accumulating>(rows, "v_fmac_f32", [](float a, float b, float c) { return std::fma(a, b, c); });
  add_vector<accumulating>(rows, "v_fmac_f64", [](double a, double b, double c) { return std::fma(a, b, c); });
  for (const char* name : {"v_fmaak_f32", "v_fmamk_f32"})
    add_vector(rows, name, [](float a, float b, float c) { return std::fma(a, b, c); });
  // Zero times anything is zero.
  add_vector(rows, "v_mul_legacy_f32", [](float a, float b) { return a == 0 || b == 0 ? 0.0F : a * b; });
  add_vector(rows, "v_min3_f32", [](float a, float b, float c) { return minimum(minimum(a, b), c); });
  add_vector(rows, "v_max3_f32", [](float a, float b, float c) { return maximum(maximum(a, b), c); });
  add_vector(rows, "v_med3_f32", [](float a, float b, float c) { return median(a, b, c); });
  add_vector<preserving_high>(rows, "v_min3_f16", [](f16 a, f16 b, f16 c) { return minimum(minimum(a, b), c); });
  add_vector<preserving_high>(rows, "v_max3_f16", [](f16 a, f16 b, f16 c) { return maximum(maximum(a, b), c); });
  add_vector<preserving_high>(rows, "v_med3_f16", [](f16 a, f16 b, f16 c) { return median(a, b, c); });
  add_vector(rows, "v_fract_f32", [](float a) { return fraction(a); });
  add_vector(rows, "v_fract_f16", [](f16 a) { return fraction(a); });
  add_vector(rows, "v_fract_f64", [](double a) { return fraction(a); });
  add_vector(rows, "v_frexp_exp_i32_f32", [](float a) { return frexp_exponent(a); });
  add_vector(rows, "v_frexp_exp_i32_f64", [](double a) { return frexp_exponent(a); });
  add_vector(rows, "v_frexp_exp_i16_f16", [](f16 a) { return static_cast<int16_t>(frexp_exponent(a)); });
  add_vector(rows, "v_ldexp_f32", [](float a, int32_t b) { return ldexp_of(a, b); });
  add_vector(rows, "v_ldexp_f64", [](double a, int32_t b) { return ldexp_of(a, b); });
  add_vector(rows, "v_ldexp_f16", [](f16 a, int16_t b) { return ldexp_of(a, b); });
  add_vector(rows, "v_div_scale_f32", [](float a, float b, float c) { return division_scale(a, b, c); });
  add_vector(rows, "v_div_scale_f64", [](double a, double b, double c) { return division_scale(a, b, c); });
  add_vector(rows, "v_trig_preop_f64", [](double a, uint32_t b) { return segment_of_two_over_pi(a, b); });
  add_row(rows, "v_div_fmas_f32", Unit::vector, &execute_division_fmas<float>,
          {Type::f32, Type::f32, Type::f32, Type::f32});
  add_row(rows, "v_div_fmas_f64", Unit::vector, &execute_division_fmas<double>,
          {Type::f64, Type::f64, Type::f64, Type::f64});
}

// The hardware's approximations are within 1 unit in the last place (2 for some): the correctly rounded value is one of
// what it may give.
void add_approximations(Operations& rows) {
  auto reciprocal = [](float x) { return static_cast<float>(1.0 / static_cast<double>(x)); };
  auto reciprocal_root = [](float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); };
  auto root = [](float x) { return std::sqrt(x); };
  auto power_of_two = [](float x) { return static_cast<float>(std::exp2(static_cast<double>(x))); };
  auto logarithm = [](float x) { return static_cast<float>(std::log2(static_cast<double>(x))); };
  // Angles are in turns.
  auto sine = [](float x) { return static_cast<float>(std::sin(2 * M_PI * static_cast<double>(x))); };
  auto cosine = [](float x) { return static_cast<float>(std::cos(2 * M_PI * static_cast<double>(x))); };
  add_transcendental(rows, "v_rcp_f32", flushing(reciprocal));
  add_transcendental(rows, "v_rcp_iflag_f32", flushing(reciprocal));
  add_transcendental(rows, "v_rsq_f32", flushing(reciprocal_root));
  add_transcendental(rows, "v_sqrt_f32", flushing(root));
  add_transcendental(rows, "v_exp_f32", flushing(power_of_two));
  add_transcendental(rows, "v_log_f32", flushing(logarithm));
  add_transcendental(rows, "v_sin_f32", flushing(sine));
  add_transcendental(rows, "v_cos_f32", flushing(cosine));
  add_transcendental(rows, "v_rcp_f64", [](double x) { return 1.0 / x; });
  add_transcendental(rows, "v_rsq_f64", [](double x) { return 1.0 / std::sqrt(x); });
  add_transcendental(rows, "v_sqrt_f64", [](double x) { return std::sqrt(x); });
  add_transcendental(rows, "v_rcp_f16", [](f16 x) { return static_cast<f16>(1.0 / static_cast<double>(x)); });
  add_transcendental(rows, "v_rsq_f16",
                     [](f16 x) { return static_cast<f16>(1.0 / std::sqrt(static_cast<double>(x))); });
  add_transcendental(rows, "v_sqrt_f16", [](f16 x) { return static_cast<f16>(std::sqrt(static_cast<double>(x))); });
  add_transcendental(rows, "v_exp_f16", [](f16 x) { return static_cast<f16>(std::exp2(static_cast<double>(x))); });
  add_transcendental(rows, "v_log_f16", [](f16 x) { return static_cast<f16>(std::log2(static_cast<double>(x))); });
}

}  // namespace

void add_vector_float_operations(Operations& rows) {
  add_arithmetic<float>(rows, "f32");
  add_arithmetic<double>(rows, "f64");
  add_arithmetic<f16>(rows, "f16");
  add_short_arithmetic(rows);
  add_approximations(rows);
}

}  // namespace gfx942sim
