// Scalar expressions as C statements, one an operation:
//
//   const float v0 = b1[i0];
//   const float v1 = exponential(v0);
//
// A shared node is printed once. A load in a select is printed inside the branch that takes it, since the memory may
// not exist otherwise, unless the dialect loads early; what both branches need is printed before them.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "codegen/text/expr_printer.h"
#include "codegen/text/scalar_dialect.h"
#include "codegen/text/text_writer.h"

namespace onnxc {

class ScalarPrinter {
 public:
  // Loads must be flat: the buffer is a storage and the one index is the element's offset. `pointers` names the
  // storages. All references must outlive the printer.
  ScalarPrinter(TextWriter& writer, const ScalarDialect& dialect, const SymbolNames& symbols,
                const std::map<BufferId, std::string>& pointers)
      : writer_(writer), dialect_(dialect), symbols_(symbols), pointers_(pointers) {}

  // Prints what the value needs and returns its name (or its text, for a constant or an index).
  std::string value(const Scalar& scalar) { return value(*scalar); }
  std::string value(const ScalarNode& node);

  void set_accumulator(int slot, std::string name) { accumulators_[slot] = std::move(name); }

  // leave() forgets what was printed since enter(): those variables are in an inner block.
  void enter();
  void leave();

  // The nodes whose value is needed whatever the selects choose, operands first.
  const std::vector<const ScalarNode*>& always_needed(const ScalarNode& node);

 private:
  void print_select(const ScalarNode& node, const std::string& name);
  bool loads_late(const ScalarNode& node);
  std::string define(const ScalarNode& node);

  TextWriter& writer_;
  const ScalarDialect& dialect_;
  const SymbolNames& symbols_;
  const std::map<BufferId, std::string>& pointers_;
  std::map<int, std::string> accumulators_;
  std::unordered_map<const ScalarNode*, std::string> names_;
  std::vector<std::vector<const ScalarNode*>> blocks_ = {{}};
  std::unordered_map<const ScalarNode*, bool> loads_late_;
  std::unordered_map<const ScalarNode*, std::vector<const ScalarNode*>> always_needed_;
  int count_ = 0;
};

}  // namespace onnxc
