#include "codegen/cpu/memory_bound/softmax_row.h"

#include "codegen/call/kernel_call.h"
#include "codegen/cpu/call/kernel_rows.h"
#include "kernels/cpu/memory_bound/softmax_geometry.h"
#include "ops/network/softmax_spec.h"
#include "ops/node_reader.h"

namespace onnxc {
namespace {

constexpr size_t most_row_axes = kernels::SoftmaxSizes::row_axes;

class RowSoftmaxSpec : public SoftmaxCallSpec {
 public:
  RowSoftmaxSpec(std::string name, Shape shape, const SoftmaxSpec& softmax)
      : name_(std::move(name)),
        shape_(std::move(shape)),
        row_axes_(softmax.first_axis),
        takes_logarithm_(softmax.takes_logarithm()) {}

  bool is_softmax_of_rows() const override { return !takes_logarithm_ && row_axes_ + 1 == shape_.size(); }
  std::string describe() const override { return name_; }
  // Elements of a row stand one after another also if it is part of a longer one, but not if it has two axes.
  bool accepts_views() const override { return row_axes_ + 1 == shape_.size(); }
  KernelOperands operands() const override {
    const KernelOperand rows = whole_operand(shape_, {Layout::row_major(shape_.size())});
    return {{rows}, rows};
  }
  std::vector<std::string> headers() const override { return {"kernels/cpu/memory_bound/softmax.h"}; }
  std::string type(const KernelCall& call, const Program& program, const std::string&) const override {
    return fmt::format("RowSoftmax<{}, {}, {}>", c_type(program, call.inputs[0]), c_type(program, call.output),
                       takes_logarithm_);
  }
  std::string sizes(const KernelText& text) const override {
    std::vector<std::string> extents(most_row_axes - row_axes_, "1");
    for (size_t axis = 0; axis < row_axes_; ++axis) extents.push_back(text.expr(shape_[axis]));
    return braced({braced(extents), text.expr(columns())});
  }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced({text.pointer(call.inputs[0]), text.pointer(call.output), sizes(text), strides(text, call.inputs[0]),
                   strides(text, call.output)});
  }
  // A comparison, a subtraction, an exponential, a sum and a quotient for each element.
  Expr operations() const override {
    Expr result = 5;
    for (const Expr& extent : shape_) result *= extent;
    return result;
  }

 private:
  Expr columns() const {
    Expr result = 1;
    for (size_t axis = row_axes_; axis < shape_.size(); ++axis) result *= shape_[axis];
    return result;
  }

  std::string strides(const KernelText& text, BufferId id) const {
    std::vector<std::string> result(most_row_axes - row_axes_, "0");
    for (size_t axis = 0; axis < row_axes_; ++axis) result.push_back(text.expr(axis_stride(text.program, id, axis)));
    return braced(result);
  }

  std::string name_;
  Shape shape_;
  size_t row_axes_;  // the leading axes of the shape, which count rows
  bool takes_logarithm_;
};

}  // namespace

// Softmax and LogSoftmax of rows: softmax.h.
void offer_softmax(const CpuProblem& problem, const CpuMachine& /*machine*/, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_softmax(node)) return;
  const NodeReader reader(node);
  if (!is_kernel_type(reader.dtype(0)) || reader.rank(0) == 0) return;
  const SoftmaxSpec spec = resolve_softmax(reader);
  if (!spec.is_of_rows() || spec.first_axis > most_row_axes) return;
  offers.push_back({.kernel = spec.takes_logarithm() ? "log_softmax" : "softmax",
                    .reads = LayoutDemand::rows,
                    .gives = LayoutDemand::rows,
                    .lower = [&node, spec](LoweringContext& context) {
                      const Value& input = *node.inputs[0];
                      const Layout layout = Layout::row_major(input.shape->size());
                      KernelCall call;
                      call.inputs = {context.buffer_as(input, layout, node.origin)};
                      call.spec = std::make_shared<RowSoftmaxSpec>(context.kernel(), *input.shape, spec);
                      context.emit_kernel(std::move(call), *node.outputs[0], layout, node.origin);
                    }});
}

}  // namespace onnxc
