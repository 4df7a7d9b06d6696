#include "codegen/host/weights.h"

#include <algorithm>
#include <array>

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

int64_t WeightBytes::place(const Tensor& constant) {
  std::vector<size_t>& alike = by_hash_[short_hash(constant.bytes())];
  const auto known =
      std::ranges::find_if(alike, [&](size_t i) { return has_equal_bytes(places_[i].constant, constant); });
  if (known != alike.end()) return places_[*known].offset;
  alike.push_back(places_.size());
  places_.push_back({constant, size_});
  size_ += static_cast<int64_t>(padded(constant.bytes().size()));
  return places_.back().offset;
}

void WeightBytes::write(OutputFile& file) const {
  constexpr std::array<std::byte, 2 * alignment> zeros{};
  for (const Place& place : places_) {
    const std::span<const std::byte> bytes = place.constant.bytes();
    file.write(bytes);
    file.write(std::span(zeros).first(padded(bytes.size()) - bytes.size()));
  }
}

bool WeightBytes::equals(const WeightBytes& other) const {
  return std::ranges::equal(places_, other.places_,
                            [](const Place& a, const Place& b) { return has_equal_bytes(a.constant, b.constant); });
}

void SharedConstants::share(Program& program) {
  for (Buffer& buffer : program.buffers) {
    if (!buffer.constant) continue;
    Tensor& constant = *buffer.constant;
    std::vector<Tensor>& alike = by_hash_[short_hash(constant.bytes())];
    const auto known = std::ranges::find_if(alike, [&](const Tensor& other) {
      return other.dtype() == constant.dtype() && other.dims() == constant.dims() && has_equal_bytes(other, constant);
    });
    if (known != alike.end())
      constant = *known;
    else
      alike.push_back(constant);
  }
}

std::map<BufferId, int64_t> pack_weights(const Program& program, const std::vector<BufferId>& constants,
                                         WeightBytes& bytes) {
  std::map<BufferId, int64_t> offsets;
  for (BufferId id : constants) offsets.emplace(id, bytes.place(packed(program.buffer(id))));
  return offsets;
}

}  // namespace onnxc
