#include "codegen/cpu/memory_bound/layout_copy.h"

#include "codegen/call/kernel_call.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "codegen/cpu/memory_bound/pointwise_nest.h"
#include "codegen/nests/nest_operations.h"

namespace onnxc {
namespace {

class LayoutCopySpec : public CpuKernelSpec {
 public:
  LayoutCopySpec(Shape shape, const machine::VectorUnit& vectors, bool to_rows, std::string role, Expr operations)
      : shape_(std::move(shape)),
        vectors_(vectors),
        to_rows_(to_rows),
        role_(std::move(role)),
        operations_(std::move(operations)) {}

  bool accepts_views() const override { return true; }
  KernelOperands operands() const override {
    KernelOperand rows = whole_operand(shape_, {Layout::row_major(shape_.size())});
    KernelOperand blocks = whole_operand(shape_, {Layout::channel_blocked(shape_.size(), vectors_.lanes)});
    (to_rows_ ? rows : blocks).types = vector_types;
    return to_rows_ ? KernelOperands{{blocks}, rows} : KernelOperands{{rows}, blocks};
  }

  std::string describe() const override { return role_ + (to_rows_ ? " to rows" : " to blocks"); }
  std::vector<std::string> headers() const override { return {"kernels/cpu/memory_bound/layout_copy.h"}; }
  std::string type(const KernelCall& call, const Program& program, const std::string& epilogue) const override {
    return fmt::format("LayoutCopy<{}, {}, {}{}>", c_type(program, call.inputs[0]), c_type(program, call.output),
                       to_rows_, epilogue.empty() ? "" : ", " + epilogue);
  }
  std::string sizes(const KernelText& text) const override { return layout_copy_sizes(shape_, text); }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced({text.pointer(call.inputs[0]), text.pointer(call.output), sizes(text),
                   blocked_view(text, call.inputs[0]), blocked_view(text, call.output)});
  }
  Expr operations() const override { return operations_; }

 private:
  Shape shape_;
  machine::VectorUnit vectors_;
  bool to_rows_;
  std::string role_;
  Expr operations_;
};

}  // namespace

std::string layout_copy_sizes(const Shape& shape, const KernelText& text) {
  std::vector<std::string> spatial(5 - shape.size(), "1");
  for (size_t axis = 2; axis < shape.size(); ++axis) spatial.push_back(text.expr(shape[axis]));
  return braced({text.expr(shape[0]), text.expr(shape[1]), braced(spatial)});
}

std::optional<KernelCall> as_layout_copy(const Program& program, const LoopNest& nest,
                                         const machine::VectorUnit& vectors) {
  if (nest.stores.size() != 1 || nest.axes.size() < 3) return std::nullopt;
  const Store& store = nest.stores.front();
  const Buffer& to = program.buffer(store.buffer);
  if (to.view || !covers_buffer(nest, to, store.indices)) return std::nullopt;
  const Layout blocked = Layout::channel_blocked(to.shape.size(), vectors.lanes);
  const Layout rows = Layout::row_major(to.shape.size());
  const bool to_rows = to.layout.is_row_major();
  if (!to_rows && to.layout != blocked) return std::nullopt;
  std::optional<PointwiseNest> pointwise = as_pointwise_nest(program, nest, to_rows ? blocked : rows, vectors);
  if (!pointwise || program.buffer(pointwise->input).view) return std::nullopt;
  KernelCall call;
  call.inputs = {pointwise->input};
  call.output = store.buffer;
  call.spec = std::make_shared<LayoutCopySpec>(to.shape, vectors, to_rows,
                                               pointwise->epilogue.value ? nest.name : std::string(copy_nest_name),
                                               floating_operations(nest));
  call.epilogue = std::move(pointwise->epilogue);
  return call;
}

}  // namespace onnxc
