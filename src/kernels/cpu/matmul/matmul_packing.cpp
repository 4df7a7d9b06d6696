#include "kernels/cpu/matmul/matmul_packing.h"

#include <algorithm>

#include "support/checked.h"
#include "support/diagnostics.h"
#include "support/parallel.h"

namespace onnxc {

template <class T>
std::vector<T> pack_matrix(const kernels::MatmulPacking& packing, std::span<const T> values, int64_t row_stride,
                           int64_t column_stride) {
  std::vector<T> packed(static_cast<size_t>(packing.size()), T{});
  if (packing.depth == 0 || packing.columns == 0) return packed;
  const int64_t last = checked_add(checked_multiply(packing.depth - 1, row_stride),
                                   checked_multiply(packing.columns - 1, column_stride));
  internal_check(row_stride >= 0 && column_stride >= 0 && last < static_cast<int64_t>(values.size()),
                 "a matrix to pack reaches past its values");
  // A few columns at a time: if they are far apart in memory their cache lines are read once.
  constexpr int64_t group = 16;
  parallel_for((packing.columns + group - 1) / group, [&](int64_t index) {
    const int64_t end = std::min(packing.columns, (index + 1) * group);
    for (int64_t k = 0; k < packing.depth; ++k)
      for (int64_t column = index * group; column < end; ++column)
        packed[static_cast<size_t>(packing.offset(k, column))] =
            values[static_cast<size_t>(k * row_stride + column * column_stride)];
  });
  return packed;
}

template std::vector<float> pack_matrix(const kernels::MatmulPacking&, std::span<const float>, int64_t, int64_t);
template std::vector<uint16_t> pack_matrix(const kernels::MatmulPacking&, std::span<const uint16_t>, int64_t, int64_t);

}  // namespace onnxc
