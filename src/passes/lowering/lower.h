// Graph to Program: a node becomes the call of the kernel that was chosen for it, else its definition in loop nests.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"
#include "ir/program/program.h"
#include "passes/lowering/choose_kernels.h"

namespace onnxc {

// The name of nests that copy a value to another layout or another buffer.
inline constexpr const char* copy_nest_name = "copy";

// The buffers of a program while it is built from a graph.
class LoweringContext {
 public:
  LoweringContext(const Graph& graph, Program& program, const LayoutMap& layouts);

  Program& program() { return program_; }
  // The steps lowered next run only if `condition` is not 0. A copy made under another condition is not reused.
  void set_condition(const Expr& condition) { place_ = " when " + condition.to_string(); }
  // The name of the offer that is lowered, with which its call describes itself.
  const std::string& kernel() const { return kernel_; }
  void set_kernel(std::string kernel) { kernel_ = std::move(kernel); }
  // The buffer of a value, created on first use.
  BufferId buffer(const Value& value);
  // Around the steps of a loop. A copy made inside is not reused after it: the loop may have no round.
  void begin_loop() { loops_.emplace_back(); }
  void end_loop();
  // The value in a layout: its own buffer when it has that layout, else a copy, created once, or what a kernel wrote
  // before it was copied to the own buffer.
  BufferId buffer_as(const Value& value, const Layout& layout, const Origin& origin);
  // Adds the step that copies each element, whatever the layouts.
  void copy(BufferId from, BufferId to, const Origin& origin);
  // Adds the step of a call whose output has a layout: the call writes the value's own buffer when that has the layout,
  // else a temporary that is then copied to it. Sets the call's output.
  void emit_kernel(KernelCall call, const Value& output, const Layout& layout, const Origin& origin);

 private:
  void remember_copy(BufferId own, const Layout& layout, BufferId copy);

  const Graph& graph_;
  Program& program_;
  const LayoutMap& layouts_;
  std::map<const Value*, BufferId> buffers_;
  std::string place_, kernel_;
  using CopyKey = std::pair<BufferId, std::string>;
  std::map<CopyKey, BufferId> copies_;
  std::vector<std::vector<CopyKey>> loops_;  // that are open, the innermost last: the copies made inside
};

// Adds the loop nests of a node's definition.
void lower_by_definition(const Node& node, LoweringContext& context);

// Lowers the whole graph. Without choices (-O0) every node becomes its definition.
Program lower(const Graph& graph, const KernelChoices& choices);

}  // namespace onnxc
