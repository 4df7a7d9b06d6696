// Convolutions: direct, stem and its Winograd form, Winograd, depthwise, of bytes, by matrix tiles, transposed.
#include <cstring>

#include "kernels/cpu/conv/conv_depthwise.h"
#include "kernels/cpu/conv/conv_depthwise_packing.h"
#include "kernels/cpu/conv/conv_direct.h"
#include "kernels/cpu/conv/conv_direct_packing.h"
#include "kernels/cpu/conv/conv_pooled.h"
#include "kernels/cpu/conv_grouped/conv_grouped.h"
#include "kernels/cpu/conv_grouped/conv_grouped_packing.h"
#include "kernels/cpu/conv_int8/conv_depthwise_int8.h"
#include "kernels/cpu/conv_int8/conv_depthwise_int8_packing.h"
#include "kernels/cpu/conv_int8/conv_int8.h"
#include "kernels/cpu/conv_int8/conv_int8_packing.h"
#include "kernels/cpu/conv_int8_winograd/conv_int8_winograd.h"
#include "kernels/cpu/conv_int8_winograd/conv_int8_winograd_packing.h"
#include "kernels/cpu/conv_nchw/conv_planar.h"
#include "kernels/cpu/conv_nchw/conv_planar_packing.h"
#include "kernels/cpu/conv_nchw/conv_planar_winograd.h"
#include "kernels/cpu/conv_nchw/conv_stem.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd_packing.h"
#include "kernels/cpu/conv_nchw/conv_to_rows.h"
#include "kernels/cpu/conv_nchw/conv_to_rows_packing.h"
#include "kernels/cpu/conv_tiles/conv_tiles.h"
#include "kernels/cpu/conv_tiles/conv_tiles_packing.h"
#include "kernels/cpu/conv_transpose/conv_transpose.h"
#include "kernels/cpu/conv_transpose/conv_transpose_packed.h"
#include "kernels/cpu/conv_transpose/conv_transpose_packing.h"
#include "kernels/cpu/conv_winograd/conv_winograd.h"
#include "kernels/cpu/conv_winograd/conv_winograd_packing.h"
#include "kernels/cpu/vector/math.h"
#include "measurement.h"

namespace onnxc::microbenchmark::inline ONNXC_KERNELS_ISA {
namespace {

using namespace kernels;

struct BiasRelu {
  const float* bias;
  [[gnu::always_inline]] vec operator()(vec x, const Position& p) const {
    return maximum(splat(0.0f), x + load(bias + p.channel_block * lanes));
  }
};

// A layer of a network. Pads are half the kernel, as everywhere in them, unless the stride is as large as the kernel.
template <ConvShape shape_, Axes input_>
struct Layer {
  static constexpr ConvShape shape = shape_;
  static constexpr Axes input = input_;
};

constexpr int64_t pad(int64_t kernel, int64_t stride) { return kernel == stride ? 0 : (kernel - 1) / 2; }

// The packed weights of any type, at the start of a page.
template <class Packing>
Floats packed_weights(const ConvShape& shape, const Packing& pack) {
  const Floats weights = Floats::random(shape.output_channels * shape.group_input_channels() * shape.kernel.product());
  const auto packed = pack(std::span(weights.data(), static_cast<size_t>(weights.size())));
  const size_t bytes = packed.size() * sizeof(packed[0]);
  Floats result(static_cast<int64_t>(divide_up(bytes, sizeof(float))), 0.0f);
  std::memcpy(result.data(), packed.data(), bytes);
  return result;
}

template <class Kernel, class Epilogue>
void measure_convolution(benchmark::State& state, const ConvShape& shape, const ConvSizes& sizes, int input_lanes,
                         int64_t multiplied_voxels, const Floats& packed, const Epilogue& epilogue, int output_lanes) {
  const BlockedView input_view = dense_view(shape.input_channels, sizes.input, input_lanes);
  const BlockedView output_view = dense_view(shape.output_channels, sizes.output, output_lanes);
  const Floats input = Floats::random(sizes.batch * input_view.batch_stride);
  Floats output = Floats::not_a_number(sizes.batch * output_view.batch_stride);
  const KernelWork work = Kernel::work(sizes);
  Floats scratch(work.scratch_bytes / static_cast<int64_t>(sizeof(float)) + 1, 0.0f);
  using Arguments = typename Kernel::Arguments;
  const Arguments arguments{input.data(),  reinterpret_cast<decltype(Arguments::weights)>(packed.data()),
                            output.data(), sizes,
                            input_view,    output_view};
  const double operations = 2.0 * static_cast<double>(multiplied_voxels * shape.kernel.product()) *
                            static_cast<double>(shape.group_input_channels() * shape.output_channels);
  measure(state, output, {.operations = operations},
          [&] { Kernel::run(arguments, epilogue, 0, work.tasks, scratch.data()); });
}

// The same to blocks, with a bias and Relu.
template <class Kernel>
void measure_convolution(benchmark::State& state, const ConvShape& shape, const ConvSizes& sizes, int input_lanes,
                         int64_t multiplied_voxels, const Floats& packed) {
  const Floats bias = Floats::random(round_up(shape.output_channels, lanes));
  measure_convolution<Kernel>(state, shape, sizes, input_lanes, multiplied_voxels, packed, BiasRelu{bias.data()},
                              lanes);
}

template <class L>
ConvSizes forward_sizes() {
  constexpr Axes kernel = L::shape.kernel, stride = L::shape.stride;
  constexpr Axes pads{pad(kernel.d, stride.d), pad(kernel.h, stride.h), pad(kernel.w, stride.w)};
  return {1,
          L::input,
          {(L::input.d + 2 * pads.d - kernel.d) / stride.d + 1, (L::input.h + 2 * pads.h - kernel.h) / stride.h + 1,
           (L::input.w + 2 * pads.w - kernel.w) / stride.w + 1},
          pads};
}

template <class L>
void direct(benchmark::State& state) {
  const ConvSizes sizes = forward_sizes<L>();
  measure_convolution<DirectConvolution<L::shape, float, float, BiasRelu>>(
      state, L::shape, sizes, lanes, sizes.output.product(),
      packed_weights(L::shape, [](auto weights) { return pack_direct_weights(L::shape, lanes, lanes, weights); }));
}

template <class L>
void stem(benchmark::State& state) {
  const ConvSizes sizes = forward_sizes<L>();
  measure_convolution<StemConvolution<L::shape, float, float, BiasRelu>>(
      state, L::shape, sizes, 1, sizes.output.product(),
      packed_weights(L::shape, [](auto weights) { return pack_direct_weights(L::shape, lanes, 1, weights); }));
}

template <class L>
void stem_winograd(benchmark::State& state) {
  const ConvSizes sizes = forward_sizes<L>();
  measure_convolution<StemWinogradConvolution<L::shape, float, float, BiasRelu>>(
      state, L::shape, sizes, 1, sizes.output.product(),
      packed_weights(L::shape, [](auto weights) { return pack_stem_winograd_weights({L::shape, lanes}, weights); }));
}

// Followed by the max pool, whose windows are separate.
template <class L, Axes window>
void pooled_stem_winograd(benchmark::State& state) {
  using Epilogues = TwoEpilogues<BiasRelu, NoEpilogue>;
  using Pool = MaximumOfWindows<L::shape.output_channels, window, float, Epilogues>;
  using Kernel = PooledConvolution<StemWinogradConvolution<L::shape, float, float, Pool>, Pool>;
  const ConvSizes sizes = forward_sizes<L>();
  const Axes pooled{sizes.output.d / window.d, sizes.output.h / window.h, sizes.output.w / window.w};
  const Floats packed =
      packed_weights(L::shape, [](auto weights) { return pack_stem_winograd_weights({L::shape, lanes}, weights); });
  const BlockedView input_view = dense_view(L::shape.input_channels, sizes.input, 1);
  const BlockedView output_view = dense_view(L::shape.output_channels, pooled, lanes);
  const Floats input = Floats::random(input_view.batch_stride);
  const Floats bias = Floats::random(round_up(L::shape.output_channels, lanes));
  Floats output = Floats::not_a_number(output_view.batch_stride);
  const KernelWork work = Kernel::work(sizes);
  Floats scratch(work.scratch_bytes / static_cast<int64_t>(sizeof(float)) + 1, 0.0f);
  const typename Kernel::Arguments arguments{
      {input.data(), packed.data(), output.data(), sizes, input_view, output_view}, pooled};
  const double operations = 2.0 * static_cast<double>(sizes.output.product() * L::shape.kernel.product() *
                                                      L::shape.input_channels * L::shape.output_channels);
  measure(state, output, {.operations = operations},
          [&] { Kernel::run(arguments, Epilogues{{bias.data()}, {}}, 0, work.tasks, scratch.data()); });
}

template <class L>
void planar(benchmark::State& state) {
  const ConvSizes sizes = forward_sizes<L>();
  measure_convolution<PlanarConvolution<L::shape, float, float, NoMatrixEpilogue, 3>>(
      state, L::shape, sizes, 1, sizes.output.product(),
      packed_weights(L::shape, [](auto weights) { return pack_planar_weights(L::shape, weights); }), NoMatrixEpilogue(),
      1);
}

template <class L>
void planar_winograd(benchmark::State& state) {
  const ConvSizes sizes = forward_sizes<L>();
  measure_convolution<PlanarWinogradConvolution<L::shape, float, float, NoMatrixEpilogue, 3>>(
      state, L::shape, sizes, 1, sizes.output.product(),
      packed_weights(
          L::shape,
          [](auto weights) { return pack_stem_winograd_weights(planar_winograd_packing(L::shape, lanes), weights); }),
      NoMatrixEpilogue(), 1);
}

// The output is the input's size times the stride of a transposed convolution.
template <class L, bool is_transposed>
void to_rows(benchmark::State& state) {
  constexpr Axes stride = L::shape.stride, in = L::input;
  ConvSizes sizes = forward_sizes<L>();
  if (is_transposed) sizes.output = {in.d * stride.d, in.h * stride.h, in.w * stride.w};
  measure_convolution<ConvolutionToRows<L::shape, float, float, NoMatrixEpilogue, is_transposed, 3>>(
      state, L::shape, sizes, lanes, in.product(),
      packed_weights(L::shape, [](auto weights) { return pack_to_rows_weights({L::shape, is_transposed}, weights); }),
      NoMatrixEpilogue(), 1);
}

template <class L, Axes tile>
void winograd(benchmark::State& state) {
  const ConvSizes sizes = forward_sizes<L>();
  measure_convolution<WinogradConvolution<L::shape, float, float, BiasRelu, tile>>(
      state, L::shape, sizes, lanes, sizes.output.product(),
      packed_weights(L::shape, [](auto weights) { return pack_winograd_weights({L::shape, tile, lanes}, weights); }));
}

template <class L>
void depthwise(benchmark::State& state) {
  const ConvSizes sizes = forward_sizes<L>();
  measure_convolution<DepthwiseConvolution<L::shape, float, float, BiasRelu>>(
      state, L::shape, sizes, lanes, sizes.output.product(),
      packed_weights(L::shape, [](auto weights) { return pack_depthwise_weights(L::shape, lanes, weights); }));
}

// The output is the input's size, of a transposed convolution times the stride.
template <class L, bool is_transposed>
void grouped(benchmark::State& state) {
  constexpr Axes stride = L::shape.stride, in = L::input;
  ConvSizes sizes = forward_sizes<L>();
  if (is_transposed) sizes.output = {in.d * stride.d, in.h * stride.h, in.w * stride.w};
  measure_convolution<GroupedConvolution<L::shape, float, float, BiasRelu, is_transposed>>(
      state, L::shape, sizes, lanes, is_transposed ? in.product() : sizes.output.product(),
      packed_weights(L::shape,
                     [](auto weights) { return pack_grouped_weights(L::shape, lanes, is_transposed, weights); }));
}

// Requantised to bytes, as between the layers of a quantised network.
struct Requantize {
  const float* scale;
  [[gnu::always_inline]] vec_int32 operator()(vec_int32 sum, const Position& p) const {
    return saturated<uint8_t>(round_even(to_float(sum) * load(scale + p.channel_block * lanes)));
  }
};

template <class L, class Kernel>
void measure_bytes(benchmark::State& state, const std::vector<uint8_t>& packed) {
  const ConvSizes sizes = forward_sizes<L>();
  const BlockedView input_view = dense_view(L::shape.input_channels, sizes.input, lanes);
  const BlockedView output_view = dense_view(L::shape.output_channels, sizes.output, lanes);
  const auto bytes_as_floats = [](int64_t bytes) { return divide_up(bytes, sizeof(float)); };
  Floats input(bytes_as_floats(input_view.batch_stride), 1.0f), output(bytes_as_floats(output_view.batch_stride), 0.0f);
  const Floats scale(round_up(L::shape.output_channels, lanes), 0.001f);
  Floats aligned(bytes_as_floats(std::ssize(packed)), 0.0f);
  std::memcpy(aligned.data(), packed.data(), packed.size());
  const KernelWork work = Kernel::work(sizes);
  Floats scratch(work.scratch_bytes / static_cast<int64_t>(sizeof(float)) + 1, 0.0f);
  const typename Kernel::Arguments arguments{
      {reinterpret_cast<const uint8_t*>(input.data()), reinterpret_cast<const uint8_t*>(aligned.data()),
       reinterpret_cast<uint8_t*>(output.data()), sizes, input_view, output_view},
      0};
  const double operations = 2.0 * static_cast<double>(sizes.output.product() * L::shape.kernel.product()) *
                            static_cast<double>(L::shape.group_input_channels() * L::shape.output_channels);
  measure(state, output, {.operations = operations},
          [&] { Kernel::run(arguments, Requantize{scale.data()}, 0, work.tasks, scratch.data()); });
}

template <class L>
std::vector<int8_t> weights_of_bytes() {
  const int64_t count = L::shape.output_channels * L::shape.group_input_channels() * L::shape.kernel.product();
  return std::vector<int8_t>(static_cast<size_t>(count), 3);
}

template <class L>
void int8(benchmark::State& state) {
  measure_bytes<L, Int8Convolution<L::shape, uint8_t, uint8_t, Requantize>>(
      state, pack_int8_weights(L::shape, lanes, 0, weights_of_bytes<L>()));
}

template <class L>
void int8_depthwise(benchmark::State& state) {
  measure_bytes<L, DepthwiseInt8Convolution<L::shape, uint8_t, uint8_t, Requantize>>(
      state, pack_depthwise_int8_weights(L::shape, lanes, weights_of_bytes<L>()));
}

template <class L, Axes tile>
void int8_winograd(benchmark::State& state) {
  measure_bytes<L, Int8WinogradConvolution<L::shape, uint8_t, uint8_t, Requantize, tile>>(
      state, pack_int8_winograd_weights({L::shape, tile, lanes}, -128, weights_of_bytes<L>()));
}

template <class L>
void tiles(benchmark::State& state) {
  const ConvSizes sizes = forward_sizes<L>();
  measure_convolution<TilesConvolution<L::shape, float, float, BiasRelu>>(
      state, L::shape, sizes, lanes, sizes.output.product(),
      packed_weights(L::shape, [](auto weights) { return pack_tiles_weights(L::shape, weights); }));
}

template <class L>
void tiles_of_digits(benchmark::State& state) {
  const ConvSizes sizes = forward_sizes<L>();
  measure_convolution<TilesConvolution<L::shape, float, float, BiasRelu, TilesOfDigits>>(
      state, L::shape, sizes, lanes, sizes.output.product(),
      packed_weights(L::shape, [](auto weights) { return pack_tiles_digits(L::shape, weights); }));
}

// The output is the input's size times the stride.
template <class L, template <ConvShape, class, class, class> class Kernel, class Pack>
void transposed_by(benchmark::State& state, const Pack& pack) {
  constexpr Axes kernel = L::shape.kernel, stride = L::shape.stride, in = L::input;
  const ConvSizes sizes{1,
                        in,
                        {in.d * stride.d, in.h * stride.h, in.w * stride.w},
                        {pad(kernel.d, stride.d), pad(kernel.h, stride.h), pad(kernel.w, stride.w)}};
  measure_convolution<Kernel<L::shape, float, float, BiasRelu>>(
      state, L::shape, sizes, lanes, in.product(),
      packed_weights(L::shape, [&](auto weights) { return pack(L::shape, lanes, weights); }));
}
template <class L>
void transposed(benchmark::State& state) {
  transposed_by<L, TransposedConvolution>(state, pack_transposed_weights);
}
template <class L>
void transposed_packed(benchmark::State& state) {
  transposed_by<L, PackedTransposedConvolution>(state, pack_packed_transposed_weights);
}

constexpr Axes one{1, 1, 1}, two{2, 2, 2}, three{3, 3, 3};
constexpr Axes plane{1, 3, 3}, depth{3, 1, 1};

void add_direct() {
  add("direct/R3D-18 512->512 3x3x3 @2x7x7", direct<Layer<{512, 512, 1, three}, {2, 7, 7}>>);
  add("direct/R3D-18 64->128 1x1x1 stride 2 @16x56x56", direct<Layer<{64, 128, 1, one, two}, {16, 56, 56}>>);
  add("direct/U-Net 32->3 1x1x1 @64x64x64", direct<Layer<{32, 3}, {64, 64, 64}>>);
  add("direct/X3D-S 24->54 1x1x1 @13x80x80", direct<Layer<{24, 54}, {13, 80, 80}>>);
  add("direct/X3D-S 108->48 1x1x1 @13x40x40", direct<Layer<{108, 48}, {13, 40, 40}>>);
  add("direct/X3D-S 192->432 1x1x1 @13x5x5", direct<Layer<{192, 432}, {13, 5, 5}>>);
}

template <class L>
void add_stem(const std::string& name) {
  add("stem/" + name, stem<L>);
  add("stem winograd/" + name, stem_winograd<L>);
}

void add_to_rows() {
  add("to rows/transposed MONAI UNet 32->3 3x3x3 @16x20x24",
      to_rows<Layer<{32, 3, 1, three, two}, {16, 20, 24}>, true>);
  add("to rows/U-Net 32->3 1x1x1 @64x64x64", to_rows<Layer<{32, 3}, {64, 64, 64}>, false>);
  add("to rows/32->3 3x3x3 @16x16x16", to_rows<Layer<{32, 3, 1, three}, {16, 16, 16}>, false>);
  add("to rows/VoxelMorph 16->3 3x3x3 @40x48x56", to_rows<Layer<{16, 3, 1, three}, {40, 48, 56}>, false>);
  add("to rows/Wan 96->3 3x3x3 @4x120x208", to_rows<Layer<{96, 3, 1, three}, {4, 120, 208}>, false>);
  add("to rows/128->3 3x3x3 @8x96x96", to_rows<Layer<{128, 3, 1, three}, {8, 96, 96}>, false>);
  add("to rows/SVD 128->3 1x3x3 @8x96x96", to_rows<Layer<{128, 3, 1, {1, 3, 3}}, {8, 96, 96}>, false>);
}

template <class L>
void add_planar(const std::string& name) {
  add("planar/" + name, planar<L>);
  add("planar winograd/" + name, planar_winograd<L>);
}

void add_planar() {
  add_planar<Layer<{3, 3, 1, three}, {32, 40, 48}>>("MONAI UNet 3->3 3x3x3 @32x40x48");
  add_planar<Layer<{3, 3, 1, three}, {16, 16, 16}>>("3->3 3x3x3 @16x16x16");
  add("planar winograd/seed 1->16 9x9x1 @32x32x32", planar_winograd<Layer<{1, 16, 1, {9, 9, 1}}, {32, 32, 32}>>);
}

void add_stems() {
  add_stem<Layer<{3, 64, 1, {3, 7, 7}, {1, 2, 2}}, {16, 112, 112}>>("R3D-18 3->64 3x7x7 stride 1,2,2 @16x112x112");
  add_stem<Layer<{3, 64, 1, three}, {16, 112, 112}>>("C3D 3->64 3x3x3 @16x112x112");
  add("pooled stem winograd/C3D 3->64 3x3x3 maximum of 1x2x2 @16x112x112",
      pooled_stem_winograd<Layer<{3, 64, 1, three}, {16, 112, 112}>, Axes{1, 2, 2}>);
  add_stem<Layer<{1, 32, 1, three}, {64, 64, 64}>>("U-Net 1->32 3x3x3 @64x64x64");
  add_stem<Layer<{1, 16, 1, {9, 9, 1}}, {32, 32, 32}>>("seed 1->16 9x9x1 @32x32x32");
  add_stem<Layer<{1, 64, 1, {7, 7, 7}, two}, {64, 64, 64}>>("DenseNet121 1->64 7x7x7 stride 2 @64x64x64");
}

template <class L>
void add_volume(const std::string& name) {
  add("winograd F(2,2,2)/" + name, winograd<L, Axes{2, 2, 2}>);
  add("winograd F(2,2,4)/" + name, winograd<L, Axes{2, 2, 4}>);
}

template <class L>
void add_plane(const std::string& name) {
  add("winograd F(2,2)/" + name, winograd<L, Axes{1, 2, 2}>);
  add("winograd F(2,4)/" + name, winograd<L, Axes{1, 2, 4}>);
}

template <class L>
void add_depth(const std::string& name) {
  add("winograd F(2)/" + name, winograd<L, Axes{2, 1, 1}>);
  add("winograd F(4)/" + name, winograd<L, Axes{4, 1, 1}>);
}

// Beside its direct form: with a stride of two neither is always the faster.
template <class L, Axes tile>
void add_strided(const std::string& form, const std::string& layer) {
  add("winograd " + form + "/" + layer, winograd<L, tile>);
  add("direct/" + layer, direct<L>);
}

void add_strided() {
  add_strided<Layer<{64, 128, 1, three, two}, {16, 56, 56}>, two>("F(2,2,2)", "R3D-18 64->128 stride 2 @16x56x56");
  add_strided<Layer<{128, 256, 1, three, two}, {8, 28, 28}>, Axes{1, 2, 2}>("F(2,2)",
                                                                            "R3D-18 128->256 stride 2 @8x28x28");
  add_strided<Layer<{32, 64, 1, three, two}, {64, 64, 64}>, two>("F(2,2,2)", "U-Net 32->64 stride 2 @64x64x64");
  add_strided<Layer<{64, 230, 1, plane, {1, 2, 2}}, {8, 56, 56}>, Axes{1, 2, 2}>(
      "F(2,2)", "R(2+1)D-18 64->230 1x3x3 stride 1,2,2 @8x56x56");
  add_strided<Layer<{230, 128, 1, depth, {2, 1, 1}}, {8, 28, 28}>, Axes{2, 1, 1}>(
      "F(2)", "R(2+1)D-18 230->128 3x1x1 stride 2,1,1 @8x28x28");
}

void add_winograd() {
  add_volume<Layer<{64, 64, 1, three}, {16, 56, 56}>>("R3D-18 64->64 @16x56x56");
  add_volume<Layer<{128, 128, 1, three}, {8, 28, 28}>>("R3D-18 128->128 @8x28x28");
  add_volume<Layer<{256, 256, 1, three}, {4, 14, 14}>>("R3D-18 256->256 @4x14x14");
  add_volume<Layer<{128, 256, 1, three}, {8, 28, 28}>>("C3D 128->256 @8x28x28");
  add_volume<Layer<{512, 512, 1, three}, {4, 14, 14}>>("C3D 512->512 @4x14x14");
  add_volume<Layer<{32, 32, 1, three}, {64, 64, 64}>>("U-Net 32->32 @64x64x64");
  add_volume<Layer<{64, 32, 1, three}, {64, 64, 64}>>("U-Net 64->32 @64x64x64");
  add_volume<Layer<{640, 320, 1, three}, {4, 4, 4}>>("U-Net 640->320 @4x4x4");
  add_plane<Layer<{64, 144, 1, plane}, {8, 56, 56}>>("R(2+1)D-18 64->144 1x3x3 @8x56x56");
  add_plane<Layer<{128, 288, 1, plane}, {4, 28, 28}>>("R(2+1)D-18 128->288 1x3x3 @4x28x28");
  add_depth<Layer<{144, 64, 1, depth}, {8, 56, 56}>>("R(2+1)D-18 144->64 3x1x1 @8x56x56");
  add_depth<Layer<{288, 128, 1, depth}, {4, 28, 28}>>("R(2+1)D-18 288->128 3x1x1 @4x28x28");
}

void add_depthwise() {
  add("depthwise/X3D-S 24 5x1x1 @13x80x80", depthwise<Layer<{24, 24, 24, {5, 1, 1}}, {13, 80, 80}>>);
  add("depthwise/X3D-S 54 3x3x3 stride 1,2,2 @13x80x80",
      depthwise<Layer<{54, 54, 54, three, {1, 2, 2}}, {13, 80, 80}>>);
  add("depthwise/X3D-S 54 3x3x3 @13x40x40", depthwise<Layer<{54, 54, 54, three}, {13, 40, 40}>>);
  add("depthwise/MedNeXt 8 7x7x7 @64x64x64", depthwise<Layer<{8, 8, 8, {7, 7, 7}}, {64, 64, 64}>>);
  add("depthwise/MedNeXt 32 7x7x7 @16x16x16", depthwise<Layer<{32, 32, 32, {7, 7, 7}}, {16, 16, 16}>>);
  add("depthwise/SEResNeXt 128 groups 32 3x3x3 @8x16x12", depthwise<Layer<{128, 128, 32, three}, {8, 16, 12}>>);
  add("depthwise/X3D-S 216 3x3x3 @13x10x10", depthwise<Layer<{216, 216, 216, three}, {13, 10, 10}>>);
}

void add_grouped() {
  add("direct/24->24 groups 2 3x3x3 @16x16x16", direct<Layer<{48, 48, 2, three}, {16, 16, 16}>>);
  add("direct/12->12 groups 4 3x3x3 @16x16x16", direct<Layer<{48, 48, 4, three}, {16, 16, 16}>>);
  add("direct/SENet154 8->16 groups 64 3x3x3 @4x4x4", direct<Layer<{512, 1024, 64, three}, {4, 4, 4}>>);
  add("grouped/SENet154 2->4 groups 64 3x3x3 @8x8x8", grouped<Layer<{128, 256, 64, three}, {8, 8, 8}>, false>);
  add("grouped/3->5 groups 20 3x3x3 @16x16x16", grouped<Layer<{60, 100, 20, three}, {16, 16, 16}>, false>);
  add("grouped/7->7 groups 8 3x3x3 @16x16x16", grouped<Layer<{56, 56, 8, three}, {16, 16, 16}>, false>);
  add("grouped transposed/MedNeXt 64 3x3x3 @16x16x16", grouped<Layer<{64, 64, 64, three, two}, {16, 16, 16}>, true>);
}

void add_int8() {
  add("int8/R3D-18 64->64 @16x56x56", int8<Layer<{64, 64, 1, three}, {16, 56, 56}>>);
  add("int8/R3D-18 256->256 @4x14x14", int8<Layer<{256, 256, 1, three}, {4, 14, 14}>>);
  add("int8/R3D-18 64->128 stride 2 @16x56x56", int8<Layer<{64, 128, 1, three, two}, {16, 56, 56}>>);
  add("int8/64->128 1x1x1 @8x8x8", int8<Layer<{64, 128, 1, one}, {8, 8, 8}>>);
  add("int8 depthwise/X3D-S 54 3x3x3 @13x40x40", int8_depthwise<Layer<{54, 54, 54, three}, {13, 40, 40}>>);
  add("int8 depthwise/X3D-S 216 3x3x3 @13x10x10", int8_depthwise<Layer<{216, 216, 216, three}, {13, 10, 10}>>);
  add("int8 winograd F(2,4,4)/R3D-18 64->64 @16x56x56",
      int8_winograd<Layer<{64, 64, 1, three}, {16, 56, 56}>, Axes{2, 4, 4}>);
  add("int8 winograd F(2,2,2)/R3D-18 256->256 @4x14x14",
      int8_winograd<Layer<{256, 256, 1, three}, {4, 14, 14}>, Axes{2, 2, 2}>);
  add("int8 winograd F(2,4,4)/64->64 @8x8x8", int8_winograd<Layer<{64, 64, 1, three}, {8, 8, 8}>, Axes{2, 4, 4}>);
}

// Without AMX the emulation runs: its time says nothing of the kernel's, and a whole layer takes seconds.
void add_tiles() {
  const std::string form = ONNXC_HAS_TILES ? "tiles/" : "tiles emulated/";
  if (ONNXC_HAS_TILES) {
    add(form + "R3D-18 256->256 @4x14x14", tiles<Layer<{256, 256, 1, three}, {4, 14, 14}>>);
    add(form + "R3D-18 64->64 @16x56x56 in digits", tiles_of_digits<Layer<{64, 64, 1, three}, {16, 56, 56}>>);
    add(form + "R3D-18 256->256 @4x14x14 in digits", tiles_of_digits<Layer<{256, 256, 1, three}, {4, 14, 14}>>);
  }
  add(form + "64->128 1x1x1 stride 2 @8x8x8", tiles<Layer<{64, 128, 1, one, two}, {8, 8, 8}>>);
  add(form + "64->128 1x1x1 stride 2 @8x8x8 in digits", tiles_of_digits<Layer<{64, 128, 1, one, two}, {8, 8, 8}>>);
}

void add_transposed() {
  add("transposed/U-Net 64->32 2x2x2 @32x32x32", transposed<Layer<{64, 32, 1, two, two}, {32, 32, 32}>>);
  add("transposed/U-Net 128->64 2x2x2 @16x16x16", transposed<Layer<{128, 64, 1, two, two}, {16, 16, 16}>>);
  add("transposed/U-Net 320->320 2x2x2 @2x2x2", transposed<Layer<{320, 320, 1, two, two}, {2, 2, 2}>>);
  add("transposed/MONAI UNet 32->16 3x3x3 @32x32x32", transposed<Layer<{32, 16, 1, three, two}, {32, 32, 32}>>);
  add("transposed packed/DynUNet 32->one block 2x2x2 @16x12x20",
      transposed_packed<Layer<{32, lanes, 1, two, two}, {16, 12, 20}>>);
  add("transposed packed/MONAI UNet 32->3 3x3x3 @16x20x24",
      transposed_packed<Layer<{32, 3, 1, three, two}, {16, 20, 24}>>);
}

[[maybe_unused]] const bool rows_added =
    (add_direct(), add_stems(), add_planar(), add_to_rows(), add_winograd(), add_strided(), add_depthwise(),
     add_grouped(), add_int8(), add_tiles(), add_transposed(), true);

}  // namespace
}  // namespace onnxc::microbenchmark::inline ONNXC_KERNELS_ISA
