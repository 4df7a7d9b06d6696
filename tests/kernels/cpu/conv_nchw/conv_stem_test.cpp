#include "kernels/cpu/conv_nchw/conv_stem.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv/conv_direct_packing.h"
#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

// The input is a dense planar tensor of exactly its size, so that the address sanitizer sees a read outside it.
template <ConvShape shape, class Input = float>
void check(const ConvSizes& sizes, const Trial& trial = {}) {
  const Operands operands(shape, sizes, trial);
  std::vector<Input> input;
  for (float value : operands.input.values) input.push_back(Input(value));
  using Kernel = StemConvolution<shape, Input, float, PositionEpilogue<float>>;
  const std::vector<float> packed = pack_direct_weights(shape, lanes, 1, operands.weights);
  run_and_compare<Kernel, Input, float>(operands, input.data(), dense_view(shape.input_channels, sizes.input, 1),
                                        packed, trial);
}

TEST(ISA_SUITE(StemConvolution), VideoStem) {
  constexpr ConvShape shape{
      .input_channels = 3, .output_channels = 4 * lanes, .kernel = {3, 7, 7}, .stride = {1, 2, 2}};
  check<shape>(conv_sizes(shape, 2, {3, 14, 31}, {1, 3, 3}, {1, 3, 3}));
}

TEST(ISA_SUITE(StemConvolution), FlatKernelOnOneChannel) {
  constexpr ConvShape shape{.input_channels = 1, .output_channels = 16, .kernel = {9, 9, 1}};
  check<shape>(conv_sizes(shape, 1, {10, 11, 13}, {4, 4, 0}, {4, 4, 0}));
}

TEST(ISA_SUITE(StemConvolution), EveryWidthAroundTheTile) {
  constexpr ConvShape shape{.input_channels = 2, .output_channels = lanes + 5, .kernel = {1, 1, 3}};
  for (int64_t width = 1; width <= 30; ++width) check<shape>(conv_sizes(shape, 1, {1, 2, width}, {0, 0, 1}, {0, 0, 1}));
}

TEST(ISA_SUITE(StemConvolution), OddChannelsPadsDilationAndCrop) {
  constexpr ConvShape shape{.input_channels = 4,
                            .output_channels = 3 * lanes - 2,
                            .kernel = {2, 3, 4},
                            .stride = {2, 1, 3},
                            .dilation = {1, 2, 3}};
  check<shape>(conv_sizes(shape, 1, {6, 9, 29}, {1, -1, 4}, {0, 3, -2}));
}

TEST(ISA_SUITE(StemConvolution), GroupsOfWholeOutputBlocks) {
  constexpr ConvShape shape{.input_channels = 6, .output_channels = 4 * lanes, .groups = 2, .kernel = {1, 3, 3}};
  check<shape>(conv_sizes(shape, 1, {2, 5, 7}, {0, 1, 1}, {0, 1, 1}));
}

TEST(ISA_SUITE(StemConvolution), HalfInput) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = 2 * lanes, .kernel = {1, 3, 3}};
  check<shape, float16_t>(conv_sizes(shape, 1, {2, 5, 7}, {0, 1, 1}, {0, 1, 1}));
  check<shape, bfloat16_t>(conv_sizes(shape, 1, {2, 5, 7}, {0, 1, 1}, {0, 1, 1}));
}

}  // namespace
}  // namespace onnxc::kernels
