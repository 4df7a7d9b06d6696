#include "kernels/cpu/vector/trigonometry.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/isa_suite.h"
#include "kernels/cpu/vector/all_exponents.h"

namespace onnxc::kernels {
namespace {

TEST(ISA_SUITE(Trigonometry), Sine) { CHECK_ALL_EXPONENTS(sine, std::sin, 0.51); }
TEST(ISA_SUITE(Trigonometry), Cosine) { CHECK_ALL_EXPONENTS(cosine, std::cos, 0.51); }
TEST(ISA_SUITE(Trigonometry), Tangent) { CHECK_ALL_EXPONENTS(tangent, std::tan, 0.51); }
TEST(ISA_SUITE(Trigonometry), ArcSine) { CHECK_ALL_EXPONENTS(arc_sine, std::asin, 0.51); }
TEST(ISA_SUITE(Trigonometry), ArcCosine) { CHECK_ALL_EXPONENTS(arc_cosine, std::acos, 0.51); }
TEST(ISA_SUITE(Trigonometry), ArcTangent) { CHECK_ALL_EXPONENTS(arc_tangent, std::atan, 0.51); }
TEST(ISA_SUITE(Trigonometry), HyperbolicSine) { CHECK_ALL_EXPONENTS(hyperbolic_sine, std::sinh, 0.51); }
TEST(ISA_SUITE(Trigonometry), HyperbolicCosine) { CHECK_ALL_EXPONENTS(hyperbolic_cosine, std::cosh, 0.51); }
TEST(ISA_SUITE(Trigonometry), ArcHyperbolicSine) { CHECK_ALL_EXPONENTS(arc_hyperbolic_sine, std::asinh, 0.51); }
TEST(ISA_SUITE(Trigonometry), ArcHyperbolicCosine) { CHECK_ALL_EXPONENTS(arc_hyperbolic_cosine, std::acosh, 0.51); }
TEST(ISA_SUITE(Trigonometry), ArcHyperbolicTangent) { CHECK_ALL_EXPONENTS(arc_hyperbolic_tangent, std::atanh, 0.51); }

// The floats next to multiples of pi/2, and the one that is nearest to such a multiple of all.
TEST(ISA_SUITE(Trigonometry), NextToMultiplesOfHalfPi) {
  const auto check = [](float x) {
    const auto wide = static_cast<double>(x);
    ASSERT_LE(error_in_ulp(sine(x), std::sin(wide)), 1.0) << x;
    ASSERT_LE(error_in_ulp(cosine(x), std::cos(wide)), 1.0) << x;
    ASSERT_LE(error_in_ulp(tangent(x), std::tan(wide)), 1.0) << x;
  };
  for (int i = 1; i < 100000; ++i) check(static_cast<float>(i * 1.5707963267948966));
  for (int i = 0; i < 100; ++i) check(static_cast<float>(std::ldexp(1.5707963267948966, i)));
  check(16367173.0f * 0x1p72f);
}

TEST(ISA_SUITE(Trigonometry), SignedZerosStay) {
  for (float zero : {0.0f, -0.0f}) {
    EXPECT_TRUE(same_bits(sine(zero), zero));
    EXPECT_TRUE(same_bits(tangent(zero), zero));
    EXPECT_TRUE(same_bits(arc_sine(zero), zero));
    EXPECT_TRUE(same_bits(arc_tangent(zero), zero));
    EXPECT_TRUE(same_bits(hyperbolic_sine(zero), zero));
    EXPECT_TRUE(same_bits(arc_hyperbolic_sine(zero), zero));
    EXPECT_TRUE(same_bits(arc_hyperbolic_tangent(zero), zero));
  }
  EXPECT_TRUE(same_bits(arc_cosine(1.0f), 0.0f));
}

}  // namespace
}  // namespace onnxc::kernels
