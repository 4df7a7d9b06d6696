// Int8Convolution: exact sums for every width, channel count, stride, dilation and pad; zero points of both types.
#include "kernels/cpu/conv_int8/conv_int8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "kernels/cpu/conv_int8/byte_harness.h"
#include "kernels/cpu/conv_int8/conv_int8_packing.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

template <ConvShape shape, class Input>
void check(const ConvSizes& sizes, Input zero_point = Input(3)) {
  check_random_bytes<Int8Convolution<shape, Input, float, OfBytes>, shape>(
      sizes, zero_point, [&](const std::vector<int8_t>& weights) {
        std::vector<uint8_t> packed = pack_int8_weights(shape, lanes, as_unsigned_zero(zero_point), weights);
        EXPECT_EQ(std::ssize(packed), (Int8Packing{shape, lanes}.size()));
        return packed;
      });
}

TEST(ISA_SUITE(Int8Convolution), EveryWidthAroundATile) {
  constexpr ConvShape shape{.input_channels = 5, .output_channels = 2 * lanes + 3, .kernel = {1, 1, 3}};
  for (const int64_t width : {1, 2, 3, 4, 5, 7, 11, 12, 13, 23, 24, 25, 50}) {
    check<shape, uint8_t>(conv_sizes(shape, 1, {1, 1, width}, {0, 0, 1}, {0, 0, 1}));
    check<shape, int8_t>(conv_sizes(shape, 1, {1, 1, width}, {0, 0, 1}, {0, 0, 1}));
  }
}

TEST(ISA_SUITE(Int8Convolution), ChannelsAroundAQuadABlockAndAChunk) {
  constexpr ConvShape one{.input_channels = 1, .output_channels = 1, .kernel = {3, 3, 3}};
  constexpr ConvShape quads{.input_channels = lanes + 6, .output_channels = lanes + 1, .kernel = {1, 3, 3}};
  constexpr ConvShape whole{.input_channels = 2 * lanes, .output_channels = 4 * lanes, .kernel = {3, 3, 3}};
  constexpr ConvShape odd{.input_channels = 3 * lanes - 1, .output_channels = 3 * lanes, .kernel = {3, 1, 1}};
  check<one, uint8_t>(conv_sizes(one, 2, {3, 4, 5}, {1, 1, 1}, {1, 1, 1}));
  check<quads, int8_t>(conv_sizes(quads, 1, {2, 5, 7}, {0, 1, 1}, {0, 1, 1}));
  check<whole, uint8_t>(conv_sizes(whole, 1, {3, 7, 7}, {1, 1, 1}, {1, 1, 1}));
  check<odd, int8_t>(conv_sizes(odd, 2, {4, 3, 5}, {1, 0, 0}, {1, 0, 0}));
}

TEST(ISA_SUITE(Int8Convolution), ZeroPointsAtTheEndsOfBothTypes) {
  constexpr ConvShape shape{.input_channels = 6, .output_channels = 5, .kernel = {3, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {3, 4, 6}, {1, 1, 1}, {1, 1, 1});
  for (const int zero_point : {0, 1, 128, 255}) check<shape, uint8_t>(sizes, static_cast<uint8_t>(zero_point));
  for (const int zero_point : {-128, -1, 0, 127}) check<shape, int8_t>(sizes, static_cast<int8_t>(zero_point));
}

TEST(ISA_SUITE(Int8Convolution), StridesTakenApartIntoPhases) {
  constexpr ConvShape halves{.input_channels = 8, .output_channels = lanes, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  constexpr ConvShape mixed{.input_channels = 6, .output_channels = 20, .kernel = {3, 2, 5}, .stride = {2, 3, 2}};
  constexpr ConvShape skips{.input_channels = 35, .output_channels = lanes, .stride = {2, 2, 2}};
  constexpr ConvShape both{
      .input_channels = 4, .output_channels = lanes, .kernel = {3, 3, 3}, .stride = {1, 2, 3}, .dilation = {2, 1, 2}};
  check<halves, uint8_t>(conv_sizes(halves, 2, {6, 9, 12}, {1, 1, 1}, {1, 1, 1}));
  check<mixed, int8_t>(conv_sizes(mixed, 1, {7, 11, 13}, {1, 0, 2}, {0, 1, 3}));
  check<skips, uint8_t>(conv_sizes(skips, 1, {5, 7, 10}, {0, 0, 0}, {0, 0, 0}));
  check<both, int8_t>(conv_sizes(both, 1, {9, 8, 14}, {4, 1, 2}, {2, 2, 1}));
}

TEST(ISA_SUITE(Int8Convolution), DilationsAndPadsThatDifferByAxisOrCrop) {
  constexpr ConvShape dilated{.input_channels = 6, .output_channels = 7, .kernel = {2, 3, 3}, .dilation = {3, 2, 4}};
  constexpr ConvShape plain{.input_channels = 3, .output_channels = lanes, .kernel = {3, 3, 3}};
  check<dilated, uint8_t>(conv_sizes(dilated, 1, {6, 7, 12}, {2, 3, 4}, {1, 0, 5}));
  check<plain, int8_t>(conv_sizes(plain, 1, {7, 8, 9}, {-1, -2, 1}, {1, -1, -3}));
  check<plain, uint8_t>(conv_sizes(plain, 1, {1, 2, 3}, {2, 4, 20}, {2, 3, 5}));
  check<plain, int8_t>(conv_sizes(plain, 1, {3, 3, 4}, {1, 1, 5}, {1, 1, 0}));
}

// Groups of one channel and of several blocks, equal and unequal sides.
TEST(ISA_SUITE(Int8Convolution), Groups) {
  const auto check_both = []<ConvShape shape>() {
    check<shape, uint8_t>(conv_sizes(shape, 1, {2, 3, lanes + 5}, {1, 1, 1}, {1, 1, 1}));
    check<shape, int8_t>(conv_sizes(shape, 2, {3, 4, 5}, {1, 1, 1}, {1, 1, 1}), int8_t{-7});
  };
  const auto in_groups = [](int64_t groups, int64_t inputs, int64_t outputs) constexpr {
    return ConvShape{groups * inputs, groups * outputs, groups, {3, 3, 3}};
  };
  check_both.template operator()<in_groups(2, 24, 24)>();
  check_both.template operator()<in_groups(3, 20, 20)>();
  check_both.template operator()<in_groups(4, 12, 12)>();
  check_both.template operator()<in_groups(lanes + 3, 1, 1)>();
  check_both.template operator()<in_groups(lanes + 3, 2, 4)>();
  check_both.template operator()<in_groups(7, 3, 5)>();
  check_both.template operator()<in_groups(5, 7, 1)>();
  check_both.template operator()<in_groups(3, lanes, 2 * lanes + 5)>();
  check_both.template operator()<in_groups(2, 2 * lanes, 4 * lanes)>();
}

// Strips of some planes, and of some rows of one.
TEST(ISA_SUITE(Int8Convolution), SeveralTasks) {
  constexpr ConvShape shape{.input_channels = 4, .output_channels = lanes, .kernel = {3, 3, 3}};
  const ConvSizes planes = conv_sizes(shape, 2, {19, 5, 6}, {1, 1, 1}, {1, 1, 1});
  EXPECT_GT(int8_geometry({shape, lanes}, planes).plane_ranges, 1);
  check<shape, uint8_t>(planes);
  constexpr ConvShape flat{.input_channels = 4, .output_channels = lanes, .kernel = {1, 3, 3}};
  const ConvSizes rows = conv_sizes(flat, 1, {1, 150, 40}, {0, 1, 1}, {0, 1, 1});
  EXPECT_GT(int8_geometry({flat, lanes}, rows).row_ranges, 1);
  check<flat, int8_t>(rows);
}

// Round, clamp and shift to the zero point: what QLinearConv asks of its epilogue.
struct Requantize {
  vec_int32 operator()(vec_int32 sum, const Position&) const {
    return saturated<uint8_t>(__builtin_elementwise_roundeven(to_float(sum) * splat(0.03125f)) + splat(100.0f));
  }
};

TEST(ISA_SUITE(Int8Convolution), StoresBytes) {
  constexpr ConvShape shape{.input_channels = 6, .output_channels = lanes + 3, .kernel = {1, 1, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {1, 2, 9}, {0, 0, 1}, {0, 0, 1});
  PlainTensor input(1, shape.input_channels, sizes.input);
  fill_with_bytes<uint8_t>(input.values, 1);
  std::vector<float> weights(static_cast<size_t>(shape.output_channels * shape.input_channels * 3));
  fill_with_bytes<int8_t>(weights, 2);
  std::vector<int8_t> small(weights.begin(), weights.end());
  ByteTensor<uint8_t> bytes(input);
  const PlainTensor sums = reference_convolution(shape, sizes, input, weights);
  PlainTensor nothing(1, shape.output_channels, sizes.output);
  ByteTensor<uint8_t> output(nothing);
  std::ranges::fill(output.storage, uint8_t{77});
  const std::vector<uint8_t> packed = pack_int8_weights(shape, lanes, 0, small);
  run_tasks_backwards<Int8Convolution<shape, uint8_t, uint8_t, Requantize>>(
      {{bytes.data(), packed.data(), output.data(), sizes, bytes.form.view, output.form.view}, 0}, Requantize{});
  int64_t clamped = 0;
  for (int64_t c = 0; c < 2 * lanes; ++c)
    for_each_voxel(sizes.output, [&](int64_t d, int64_t h, int64_t w) {
      const double wanted = c < shape.output_channels ? std::nearbyint(sums.at(0, c, d, h, w) / 32.0) + 100.0 : 0.0;
      clamped += wanted < 0.0 || wanted > 255.0 ? 1 : 0;
      EXPECT_EQ(output.data()[output.form.offset(0, c, d, h, w)], std::clamp(wanted, 0.0, 255.0));
    });
  EXPECT_GT(clamped, 0);
  std::vector<bool> is_inside(output.storage.size(), false);
  for (int64_t c = 0; c < 2 * lanes; ++c)
    for_each_voxel(sizes.output, [&](int64_t d, int64_t h, int64_t w) {
      is_inside[static_cast<size_t>(output.form.offset(0, c, d, h, w) + output.form.view.channel_block_stride)] = true;
    });
  for (size_t i = 0; i < is_inside.size(); ++i)
    if (!is_inside[i]) EXPECT_EQ(output.storage[i], 77) << "a byte outside the view was written";
}

// As cast<T>(float): to zero, saturating, NaN to 0.
TEST(ISA_SUITE(Int8Convolution), SaturatesFloats) {
  const auto converted = []<class T>(T, float value) { return saturated<T>(splat(value))[lanes - 1]; };
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const auto& [value, as_int8, as_uint8, as_int32] : {std::tuple(1.9f, 1, 1, 1),
                                                           {-1.9f, -1, 0, -1},
                                                           {127.0f, 127, 127, 127},
                                                           {128.5f, 127, 128, 128},
                                                           {-128.9f, -128, 0, -128},
                                                           {-129.0f, -128, 0, -129},
                                                           {255.9f, 127, 255, 255},
                                                           {256.0f, 127, 255, 256},
                                                           {2147483520.0f, 127, 255, 2147483520},
                                                           {2147483648.0f, 127, 255, INT32_MAX},
                                                           {infinity, 127, 255, INT32_MAX},
                                                           {-2147483648.0f, -128, 0, INT32_MIN},
                                                           {-infinity, -128, 0, INT32_MIN},
                                                           {nan, 0, 0, 0}}) {
    EXPECT_EQ(converted(int8_t{}, value), as_int8) << value;
    EXPECT_EQ(converted(uint8_t{}, value), as_uint8) << value;
    EXPECT_EQ(converted(int32_t{}, value), as_int32) << value;
  }
}

TEST(ISA_SUITE(Int8Convolution), NothingToDo) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = lanes};
  using Kernel = Int8Convolution<shape, uint8_t, uint8_t, Requantize>;
  EXPECT_EQ(Kernel::work(conv_sizes(shape, 1, {0, 4, 4}, {}, {})).tasks, 0);
  EXPECT_EQ(Kernel::work(conv_sizes(shape, 0, {4, 4, 4}, {}, {})).tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
