// For kernels that slide a window over each channel (depthwise convolution, pools): which taps are inside the input,
// and reads past the ends of an input row.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/cpu/vector/integers.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Taps [begin, end) of a window along one axis.
struct TapRange {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

// The taps whose position first + tap * dilation lies in [low, high).
inline TapRange taps_between(int64_t first, int64_t kernel, int64_t dilation, int64_t low, int64_t high) {
  const int64_t begin = first >= low ? 0 : smaller(kernel, divide_up(low - first, dilation));
  const int64_t end = first >= high ? 0 : smaller(kernel, divide_up(high - first, dilation));
  return {begin, larger(begin, end)};
}

// A row of NCHWc blocks seen from `column`: operator[](i) loads the block i columns further. With `at_edge` a column
// outside the row reads `outside` in all lanes; without, every column must be inside.
template <class Input, bool at_edge>
struct InputRow {
  const Input* first;
  int64_t column, width;
  const Input* outside;  // `lanes` elements
  [[gnu::always_inline]] auto operator[](int64_t i) const {
    if constexpr (at_edge) return load(column + i >= 0 && column + i < width ? first + i * lanes : outside);
    return load(first + i * lanes);
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
