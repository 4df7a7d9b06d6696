#include "ir/tensor.h"

#include "ir/dtype_visit.h"

namespace onnxc {
namespace {

template <class To>
std::vector<To> convert(const Tensor& tensor) {
  return with_type(tensor.dtype(), [&]<class From>() {
    std::vector<To> result;
    result.reserve(static_cast<size_t>(tensor.size()));
    for (From value : tensor.values<From>()) result.push_back(static_cast<To>(value));
    return result;
  });
}

template <class To>
std::vector<To> rounded(const std::vector<double>& values) {
  std::vector<To> result;
  for (const double value : values) result.push_back(static_cast<To>(value));
  return result;
}

}  // namespace

Tensor::Tensor(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> bytes,
               std::shared_ptr<const void> owner)
    : dtype_(dtype), dims_(std::move(dims)), bytes_(bytes), owner_(std::move(owner)) {
  internal_check(static_cast<int64_t>(bytes_.size()) == checked_multiply(checked_product(dims_), element_size(dtype)),
                 "as many bytes as the dims say");
}

Tensor Tensor::zeros(DType dtype, std::vector<int64_t> dims) {
  auto size = static_cast<size_t>(checked_multiply(checked_product(dims), element_size(dtype)));
  // Over-aligned, so that vector loads from it are aligned wherever a weight starts.
  struct Free {
    void operator()(std::byte* pointer) const { ::operator delete[](pointer, std::align_val_t{64}); }
  };
  std::shared_ptr<std::byte> bytes(static_cast<std::byte*>(::operator new[](size, std::align_val_t{64})), Free{});
  std::memset(bytes.get(), 0, size);
  std::span<const std::byte> view(bytes.get(), size);
  return Tensor(dtype, std::move(dims), view, std::move(bytes));
}

Tensor pack(const Tensor& tensor) {
  if (!is_sub_byte(tensor.dtype())) return tensor;
  const int bits = info(tensor.dtype()).bits, in_a_byte = 8 / bits;
  const std::byte mask{static_cast<unsigned char>((1 << bits) - 1)};
  Tensor packed = Tensor::zeros(DType::uint8, {packed_size(tensor.dtype(), tensor.size())});
  const std::span<const std::byte> elements = tensor.bytes();
  for (size_t i = 0; i < elements.size(); ++i)
    packed.mutable_bytes()[i / in_a_byte] |= (elements[i] & mask) << (bits * static_cast<int>(i % in_a_byte));
  return packed;
}

Tensor unpack(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> packed) {
  const int bits = info(dtype).bits, in_a_byte = 8 / bits;
  Tensor tensor = Tensor::zeros(dtype, std::move(dims));
  internal_check(std::ssize(packed) == packed_size(dtype, tensor.size()), "as many bytes as the dims say");
  const bool has_sign = info(dtype).kind == DTypeKind::signed_integer;
  for (size_t i = 0; i < tensor.bytes().size(); ++i) {
    const auto byte = static_cast<unsigned char>(packed[i / in_a_byte]);
    const auto top = static_cast<unsigned char>(byte << (8 - bits - bits * static_cast<int>(i % in_a_byte)));
    const int element = has_sign ? static_cast<signed char>(top) >> (8 - bits) : top >> (8 - bits);
    tensor.mutable_bytes()[i] = static_cast<std::byte>(element);
  }
  return tensor;
}

std::vector<int64_t> Tensor::as_int64() const { return convert<int64_t>(*this); }
std::vector<double> Tensor::as_double() const { return convert<double>(*this); }

Tensor float_tensor(DType dtype, std::vector<int64_t> dims, const std::vector<double>& values) {
  switch (dtype) {
    case DType::float64:
      return Tensor::of(dtype, std::move(dims), values);
    case DType::float32:
      return Tensor::of(dtype, std::move(dims), rounded<float>(values));
    case DType::float16:
      return Tensor::of(dtype, std::move(dims), rounded<Eigen::half>(values));
    case DType::bfloat16:
      return Tensor::of(dtype, std::move(dims), rounded<Eigen::bfloat16>(values));
    default:
      internal_error(fmt::format("a tensor of numbers is made in a floating type, found {}", info(dtype).name));
  }
}

}  // namespace onnxc
