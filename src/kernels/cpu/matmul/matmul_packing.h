// Constant matrices in the order that the CPU matrix-product kernel reads. Done once, at compile time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/matmul/matmul_geometry.h"

namespace onnxc {

// Packs the right operand [depth, columns], whose element (k, n) is values[k * row_stride + n * column_stride].
// `T` is float, or uint16_t for the bits of float16 and bfloat16. Throws InternalError when the matrix reaches past
// `values`.
template <class T>
std::vector<T> pack_matrix(const kernels::MatmulPacking& packing, std::span<const T> values, int64_t row_stride,
                           int64_t column_stride);

extern template std::vector<float> pack_matrix(const kernels::MatmulPacking&, std::span<const float>, int64_t, int64_t);
extern template std::vector<uint16_t> pack_matrix(const kernels::MatmulPacking&, std::span<const uint16_t>, int64_t,
                                                  int64_t);

}  // namespace onnxc
