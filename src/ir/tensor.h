// A constant tensor: dtype, dims and row-major bytes. The bytes are shared and immutable, so that copies are cheap and
// a weight may stay in the mapped file it came from.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "ir/dtype.h"
#include "support/checked.h"

namespace onnxc {

class Tensor {
 public:
  Tensor(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  // A tensor whose bytes are all zero, to be filled through `mutable_bytes` before it is shared.
  static Tensor zeros(DType dtype, std::vector<int64_t> dims);

  template <class T>
  static Tensor of(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
    Tensor tensor = zeros(dtype, std::move(dims));
    internal_check(values.size() * sizeof(T) == tensor.bytes_.size(), "as many values as the dims say");
    if (!values.empty()) std::memcpy(tensor.mutable_bytes(), values.data(), values.size() * sizeof(T));
    return tensor;
  }

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t size() const { return checked_product(dims_); }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::byte* mutable_bytes() { return const_cast<std::byte*>(bytes_.data()); }

  template <class T>
  std::span<const T> values() const {
    internal_check(sizeof(T) == static_cast<size_t>(element_size(dtype_)), "values read as the type they have");
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

  // Any integer or boolean tensor as int64, any real tensor as double.
  std::vector<int64_t> as_int64() const;
  std::vector<double> as_double() const;

 private:
  DType dtype_;
  std::vector<int64_t> dims_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

// For float64, float32, float16 or bfloat16, to which the values are rounded.
Tensor float_tensor(DType dtype, std::vector<int64_t> dims, const std::vector<double>& values);

// A tensor's elements as a file and a caller hold them (packed_size): its own bytes but for the sub-byte types.
Tensor pack(const Tensor& tensor);
// The tensor whose elements these are, of a sub-byte type; the bytes are as many as packed_size says.
Tensor unpack(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> packed);

}  // namespace onnxc
