#include "ir/interpreter/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/random_symbols.h"
#include "support/checked.h"

namespace onnxc {
namespace {

// All bits set is a NaN in each floating dtype that has one, but for two, whose NaN has only the sign bit set.
std::byte fill_byte(DType dtype) {
  if (dtype == DType::float8e4m3fnuz || dtype == DType::float8e5m2fnuz) return std::byte{0x80};
  return is_floating(dtype) ? std::byte{0xff} : std::byte{0xcb};
}

struct LogicalIndices {
  std::vector<Expr> indices;
  Slots slots;
};

// One symbol for each logical axis, whose value stands in the slot of that number.
LogicalIndices logical_indices(const std::vector<int64_t>& dims) {
  LogicalIndices result;
  for (size_t i = 0; i < dims.size(); ++i) {
    Symbol symbol = Symbol::axis(fmt::format("index{}", i), dims[i]);
    result.indices.emplace_back(symbol);
    result.slots.add(symbol, {0, dims[i] - 1});
  }
  return result;
}

}  // namespace

std::byte* Access::address(const int64_t* slots) const {
  for (const Check& check : checks_) {
    const int64_t index = check.index.evaluate(slots);
    if (index < 0 || index >= check.extent) fail(check, index);
  }
  const int64_t offset = offset_.evaluate(slots);
  if (offset < 0 || offset >= storage_elements_)
    internal_error(fmt::format("{}: offset {} is outside a storage of {} elements", where_, offset, storage_elements_));
  return base_ + offset * element_size_;
}

void Access::fail(const Check& check, int64_t index) const {
  internal_error(fmt::format("{}: index {} of axis {} is outside [0, {})", where_, index, check.axis, check.extent));
}

Memory::Memory(const Program& program, const std::map<Symbol, int64_t>& dims, std::span<const Tensor> inputs)
    : program_(program), values_(dims), storages_(program.buffers.size()) {
  if (program.draws)
    for (const Symbol& symbol : {run_seed(), run_pass()}) values_.try_emplace(symbol, 0);
  for (const auto& [symbol, value] : values_) bindings_.emplace(symbol, value);
  for (const auto& [symbol, step] : binding_steps(program)) unbound_.insert(symbol);
  allocate_known();
  internal_check(inputs.size() == program.inputs.size(), "as many inputs as the program has");
  for (size_t i = 0; i < inputs.size(); ++i) write(program.inputs[i], inputs[i]);
}

void Memory::bind(const Symbol& symbol, int64_t value) {
  auto known = values_.find(symbol);
  if (known != values_.end() && known->second == value) return;
  values_[symbol] = value;
  bindings_[symbol] = value;
  unbound_.erase(symbol);
  // In a later round of a loop, what depends on it is laid out anew.
  for (size_t i = 0; i < storages_.size(); ++i)
    if (program_.buffers[i].layout.element_count(program_.buffers[i].shape).symbols().contains(symbol))
      storages_[i].allocated = false;
}

int64_t Memory::evaluate(const Expr& expr) const { return expr.evaluate(values_); }

bool Memory::is_known(const Expr& size) const {
  return std::ranges::none_of(size.symbols(), [&](const Symbol& symbol) { return unbound_.contains(symbol); });
}

void Memory::allocate_known() {
  for (size_t i = 0; i < program_.buffers.size(); ++i) {
    const Buffer& buffer = program_.buffers[i];
    if (buffer.view || buffer.alias || buffer.is_packed || storages_[i].allocated) continue;
    if (!is_known(buffer.layout.element_count(buffer.shape))) continue;
    const auto id = static_cast<BufferId>(i);
    allocate(id);
    storages_[i].allocated = true;
    if (buffer.constant) write(id, *buffer.constant);
  }
}

std::vector<int64_t> Memory::dims(const Shape& shape) const {
  std::vector<int64_t> result;
  for (const Expr& dim : shape) result.push_back(dim.evaluate(values_));
  return result;
}

void Memory::allocate(BufferId id) {
  const Buffer& buffer = program_.buffer(id);
  Storage& storage = storages_[static_cast<size_t>(id)];
  storage.elements = buffer.layout.element_count(buffer.shape).evaluate(values_);
  const int64_t size = element_size(buffer.dtype);
  const bool has_padding = !buffer.layout.is_row_major();
  storage.bytes.assign(static_cast<size_t>(checked_multiply(storage.elements, size)),
                       has_padding ? std::byte{0} : fill_byte(buffer.dtype));
  if (!has_padding) return;
  Access elements = whole(id);
  for_each_index(dims(buffer.shape), [&](const int64_t* index) {
    std::memset(elements.address(index), static_cast<int>(fill_byte(buffer.dtype)), static_cast<size_t>(size));
  });
}

Access Memory::access(std::string_view nest, BufferId id, const std::vector<Expr>& indices, const Slots& slots) {
  const Buffer& buffer = program_.buffer(id);
  const Buffer& owner = program_.buffer(program_.storage(id));
  internal_check(indices.size() == buffer.shape.size(), "as many indices as the buffer has axes");
  internal_check(!owner.is_packed, "a packed constant is read only by its kernel");
  Access access;
  access.where_ = fmt::format("nest {}: b{} '{}'", nest, id, buffer.name);
  const std::vector<int64_t> extents = dims(buffer.shape);
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    IndexProgram index(indices[axis], slots, bindings_);
    if (!index.is_within(extents[axis], slots)) access.checks_.push_back({axis, std::move(index), extents[axis]});
  }
  access.offset_ = IndexProgram(program_.offset(id, indices), slots, bindings_);
  Storage& storage = storages_[static_cast<size_t>(program_.storage(id))];
  access.base_ = storage.bytes.data();
  access.storage_elements_ = storage.elements;
  access.element_size_ = element_size(buffer.dtype);
  return access;
}

Access Memory::whole(BufferId id) {
  LogicalIndices logical = logical_indices(dims(program_.buffer(id).shape));
  return access("of all elements", id, logical.indices, logical.slots);
}

void Memory::write(BufferId id, const Tensor& tensor) {
  const Buffer& buffer = program_.buffer(id);
  internal_check(tensor.dtype() == buffer.dtype && tensor.dims() == dims(buffer.shape),
                 "a tensor of the dtype and dims of its buffer");
  const auto size = static_cast<size_t>(element_size(buffer.dtype));
  Storage& storage = storages_[static_cast<size_t>(id)];
  if (!buffer.view && !buffer.alias && buffer.layout.is_row_major()) {
    if (!storage.bytes.empty()) std::memcpy(storage.bytes.data(), tensor.bytes().data(), storage.bytes.size());
    return;
  }
  const std::byte* from = tensor.bytes().data();
  Access elements = whole(id);
  for_each_index(tensor.dims(), [&](const int64_t* index) {
    std::memcpy(elements.address(index), from, size);
    from += size;
  });
}

Tensor Memory::read(BufferId id) {
  const Buffer& buffer = program_.buffer(id);
  const auto size = static_cast<size_t>(element_size(buffer.dtype));
  Tensor tensor = Tensor::zeros(buffer.dtype, dims(buffer.shape));
  const Storage& storage = storages_[static_cast<size_t>(id)];
  if (!buffer.view && !buffer.alias && buffer.layout.is_row_major()) {
    if (!storage.bytes.empty()) std::memcpy(tensor.mutable_bytes(), storage.bytes.data(), storage.bytes.size());
    return tensor;
  }
  std::byte* to = tensor.mutable_bytes();
  Access elements = whole(id);
  for_each_index(tensor.dims(), [&](const int64_t* index) {
    std::memcpy(to, elements.address(index), size);
    to += size;
  });
  return tensor;
}

}  // namespace onnxc
