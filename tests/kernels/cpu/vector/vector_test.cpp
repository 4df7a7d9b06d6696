// Compiled once for each instruction set (tests/CMakeLists.txt); the suites' names carry the number of lanes.
#include "kernels/cpu/vector/vector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

float from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }

// Rounding by the definition: of the two neighbours the nearer, of two equally near the even one.
uint16_t bfloat16_by_definition(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t low = bits & 0xffff0000u;
  const uint32_t rest = bits & 0xffffu;
  const bool up = rest > 0x8000u || (rest == 0x8000u && ((low >> 16) & 1u));
  return static_cast<uint16_t>((low >> 16) + (up ? 1 : 0));
}

TEST(ISA_SUITE(Vector), Bfloat16RoundsToNearestEvenInScalarAndVector) {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1.0f,
                               from_bits(0x3f808000),
                               from_bits(0x3f818000),
                               from_bits(0x3f808001),
                               from_bits(0x7f7fffff),
                               infinity,
                               -infinity,
                               from_bits(0x00000001),
                               from_bits(0x80008000)};
  uint32_t state = 12345;
  for (int i = 0; i < 4096; ++i) {
    state = state * 1664525u + 1013904223u;
    if (std::isfinite(from_bits(state))) values.push_back(from_bits(state));
  }
  while (values.size() % lanes) values.push_back(1.5f);
  for (size_t i = 0; i < values.size(); i += lanes) {
    bfloat16_t stored[lanes];
    store(stored, load(&values[i]));
    for (int lane = 0; lane < lanes; ++lane) {
      EXPECT_EQ(stored[lane].bits, bfloat16_by_definition(values[i + lane])) << values[i + lane];
      EXPECT_EQ(bfloat16_t(values[i + lane]).bits, stored[lane].bits);
    }
  }
}

TEST(ISA_SUITE(Vector), NanSurvivesStorageInBothHalfTypes) {
  // A NaN whose payload is only in the dropped bits must not become infinity, and a full mantissa must not wrap to a
  // number.
  for (uint32_t bits : {0x7fc00000u, 0x7f800001u, 0x7fffffffu, 0xffffffffu, 0xff80ffffu}) {
    bfloat16_t brain[lanes];
    float16_t half[lanes];
    store(brain, splat(from_bits(bits)));
    store(half, splat(from_bits(bits)));
    EXPECT_TRUE(std::isnan(static_cast<float>(brain[lanes - 1])));
    EXPECT_TRUE(std::isnan(static_cast<float>(bfloat16_t(from_bits(bits)))));
    EXPECT_TRUE(std::isnan(static_cast<float>(half[lanes - 1])));
    EXPECT_EQ(brain[0].bits >> 15, bits >> 31);
  }
}

TEST(ISA_SUITE(Vector), LoadsConvertExactly) {
  float16_t half[lanes];
  bfloat16_t brain[lanes];
  for (int i = 0; i < lanes; ++i) {
    half[i] = static_cast<float16_t>(i - 2.5f);
    brain[i] = bfloat16_t(i - 2.5f);
  }
  for (int i = 0; i < lanes; ++i) {
    EXPECT_EQ(load(half)[i], i - 2.5f);
    EXPECT_EQ(load(brain)[i], i - 2.5f);
    EXPECT_EQ(load_splat(&half[i])[lanes - 1], i - 2.5f);
  }
}

template <class T>
void partial_access_touches_only_its_elements() {
  for (int count = 0; count <= lanes; ++count) {
    // Exactly `count` elements are allocated, so that the address sanitizer sees one too many.
    std::vector<T> source(static_cast<size_t>(count)), destination(lanes + 1, T(7.0f));
    for (int i = 0; i < count; ++i) source[i] = T(i + 1.0f);
    const vec loaded = load_partial(source.data(), count);
    for (int i = 0; i < lanes; ++i) EXPECT_EQ(loaded[i], i < count ? i + 1.0f : 0.0f);
    store_partial(destination.data(), splat(3.0f), count);
    for (int i = 0; i <= lanes; ++i) EXPECT_EQ(static_cast<float>(destination[i]), i < count ? 3.0f : 7.0f);
  }
}

TEST(ISA_SUITE(Vector), PartialAccessTouchesOnlyItsElements) {
  partial_access_touches_only_its_elements<float>();
  partial_access_touches_only_its_elements<float16_t>();
  partial_access_touches_only_its_elements<bfloat16_t>();
}

TEST(ISA_SUITE(Vector), KeepLanesZeroesNan) {
  const vec kept = keep_lanes(first_lanes(3), splat(nan));
  EXPECT_TRUE(std::isnan(kept[2]));
  EXPECT_EQ(kept[3], 0.0f);
  EXPECT_EQ(keep_lanes(first_lanes(-1), splat(1.0f))[0], 0.0f);
  EXPECT_EQ(keep_lanes(first_lanes(lanes + 5), splat(1.0f))[lanes - 1], 1.0f);
}

TEST(ISA_SUITE(Vector), MaximumAndMinimumPropagateNanFromEitherSide) {
  for (auto [a, b] : {std::pair{nan, 1.0f}, {1.0f, nan}}) {
    EXPECT_TRUE(std::isnan(maximum(a, b)));
    EXPECT_TRUE(std::isnan(minimum(a, b)));
    EXPECT_TRUE(std::isnan(maximum(splat(a), splat(b))[0]));
    EXPECT_TRUE(std::isnan(minimum(splat(a), splat(b))[0]));
  }
  EXPECT_TRUE(std::isnan(maximum(vec(0.0f), splat(nan))[0]));
  EXPECT_EQ(maximum(splat(-1.0f), splat(2.0f))[1], 2.0f);
  EXPECT_EQ(minimum(-infinity, 2.0f), -infinity);
}

TEST(ISA_SUITE(Vector), FmaRoundsOnce) {
  const float a = 1.0f + 0x1p-23f;
  EXPECT_EQ(fma(splat(a), splat(a), splat(-1.0f))[0], std::fma(a, a, -1.0f));
  EXPECT_EQ(fma(a, a, -1.0f), std::fma(a, a, -1.0f));
}

TEST(ISA_SUITE(Vector), SumLanes) {
  EXPECT_EQ(sum_lanes(__builtin_convertvector(lane_indices(), vec)), lanes * (lanes - 1) / 2);
}

}  // namespace
}  // namespace onnxc::kernels
