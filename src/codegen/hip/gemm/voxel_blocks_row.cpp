// Convolutions to a few channels, such as the last layer of a decoder, by the implicit GEMM.
//
// Problem: 3 output channels are 3 of the 32 columns that the narrowest tile has, and a voxel's row is read at each
// tap.
//
//   y[o, voxel] = sum over taps t, channels c of x[c, voxel + t] * w[o, c, t]              3 columns, 27 taps
//
// Method: a block of voxels, 2x3x3 say, becomes a row, and each of its voxels some columns. This is a convolution whose
// stride is the block. Its kernel reaches over all of it, with zeros for the taps that a voxel does not have. A second
// launch gives each voxel its place, with the convolution's epilogue (kernels/hip/gemm/voxel_places.h).
//
//   b[(v, o), block] = sum over t', c of x[c, block * stride + t'] * w[o, c, t' - v]
//   y[o, voxel] = b[(voxel % stride, o), voxel // stride]
//
// These are 54 columns and 100 taps, 5.6 taps a voxel.
//
// The block is the one of least expected time. Limits: constant weights, stride 1, one group, no dilation.
#include "codegen/hip/call/kernel_rows.h"
#include "codegen/hip/gemm/gemm_call.h"
#include "codegen/hip/gemm/implicit_gemm_row.h"
#include "kernels/hip/gemm/voxel_places_geometry.h"
#include "passes/lowering/usual_size.h"

namespace onnxc {
namespace {

using kernels::Axes;
using kernels::ConvShape;
using kernels::GemmPlan;
using kernels::VoxelPlacesPlan;

constexpr int64_t most_channels = 4;                      // of the output
constexpr int64_t longest_block = 6, most_columns = 128;  // of a block of voxels

bool supports(const HipProblem& problem) {
  if (!problem.convolution || !problem.convolution->has_constant_weights) return false;
  if (!is_for_implicit_gemm(*problem.convolution)) return false;
  const KernelConvolution& convolution = *problem.convolution;
  const ConvShape& shape = convolution.shape;
  return !convolution.spec.transposed && shape.groups == 1 && shape.output_channels <= most_channels &&
         shape.stride.product() == 1 && shape.dilation.product() == 1 && shape.kernel.product() > 1;
}

// The same outputs, a block of voxels in each position.
KernelConvolution in_blocks(KernelConvolution convolution, const Axes& block) {
  ConvShape& shape = convolution.shape;
  shape.output_channels *= block.product();
  shape.stride = block;
  shape.kernel = {shape.kernel.d + block.d - 1, shape.kernel.h + block.h - 1, shape.kernel.w + block.w - 1};
  const int64_t extents[] = {block.d, block.h, block.w};
  for (size_t axis = 0; axis < convolution.axes.size(); ++axis)
    convolution.axes[axis].output = ceil_div(convolution.axes[axis].output, extents[axis]);
  return convolution;
}

struct VoxelBlocks {
  Axes block;
  PlannedGemm planned;
  std::optional<double> cost;
};

// The second launch reads the blocks, in float32, and writes the output. `size` gives the value of an extent, if there
// is one.
template <class Size>
std::optional<GpuEstimate> estimate_places(const HipProblem& problem, const GpuMachine& gpu, const Size& size) {
  Expr voxels = 1;
  for (const WindowAxis& axis : problem.convolution->axes) voxels *= axis.output;
  const std::optional<int64_t> count = size(voxels);
  if (!count) return std::nullopt;
  const int64_t channels = problem.convolution->shape.output_channels;
  return estimate_memory(*count * channels * (4 + element_size(problem.node->outputs[0]->dtype)), gpu);
}

// For one image.
std::optional<double> cost_of(const PlannedGemm& planned, const HipProblem& problem, const GpuMachine& gpu) {
  const auto places = estimate_places(problem, gpu, [&](const Expr& size) { return usual_size(*problem.graph, size); });
  if (!planned.cost || !places) return std::nullopt;
  return *planned.cost + launch_microseconds + places->microseconds;
}

VoxelBlocks planned_blocks(const HipProblem& problem, const Axes& block, const GpuMachine& gpu) {
  const Node& node = *problem.node;
  const KernelConvolution blocks = in_blocks(*problem.convolution, block);
  const GemmPlan plan{.shape = blocks.shape, .products = products_for(node.inputs[0]->dtype, problem.products)};
  GemmOperation operation = convolution_operation(blocks, node.inputs[0]->shape->size(), plan);
  operation.title = fmt::format("{} in blocks of {}x{}x{}", convolution_title("conv", *problem.convolution), block.d,
                                block.h, block.w);
  VoxelBlocks result{block, plan_gemm(std::move(operation), *problem.graph, gpu), {}};
  result.cost = cost_of(result.planned, problem, gpu);
  return result;
}

std::string text_of(const VoxelPlacesPlan& plan) {
  return fmt::format("VoxelPlacesPlan{{{}, {}, {}}}", shape_text(plan.shape), braced(plan.block), plan.output_lanes);
}

// The second launch.
class VoxelPlacesSpec : public HipKernelSpec {
 public:
  VoxelPlacesSpec(std::string title, KernelConvolution convolution, const Axes& block,
                  std::optional<GpuEstimate> estimate, KernelOperands operands)
      : title_(std::move(title)),
        convolution_(std::move(convolution)),
        plan_{convolution_.shape, block},
        estimate_(estimate),
        operands_(std::move(operands)) {}

  std::string describe() const override { return title_; }
  std::string device_header() const override { return "kernels/hip/gemm/voxel_places.h"; }
  std::string host_header() const override { return "kernels/hip/gemm/voxel_places_geometry.h"; }
  std::string arguments_type(const KernelCall& call, const Program& program) const override {
    return fmt::format("VoxelPlacesArguments<{}, {}>", c_type(program, call.inputs[1]), c_type(program, call.output));
  }
  std::string function(const KernelCall&, const Program&) const override {
    return fmt::format("voxel_places<{}>", text_of(plan_));
  }
  bool accepts_views() const override { return true; }
  KernelOperands operands() const override { return operands_; }

  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    const std::string sizes = convolution_sizes(convolution_, text);
    const std::array<Expr, 3> output = {convolution_.axes[0].output, convolution_.axes[1].output,
                                        convolution_.axes[2].output};
    return braced({text.pointer(call.inputs[0]), text.pointer(call.inputs[1]), text.pointer(call.inputs[2]),
                   text.pointer(call.output), sizes, view(text, call.inputs[0], kernels::block_channels),
                   view(text, call.inputs[1], kernels::block_channels), view(text, call.output, plan_.output_lanes),
                   fmt::format("Divisor::of({}.blocks_a_channel({}))", text_of(plan_), sizes),
                   fmt::format("Divisor::of({})", text.expr(output[2])),
                   fmt::format("Divisor::of({})", text.expr(output[1]))});
  }
  std::string blocks() const override { return text_of(plan_) + ".blocks_of(arguments.call)"; }

  std::vector<std::string> coordinates(size_t rank) const override {
    static constexpr const char* spatial[] = {"d", "h", "w"};
    std::vector<std::string> names = {"n", "c"};
    for (size_t axis = 5 - rank; axis < 3; ++axis) names.emplace_back(spatial[axis]);
    return names;
  }

  KernelFigures figures() const override {
    constexpr int64_t planned_waves = 4;
    KernelFigures figures{0, planned_waves};
    if (estimate_) figures.expected = Expected{estimate_->microseconds, onnxc::describe(estimate_->bound)};
    return figures;
  }

 private:
  static std::string view(const KernelText& text, BufferId id, int64_t lanes) {
    const size_t rank = text.program.buffer(id).shape.size();
    const auto stride = [&](size_t axis, int64_t step) { return text.expr(axis_stride(text.program, id, axis, step)); };
    const auto spatial = [&](size_t from_behind) {
      return rank > 1 + from_behind ? stride(rank - from_behind, 1) : "0";
    };
    return braced({stride(0, 1), "0", stride(1, lanes), spatial(3), spatial(2), spatial(1)});
  }

  std::string title_;
  KernelConvolution convolution_;
  VoxelPlacesPlan plan_;
  std::optional<GpuEstimate> estimate_;
  KernelOperands operands_;
};

// Nothing if no time can be computed.
std::optional<VoxelBlocks> best_blocks(const HipProblem& problem, const GpuMachine& gpu) {
  const ConvShape& shape = problem.convolution->shape;
  const auto longest = [](int64_t kernel) { return kernel > 1 ? longest_block : 1; };
  std::optional<VoxelBlocks> best;
  for (int64_t d = 1; d <= longest(shape.kernel.d); ++d)
    for (int64_t h = 1; h <= longest(shape.kernel.h); ++h)
      for (int64_t w = 1; w <= longest(shape.kernel.w); ++w) {
        const Axes block{d, h, w};
        const int64_t columns = block.product() * shape.output_channels;
        if (block.product() == 1 || columns > most_columns) continue;
        VoxelBlocks found = planned_blocks(problem, block, gpu);
        if (found.cost && (!best || *found.cost < *best->cost)) best = std::move(found);
      }
  return best;
}

Tensor packed(const GemmPlan& plan, const KernelConvolution& convolution, const Axes& block,
              const std::vector<float>& weights) {
  const ConvShape& shape = convolution.shape;
  const Axes &kernel = shape.kernel, &reach = plan.shape.kernel;
  return pack_weights(plan, [&](int64_t, int64_t column, int64_t tap, int64_t channel) {
    const int64_t voxel = column / shape.output_channels, output = column % shape.output_channels,
                  d = tap / (reach.h * reach.w) - voxel / (block.h * block.w),
                  h = tap / reach.w % reach.h - voxel / block.w % block.h, w = tap % reach.w - voxel % block.w;
    if (d < 0 || d >= kernel.d || h < 0 || h >= kernel.h || w < 0 || w >= kernel.w) return 0.0F;
    const int64_t row = output * shape.input_channels + channel;
    return weights[static_cast<size_t>(((row * kernel.d + d) * kernel.h + h) * kernel.w + w)];
  });
}

// The buffer of the blocks: float32, in blocks of channels.
BufferId add_blocks(const VoxelBlocks& blocks, const Node& node, Program& program) {
  const GemmOperation& operation = blocks.planned.operation;
  const size_t rank = node.outputs[0]->shape->size();
  Buffer buffer;
  buffer.name = node.outputs[0]->name + " in blocks of voxels";
  buffer.dtype = DType::float32;
  buffer.shape = {operation.batch, operation.plan.shape.output_channels};
  buffer.shape.insert(buffer.shape.end(), operation.output.end() - static_cast<std::ptrdiff_t>(rank - 2),
                      operation.output.end());
  buffer.layout = Layout::channel_blocked(rank, kernels::block_channels);
  return program.add(std::move(buffer));
}

// ONNX's weights, with the channels of a tap next to each other.
std::vector<float> channels_last(const ConvShape& shape, const std::vector<float>& weights) {
  const int64_t taps = shape.kernel.product(), inputs = shape.input_channels;
  std::vector<float> result(weights.size());
  for (int64_t output = 0; output < shape.output_channels; ++output)
    for (int64_t channel = 0; channel < inputs; ++channel)
      for (int64_t tap = 0; tap < taps; ++tap)
        result[static_cast<size_t>((output * taps + tap) * inputs + channel)] =
            weights[static_cast<size_t>((output * inputs + channel) * taps + tap)];
  return result;
}

KernelCall places_call(const HipProblem& problem, const VoxelBlocks& blocks, BufferId between, BufferId x,
                       const GpuMachine& gpu, LoweringContext& context) {
  const Node& node = *problem.node;
  const KernelConvolution& convolution = *problem.convolution;
  Program& program = context.program();
  const size_t rank = node.outputs[0]->shape->size();
  const Layout blocked = Layout::channel_blocked(rank, kernels::block_channels);
  KernelCall call;
  call.inputs = {between, x,
                 add_packed(program, node.inputs[1]->name + " by taps",
                            as_tensor(channels_last(convolution.shape, as_float(*node.inputs[1]->constant))))};
  call.epilogue = bias_epilogue(node, context);
  KernelOperands operands{
      {whole_operand(program.buffer(between).shape, {blocked}),
       window_operand(convolution.spec, convolution.spec.input_channels, &WindowAxis::input, {blocked}),
       {.is_packed = true}},
      window_operand(convolution.spec, convolution.spec.output_channels, &WindowAxis::output,
                     {Layout::row_major(rank)})};
  const Expr& batch = convolution.spec.batch;
  const auto estimate = estimate_places(problem, gpu, [&](const Expr& size) { return (batch * size).constant(); });
  call.spec = std::make_shared<VoxelPlacesSpec>(fmt::format("voxels of {}", blocks.planned.operation.title),
                                                convolution, blocks.block, estimate, std::move(operands));
  return call;
}

void lower_voxel_blocks(const HipProblem& problem, const VoxelBlocks& blocks, const GpuMachine& gpu,
                        LoweringContext& context) {
  const Node& node = *problem.node;
  Program& program = context.program();
  const Layout layout = Layout::channel_blocked(node.inputs[0]->shape->size(), kernels::block_channels);
  const BufferId x = context.buffer_as(*node.inputs[0], layout, node.origin);
  const BufferId between = add_blocks(blocks, node, program);
  Epilogue stored;
  for (const Expr& extent : program.buffer(between).shape)
    stored.axes.push_back({Symbol::axis(fmt::format("i{}", stored.axes.size()), extent), extent, AxisKind::parallel});
  stored.value = scalar::accumulator(DType::float32, 0);
  const auto weights = [&](const GemmPlan& plan) {
    return add_packed(program, node.inputs[1]->name,
                      packed(plan, *problem.convolution, blocks.block, as_float(*node.inputs[1]->constant)));
  };
  KernelCall call = gemm_call(node, blocks.planned, x, weights, std::move(stored), layout, context);
  call.output = between;
  program.steps.push_back({std::move(call), {node.origin}});

  context.emit_kernel(places_call(problem, blocks, between, x, gpu, context), *node.outputs[0],
                      Layout::row_major(node.outputs[0]->shape->size()), node.origin);
}

}  // namespace

void offer_voxel_blocks(const HipProblem& problem, const GpuMachine& gpu, Offers& offers) {
  if (!supports(problem)) return;
  const std::optional<VoxelBlocks> blocks = best_blocks(problem, gpu);
  if (!blocks) return;
  offers.push_back({.kernel = blocks->planned.title(),
                    .reads = LayoutDemand::blocks,
                    .gives = LayoutDemand::rows,
                    .cost = blocks->cost,
                    .lower = [problem, blocks = *blocks, gpu](LoweringContext& context) {
                      lower_voxel_blocks(problem, blocks, gpu, context);
                    }});
}

}  // namespace onnxc
