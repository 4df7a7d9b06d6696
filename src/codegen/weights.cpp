#include "codegen/weights.h"

#include <string_view>
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

std::vector<std::byte> packed(const Buffer& buffer) {
  internal_check(buffer.constant.has_value(), "a constant buffer that has a value");
  const std::span<const std::byte> bytes = buffer.constant->bytes();
  if (buffer.is_packed || buffer.layout.is_row_major()) return {bytes.begin(), bytes.end()};
  const std::vector<int64_t>& dims = buffer.constant->dims();
  const ConstantLayout layout(buffer.layout, dims);
  const auto size = static_cast<size_t>(info(buffer.dtype).size);
  std::vector<std::byte> result(static_cast<size_t>(layout.elements()) * size);
  const std::byte* from = bytes.data();
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    std::memcpy(result.data() + static_cast<size_t>(layout.offset(index)) * size, from, size);
    from += size;
  });
  return result;
}

}  // namespace

Weights pack_weights(const Program& program, const std::vector<BufferId>& constants) {
  Weights weights;
  std::unordered_map<std::string, int64_t> places;
  for (BufferId id : constants) {
    const std::vector<std::byte> bytes = packed(program.buffer(id));
    const auto [place, is_new] = places.emplace(sha256(bytes), static_cast<int64_t>(weights.bytes.size()));
    weights.offsets.emplace(id, place->second);
    if (!is_new) continue;
    weights.bytes.insert(weights.bytes.end(), bytes.begin(), bytes.end());
    weights.bytes.resize((weights.bytes.size() + 2 * alignment - 1) / alignment * alignment);
  }
  return weights;
}

}  // namespace onnxc
