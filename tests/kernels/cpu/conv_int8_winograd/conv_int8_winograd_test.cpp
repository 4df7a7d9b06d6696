// Int8WinogradConvolution: exact sums, equal to those of the definition, for every tile, size, channel count and pad.
#include "kernels/cpu/conv_int8_winograd/conv_int8_winograd.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cpu/conv_int8/byte_harness.h"
#include "kernels/cpu/conv_int8_winograd/conv_int8_winograd_packing.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

constexpr ConvShape three(int64_t inputs, int64_t outputs) { return {inputs, outputs, 1, {3, 3, 3}}; }
constexpr ConvShape plane(int64_t inputs, int64_t outputs) { return {inputs, outputs, 1, {1, 3, 3}}; }

template <ConvShape shape, Axes tile, class Input>
using Kernel = Int8WinogradConvolution<shape, Input, float, OfBytes, tile>;

template <ConvShape shape, Axes tile, class Input>
auto packing_for(Input zero_point) {
  return [zero_point](const std::vector<int8_t>& weights) {
    const Int8WinogradPacking packing{shape, tile, lanes};
    EXPECT_TRUE(int8_winograd_is_exact(packing, weights));
    const auto signed_zero = static_cast<int8_t>(static_cast<int>(zero_point) - (std::is_signed_v<Input> ? 0 : 128));
    std::vector<uint8_t> packed = pack_int8_winograd_weights(packing, signed_zero, weights);
    EXPECT_EQ(std::ssize(packed), packing.size());
    return packed;
  };
}

template <ConvShape shape, Axes tile, class Input>
void check(const ConvSizes& sizes, Input zero_point, const PlainTensor& input, const std::vector<float>& weights) {
  check_byte_convolution<Kernel<shape, tile, Input>, shape>(sizes, zero_point, input, weights,
                                                            packing_for<shape, tile>(zero_point));
}

template <ConvShape shape, Axes tile, class Input>
void check_random(const ConvSizes& sizes, Input zero_point = Input(3)) {
  check_random_bytes<Kernel<shape, tile, Input>, shape>(sizes, zero_point, packing_for<shape, tile>(zero_point));
}

constexpr Axes padded{1, 1, 1}, padded_plane{0, 1, 1};

TEST(ISA_SUITE(Int8Winograd), EverySizeAroundATile) {
  constexpr ConvShape shape = three(6, lanes + 3);
  for (const int64_t size : {1, 2, 3, 4, 5, 6, 7, 9}) {
    check_random<shape, Axes{2, 4, 4}, uint8_t>(conv_sizes(shape, 1, {size, 3, 5}, padded, padded));
    check_random<shape, Axes{2, 4, 4}, int8_t>(conv_sizes(shape, 1, {2, size, 6}, padded, padded));
    check_random<shape, Axes{2, 4, 4}, uint8_t>(conv_sizes(shape, 1, {3, 5, size}, padded, padded));
    check_random<shape, Axes{2, 2, 2}, int8_t>(conv_sizes(shape, 2, {size, 3, 4}, padded, padded));
    check_random<shape, Axes{2, 2, 4}, uint8_t>(conv_sizes(shape, 1, {2, size, size + 1}, padded, padded));
  }
}

TEST(ISA_SUITE(Int8Winograd), ChannelsAroundAPairABlockAndAChunk) {
  constexpr Axes tile{2, 4, 4};
  constexpr ConvShape one = three(1, 1), odd = three(lanes - 1, 2 * lanes), more = three(lanes + 1, 2 * lanes + 1),
                      whole = three(2 * lanes, 4 * lanes);
  check_random<one, tile, uint8_t>(conv_sizes(one, 2, {3, 4, 5}, padded, padded));
  check_random<odd, tile, int8_t>(conv_sizes(odd, 1, {4, 5, 7}, padded, padded));
  check_random<more, tile, uint8_t>(conv_sizes(more, 1, {2, 7, 7}, padded, padded));
  check_random<whole, tile, int8_t>(conv_sizes(whole, 1, {3, 9, 6}, padded, padded));
}

TEST(ISA_SUITE(Int8Winograd), PlanesOfOneTap) {
  constexpr ConvShape shape = plane(5, lanes + 2);
  check_random<shape, Axes{1, 4, 4}, uint8_t>(conv_sizes(shape, 2, {3, 9, 10}, padded_plane, padded_plane));
  check_random<shape, Axes{1, 4, 4}, int8_t>(conv_sizes(shape, 1, {1, 4, 13}, padded_plane, padded_plane));
  check_random<shape, Axes{1, 2, 2}, uint8_t>(conv_sizes(shape, 1, {2, 5, 7}, padded_plane, padded_plane));
}

TEST(ISA_SUITE(Int8Winograd), ZeroPointsAtTheEndsOfBothTypes) {
  constexpr ConvShape shape = three(6, 5);
  const ConvSizes sizes = conv_sizes(shape, 1, {3, 4, 6}, padded, padded);
  for (const int zero_point : {0, 1, 128, 255})
    check_random<shape, Axes{2, 4, 4}, uint8_t>(sizes, static_cast<uint8_t>(zero_point));
  for (const int zero_point : {-128, -1, 0, 127})
    check_random<shape, Axes{2, 4, 4}, int8_t>(sizes, static_cast<int8_t>(zero_point));
}

TEST(ISA_SUITE(Int8Winograd), PadsThatDifferByAxisOrCrop) {
  constexpr ConvShape shape = three(3, lanes);
  constexpr Axes tile{2, 4, 4};
  check_random<shape, tile, int8_t>(conv_sizes(shape, 1, {7, 8, 9}, {-1, -2, 1}, {1, -1, -3}));
  check_random<shape, tile, uint8_t>(conv_sizes(shape, 1, {1, 2, 3}, {2, 4, 20}, {2, 3, 5}));
  check_random<shape, tile, int8_t>(conv_sizes(shape, 1, {3, 3, 4}, {1, 1, 5}, {1, 1, 0}));
}

// Ranges of tiles, and splits of the output channels.
TEST(ISA_SUITE(Int8Winograd), SeveralTasks) {
  constexpr ConvShape shape = three(4, lanes);
  const ConvSizes large = conv_sizes(shape, 2, {9, 17, 31}, padded, padded);
  EXPECT_GT(int8_winograd_geometry({shape, {2, 4, 4}, lanes}, large).ranges, 1);
  check_random<shape, Axes{2, 4, 4}, uint8_t>(large);
  constexpr ConvShape wide = three(6, 9 * lanes);
  const ConvSizes small = conv_sizes(wide, 1, {2, 4, 5}, padded, padded);
  EXPECT_GT(int8_winograd_geometry({wide, {2, 4, 4}, lanes}, small).splits, 1);
  check_random<wide, Axes{2, 4, 4}, int8_t>(small);
}

// The largest magnitudes that int16 and the sums must hold. Each input and weight is at an end of its range. All of a
// filter's taps are of one sign, so that the sum is just below the limit, or of signs as the points' factors have them.
TEST(ISA_SUITE(Int8Winograd), LargestMagnitudes) {
  constexpr ConvShape shape = three(38, 4);
  constexpr Axes tile{2, 4, 4};
  constexpr Int8WinogradPacking packing{shape, tile, lanes};
  const ConvSizes sizes = conv_sizes(shape, 1, {4, 6, 6}, padded, padded);
  PlainTensor input(1, shape.input_channels, sizes.input);
  std::vector<float> weights;
  for (int64_t output = 0; output < shape.output_channels; ++output)
    for (int64_t channel = 0; channel < shape.input_channels; ++channel)
      for (int64_t tap = 0; tap < 27; ++tap) {
        const bool is_negative = output == 1 || (output == 2 && tap % 2 == 1) || (output == 3 && tap % 3 == 1);
        weights.push_back(is_negative ? -127.0f : 127.0f);
      }
  const std::vector<int8_t> small(weights.begin(), weights.end());
  EXPECT_LT(packing.sum_limit(), 128 * 127 * 27 * 39) << "one channel more would be too many";
  for (int pattern = 0; pattern < 8; ++pattern) {
    for (size_t i = 0; i < input.values.size(); ++i) {
      const size_t w = i % 6, h = i / 6 % 6, d = i / 36 % 4;
      const bool is_odd =
          (((pattern & 1) != 0 ? w : 0) + ((pattern & 2) != 0 ? h : 0) + ((pattern & 4) != 0 ? d : 0)) % 2;
      input.values[i] = is_odd ? 127.0f : -128.0f;
    }
    check<shape, tile, int8_t>(sizes, int8_t{0}, input, weights);
  }
}

TEST(ISA_SUITE(Int8Winograd), TheTransformsAreBoundedAsTheirAxesSay) {
  for (const int64_t outputs : {1, 2, 4}) {
    const Int8WinogradAxis axis{outputs};
    int64_t most = 0;
    for (int64_t point = 0; point < axis.points(); ++point) {
      const Axes weights = axis.weights(point);
      most = std::max(most, std::abs(weights.d) + std::abs(weights.h) + std::abs(weights.w));
    }
    EXPECT_EQ(most, axis.weight_growth());
  }
}

TEST(ISA_SUITE(Int8Winograd), SumsThatMayNotFitAreRefused) {
  constexpr ConvShape shape = three(39, 2);
  std::vector<int8_t> weights(static_cast<size_t>(shape.input_channels * 2 * 27), 1);
  EXPECT_TRUE(int8_winograd_is_exact({shape, {2, 4, 4}, lanes}, weights));
  std::ranges::fill(weights.end() - 39 * 27, weights.end(), int8_t{127});
  EXPECT_FALSE(int8_winograd_is_exact({shape, {2, 4, 4}, lanes}, weights));
  EXPECT_TRUE(int8_winograd_is_exact({shape, {2, 2, 2}, lanes}, weights));
}

TEST(ISA_SUITE(Int8Winograd), NothingToDo) {
  constexpr ConvShape shape = three(3, lanes);
  EXPECT_EQ(int8_winograd_geometry({shape, {2, 4, 4}, lanes}, conv_sizes(shape, 1, {0, 4, 4}, {}, {})).work.tasks, 0);
  EXPECT_EQ(int8_winograd_geometry({shape, {2, 4, 4}, lanes}, conv_sizes(shape, 0, {4, 4, 4}, {}, {})).work.tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
