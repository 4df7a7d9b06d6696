
#include "codegen/call/kernel_convolution.h"
#include "codegen/hip/call/kernel_rows.h"
#include "codegen/hip/call/kernel_spec.h"
#include "codegen/hip/gemm/gemm_choice.h"
#include "codegen/hip/gemm/implicit_gemm_row.h"
#include "kernels/hip/memory_bound/channelwise_geometry.h"
#include "passes/lowering/usual_size.h"

namespace onnxc {
namespace {

using kernels::ChannelwisePlan;
using kernels::ConvShape;

// With more, plain loops are as good: the weights of a block are in LDS, and bits say which elements are inside.
constexpr int64_t most_group_channels = 16, most_span = 32;
constexpr int64_t planned_waves = 4;

std::string plan_text(const ChannelwisePlan& plan) {
  return fmt::format("ChannelwisePlan{{{}, {}, {}, {}, {}}}", shape_text(plan.shape), plan.lanes, plan.output_lanes,
                     plan.transposed, plan.has_height);
}

// Each element is read or written once. `size` gives the value of an extent, if there is one.
template <class Size>
std::optional<GpuEstimate> estimate_traffic(const KernelConvolution& convolution, const GpuMachine& gpu,
                                            const Size& size) {
  Expr input = convolution.shape.input_channels, output = convolution.shape.output_channels;
  for (const WindowAxis& axis : convolution.axes) {
    input *= axis.input;
    output *= axis.output;
  }
  const std::optional<int64_t> images = size(convolution.spec.batch), elements = size(input + output);
  if (!images || !elements) return std::nullopt;
  return estimate_memory(*images * *elements * 4, gpu);
}

class ChannelwiseSpec : public HipKernelSpec {
 public:
  ChannelwiseSpec(std::string title, KernelConvolution convolution, const ChannelwisePlan& plan, const GpuMachine& gpu,
                  Layout input_layout, Layout output_layout)
      : title_(std::move(title)),
        convolution_(std::move(convolution)),
        plan_(plan),
        gpu_(gpu),
        input_layout_(std::move(input_layout)),
        output_layout_(std::move(output_layout)) {}

  std::string describe() const override { return title_; }
  std::string device_header() const override { return "kernels/hip/memory_bound/channelwise.h"; }
  std::string host_header() const override { return "kernels/hip/memory_bound/channelwise_geometry.h"; }

  std::string arguments_type(const KernelCall& call, const Program& program) const override {
    return fmt::format("ChannelwiseArguments<{}, {}>", c_type(program, call.inputs[0]), c_type(program, call.output));
  }
  std::string function(const KernelCall& call, const Program& program) const override {
    return fmt::format("channelwise<{}>", plan_text(plan_of(call, program)));
  }
  bool writes_row_major() const override { return true; }
  bool accepts_views() const override { return true; }
  KernelOperands operands() const override {
    const ConvSpec& spec = convolution_.spec;
    const Layout rows = Layout::row_major(spec.axes.size() + 2);
    return {{window_operand(spec, spec.input_channels, &WindowAxis::input, {input_layout_}), {.is_packed = true}},
            window_operand(spec, spec.output_channels, &WindowAxis::output, {output_layout_, rows})};
  }

  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    const std::string sizes = convolution_sizes(convolution_, text);
    return braced({text.pointer(call.inputs[0]), text.pointer(call.inputs[1]), text.pointer(call.output), sizes,
                   view(text, call.inputs[0], plan_.lanes),
                   view(text, call.output, plan_of(call, text.program).output_lanes),
                   fmt::format("{}.launch({}, planned_gpu)", plan_text(plan_), sizes)});
  }
  std::string blocks() const override { return plan_text(plan_) + ".blocks(arguments.call.sizes, planned_gpu)"; }

  std::vector<std::string> coordinates(size_t rank) const override {
    static constexpr const char* spatial[] = {"d", "h", "w"};
    std::vector<std::string> names = {"n", "c"};
    for (size_t axis = 5 - rank; axis < 3; ++axis) names.emplace_back(spatial[axis]);
    return names;
  }

  KernelFigures figures() const override {
    const std::optional<GpuEstimate> estimate =
        estimate_traffic(convolution_, gpu_, [](const Expr& extent) { return extent.constant(); });
    if (!estimate) return {plan_.lds_bytes(), planned_waves};
    return {plan_.lds_bytes(), planned_waves, Expected{estimate->microseconds, onnxc::describe(estimate->bound)}};
  }

 private:
  ChannelwisePlan plan_of(const KernelCall& call, const Program& program) const {
    ChannelwisePlan plan = plan_;
    if (program.buffer(call.output).layout.is_row_major()) plan.output_lanes = 1;
    return plan;
  }

  static std::string view(const KernelText& text, BufferId id, int64_t lanes) {
    const size_t rank = text.program.buffer(id).shape.size();
    auto stride = [&](size_t axis, int64_t step) { return text.expr(axis_stride(text.program, id, axis, step)); };
    auto spatial = [&](size_t from_behind) { return rank > 1 + from_behind ? stride(rank - from_behind, 1) : "0"; };
    return braced({stride(0, 1), stride(1, lanes), spatial(3), spatial(2), spatial(1)});
  }

  std::string title_;
  KernelConvolution convolution_;
  ChannelwisePlan plan_;
  GpuMachine gpu_;
  Layout input_layout_, output_layout_;
};

// ONNX's [output channels, input channels / groups, taps...], transposed [input channels, output channels / groups,
// taps...].
std::vector<float> pack(const ChannelwisePlan& plan, const std::vector<float>& weights) {
  const int64_t taps = plan.taps(), inputs = plan.shape.group_input_channels(),
                outputs = plan.shape.group_output_channels();
  const auto row = [&](int64_t channel, int64_t input) {
    if (!plan.transposed) return channel * inputs + input;
    return (channel / outputs * inputs + input) * outputs + channel % outputs;
  };
  std::vector<float> packed(static_cast<size_t>(plan.weight_count()), 0.0F);
  for (int64_t channel = 0; channel < plan.shape.output_channels; ++channel)
    for (int64_t input = 0; input < inputs; ++input)
      for (int64_t tap = 0; tap < taps; ++tap)
        packed[static_cast<size_t>(plan.weight_offset(channel, tap, input))] =
            weights[static_cast<size_t>(row(channel, input) * taps + tap)];
  return packed;
}

ChannelwisePlan plan_for(const KernelConvolution& convolution, int64_t lanes) {
  return {.shape = convolution.shape,
          .lanes = lanes,
          .output_lanes = kernels::block_channels,
          .transposed = convolution.spec.transposed,
          .has_height = !convolution.spec.transposed || convolution.axes[1].output.constant() != 1};
}

// Supports convolutions that the implicit GEMM does not.
bool supports(const KernelConvolution& convolution, const GpuMachine& gpu) {
  if (!convolution.has_constant_weights || !convolution.has_constant_bias) return false;
  if (convolution.shape.groups == 1) return false;
  if (is_for_implicit_gemm(convolution) || !may_count_positions(convolution)) return false;
  const ChannelwisePlan plan = plan_for(convolution, kernels::block_channels);
  return plan.shape.group_input_channels() <= most_group_channels &&
         machine::blocks_by_lds(gpu, plan.lds_bytes()) >= 2 && plan.span() <= most_span &&
         plan.outputs() <= ChannelwisePlan::most_outputs;
}

// For one image if only a run knows the batch.
std::optional<double> cost_of(const HipProblem& problem, const GpuMachine& gpu) {
  const KernelConvolution& convolution = *problem.convolution;
  const Expr one = 1, &batch = convolution.spec.batch;
  const std::optional<GpuEstimate> estimate =
      estimate_traffic(convolution, gpu, [&](const Expr& extent) -> std::optional<int64_t> {
        return usual_size(*problem.graph, &extent == &batch && !batch.constant() ? one : extent);
      });
  return estimate ? std::optional(estimate->microseconds) : std::nullopt;
}

// From rows, to rows, it computes a channel at a time.
void lower_channelwise(const HipProblem& problem, const GpuMachine& gpu, LayoutDemand reads, LayoutDemand gives,
                       LoweringContext& context) {
  const Node& node = *problem.node;
  const KernelConvolution& convolution = *problem.convolution;
  const Value &input = *node.inputs[0], &output = *node.outputs[0];
  const Layout rows = Layout::row_major(input.shape->size());
  const Layout blocked = Layout::channel_blocked(input.shape->size(), kernels::block_channels);
  const bool is_planar = reads == LayoutDemand::rows;
  const Layout output_layout = gives == LayoutDemand::rows ? rows : blocked;
  const ChannelwisePlan plan = plan_for(convolution, is_planar ? 1 : kernels::block_channels);
  KernelCall call;
  call.inputs = {
      context.buffer_as(input, is_planar ? rows : blocked, node.origin),
      add_packed(context.program(), node.inputs[1]->name, as_tensor(pack(plan, as_float(*node.inputs[1]->constant))))};
  call.epilogue = bias_epilogue(node, context);
  const Layout input_layout = context.program().buffer(call.inputs[0]).layout;
  call.spec = std::make_shared<ChannelwiseSpec>(context.kernel(), convolution, plan, gpu, input_layout, output_layout);
  context.emit_kernel(std::move(call), output, output_layout, node.origin);
}

}  // namespace

// Convolutions with few channels a group, depthwise among them.
void offer_channelwise(const HipProblem& problem, const GpuMachine& gpu, Offers& offers) {
  if (!problem.convolution || !supports(*problem.convolution, gpu)) return;
  const char* const title = problem.convolution->spec.transposed ? "conv_transpose channelwise" : "conv channelwise";
  const auto offer = [&](LayoutDemand reads, LayoutDemand gives) {
    offers.push_back({.kernel = convolution_title(title, *problem.convolution),
                      .reads = reads,
                      .gives = gives,
                      .cost = cost_of(problem, gpu),
                      .lower = [problem, gpu, reads, gives](LoweringContext& context) {
                        lower_channelwise(problem, gpu, reads, gives, context);
                      }});
  };
  offer(LayoutDemand::blocks, LayoutDemand::blocks);
  offer(LayoutDemand::blocks, LayoutDemand::rows);
  offer(LayoutDemand::rows, LayoutDemand::rows);
}

}  // namespace onnxc
