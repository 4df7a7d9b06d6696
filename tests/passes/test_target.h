// Targets for the tests of lowering.
#pragma once

#include <memory>
#include <string>

#include "ir/program/text_kernel.h"
#include "ops/op.h"
#include "passes/lowering/lower.h"
#include "passes/lowering/text_target.h"

namespace onnxc {

// As in a compile.
inline Program lower_for(const Graph& graph, const Target& target) {
  return lower(graph, choose_kernels(graph, target));
}

// The input and the output in blocks, the weights as they are.
inline void lower_test_convolution(const Node& node, LoweringContext& context, const Layout& layout) {
  const Value &input = *node.inputs[0], &output = *node.outputs[0];
  KernelCall call;
  call.spec = std::make_shared<TextKernel>("test_conv", KernelOperands{std::vector<KernelOperand>(2), {}});
  call.inputs = {context.buffer_as(input, layout, node.origin), context.buffer(*node.inputs[1])};
  context.emit_kernel(std::move(call), output, layout, node.origin);
}

// Convolutions have a kernel, which gives blocked tensors and takes every epilogue that stores in its layout.
inline Target test_target() {
  Target target = text_target();
  target.name = "test";
  target.offers = [](const Node& node, const Graph&) {
    if (!is_operator(&node, "Conv")) return Offers();
    const Layout layout = Layout::channel_blocked(node.inputs[0]->shape->size(), 4);
    return Offers{
        {.kernel = "test_conv", .gives = LayoutDemand::blocks, .lower = [&node, layout](LoweringContext& context) {
           lower_test_convolution(node, context, layout);
         }}};
  };
  return target;
}

// Convolutions are in blocks, but computed by their definitions, which the interpreter can run.
inline Target loops_target() {
  Target target = test_target();
  target.offers = [](const Node& node, const Graph&) {
    if (!is_operator(&node, "Conv")) return Offers();
    return Offers{{.kernel = "test_loops", .gives = LayoutDemand::blocks, .lower = [&node](LoweringContext& context) {
                     lower_by_definition(node, context);
                   }}};
  };
  return target;
}

}  // namespace onnxc
