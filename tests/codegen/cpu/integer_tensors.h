// Small integers in a tensor of any type: sums and products of few of them are exact in all but the half types.
#pragma once

#include <Eigen/Core>

#include "ir/tensor.h"

namespace onnxc {

template <class T>
Tensor integers_of(DType dtype, const std::vector<int64_t>& dims, uint64_t seed) {
  std::vector<T> values(static_cast<size_t>(checked_product(dims)));
  uint64_t state = seed * 2654435761u + 1;
  for (T& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<T>(static_cast<float>(static_cast<int64_t>(state >> 60) - 7));
  }
  return Tensor::of(dtype, dims, values);
}

// From -7 to 8; for unsigned types only what is not negative, and 0 or 1 for booleans.
inline Tensor integer_tensor(DType dtype, const std::vector<int64_t>& dims, uint64_t seed = 1) {
  switch (dtype) {
    case DType::float32:
      return integers_of<float>(dtype, dims, seed);
    case DType::float64:
      return integers_of<double>(dtype, dims, seed);
    case DType::float16:
      return integers_of<Eigen::half>(dtype, dims, seed);
    case DType::bfloat16:
      return integers_of<Eigen::bfloat16>(dtype, dims, seed);
    default:
      break;
  }
  // Integers by their size: an unsigned or boolean element takes the low bits of the magnitude.
  Tensor tensor = Tensor::zeros(dtype, dims);
  const std::vector<double> magnitudes = integers_of<double>(DType::float64, dims, seed).as_double();
  const auto size = static_cast<size_t>(element_size(dtype));
  const bool is_signed = info(dtype).kind == DTypeKind::signed_integer;
  for (size_t i = 0; i < magnitudes.size(); ++i) {
    auto value = static_cast<int64_t>(is_signed ? magnitudes[i] : std::abs(magnitudes[i]));
    if (dtype == DType::boolean) value &= 1;
    std::memcpy(tensor.mutable_bytes() + i * size, &value, size);  // little-endian
  }
  return tensor;
}

}  // namespace onnxc
