// The memory of an interpreted program: every storage in its physical layout, reached through checked accesses.
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "ir/interpreter/index_program.h"
#include "ir/program/program.h"

namespace onnxc {

// A load from or a store to one buffer, with its logical indices compiled.
class Access {
 public:
  // The address of the element. Throws InternalError naming the nest, the buffer and the index when it is outside the
  // buffer's logical shape.
  std::byte* address(const int64_t* slots) const;

 private:
  friend class Memory;
  struct Check {
    size_t axis;
    IndexProgram index;
    int64_t extent;
  };

  [[noreturn]] void fail(const Check& check, int64_t index) const;

  std::string where_;          // "nest softmax_sum: b3 'x'"
  std::vector<Check> checks_;  // of the indices that are not known to stay within their extent
  IndexProgram offset_;
  std::byte* base_ = nullptr;
  int64_t element_size_ = 0, storage_elements_ = 0;
};

class Memory {
 public:
  // Lays out every storage: constants are packed, inputs copied, padding is zero, all else NaN (0xcb for integers).
  Memory(const Program& program, const std::map<Symbol, int64_t>& dims, std::span<const Tensor> inputs);

  // A symbol that steps bind; storages whose size is known then are laid out by allocate_known.
  void bind(const Symbol& symbol, int64_t value);
  void allocate_known();
  int64_t evaluate(const Expr& expr) const;

  Access access(std::string_view nest, BufferId id, const std::vector<Expr>& indices, const Slots& slots);
  std::vector<int64_t> dims(const Shape& shape) const;
  const std::map<Symbol, Expr>& bindings() const { return bindings_; }

  // The elements of a buffer in row-major order.
  Tensor read(BufferId id);

 private:
  struct Storage {
    std::vector<std::byte> bytes;
    int64_t elements = 0;
    bool allocated = false;
  };

  bool is_known(const Expr& size) const;
  void allocate(BufferId id);
  void write(BufferId id, const Tensor& tensor);
  Access whole(BufferId id);

  const Program& program_;
  std::map<Symbol, int64_t> values_;
  std::map<Symbol, Expr> bindings_;
  std::set<Symbol> unbound_;
  std::vector<Storage> storages_;  // by buffer id; empty for views and aliases
};

// Calls `body` with each index of a box, in row-major order.
template <class Body>
void for_each_index(const std::vector<int64_t>& dims, Body body) {
  for (int64_t dim : dims)
    if (dim <= 0) return;
  std::vector<int64_t> index(dims.size());
  while (true) {
    body(index.data());
    size_t axis = dims.size();
    while (axis > 0 && ++index[axis - 1] == dims[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace onnxc
