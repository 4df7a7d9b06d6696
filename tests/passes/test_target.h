// A target for the tests of lowering: convolutions have a kernel, which gives blocked tensors and takes every epilogue
// that stores in its layout.
#pragma once

#include <memory>
#include <string>

#include "ir/program/text_kernel.h"
#include "ops/op.h"
#include "passes/lowering/text_target.h"

namespace onnxc {

class TestTarget : public TextTarget {
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
    call.spec = std::make_shared<TextKernel>("test_conv", KernelOperands{std::vector<KernelOperand>(2), {}});
    call.inputs = {context.buffer_as(input, layout, node.origin), context.buffer(*node.inputs[1])};
    context.emit_kernel(std::move(call), output, layout, node.origin);
    return true;
  }
};

}  // namespace onnxc
