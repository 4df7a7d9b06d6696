#include "kernels/cpu/memory_bound/separable_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/conv_int8/byte_harness.h"
#include "kernels/cpu/isa_suite.h"
#include "kernels/cpu/memory_bound/planar_pool.h"

namespace onnxc::kernels {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// The definition, in double.
PlainTensor reference_pool(const PoolShape& shape, const PoolSizes& sizes, const PlainTensor& input) {
  PlainTensor output(sizes.batch, sizes.channels, sizes.output);
  for (int64_t n = 0; n < sizes.batch; ++n)
    for (int64_t c = 0; c < sizes.channels; ++c)
      for_each_voxel(sizes.output, [&](int64_t d, int64_t h, int64_t w) {
        double sum = 0.0, largest = -infinity, count = 0.0;
        for_each_voxel(shape.kernel, [&](int64_t kd, int64_t kh, int64_t kw) {
          const int64_t id = d * shape.stride.d - sizes.begin_pads.d + kd * shape.dilation.d;
          const int64_t ih = h * shape.stride.h - sizes.begin_pads.h + kh * shape.dilation.h;
          const int64_t iw = w * shape.stride.w - sizes.begin_pads.w + kw * shape.dilation.w;
          const bool inside =
              id >= 0 && id < sizes.input.d && ih >= 0 && ih < sizes.input.h && iw >= 0 && iw < sizes.input.w;
          const bool in_padding = id >= -sizes.begin_pads.d && id < sizes.input.d + sizes.end_pads.d &&
                                  ih >= -sizes.begin_pads.h && ih < sizes.input.h + sizes.end_pads.h &&
                                  iw >= -sizes.begin_pads.w && iw < sizes.input.w + sizes.end_pads.w;
          if (shape.kind == PoolKind::average_with_padding ? in_padding : inside) count += 1.0;
          if (!inside) return;
          const double element = input.at(n, c, id, ih, iw);
          sum += element;
          if (element > largest || std::isnan(element)) largest = element;
        });
        output.values[static_cast<size_t>(output.index(n, c, d, h, w))] =
            static_cast<float>(shape.kind == PoolKind::maximum ? largest : sum / count);
      });
  return output;
}

// With `ceil_mode` the last window may begin inside the input or its begin padding and reach past everything.
PoolSizes pool_sizes(const PoolShape& shape, int64_t channels, const Axes& input, const Axes& begin, const Axes& end,
                     bool ceil_mode = false) {
  auto extent = [&](int64_t in, int64_t before, int64_t after, int64_t kernel, int64_t stride, int64_t dilation) {
    const int64_t room = in + before + after - dilation * (kernel - 1) - 1;
    int64_t size = (ceil_mode ? divide_up(room, stride) : room / stride) + 1;
    if (ceil_mode && (size - 1) * stride >= in + before) --size;
    return size;
  };
  return {2,
          channels,
          input,
          {extent(input.d, begin.d, end.d, shape.kernel.d, shape.stride.d, shape.dilation.d),
           extent(input.h, begin.h, end.h, shape.kernel.h, shape.stride.h, shape.dilation.h),
           extent(input.w, begin.w, end.w, shape.kernel.w, shape.stride.w, shape.dilation.w)},
          begin,
          end};
}

template <PoolShape shape, class Input, class Output, class Epilogue, bool is_separable>
struct KernelOf {
  using Type = Pool<shape, Input, Output, Epilogue>;
};
template <PoolShape shape, class Input, class Output, class Epilogue>
struct KernelOf<shape, Input, Output, Epilogue, true> {
  using Type = SeparablePool<shape, Input, Output, Epilogue>;
};

// The maximum of bytes: a residual and numbers of the place make floats of it.
template <PoolShape shape, class Input, bool is_separable>
void check_bytes_by(const PoolSizes& sizes) {
  PlainTensor input(sizes.batch, sizes.channels, sizes.input), residual(sizes.batch, sizes.channels, sizes.output);
  fill_with_bytes<Input>(input.values, 1);
  fill_with_integers(residual.values, 3);
  const std::vector<float> no_bias(static_cast<size_t>(round_up(sizes.channels, lanes)), 0.0f);
  PlainTensor expected = reference_pool(shape, sizes, input);
  apply_position_epilogue(expected, no_bias, residual);

  ByteTensor<Input> bytes(input);
  BlockedTensor<float> blocked_residual(sizes.batch, sizes.channels, sizes.output);
  BlockedTensor<float> output(sizes.batch, sizes.channels, sizes.output);
  blocked_residual.fill_from(residual);
  using Kernel = typename KernelOf<shape, Input, float, OfBytes, is_separable>::Type;
  run_tasks_backwards<Kernel>({bytes.data(), output.data(), sizes, bytes.form.view, output.view},
                              OfBytes{{no_bias.data(), blocked_residual.data()}});
  output.expect_equal(expected, 0.0);
}
template <PoolShape shape, class Input>
void check_bytes(const PoolSizes& sizes) {
  check_bytes_by<shape, Input, false>(sizes);
  check_bytes_by<shape, Input, true>(sizes);
}

TEST(ISA_SUITE(Pool), MaximumOfBytes) {
  constexpr PoolShape halves{PoolKind::maximum, {2, 2, 2}, {2, 2, 2}};
  constexpr PoolShape overlapping{PoolKind::maximum, {3, 3, 3}, {2, 1, 2}, {1, 2, 1}};
  for (const int64_t width : {2, 7, 8, 9, 22}) {
    check_bytes<halves, uint8_t>(pool_sizes(halves, lanes + 3, {4, 6, width}, {0, 0, 0}, {0, 0, 0}));
    check_bytes<halves, int8_t>(pool_sizes(halves, 5, {3, 5, width}, {1, 1, 1}, {0, 0, 1}));
  }
  check_bytes<overlapping, uint8_t>(pool_sizes(overlapping, 3, {6, 9, 13}, {1, 1, 1}, {1, 1, 1}));
  check_bytes<overlapping, int8_t>(pool_sizes(overlapping, 2 * lanes, {6, 9, 13}, {1, 1, 1}, {1, 1, 1}, true));
}

// Small integers: the sums are exact, and a mean is rounded once whichever way it is computed.
template <PoolShape shape, class Input, class Output, bool is_separable>
void check_kind_by(const PoolSizes& sizes) {
  PlainTensor input(sizes.batch, sizes.channels, sizes.input);
  PlainTensor residual(sizes.batch, sizes.channels, sizes.output);
  std::vector<float> bias(static_cast<size_t>(sizes.channels));
  fill_with_integers(input.values, 1);
  fill_with_integers(bias, 2);
  fill_with_integers(residual.values, 3);
  for (float& value : input.values) value -= 5.0f;  // all below zero: the neutral element must not be it

  PlainTensor expected = reference_pool(shape, sizes, input);
  apply_position_epilogue(expected, bias, residual);

  BlockedTensor<Input> blocked_input(sizes.batch, sizes.channels, sizes.input);
  BlockedTensor<Output> blocked_residual(sizes.batch, sizes.channels, sizes.output);
  BlockedTensor<Output> output(sizes.batch, sizes.channels, sizes.output);
  blocked_input.fill_from(input);
  blocked_residual.fill_from(residual);
  bias.resize(static_cast<size_t>(round_up(sizes.channels, lanes)), std::numeric_limits<float>::quiet_NaN());
  using Kernel = typename KernelOf<shape, Input, Output, PositionEpilogue<Output>, is_separable>::Type;
  run_tasks_backwards<Kernel>({blocked_input.data(), output.data(), sizes, blocked_input.view, output.view},
                              PositionEpilogue<Output>{bias.data(), blocked_residual.data()});
  // The epilogue adds integers to the mean; that sum, below 64, is rounded in another order.
  output.expect_equal(expected, shape.kind == PoolKind::maximum ? 0.0 : 4 * 0x1p-18);
}
template <PoolShape shape, class Input = float, class Output = float>
void check_kind(const PoolSizes& sizes) {
  check_kind_by<shape, Input, Output, false>(sizes);
  check_kind_by<shape, Input, Output, true>(sizes);
}

template <Axes kernel, Axes stride, Axes dilation = Axes{1, 1, 1}>
void check(int64_t channels, const Axes& input, const Axes& begin, const Axes& end, bool ceil_mode = false) {
  constexpr PoolShape maximum{PoolKind::maximum, kernel, stride, dilation};
  constexpr PoolShape average{PoolKind::average, kernel, stride, dilation};
  constexpr PoolShape with_padding{PoolKind::average_with_padding, kernel, stride, dilation};
  const PoolSizes sizes = pool_sizes(maximum, channels, input, begin, end, ceil_mode);
  check_kind<maximum>(sizes);
  check_kind<average>(sizes);
  check_kind<with_padding>(sizes);
}

TEST(ISA_SUITE(Pool), EveryWidthAroundTheTile) {
  for (int64_t width = 2; width <= 14; ++width)
    check<Axes{1, 2, 2}, Axes{1, 1, 1}>(lanes, {2, 3, width}, {0, 0, 1}, {0, 0, 0});
}

TEST(ISA_SUITE(Pool), WindowsOfVideoAndSegmentationNetworks) {
  check<Axes{2, 2, 2}, Axes{2, 2, 2}>(lanes + 3, {4, 6, 10}, {0, 0, 0}, {0, 0, 0});
  check<Axes{3, 3, 3}, Axes{2, 2, 2}>(2 * lanes, {5, 7, 19}, {1, 1, 1}, {1, 1, 1});
  check<Axes{1, 3, 3}, Axes{1, 2, 2}>(5, {3, 8, 9}, {0, 1, 1}, {0, 1, 1});
}

TEST(ISA_SUITE(Pool), DilationAndPadsThatDifferByAxis) {
  check<Axes{2, 3, 4}, Axes{3, 1, 2}, Axes{3, 2, 2}>(lanes - 1, {9, 8, 21}, {1, 2, 3}, {0, 3, 1});
}

TEST(ISA_SUITE(Pool), OverhangOfCeilMode) {
  check<Axes{2, 3, 3}, Axes{2, 2, 3}>(lanes, {5, 6, 11}, {0, 1, 1}, {1, 0, 1}, true);
  check<Axes{3, 2, 4}, Axes{3, 3, 3}>(lanes, {4, 5, 9}, {0, 0, 0}, {0, 0, 0}, true);
}

TEST(ISA_SUITE(Pool), ManyTasks) {
  constexpr PoolShape shape{PoolKind::average, {1, 2, 2}, {1, 2, 2}};
  const PoolSizes sizes = pool_sizes(shape, lanes, {9, 40, 100}, {0, 0, 0}, {0, 0, 0});
  ASSERT_GT(pool_geometry(sizes, lanes).ranges, 1);
  check_kind<shape>(sizes);
}

TEST(ISA_SUITE(Pool), HalfTypes) {
  constexpr PoolShape shape{PoolKind::maximum, {1, 2, 3}, {1, 2, 2}};
  const PoolSizes sizes = pool_sizes(shape, lanes + 1, {2, 5, 9}, {0, 1, 1}, {0, 0, 1});
  check_kind<shape, float16_t, float>(sizes);
  check_kind<shape, bfloat16_t, float>(sizes);
  check_kind<shape, float, float16_t>(sizes);  // small integers are exact
}

TEST(ISA_SUITE(Pool), LargeWindows) {
  check<Axes{9, 9, 9}, Axes{1, 1, 1}>(4, {10, 11, 12}, {4, 4, 4}, {4, 4, 4});
  check<Axes{5, 4, 7}, Axes{1, 1, 1}>(lanes + 1, {6, 9, 11}, {2, 1, 3}, {2, 2, 0});
  check<Axes{7, 3, 5}, Axes{2, 3, 2}>(2, {13, 11, 14}, {3, 1, 2}, {3, 0, 4}, true);
  check<Axes{1, 13, 13}, Axes{1, 1, 1}>(3, {2, 9, 8}, {0, 6, 6}, {0, 6, 6});
  check<Axes{1, 1, 15}, Axes{1, 1, 2}>(3, {2, 3, 40}, {0, 0, 7}, {0, 0, 7});
  check<Axes{6, 1, 1}, Axes{1, 1, 1}>(3, {17, 2, 3}, {0, 0, 0}, {0, 0, 0});
  check<Axes{4, 5, 3}, Axes{1, 1, 1}, Axes{2, 3, 4}>(3, {11, 15, 17}, {2, 6, 3}, {1, 5, 4});
  check<Axes{3, 4, 5}, Axes{4, 3, 2}, Axes{2, 2, 3}>(3, {15, 17, 29}, {2, 3, 1}, {2, 0, 6}, true);
}

// Windows along one axis, of many lengths and at every place of a block of the running folds.
template <Axes kernel, Axes stride>
void check_axis(const Axes& input, const Axes& begin, const Axes& end) {
  constexpr PoolShape maximum{PoolKind::maximum, kernel, stride}, average{PoolKind::average, kernel, stride};
  const PoolSizes sizes = pool_sizes(maximum, 1, input, begin, end);
  check_kind_by<maximum, float, float, true>(sizes);
  check_kind_by<average, float, float, true>(sizes);
}
template <int64_t... kernels>
void check_lengths(std::integer_sequence<int64_t, kernels...>) {
  (check_axis<Axes{kernels + 1, 1, 1}, Axes{1, 1, 1}>({23, 1, 2}, {kernels, 0, 0}, {0, 0, 0}), ...);
  (check_axis<Axes{1, kernels + 1, 1}, Axes{1, 2, 1}>({1, 23, 2}, {0, 0, 0}, {0, kernels, 0}), ...);
  (check_axis<Axes{1, 1, kernels + 1}, Axes{1, 1, 3}>({1, 2, 23}, {0, 0, kernels / 2}, {0, 0, kernels / 2}), ...);
}
TEST(ISA_SUITE(Pool), ManyLengthsOfAWindow) { check_lengths(std::make_integer_sequence<int64_t, 11>()); }

// The tiles of a separable pool, along each axis.
TEST(ISA_SUITE(Pool), TilesOfLargeWindows) {
  constexpr PoolShape shape{PoolKind::maximum, {3, 5, 3}};
  const PoolSizes deep = pool_sizes(shape, 1, {25, 21, 5}, {1, 2, 1}, {1, 2, 1});
  const PoolSizes wide = pool_sizes(shape, 1, {3, 9, 151}, {1, 2, 1}, {1, 2, 1});
  constexpr PoolShape tall{PoolKind::average, {64, 2, 1}};
  const PoolSizes high = pool_sizes(tall, 1, {65, 33, 65}, {0, 0, 0}, {0, 0, 0});
  EXPECT_EQ(separable_pool_geometry(shape, deep, lanes).tile, (Axes{7, 11, 5}));
  EXPECT_EQ(separable_pool_geometry(shape, wide, lanes).tile, (Axes{3, 9, 51}));
  EXPECT_LT(separable_pool_geometry(tall, high, lanes).tile.h, 32);
  check_kind<shape>(deep);
  check_kind<shape>(wide);
  check_kind<tall>(high);
}

// In rows: lanes are voxels, a row may end within a vector, and what lies between rows is neither read nor written.
struct RowTensor {
  BlockedView view;
  int64_t elements;
  RowTensor(const PlainTensor& plain) {
    constexpr int64_t gap = 3;
    const Axes& size = plain.size;
    view.h_stride = size.w + gap;
    view.d_stride = size.h * view.h_stride + gap;
    view.channel_block_stride = size.d * view.d_stride;
    view.batch_stride = plain.channels * view.channel_block_stride + gap;
    elements = plain.batch * view.batch_stride;
  }
  template <class Visitor>
  void for_each(const PlainTensor& plain, Visitor visit) const {
    for (int64_t n = 0; n < plain.batch; ++n)
      for (int64_t c = 0; c < plain.channels; ++c)
        for_each_voxel(plain.size, [&](int64_t d, int64_t h, int64_t w) {
          const int64_t at =
              n * view.batch_stride + c * view.channel_block_stride + d * view.d_stride + h * view.h_stride + w;
          visit(static_cast<size_t>(at), plain.at(n, c, d, h, w),
                static_cast<float>(n * 7 + c * 11 + d * 5 + h * 3 + w));
        });
  }
};

template <int spatial_axes>
struct RowPlace {
  template <class Vector>
  vec operator()(Vector value, const MatrixPosition& p) const {
    const int64_t first = spatial_axes == 3   ? p.batch[1] * 7 + p.batch[2] * 11 + p.batch[3] * 5 + p.row * 3
                          : spatial_axes == 2 ? p.batch[2] * 7 + p.batch[3] * 11 + p.row * 3
                                              : p.batch[3] * 7 + p.row * 11;
    const vec lane = __builtin_convertvector(lane_indices(), vec);
    return __builtin_convertvector(value, vec) + lane + splat(static_cast<float>(first + p.column));
  }
};

template <PoolShape shape, int spatial_axes, class Kernel, class Input, class Output>
void check_rows_by(const PoolSizes& sizes) {
  PlainTensor plain(sizes.batch, sizes.channels, sizes.input);
  fill_with_integers(plain.values, 1);
  for (float& value : plain.values) value += sizeof(Input) == 1 ? 5.0f : -5.0f;
  if (sizeof(Input) > 1) plain.values[plain.values.size() / 2] = std::numeric_limits<float>::quiet_NaN();
  const PlainTensor expected = reference_pool(shape, sizes, plain);
  const RowTensor from(plain), to(expected);
  std::vector<Input> input(static_cast<size_t>(from.elements), Input(100));
  from.for_each(plain, [&](size_t at, float value, float) { input[at] = Input(value); });
  const Output nothing = Output(-777.0f);
  std::vector<Output> output(static_cast<size_t>(to.elements), nothing), wanted = output;
  to.for_each(expected, [&](size_t at, float value, float place) { wanted[at] = Output(value + place); });
  run_tasks_backwards<Kernel>({input.data(), output.data(), sizes, from.view, to.view}, RowPlace<spatial_axes>{});
  for (size_t i = 0; i < output.size(); ++i) {
    const float found = static_cast<float>(output[i]), right = static_cast<float>(wanted[i]);
    ASSERT_TRUE(found == right || (std::isnan(found) && std::isnan(right))) << i << ": " << found << ", not " << right;
  }
}

template <PoolShape shape, int spatial_axes, class Input = float, class Output = float>
void check_rows(const PoolSizes& sizes) {
  using Epilogue = RowPlace<spatial_axes>;
  check_rows_by<shape, spatial_axes, PlanarPool<shape, Input, Output, Epilogue, spatial_axes>, Input, Output>(sizes);
  if constexpr (shape.stride.w == 1)
    check_rows_by<shape, spatial_axes, SeparablePool<shape, Input, Output, Epilogue, spatial_axes>, Input, Output>(
        sizes);
}

// Every width around a vector, with strides that are read as vectors and those that are not.
template <int64_t stride>
void check_widths() {
  constexpr PoolShape cube{PoolKind::maximum, {3, 3, 3}, {2, 2, stride}},
      pair{PoolKind::maximum, {1, 1, 2}, {1, 1, stride}};
  for (int64_t width = 1; width <= 2 * lanes * stride + 3; width += 1 + width / 9) {
    check_rows<cube, 3>(pool_sizes(cube, 2, {4, 5, width + 1}, {1, 1, 1}, {1, 1, 1}));
    check_rows<pair, 1>(pool_sizes(pair, 3, {1, 1, width + 1}, {0, 0, 0}, {0, 0, 1}, true));
  }
}
TEST(ISA_SUITE(Pool), SmallWindowsInRows) {
  check_widths<1>();
  check_widths<2>();
  check_widths<3>();
  check_widths<4>();
  check_widths<8>();
  check_widths<16>();
  // A window that no row or no column of the input is in, more than one task, and a pad wider than a vector.
  constexpr PoolShape sparse{PoolKind::maximum, {2, 2, 2}, {1, 3, 2}, {3, 2, 5}},
      wide{PoolKind::maximum, {1, 2, 41}, {1, 1, 2}};
  check_rows<sparse, 3>(pool_sizes(sparse, 3, {3, 4, 7}, {2, 1, 4}, {3, 2, 5}, true));
  check_rows<wide, 2>(pool_sizes(wide, 2, {1, 3, 6}, {0, 1, 40}, {0, 1, 38}));
  constexpr PoolShape flat{PoolKind::maximum, {1, 3, 3}, {1, 2, 2}};
  const PoolSizes large = pool_sizes(flat, 1, {3, 160, 501}, {0, 1, 1}, {0, 1, 1});
  EXPECT_GT(planar_pool_geometry(flat, large, lanes).ranges, 1);
  check_rows<flat, 3>(large);
  check_rows<flat, 3, uint8_t>(pool_sizes(flat, 2, {3, 9, 39}, {0, 1, 1}, {0, 1, 1}));
  check_rows<flat, 3, int8_t>(pool_sizes(flat, 2, {3, 9, 39}, {0, 1, 1}, {0, 1, 1}));
  check_rows<flat, 3, float16_t, float16_t>(pool_sizes(flat, 2, {3, 9, 39}, {0, 1, 1}, {0, 1, 1}));
  check_rows<flat, 3, bfloat16_t>(pool_sizes(flat, 2, {3, 9, 39}, {0, 1, 1}, {0, 1, 1}));
}

TEST(ISA_SUITE(Pool), LargeWindowsInRows) {
  constexpr PoolShape cube{PoolKind::maximum, {9, 9, 9}}, dilated{PoolKind::maximum, {3, 4, 3}, {2, 1, 1}, {2, 3, 4}};
  constexpr PoolShape flat{PoolKind::maximum, {1, 5, 6}, {1, 2, 1}}, line{PoolKind::maximum, {1, 1, 15}};
  for (int64_t width = 1; width <= 37; width += width < 20 ? 1 : 4) {
    check_rows<cube, 3>(pool_sizes(cube, 2, {3, 4, width}, {4, 4, 4}, {4, 4, 4}));
    check_rows<flat, 2>(pool_sizes(flat, 3, {1, 9, width + 5}, {0, 2, 1}, {0, 3, 2}, true));
    check_rows<line, 1>(pool_sizes(line, 2, {1, 1, width}, {0, 0, 7}, {0, 0, 7}));
  }
  check_rows<dilated, 3>(pool_sizes(dilated, 3, {9, 13, 41}, {1, 2, 4}, {3, 0, 8}));
  check_rows<cube, 3, uint8_t>(pool_sizes(cube, 2, {10, 9, 21}, {4, 4, 4}, {4, 4, 4}));
  check_rows<flat, 3, int8_t>(pool_sizes(flat, 2, {3, 9, 19}, {0, 2, 1}, {0, 3, 2}));
  check_rows<cube, 3, float16_t>(pool_sizes(cube, 1, {10, 9, 21}, {4, 4, 4}, {4, 4, 4}));
  check_rows<cube, 3, bfloat16_t>(pool_sizes(cube, 1, {10, 9, 21}, {4, 4, 4}, {4, 4, 4}));
  // Tiles along each axis.
  constexpr PoolShape small{PoolKind::maximum, {3, 5, 3}};
  const PoolSizes wide = pool_sizes(small, 1, {13, 24, 70 * lanes + 5}, {1, 2, 1}, {1, 2, 1});
  EXPECT_GT(separable_pool_geometry(small, wide, lanes, true).tiles.w, 1);
  EXPECT_GT(separable_pool_geometry(small, wide, lanes, true).tiles.d, 1);
  check_rows<small, 3>(wide);
}

TEST(ISA_SUITE(Pool), SeparableWherePaid) {
  using enum PoolKind;
  EXPECT_TRUE(is_separable({maximum, {9, 9, 9}}));
  EXPECT_TRUE(is_separable({maximum, {5, 5, 5}, {2, 2, 2}}));
  EXPECT_FALSE(is_separable({maximum, {3, 3, 3}, {2, 2, 2}}));
  EXPECT_FALSE(is_separable({maximum, {2, 2, 2}, {2, 2, 2}}));
  EXPECT_FALSE(is_separable({average, {32, 32, 32}, {32, 32, 32}}));
  EXPECT_FALSE(is_separable({average, {INT64_MAX, INT64_MAX, 1}}));
  EXPECT_EQ(separable_folds({maximum, {9, 9, 9}}), 1 + 4 + 3 + 3);
}

template <bool is_separable>
void check_nan() {
  constexpr PoolShape shape{PoolKind::maximum, {1, 1, 3}, {1, 1, 1}};
  const PoolSizes sizes{1, 1, {1, 1, 8}, {1, 1, 8}, {0, 0, 1}, {0, 0, 1}};
  PlainTensor input(1, 1, sizes.input);
  input.values = {-3.0f, -2.0f, std::numeric_limits<float>::quiet_NaN(), 4.0f, 1.0f, -infinity, -infinity, -infinity};
  BlockedTensor<float> blocked(1, 1, sizes.input), output(1, 1, sizes.output);
  blocked.fill_from(input);
  run_tasks_backwards<typename KernelOf<shape, float, float, NoEpilogue, is_separable>::Type>(
      {blocked.data(), output.data(), sizes, blocked.view, output.view}, NoEpilogue{});
  auto at = [&](int64_t w) { return output.data()[output.offset(0, 0, 0, 0, w)]; };
  EXPECT_EQ(at(0), -2.0f);
  for (int64_t w : {1, 2, 3}) EXPECT_TRUE(std::isnan(at(w))) << w;
  EXPECT_EQ(at(4), 4.0f);
  EXPECT_EQ(at(6), -infinity);
  EXPECT_EQ(at(7), -infinity);
}
TEST(ISA_SUITE(Pool), NanIsTheLargestAndPaddingNever) {
  check_nan<false>();
  check_nan<true>();
}

// An infinity or a NaN stays in the windows that have it, and those have it as the definition says.
template <PoolKind kind>
void check_not_finite() {
  constexpr PoolShape shape{kind, {3, 4, 5}};
  const PoolSizes sizes = pool_sizes(shape, 3, {9, 10, 11}, {1, 2, 2}, {1, 1, 2});
  PlainTensor input(sizes.batch, sizes.channels, sizes.input);
  fill_with_nan_and_infinity(input.values, 1);
  BlockedTensor<float> blocked(sizes.batch, sizes.channels, sizes.input), output(2, sizes.channels, sizes.output);
  blocked.fill_from(input);
  run_tasks_backwards<SeparablePool<shape, float, float, NoEpilogue>>(
      {blocked.data(), output.data(), sizes, blocked.view, output.view}, NoEpilogue{});
  output.expect_equal(reference_pool(shape, sizes, input), 0x1p-20);
}
TEST(ISA_SUITE(Pool), NotFiniteInLargeWindows) {
  check_not_finite<PoolKind::maximum>();
  check_not_finite<PoolKind::average>();
  check_not_finite<PoolKind::average_with_padding>();
}

TEST(ISA_SUITE(Pool), NothingToDo) {
  EXPECT_EQ(pool_geometry({1, 3, {4, 4, 4}, {0, 4, 4}, {}, {}}, lanes).work.tasks, 0);
  EXPECT_EQ(separable_pool_geometry({}, {1, 3, {4, 4, 4}, {0, 4, 4}, {}, {}}, lanes).work.tasks, 0);
  EXPECT_EQ(pool_geometry({1, 0, {4, 4, 4}, {4, 4, 4}, {}, {}}, lanes).work.tasks, 0);
  EXPECT_EQ(planar_pool_geometry({}, {1, 3, {4, 4, 4}, {4, 4, 0}, {}, {}}, lanes).work.tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
