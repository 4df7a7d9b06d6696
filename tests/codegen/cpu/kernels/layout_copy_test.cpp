#include "codegen/cpu/kernels/layout_copy.h"

#include <gtest/gtest.h>

#include "codegen/cpu/kernels/conv_harness.h"
#include "codegen/cpu/kernels/isa_suite.h"

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
  run_backwards<LayoutCopy<T, false>>({rows.data(), blocked.data(), sizes, row_view, blocked.view});
  blocked.expect_equal(plain, 0.0);
  std::vector<T> back(rows.size(), T(-100.0f));
  run_backwards<LayoutCopy<T, true>>({blocked.data(), back.data(), sizes, blocked.view, row_view});

  const BlockedView dense = dense_view(channels, size, lanes);
  std::vector<T> dense_blocks(static_cast<size_t>(batch * dense.batch_stride), T(BlockedTensor<T>::gap_value));
  run_backwards<LayoutCopy<T, false>>({rows.data(), dense_blocks.data(), sizes, row_view, dense});
  std::vector<T> dense_back(rows.size(), T(-100.0f));
  run_backwards<LayoutCopy<T, true>>({dense_blocks.data(), dense_back.data(), sizes, dense, row_view});
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

TEST(ISA_SUITE(LayoutCopy), NothingToDo) { check(1, 3, {0, 2, 5}); }

}  // namespace
}  // namespace onnxc::kernels
