// A target for the tests of passes: convolutions have a kernel, which gives blocked tensors and takes every epilogue.
#pragma once

#include <memory>
#include <string>

#include "ops/op.h"
#include "passes/lowering/target.h"

namespace onnxc {

// What operands are does not matter to it.
class TestKernel : public KernelSpec {
 public:
  explicit TestKernel(size_t inputs) : inputs_(inputs) {}
  std::string describe() const override { return "test_conv"; }
  KernelOperands operands() const override { return {std::vector<KernelOperand>(inputs_), {}}; }

 private:
  size_t inputs_;
};

class TestTarget : public Target {
 public:
  std::string name() const override { return "test"; }
  bool prefers_blocked(const Node& node) const override { return node.op->name == "Conv"; }
  Layout blocked_layout(size_t rank) const override { return Layout::channel_blocked(rank, 4); }

  // The input and the output blocked, the weights as they are.
  bool lower(const Node& node, LoweringContext& context) const override {
    if (node.op->name != "Conv") return false;
    const Value &input = *node.inputs[0], &output = *node.outputs[0];
    const Layout layout = blocked_layout(input.shape->size());
    KernelCall call;
    call.spec = std::make_shared<TestKernel>(2);
    call.inputs = {context.buffer_as(input, layout, node.origin), context.buffer(*node.inputs[1])};
    context.emit_kernel(std::move(call), output, layout, node.origin);
    return true;
  }

  bool fits_epilogue(const Program& program, const KernelCall& call, const Epilogue&, BufferId output) const override {
    return program.buffer(output).layout == program.buffer(call.output).layout;
  }
};

}  // namespace onnxc
