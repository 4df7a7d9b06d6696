#include "kernels/cpu/memory_bound/layout_copy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/isa_suite.h"
#include "kernels/cpu/vector/math.h"

namespace onnxc::kernels {
namespace {

// Each task on its own, last first.
template <class Kernel>
void run_backwards(const typename Kernel::Arguments& arguments) {
  for (int64_t task = Kernel::work(arguments.sizes).tasks; task-- > 0;) Kernel::run(arguments, task, task + 1, nullptr);
}

// There and back. The rows are dense and of exactly their size; the blocks are dense, or a view with gaps.
template <class T = float>
void check(int64_t batch, int64_t channels, const Axes& size) {
  PlainTensor plain(batch, channels, size);
  fill_with_integers(plain.values, 1);
  const std::vector<T> rows(plain.values.begin(), plain.values.end());
  const LayoutCopySizes sizes{batch, channels, size};
  const BlockedView row_view = {channels * size.product(), size.product(), size.h * size.w, size.w};

  BlockedTensor<T> blocked(batch, channels, size);
  run_backwards<LayoutCopy<T, T, false>>({rows.data(), blocked.data(), sizes, row_view, blocked.view});
  blocked.expect_equal(plain, 0.0);
  std::vector<T> back(rows.size(), T(-100.0f));
  run_backwards<LayoutCopy<T, T, true>>({blocked.data(), back.data(), sizes, blocked.view, row_view});

  const BlockedView dense = dense_view(channels, size, lanes);
  std::vector<T> dense_blocks(static_cast<size_t>(batch * dense.batch_stride), T(BlockedTensor<T>::gap_value));
  run_backwards<LayoutCopy<T, T, false>>({rows.data(), dense_blocks.data(), sizes, row_view, dense});
  std::vector<T> dense_back(rows.size(), T(-100.0f));
  run_backwards<LayoutCopy<T, T, true>>({dense_blocks.data(), dense_back.data(), sizes, dense, row_view});
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(static_cast<float>(back[i]), plain.values[i]) << i;
    ASSERT_EQ(static_cast<float>(dense_back[i]), plain.values[i]) << i;
  }
}

TEST(ISA_SUITE(LayoutCopy), EveryWidthAndNumberOfChannelsAroundTheSquare) {
  for (int64_t width = 1; width <= 2 * lanes + 1; ++width) check(1, lanes + 3, {2, 3, width});
  for (int64_t channels = 1; channels <= 2 * lanes + 1; ++channels) check(2, channels, {1, 2, lanes + 1});
}

TEST(ISA_SUITE(LayoutCopy), ManyTasks) {
  const LayoutCopySizes sizes{2, lanes, {7, 31, 37}};
  ASSERT_GT(layout_copy_geometry(sizes, lanes).pieces, 1);
  check(2, lanes, sizes.size);
}

TEST(ISA_SUITE(LayoutCopy), HalfTypes) {
  check<float16_t>(1, lanes + 2, {2, 3, lanes + 5});
  check<bfloat16_t>(1, lanes + 2, {2, 3, lanes + 5});
}

// Adds what only the right position gives, and NaN to the channels that pad the last block.
struct AddPlace {
  int64_t channels;
  static float of(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
    return static_cast<float>(n * 7 + c / lanes * 11 + d * 5 + h * 3 + w);
  }
  vec operator()(vec x, const Position& p) const {
    const vec place = splat(of(p.n, p.channel_block * lanes, p.d, p.h, p.w));
    const vec outside = splat(std::numeric_limits<float>::quiet_NaN());
    return x + select(first_lanes(channels - p.channel_block * lanes), place, outside);
  }
};

// There and back through the epilogue, the blocks dense or a view with gaps.
void check_computed(int64_t batch, int64_t channels, const Axes& size) {
  PlainTensor plain(batch, channels, size);
  fill_with_integers(plain.values, 1);
  PlainTensor once = plain, twice = plain;
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for_each_voxel(size, [&](int64_t d, int64_t h, int64_t w) {
        const auto at = static_cast<size_t>(plain.index(n, c, d, h, w));
        once.values[at] += AddPlace::of(n, c, d, h, w);
        twice.values[at] += 2 * AddPlace::of(n, c, d, h, w);
      });
  const LayoutCopySizes sizes{batch, channels, size};
  const BlockedView row_view = {channels * size.product(), size.product(), size.h * size.w, size.w};
  BlockedTensor<float> gaps(batch, channels, size);
  const BlockedView dense = dense_view(channels, size, lanes);
  std::vector<float> dense_blocks(static_cast<size_t>(batch * dense.batch_stride), BlockedTensor<float>::gap_value);
  for (const auto& [blocks, view] : {std::pair(gaps.data(), gaps.view), std::pair(dense_blocks.data(), dense)}) {
    using ToBlocks = LayoutCopy<float, float, false, AddPlace>;
    using ToRows = LayoutCopy<float, float, true, AddPlace>;
    run_tasks_backwards<ToBlocks>({plain.values.data(), blocks, sizes, row_view, view}, AddPlace{channels});
    std::vector<float> back(plain.values.size(), -100.0f);
    run_tasks_backwards<ToRows>({blocks, back.data(), sizes, view, row_view}, AddPlace{channels});
    ASSERT_EQ(back, twice.values) << channels << " channels, width " << size.w;
  }
  gaps.expect_equal(once, 0.0);
}

TEST(ISA_SUITE(LayoutCopy), ComputesOnTheWay) {
  for (int64_t width = 1; width <= 2 * lanes + 1; ++width) check_computed(2, lanes + 3, {2, 3, width});
  for (int64_t channels = 1; channels <= 2 * lanes + 1; ++channels) check_computed(2, channels, {2, 2, lanes + 1});
  check_computed(1, lanes, {7, 31, 37});
}

// As QuantizeLinear, with a step of a quarter.
template <class T>
struct Quantize {
  vec_int32 operator()(vec x, const Position&) const {
    return saturated<T>(round_even(x * splat(4.0f)) + splat(zero_point));
  }
  static constexpr float zero_point = 3.0f;
  static T of(float x) {
    if (std::isnan(x)) return 0;
    const double whole = std::nearbyint(double{x} * 4.0) + zero_point;
    return static_cast<T>(std::clamp<double>(whole, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
};

// Multiples of an eighth, half of them ties, up to beyond the greatest byte; NaN and infinities.
std::vector<float> values_to_quantize(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 37 % 1001) / 8.0f - 62.0f;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const auto& [place, value] : {std::pair(1, infinity), {3, -infinity}, {4, NAN}, {5, -0.0f}, {6, 1e30f}})
    values[static_cast<size_t>(place) % count] = value;
  return values;
}

template <class T>
void check_quantized(int64_t batch, int64_t channels, const Axes& size) {
  constexpr T untouched = 77;
  PlainTensor plain(batch, channels, size);
  plain.values = values_to_quantize(plain.values.size());
  const LayoutCopySizes sizes{batch, channels, size};
  const BlockedView row_view = {channels * size.product(), size.product(), size.h * size.w, size.w};
  BlockedTensor<float> floats(batch, channels, size);
  floats.fill_from(plain);
  std::vector<T> blocks(floats.storage.size(), untouched), rows(plain.values.size(), untouched);
  T* const first = blocks.data() + floats.view.channel_block_stride;
  run_tasks_backwards<LayoutCopy<float, T, false, Quantize<T>>>(
      {plain.values.data(), first, sizes, row_view, floats.view}, Quantize<T>());
  run_tasks_backwards<LayoutCopy<float, T, true, Quantize<T>>>(
      {floats.data(), rows.data(), sizes, floats.view, row_view}, Quantize<T>());
  std::vector<T> expected(blocks.size(), untouched);
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = 0; c < round_up(channels, lanes); ++c)
      for_each_voxel(size, [&](int64_t d, int64_t h, int64_t w) {
        const auto at = static_cast<size_t>(floats.offset(n, c, d, h, w) + floats.view.channel_block_stride);
        expected[at] = c < channels ? Quantize<T>::of(plain.at(n, c, d, h, w)) : T(0);
      });
  EXPECT_EQ(blocks, expected) << channels << " channels, width " << size.w;
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], Quantize<T>::of(plain.values[i])) << i;
}

TEST(ISA_SUITE(LayoutCopy), QuantizesOnTheWay) {
  for (int64_t width = 1; width <= 2 * lanes + 1; ++width) check_quantized<uint8_t>(2, lanes + 3, {2, 3, width});
  for (int64_t channels = 1; channels <= 2 * lanes + 1; ++channels)
    check_quantized<int8_t>(2, channels, {2, 2, lanes + 1});
  check_quantized<uint8_t>(1, 3, {7, 31, 37});
}

TEST(ISA_SUITE(LayoutCopy), NothingToDo) { check(1, 3, {0, 2, 5}); }

}  // namespace
}  // namespace onnxc::kernels
