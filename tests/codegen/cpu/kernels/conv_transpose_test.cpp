#include "codegen/cpu/kernels/conv_transpose.h"

#include <gtest/gtest.h>

#include "codegen/cpu/calls/packing_transpose.h"
#include "codegen/cpu/kernels/conv_harness.h"
#include "codegen/cpu/kernels/conv_transpose_packed.h"
#include "codegen/cpu/kernels/isa_suite.h"

namespace onnxc::kernels {
namespace {

// The definition, in double: every input element is spread over the outputs.
PlainTensor reference_transposed(const ConvShape& shape, const ConvSizes& sizes, const PlainTensor& input,
                                 const std::vector<float>& weights) {
  PlainTensor output(sizes.batch, shape.output_channels, sizes.output);
  std::vector<double> sums(output.values.size(), 0.0);
  const int64_t inputs = shape.group_input_channels(), outputs = shape.group_output_channels();
  for (int64_t n = 0; n < sizes.batch; ++n)
    for (int64_t i = 0; i < shape.input_channels; ++i)
      for (int64_t o = 0; o < outputs; ++o)
        for_each_voxel(sizes.input, [&](int64_t d, int64_t h, int64_t w) {
          for_each_voxel(shape.kernel, [&](int64_t kd, int64_t kh, int64_t kw) {
            const int64_t od = d * shape.stride.d - sizes.begin_pads.d + kd * shape.dilation.d;
            const int64_t oh = h * shape.stride.h - sizes.begin_pads.h + kh * shape.dilation.h;
            const int64_t ow = w * shape.stride.w - sizes.begin_pads.w + kw * shape.dilation.w;
            if (od < 0 || od >= sizes.output.d || oh < 0 || oh >= sizes.output.h || ow < 0 || ow >= sizes.output.w)
              return;
            const int64_t tap = (kd * shape.kernel.h + kh) * shape.kernel.w + kw;
            sums[static_cast<size_t>(output.index(n, i / inputs * outputs + o, od, oh, ow))] +=
                static_cast<double>(input.at(n, i, d, h, w)) *
                weights[static_cast<size_t>((i * outputs + o) * shape.kernel.product() + tap)];
          });
        });
  for (size_t i = 0; i < sums.size(); ++i) output.values[i] = static_cast<float>(sums[i]);
  return output;
}

ConvSizes transposed_sizes(const ConvShape& shape, int64_t batch, const Axes& input, const Axes& begin_pads,
                           const Axes& end_pads, const Axes& output_padding = {0, 0, 0}) {
  auto extent = [](int64_t in, int64_t begin, int64_t end, int64_t kernel, int64_t stride, int64_t dilation,
                   int64_t extra) { return (in - 1) * stride + dilation * (kernel - 1) + 1 + extra - begin - end; };
  return {
      batch,
      input,
      {extent(input.d, begin_pads.d, end_pads.d, shape.kernel.d, shape.stride.d, shape.dilation.d, output_padding.d),
       extent(input.h, begin_pads.h, end_pads.h, shape.kernel.h, shape.stride.h, shape.dilation.h, output_padding.h),
       extent(input.w, begin_pads.w, end_pads.w, shape.kernel.w, shape.stride.w, shape.dilation.w, output_padding.w)},
      begin_pads};
}

// Compares a kernel with the definition for one shape and size, with every operand a view with gaps.
template <template <ConvShape, class, class, class> class Kernel, ConvShape shape, class Input, class Output>
void check_kernel(const ConvSizes& sizes, const Trial& trial, decltype(pack_transposed_weights)& pack) {
  const Operands operands(shape, sizes, trial, reference_transposed);
  BlockedTensor<Input> input(sizes.batch, shape.input_channels, sizes.input);
  input.fill_from(operands.input);
  run_and_compare<Kernel<shape, Input, Output, PositionEpilogue<Output>>, Input, Output>(
      operands, input.data(), input.view, pack(shape, lanes, operands.weights), trial);
}

template <ConvShape shape, class Input = float, class Output = float>
void check(const ConvSizes& sizes, const Trial& trial = {}) {
  check_kernel<TransposedConvolution, shape, Input, Output>(sizes, trial, pack_transposed_weights);
}

template <ConvShape shape, class Input = float, class Output = float>
void check_packed(const ConvSizes& sizes, const Trial& trial = {}) {
  check_kernel<PackedTransposedConvolution, shape, Input, Output>(sizes, trial, pack_packed_transposed_weights);
}

TEST(ISA_SUITE(PackedTransposedConvolution), LastLayersOfSegmentationNetworks) {
  constexpr ConvShape unet{.input_channels = lanes + 3, .output_channels = 3, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  constexpr ConvShape equal{.input_channels = lanes, .output_channels = 2, .kernel = {2, 2, 2}, .stride = {2, 2, 2}};
  check_packed<unet>(transposed_sizes(unet, 2, {3, 4, 7}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}));
  for (int64_t width = 1; width <= 15; ++width)
    check_packed<equal>(transposed_sizes(equal, 1, {2, 3, width}, {0, 0, 0}, {0, 0, 0}));
}

TEST(ISA_SUITE(PackedTransposedConvolution), PadsStridesAndKernelsThatDiffer) {
  constexpr ConvShape wide{.input_channels = 5, .output_channels = 1, .kernel = {4, 5, 6}, .stride = {2, 3, 2}};
  check_packed<wide>(transposed_sizes(wide, 1, {3, 4, 5}, {1, 0, 2}, {1, 2, 1}));
  check_packed<wide>(transposed_sizes(wide, 1, {4, 4, 5}, {3, 4, -1}, {1, 0, 0}));
  constexpr ConvShape plane{.input_channels = 4, .output_channels = 4, .kernel = {1, 4, 4}, .stride = {1, 2, 2}};
  check_packed<plane>(transposed_sizes(plane, 1, {3, 4, 9}, {0, 1, 1}, {0, 1, 1}));
  check_packed<plane, bfloat16_t, float>(transposed_sizes(plane, 1, {1, 4, 9}, {0, 1, 1}, {0, 1, 1}));
}

TEST(ISA_SUITE(PackedTransposedConvolution), NotFiniteReachesTheOutputsThatReadItAlone) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = 3, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  check_packed<shape>(transposed_sizes(shape, 1, {4, 5, 6}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}),
                      {.fill = fill_with_some_not_finite});
}

TEST(ISA_SUITE(PackedTransposedConvolution), TakesWhatItSpeedsUp) {
  EXPECT_TRUE(
      packs_transposed({.input_channels = 32, .output_channels = 3, .kernel = {3, 3, 3}, .stride = {2, 2, 2}}, lanes));
  EXPECT_FALSE(packs_transposed(
      {.input_channels = 32, .output_channels = lanes, .kernel = {3, 3, 3}, .stride = {2, 2, 2}}, lanes));
  EXPECT_FALSE(packs_transposed({.input_channels = 32, .output_channels = 3, .kernel = {3, 3, 3}}, lanes));
}

TEST(ISA_SUITE(TransposedConvolution), KernelEqualToStride) {
  constexpr ConvShape shape{
      .input_channels = lanes + 3, .output_channels = 2 * lanes, .kernel = {2, 2, 2}, .stride = {2, 2, 2}};
  for (int64_t width = 1; width <= 15; ++width)
    check<shape>(transposed_sizes(shape, 1, {2, 3, width}, {0, 0, 0}, {0, 0, 0}));
  constexpr ConvShape mixed{
      .input_channels = lanes, .output_channels = lanes - 5, .kernel = {1, 2, 4}, .stride = {1, 2, 4}};
  check<mixed>(transposed_sizes(mixed, 2, {3, 5, 7}, {0, 0, 0}, {0, 0, 0}));
}

TEST(ISA_SUITE(TransposedConvolution), KernelsWiderAndNarrowerThanTheStride) {
  constexpr ConvShape wide{.input_channels = 5, .output_channels = lanes, .kernel = {3, 4, 5}, .stride = {2, 3, 2}};
  check<wide>(transposed_sizes(wide, 1, {3, 4, 5}, {1, 1, 2}, {1, 0, 1}));
  // Outputs between the taps get the epilogue of zero.
  constexpr ConvShape narrow{.input_channels = 3, .output_channels = lanes, .kernel = {1, 2, 1}, .stride = {2, 3, 3}};
  check<narrow>(transposed_sizes(narrow, 1, {3, 4, 5}, {0, 0, 0}, {0, 0, 0}));
}

TEST(ISA_SUITE(TransposedConvolution), Dilation) {
  constexpr ConvShape coprime{
      .input_channels = 4, .output_channels = lanes, .kernel = {2, 3, 4}, .stride = {2, 3, 2}, .dilation = {3, 2, 3}};
  check<coprime>(transposed_sizes(coprime, 1, {3, 4, 5}, {1, 2, 3}, {2, 1, 0}));
  constexpr ConvShape common{
      .input_channels = 4, .output_channels = lanes, .kernel = {3, 2, 3}, .stride = {2, 4, 6}, .dilation = {2, 6, 4}};
  check<common>(transposed_sizes(common, 1, {3, 4, 5}, {1, 2, 3}, {2, 1, 0}));
}

TEST(ISA_SUITE(TransposedConvolution), OutputPaddingAndPadsOfEitherSign) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = lanes, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  check<shape>(transposed_sizes(shape, 1, {3, 4, 5}, {1, 1, 1}, {1, 1, 1}, {1, 0, 1}));
  check<shape>(transposed_sizes(shape, 2, {4, 3, 5}, {-2, 3, 0}, {1, -1, 2}, {0, 1, 0}));
}

TEST(ISA_SUITE(TransposedConvolution), StrideOneFlipsTheKernel) {
  constexpr ConvShape shape{.input_channels = 2, .output_channels = lanes, .kernel = {2, 3, 4}};
  check<shape>(transposed_sizes(shape, 1, {3, 4, 5}, {0, 1, 2}, {1, 1, 0}));
}

TEST(ISA_SUITE(TransposedConvolution), GroupsOfWholeBlocks) {
  constexpr ConvShape shape{
      .input_channels = 4 * lanes, .output_channels = 2 * lanes, .groups = 2, .kernel = {1, 2, 3}, .stride = {1, 2, 2}};
  check<shape>(transposed_sizes(shape, 2, {2, 3, 4}, {0, 0, 1}, {0, 0, 0}));
}

TEST(ISA_SUITE(TransposedConvolution), HalfTypesAreComputedInFloat) {
  constexpr ConvShape shape{
      .input_channels = lanes, .output_channels = lanes, .kernel = {2, 2, 2}, .stride = {2, 2, 2}};
  check<shape, bfloat16_t, float>(transposed_sizes(shape, 1, {2, 3, 4}, {0, 0, 0}, {0, 0, 0}));
  check<shape, float, float16_t>(transposed_sizes(shape, 1, {2, 3, 4}, {0, 0, 0}, {0, 0, 0}));
}

TEST(ISA_SUITE(TransposedConvolution), RandomValues) {
  // Sums of 20 products of normals, below 32: 20 roundings of half a unit of 2^-19 at most.
  constexpr ConvShape shape{
      .input_channels = 20, .output_channels = 2 * lanes, .kernel = {2, 2, 2}, .stride = {2, 2, 2}};
  check<shape>(transposed_sizes(shape, 1, {5, 6, 7}, {0, 0, 0}, {0, 0, 0}),
               {.fill = fill_with_normals, .tolerance = 20 * 0x1p-20});
}

TEST(ISA_SUITE(TransposedConvolution), NothingToDo) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = lanes, .kernel = {2, 2, 2}, .stride = {2, 2, 2}};
  using Kernel = TransposedConvolution<shape, float, float, NoEpilogue>;
  EXPECT_EQ(Kernel::work({1, {0, 4, 4}, {0, 8, 8}, {0, 0, 0}}).tasks, 0);
  EXPECT_EQ(Kernel::work({0, {4, 4, 4}, {8, 8, 8}, {0, 0, 0}}).tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
