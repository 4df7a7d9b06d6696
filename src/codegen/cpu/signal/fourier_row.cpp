#include "codegen/call/kernel_call.h"
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "ops/define_context.h"
#include "ops/node_reader.h"
#include "ops/signal/dft_spec.h"

namespace onnxc {
namespace {

KernelOperand row_major_operand(const Value& value) {
  KernelOperand operand = whole_operand(*value.shape, {Layout::row_major(value.shape->size())});
  operand.types = {value.dtype};
  return operand;
}

class FourierCallSpec : public CpuKernelSpec {
 public:
  FourierCallSpec(const Node& node, DftSpec dft)
      : operands_{{row_major_operand(*node.inputs[0])}, row_major_operand(*node.outputs[0])}, dft_(std::move(dft)) {}

  std::string describe() const override {
    const std::optional<int64_t> length = dft_.length.constant();
    return length ? fmt::format("fourier {}", *length) : "fourier";
  }
  bool accepts_views() const override { return false; }
  KernelOperands operands() const override { return operands_; }
  std::vector<std::string> headers() const override { return {"kernels/cpu/signal/fourier.h"}; }
  std::string type(const KernelCall& call, const Program& program, const std::string&) const override {
    return fmt::format("Fourier<{}>", c_type(program, call.output));
  }
  std::string sizes(const KernelText& text) const override {
    return braced({text.expr(dft_.outer()), text.expr(dft_.extent), text.expr(dft_.inner()),
                   text.expr(dft_.input.back()), text.expr(dft_.length), text.expr(dft_.output_extent())});
  }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced({text.pointer(call.inputs[0]), text.pointer(call.output), sizes(text),
                   dft_.inverse ? "true" : "false", dft_.gives_real() ? "true" : "false"});
  }
  std::string arithmetic() const override { return "float64"; }
  Expr operations() const override { return 0; }

 private:
  KernelOperands operands_;
  DftSpec dft_;
};

void lower_fourier(const Node& node, LoweringContext& context) {
  const Value &input = *node.inputs[0], &output = *node.outputs[0];
  DftSpec dft = resolve_dft(NodeReader(node));
  DefineContext define(node, context.program(), [&](const Value& value) { return context.buffer(value); });
  bind_dft(define, dft);
  KernelCall call;
  call.inputs = {context.buffer_as(input, Layout::row_major(input.shape->size()), node.origin)};
  call.spec = std::make_shared<FourierCallSpec>(node, std::move(dft));
  context.emit_kernel(std::move(call), output, Layout::row_major(output.shape->size()), node.origin);
}

}  // namespace

// Discrete Fourier transforms: fourier.h.
void offer_fourier(const CpuProblem& problem, const CpuMachine& /*machine*/, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_dft(node) || info(node.inputs[0]->dtype).bits < 16) return;
  offers.push_back({.kernel = "fourier",
                    .reads = LayoutDemand::rows,
                    .gives = LayoutDemand::rows,
                    .lower = [&node](LoweringContext& context) { lower_fourier(node, context); }});
}

}  // namespace onnxc
