#include "codegen/cpu/calls/layout_copy.h"

#include "codegen/cpu/calls/kernel_spec.h"
#include "codegen/kernel_call.h"

namespace onnxc {
namespace {

class LayoutCopySpec : public CpuKernelSpec {
 public:
  LayoutCopySpec(Shape shape, bool to_rows) : shape_(std::move(shape)), to_rows_(to_rows) {}

  std::string describe() const override { return to_rows_ ? "copy to rows" : "copy to blocks"; }
  bool accepts_views() const override { return false; }
  std::string header() const override { return "codegen/cpu/kernels/layout_copy.h"; }
  std::string type(const KernelCall& call, const Program& program, const std::string&) const override {
    return fmt::format("LayoutCopy<{}, {}>", info(program.buffer(call.output).dtype).c_type, to_rows_);
  }
  std::string sizes(const KernelText& text) const override {
    std::vector<std::string> spatial(5 - shape_.size(), "1");
    for (size_t axis = 2; axis < shape_.size(); ++axis) spatial.push_back(text.expr(shape_[axis]));
    return braced({text.expr(shape_[0]), text.expr(shape_[1]), braced(spatial)});
  }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced({text.pointer(call.inputs[0]), text.pointer(call.output), sizes(text),
                   blocked_view(text, call.inputs[0]), blocked_view(text, call.output)});
  }
  Expr operations() const override { return 0; }

 private:
  Shape shape_;
  bool to_rows_;
};

// Whether the indices are the nest's axes in their order, over all of the buffer.
bool covers(const LoopNest& nest, const Buffer& buffer, const std::vector<Expr>& indices) {
  if (indices.size() != nest.axes.size()) return false;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Axis& axis = nest.axes[i];
    if (axis.kind != AxisKind::parallel || !(indices[i] == Expr(axis.symbol))) return false;
    if (!proven_equal(axis.extent, buffer.shape[i])) return false;
  }
  return true;
}

}  // namespace

std::optional<KernelCall> as_layout_copy(const Program& program, const LoopNest& nest, int64_t lanes) {
  if (nest.stores.size() != 1 || !nest.accumulators.empty() || !nest.lets.empty()) return std::nullopt;
  const Store& store = nest.stores.front();
  if (store.kind != StoreKind::assign || store.condition || store.value->op != ScalarOp::load) return std::nullopt;
  const Buffer &from = program.buffer(store.value->buffer), &to = program.buffer(store.buffer);
  const size_t rank = to.shape.size();
  if (rank < 3 || rank > 5 || from.dtype != to.dtype || !is_kernel_type(to.dtype)) return std::nullopt;
  if (from.view || to.view || from.is_packed) return std::nullopt;
  const Layout blocked = Layout::channel_blocked(rank, lanes);
  const bool to_rows = from.layout == blocked && to.layout.is_row_major();
  const bool to_blocks = to.layout == blocked && from.layout.is_row_major();
  if (!to_rows && !to_blocks) return std::nullopt;
  if (!covers(nest, from, store.value->indices) || !covers(nest, to, store.indices)) return std::nullopt;
  KernelCall call;
  call.inputs = {store.value->buffer};
  call.output = store.buffer;
  call.spec = std::make_shared<LayoutCopySpec>(to.shape, to_rows);
  return call;
}

}  // namespace onnxc
