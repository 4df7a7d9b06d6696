#include "codegen/cpu/softmax_kernel.h"

#include "codegen/cpu/kernel_spec.h"
#include "codegen/kernel_call.h"
#include "ops/op.h"

namespace onnxc {
namespace {

// The first of the axes that are normalized together; until version 12 of the operator set these are all to the last.
size_t first_axis(const NodeReader& node) {
  return node.axis(node.integer("axis", node.version() < 13 ? 1 : -1), node.rank(0));
}

class SoftmaxSpec : public CpuKernelSpec {
 public:
  SoftmaxSpec(Expr rows, Expr columns, bool takes_logarithm)
      : rows_(std::move(rows)), columns_(std::move(columns)), takes_logarithm_(takes_logarithm) {}

  std::string describe() const override { return takes_logarithm_ ? "log_softmax" : "softmax"; }
  bool accepts_views() const override { return false; }
  std::string header() const override { return "codegen/cpu/kernels/softmax.h"; }
  std::string type(const KernelCall& call, const Program& program, const std::string&) const override {
    return fmt::format("RowSoftmax<{}, {}, {}>", info(program.buffer(call.inputs[0]).dtype).c_type,
                       info(program.buffer(call.output).dtype).c_type, takes_logarithm_);
  }
  std::string sizes(const KernelText& text) const override { return braced({text.expr(rows_), text.expr(columns_)}); }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced({text.pointer(call.inputs[0]), text.pointer(call.output), sizes(text)});
  }
  // A comparison, a subtraction, an exponential, a sum and a quotient for each element.
  Expr operations() const override { return rows_ * columns_ * 5; }

 private:
  Expr rows_, columns_;
  bool takes_logarithm_;
};

}  // namespace

bool takes_softmax(const Node& node, int) {
  if (!node.op->domain.empty() || (node.op->name != "Softmax" && node.op->name != "LogSoftmax")) return false;
  const NodeReader reader(node);
  if (!is_kernel_type(reader.dtype(0)) || reader.rank(0) == 0) return false;
  return reader.version() < 13 || first_axis(reader) + 1 == reader.rank(0);
}

void lower_softmax(const Node& node, int, LoweringContext& context) {
  const NodeReader reader(node);
  const Shape& shape = reader.shape(0);
  Expr rows = 1, columns = 1;
  for (size_t axis = 0; axis < shape.size(); ++axis) (axis < first_axis(reader) ? rows : columns) *= shape[axis];
  const Layout layout = Layout::row_major(shape.size());
  KernelCall call;
  call.inputs = {context.buffer_as(reader.input(0), layout, node.origin)};
  call.spec = std::make_shared<SoftmaxSpec>(rows, columns, node.op->name == "LogSoftmax");
  context.emit_kernel(std::move(call), *node.outputs[0], layout, node.origin);
}

}  // namespace onnxc
