#include "codegen/call/kernel_call.h"
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "ops/node_reader.h"
#include "ops/tensor/argsort_spec.h"

namespace onnxc {
namespace {

class ArgsortCallSpec : public CpuKernelSpec {
 public:
  ArgsortCallSpec(DType dtype, Shape shape, const ArgsortSpec& argsort)
      : dtype_(dtype), shape_(std::move(shape)), argsort_(argsort) {}

  std::string describe() const override { return "argsort"; }
  bool accepts_views() const override { return false; }
  KernelOperands operands() const override {
    const Layout rows = Layout::row_major(shape_.size());
    Shape sorted = shape_;
    sorted[argsort_.axis] = argsort_.count;
    KernelOperand elements = whole_operand(shape_, {rows}), positions = whole_operand(sorted, {rows});
    elements.types = {dtype_};
    positions.types = {DType::int64};
    return {{std::move(elements)}, std::move(positions)};
  }
  std::vector<std::string> headers() const override { return {"kernels/cpu/selection/argsort.h"}; }
  std::string type(const KernelCall&, const Program&, const std::string&) const override {
    return fmt::format("Argsort<{}, {}>", info(dtype_).c_type, argsort_.descending);
  }
  std::string sizes(const KernelText& text) const override {
    const auto at = shape_.begin() + static_cast<std::ptrdiff_t>(argsort_.axis);
    return braced({text.expr(product(Shape(shape_.begin(), at))), text.expr(*at),
                   text.expr(product(Shape(at + 1, shape_.end()))), text.expr(argsort_.count)});
  }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced({text.pointer(call.inputs[0]), text.pointer(call.output), sizes(text)});
  }
  Expr operations() const override { return 0; }

 private:
  DType dtype_;
  Shape shape_;
  ArgsortSpec argsort_;
};

// The types whose elements the kernel makes keys of.
bool has_keys(DType dtype) {
  if (is_floating(dtype)) return info(dtype).bits >= 16;
  return dtype != DType::string && dtype != DType::boolean;
}

}  // namespace

// The order of lines: argsort.h.
void offer_argsort(const CpuProblem& problem, const CpuMachine& /*machine*/, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_argsort(node)) return;
  const NodeReader reader(node);
  if (!has_keys(reader.dtype(0))) return;
  offers.push_back({.kernel = "argsort",
                    .reads = LayoutDemand::rows,
                    .gives = LayoutDemand::rows,
                    .lower = [&node](LoweringContext& context) {
                      const Value& input = *node.inputs[0];
                      const Layout layout = Layout::row_major(input.shape->size());
                      KernelCall call;
                      call.inputs = {context.buffer_as(input, layout, node.origin)};
                      call.spec = std::make_shared<ArgsortCallSpec>(input.dtype, *input.shape,
                                                                    resolve_argsort(NodeReader(node)));
                      context.emit_kernel(std::move(call), *node.outputs[0], layout, node.origin);
                    }});
}

}  // namespace onnxc
