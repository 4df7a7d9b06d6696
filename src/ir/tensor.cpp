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

}  // namespace

Tensor::Tensor(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> bytes,
               std::shared_ptr<const void> owner)
    : dtype_(dtype), dims_(std::move(dims)), bytes_(bytes), owner_(std::move(owner)) {
  internal_check(static_cast<int64_t>(bytes_.size()) == checked_multiply(checked_product(dims_), info(dtype).size),
                 "as many bytes as the dims say");
}

Tensor Tensor::zeros(DType dtype, std::vector<int64_t> dims) {
  auto size = static_cast<size_t>(checked_multiply(checked_product(dims), info(dtype).size));
  // Over-aligned, so that vector loads from it are aligned wherever a weight starts.
  struct Free {
    void operator()(std::byte* pointer) const { ::operator delete[](pointer, std::align_val_t{64}); }
  };
  std::shared_ptr<std::byte> bytes(static_cast<std::byte*>(::operator new[](size, std::align_val_t{64})), Free{});
  std::memset(bytes.get(), 0, size);
  std::span<const std::byte> view(bytes.get(), size);
  return Tensor(dtype, std::move(dims), view, std::move(bytes));
}

std::vector<int64_t> Tensor::as_int64() const { return convert<int64_t>(*this); }
std::vector<double> Tensor::as_double() const { return convert<double>(*this); }

}  // namespace onnxc
