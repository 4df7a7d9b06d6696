#include "codegen/cpu/memory_bound/channel_shift.h"

#include "codegen/call/kernel_call.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "codegen/cpu/memory_bound/layout_copy.h"
#include "codegen/cpu/memory_bound/pointwise_nest.h"
#include "codegen/nests/nest_operations.h"

namespace onnxc {
namespace {

class ChannelShiftSpec : public CpuKernelSpec {
 public:
  ChannelShiftSpec(std::string role, Shape shape, Layout layout, int64_t shift, int64_t output_channels,
                   Expr operations)
      : role_(std::move(role)),
        shape_(std::move(shape)),
        layout_(std::move(layout)),
        shift_(shift),
        output_channels_(output_channels),
        operations_(std::move(operations)) {}

  std::string describe() const override { return fmt::format("{} to channel {}", role_, shift_); }
  bool accepts_views() const override { return true; }
  KernelOperands operands() const override {
    Shape output = shape_;
    output[1] = output_channels_;
    return {{whole_operand(shape_, {layout_})}, whole_operand(output, {layout_})};
  }
  bool fills_output() const override { return false; }
  std::vector<std::string> headers() const override { return {"kernels/cpu/memory_bound/channel_shift.h"}; }
  std::string type(const KernelCall& call, const Program& program, const std::string& epilogue) const override {
    return fmt::format("ChannelShift<{}, {}, {}>", c_type(program, call.inputs[0]), c_type(program, call.output),
                       epilogue.empty() ? "NoEpilogue" : epilogue);
  }
  std::string sizes(const KernelText& text) const override { return layout_copy_sizes(shape_, text); }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced({text.pointer(call.inputs[0]), text.pointer(call.output), sizes(text), std::to_string(shift_),
                   std::to_string(output_channels_), blocked_view(text, call.inputs[0]),
                   blocked_view(text, call.output)});
  }
  Expr operations() const override { return operations_; }

 private:
  std::string role_;
  Shape shape_;  // of the input
  Layout layout_;
  int64_t shift_, output_channels_;
  Expr operations_;
};

struct Part {
  int64_t shift, channels, output_channels;

  bool is_whole_blocks(const machine::VectorUnit& vectors) const {
    return shift % vectors.lanes == 0 && (channels % vectors.lanes == 0 || shift + channels == output_channels);
  }
};

// The place among the channels of its output at which the nest stores, all else in place.
std::optional<Part> part_of(const Program& program, const LoopNest& nest, const Store& store) {
  const Shape& shape = program.buffer(store.buffer).shape;
  if (nest.axes.size() != shape.size() || shape.size() < 3) return std::nullopt;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == 1) continue;
    if (store.indices[i] != Expr(nest.axes[i].symbol) || !proven_equal(shape[i], nest.axes[i].extent))
      return std::nullopt;
  }
  const std::optional<int64_t> shift = (store.indices[1] - Expr(nest.axes[1].symbol)).constant();
  const std::optional<int64_t> channels = nest.axes[1].extent.constant(), output_channels = shape[1].constant();
  if (!shift || !channels || !output_channels) return std::nullopt;
  return Part{*shift, *channels, *output_channels};
}

}  // namespace

std::optional<KernelCall> as_channel_shift(const Program& program, const LoopNest& nest,
                                           const machine::VectorUnit& vectors) {
  if (nest.stores.size() != 1) return std::nullopt;
  const Store& store = nest.stores.front();
  const Layout blocked = Layout::channel_blocked(std::max<size_t>(nest.axes.size(), 2), vectors.lanes);
  const Buffer& to = program.buffer(store.buffer);
  if (to.layout != blocked || to.view || !is_kernel_type(to.dtype)) return std::nullopt;
  const std::optional<Part> part = part_of(program, nest, store);
  if (!part || part->is_whole_blocks(vectors)) return std::nullopt;
  std::optional<PointwiseNest> pointwise = as_pointwise_nest(program, nest, blocked, vectors);
  if (!pointwise) return std::nullopt;
  KernelCall call;
  call.inputs = {pointwise->input};
  call.output = store.buffer;
  call.spec = std::make_shared<ChannelShiftSpec>(nest.name, program.buffer(pointwise->input).shape, blocked,
                                                 part->shift, part->output_channels, floating_operations(nest));
  call.epilogue = std::move(pointwise->epilogue);
  return call;
}

}  // namespace onnxc
