#include "codegen/host/weights.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "support/checked.h"
#include "support/diagnostics.h"
#include "support/hash.h"

namespace onnxc {
namespace {

constexpr size_t alignment = 64;

// Calls `visit` with the indices of every element, in row-major order.
void for_each_index(const std::vector<int64_t>& dims, const std::function<void(const std::vector<int64_t>&)>& visit) {
  if (checked_product(dims) == 0) return;
  std::vector<int64_t> index(dims.size(), 0);
  while (true) {
    visit(index);
    size_t axis = dims.size();
    while (axis > 0 && ++index[axis - 1] == dims[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

// The offset of an element in a layout of constant dims, without building expressions: each axis adds its part.
class ConstantLayout {
 public:
  ConstantLayout(const Layout& layout, const std::vector<int64_t>& dims) : parts_(dims.size()) {
    const Shape shape(dims.begin(), dims.end());
    elements_ = *layout.element_count(shape).constant();
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      std::vector<Expr> indices(dims.size(), 0);
      for (int64_t i = 0; i < dims[axis]; ++i) {
        indices[axis] = i;
        parts_[axis].push_back(*layout.offset(shape, indices).constant());
      }
    }
  }

  int64_t elements() const { return elements_; }
  int64_t offset(const std::vector<int64_t>& index) const {
    int64_t result = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) result += parts_[axis][static_cast<size_t>(index[axis])];
    return result;
  }

 private:
  int64_t elements_ = 0;
  std::vector<std::vector<int64_t>> parts_;  // [axis][index]
};

Tensor packed(const Buffer& buffer) {
  internal_check(buffer.constant.has_value(), "a constant buffer that has a value");
  const Tensor& constant = *buffer.constant;
  if (buffer.is_packed || buffer.layout.is_row_major()) return constant;
  const std::vector<int64_t>& dims = constant.dims();
  const ConstantLayout layout(buffer.layout, dims);
  const auto size = static_cast<size_t>(element_size(buffer.dtype));
  Tensor result = Tensor::zeros(buffer.dtype, {layout.elements()});
  std::byte* const to = result.mutable_bytes();
  const std::byte* from = constant.bytes().data();
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    std::memcpy(to + static_cast<size_t>(layout.offset(index)) * size, from, size);
    from += size;
  });
  return result;
}

// Tells most constants apart without reading all of their bytes.
uint64_t short_hash(std::span<const std::byte> bytes) {
  constexpr size_t most = 4096;
  const std::span<const std::byte> start = bytes.first(std::min(bytes.size(), most));
  return fnv1a({reinterpret_cast<const char*>(start.data()), start.size()}) ^ bytes.size();
}

bool has_equal_bytes(const Tensor& a, const Tensor& b) {
  const size_t size = a.bytes().size();
  return size == b.bytes().size() && (size == 0 || std::memcmp(a.bytes().data(), b.bytes().data(), size) == 0);
}

size_t padded(size_t size) { return (size + 2 * alignment - 1) / alignment * alignment; }

}  // namespace

int64_t WeightBytes::append(Tensor constant) {
  const int64_t offset = size_;
  size_ += static_cast<int64_t>(padded(constant.bytes().size()));
  constants_.push_back(std::move(constant));
  return offset;
}

void WeightBytes::write(OutputFile& file) const {
  constexpr std::array<std::byte, 2 * alignment> zeros{};
  for (const Tensor& constant : constants_) {
    const std::span<const std::byte> bytes = constant.bytes();
    file.write(bytes);
    file.write(std::span(zeros).first(padded(bytes.size()) - bytes.size()));
  }
}

Weights pack_weights(const Program& program, const std::vector<BufferId>& constants) {
  struct Place {
    Tensor constant;
    int64_t offset;
  };
  Weights weights;
  std::unordered_map<uint64_t, std::vector<Place>> places;
  for (BufferId id : constants) {
    const Tensor constant = packed(program.buffer(id));
    std::vector<Place>& candidates = places[short_hash(constant.bytes())];
    auto place =
        std::ranges::find_if(candidates, [&](const Place& other) { return has_equal_bytes(other.constant, constant); });
    if (place == candidates.end()) place = candidates.insert(place, Place{constant, weights.bytes.append(constant)});
    weights.offsets.emplace(id, place->offset);
  }
  return weights;
}

}  // namespace onnxc
