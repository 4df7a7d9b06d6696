#include "codegen/cpu/conv/convolution_call.h"

#include "codegen/call/typed_call.h"
#include "codegen/cpu/memory_bound/pooling_row.h"
#include "kernels/cpu/conv/conv_direct_geometry.h"

namespace onnxc {
namespace {

// Whether the voxels of a channel block are contiguous.
bool has_dense_space(const Program& program, BufferId id) {
  const Shape& shape = program.buffer(id).shape;
  for (size_t axis = shape.size() - 1; axis > 2; --axis)
    if (!proven_equal(axis_stride(program, id, axis - 1), axis_stride(program, id, axis) * shape[axis])) return false;
  return true;
}

class ConvolutionSpec : public CpuKernelSpec {
 public:
  ConvolutionSpec(std::string name, KernelConvolution convolution, ConvolutionTemplate chosen, Layout input_layout,
                  Layout output_layout, bool has_constant_weights)
      : name_(std::move(name)), convolution_(std::move(convolution)), template_(std::move(chosen)) {
    const ConvSpec& spec = convolution_.spec;
    operands_.inputs = {window_operand(spec, spec.input_channels, &WindowAxis::input, {std::move(input_layout)}),
                        {.is_packed = has_constant_weights}};
    operands_.output = window_operand(spec, spec.output_channels, &WindowAxis::output, {std::move(output_layout)});
    // Packed weights: numbers, pairs of 16 bits, or bytes.
    operands_.inputs[1].types = {DType::float32, DType::bfloat16, DType::uint8};
    if (template_.accumulator == DType::float32) return;
    operands_.inputs[0].types = {DType::int8, DType::uint8};
    operands_.output.types = vector_types;
  }

  std::string describe() const override {
    const kernels::ConvShape& shape = convolution_.shape;
    std::string text =
        fmt::format("{} {} {}->{}", name_, onnxc::describe(shape.kernel), shape.input_channels, shape.output_channels);
    if (shape.stride != kernels::Axes{1, 1, 1}) text += " stride " + onnxc::describe(shape.stride);
    if (shape.dilation != kernels::Axes{1, 1, 1}) text += " dilation " + onnxc::describe(shape.dilation);
    if (shape.groups != 1) text += fmt::format(" groups {}", shape.groups);
    if (pool_) text += " maximum of " + onnxc::describe(gather(*pool_, &WindowAxis::kernel));
    return text;
  }

  std::vector<std::string> headers() const override {
    if (pool_) return {template_.header, "kernels/cpu/conv/conv_pooled.h"};
    return {template_.header};
  }
  EpilogueForm epilogue_form() const override { return template_.form; }
  std::string arithmetic() const override { return template_.arithmetic; }
  bool uses_tiles() const override { return template_.uses_tiles; }
  DType accumulator() const override { return template_.accumulator; }
  bool accepts_views() const override { return true; }
  KernelOperands operands() const override { return operands_; }

  std::string type(const KernelCall& call, const Program& program, const std::string& epilogue) const override {
    if (!pool_) return convolution_type(call, program, epilogue);
    const std::string maximum =
        fmt::format("MaximumOfWindows<{}, Axes{}, {}, {}>", convolution_.shape.output_channels,
                    braced(gather(*pool_, &WindowAxis::kernel)), c_type(program, call.output), epilogue);
    return fmt::format("PooledConvolution<{}, {}>", convolution_type(call, program, maximum), maximum);
  }

  std::string sizes(const KernelText& text) const override { return convolution_sizes(convolution_, text); }

  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    if (pool_)
      return braced({convolution_arguments(convolution_, call, text), braced(text, *pool_, &WindowAxis::output)});
    const std::string common = is_one_row(call, text.program) ? convolution_arguments(as_one_row(), call, text)
                                                              : convolution_arguments(convolution_, call, text);
    return template_.more_arguments.empty() ? common : braced({common, template_.more_arguments});
  }

  // The same followed by a pool, if its windows fit.
  std::shared_ptr<const ConvolutionSpec> pooled(const std::array<WindowAxis, 3>& pool, KernelOperand output) const {
    const bool has_tiles = template_.tile != kernels::Axes{1, 1, 1};
    if (!has_tiles || gather(pool, &WindowAxis::kernel).product() > kernels::largest_pooled_window) return nullptr;
    for (const auto& [axis, outputs] :
         {std::pair(pool[0], template_.tile.d), {pool[1], template_.tile.h}, {pool[2], template_.tile.w}})
      if (outputs % axis.kernel != 0) return nullptr;
    auto result = std::make_shared<ConvolutionSpec>(*this);
    result->pool_ = pool;
    result->operands_.output = std::move(output);
    return result;
  }

  // A multiplication and an addition for each weight and voxel: of the output, or if the input is spread, of that.
  Expr operations() const override {
    const kernels::ConvShape& shape = convolution_.shape;
    const bool is_spread = convolution_.spec.transposed;
    Expr voxels = convolution_.spec.batch;
    for (const WindowAxis& axis : convolution_.axes) voxels *= is_spread ? axis.input : axis.output;
    return voxels * (2 * shape.input_channels * shape.output_channels / shape.groups * shape.kernel.product());
  }

 private:
  std::string convolution_type(const KernelCall& call, const Program& program, const std::string& epilogue) const {
    return fmt::format("{}<{}, {}, {}, {}{}>", template_.type, shape_text(convolution_.shape),
                       c_type(program, call.inputs[0]), c_type(program, call.output), epilogue, template_.arguments);
  }

  // A kernel of one tap that moves no voxel, with dense operands, may treat an image as one row of all its voxels: no
  // tile then meets the end of a row. Either size gives the same number of tasks.
  bool is_one_row(const KernelCall& call, const Program& program) const {
    const kernels::ConvShape& shape = convolution_.shape;
    constexpr kernels::Axes one{1, 1, 1};
    if (!template_.takes_one_row || shape.kernel != one || shape.stride != one) return false;
    for (const WindowAxis& axis : convolution_.axes)
      if (!axis.pad_begin.is_constant(0) || !proven_equal(axis.input, axis.output)) return false;
    bool is_dense = has_dense_space(program, call.inputs[0]) && has_dense_space(program, call.output);
    visit(call.epilogue.value, [&](const ScalarNode& node) {
      if (node.op == ScalarOp::load) is_dense &= keeps_place_in_one_row(program, node, call.epilogue);
    });
    return is_dense;
  }

  // Whether a load of the epilogue reads the same element when the voxels are one row: one a voxel, or without space.
  static bool keeps_place_in_one_row(const Program& program, const ScalarNode& load, const Epilogue& epilogue) {
    bool varies_in_space = false, is_at_voxel = load.indices.size() == epilogue.axes.size();
    for (size_t i = 0; i < epilogue.axes.size(); ++i) {
      const Symbol& axis = epilogue.axes[i].symbol;
      for (const Expr& index : load.indices) varies_in_space |= i >= 2 && index.symbols().contains(axis);
      is_at_voxel &= is_at_voxel && (i < 2 || load.indices[i] == Expr(axis));
    }
    return !varies_in_space || (is_at_voxel && has_dense_space(program, load.buffer));
  }

  KernelConvolution as_one_row() const {
    KernelConvolution flat = convolution_;
    Expr voxels = 1;
    for (WindowAxis& axis : flat.axes) {
      voxels *= axis.output;
      axis.input = axis.output = 1;
    }
    flat.axes.back().input = flat.axes.back().output = voxels;
    return flat;
  }

  std::string name_;
  KernelConvolution convolution_;
  ConvolutionTemplate template_;
  KernelOperands operands_;
  std::optional<std::array<WindowAxis, 3>> pool_;
};

}  // namespace

std::string winograd_name(const kernels::Axes& tile, const kernels::Axes& kernel) {
  std::vector<int64_t> outputs;
  for (const auto& [taps, extent] : {std::pair(kernel.d, tile.d), {kernel.h, tile.h}, {kernel.w, tile.w}})
    if (taps != 1) outputs.push_back(extent);
  return fmt::format("F({})", fmt::join(outputs, ","));
}

Fusion pooled_convolution_fusion() {
  using Convolution = TypedCall<ConvolutionSpec>;
  using Pool = TypedCall<PoolCallSpec>;
  return fusion_of<ConvolutionSpec, PoolCallSpec>(
      "pooled_convolution",
      [](const Program&, const Convolution& convolution, const Pool& pool) -> std::optional<KernelCall> {
        const auto windows = pool.spec.separate_maximum_windows();
        if (!windows) return std::nullopt;
        auto pooled = convolution.spec.pooled(*windows, pool.spec.operands().output);
        if (pooled == nullptr) return std::nullopt;
        KernelCall call = convolution.call;
        call.spec = std::move(pooled);
        call.output = pool.call.output;
        call.inner_epilogue = convolution.call.epilogue;
        call.epilogue = pool.call.epilogue;
        return call;
      });
}

Layout blocked_input(const Node& node, const machine::VectorUnit& vectors) {
  return Layout::channel_blocked(node.inputs[0]->shape->size(), vectors.lanes);
}

Layout row_major_input(const Node& node) { return Layout::row_major(node.inputs[0]->shape->size()); }

void lower_convolution(const Node& node, const KernelConvolution& convolution, ConvolutionTemplate chosen,
                       const machine::VectorUnit& vectors, const Layout& input_layout, Tensor packed_weights,
                       LoweringContext& context) {
  const Value &input = *node.inputs[0], &output = *node.outputs[0];
  KernelCall call;
  BufferId x = context.buffer_as(input, input_layout, node.origin);
  call.inputs = {x, packed_buffer(node, std::move(packed_weights), context)};
  const bool are_constant = context.program().buffer(call.inputs[1]).is_packed;
  call.epilogue =
      chosen.accumulator == DType::float32 ? bias_epilogue(node, context) : plain_epilogue(output, chosen.accumulator);
  const size_t rank = output.shape->size();
  const Layout layout =
      chosen.form == EpilogueForm::rows ? Layout::row_major(rank) : Layout::channel_blocked(rank, vectors.lanes);
  call.spec = std::make_shared<ConvolutionSpec>(context.kernel(), convolution, std::move(chosen), input_layout, layout,
                                                are_constant);
  context.emit_kernel(std::move(call), output, layout, node.origin);
}

void lower_byte_convolution(const Node& node, const ByteConvolution& bytes, ConvolutionTemplate chosen,
                            const machine::VectorUnit& vectors, Tensor packed_weights, LoweringContext& context) {
  chosen.accumulator = DType::int32;
  chosen.more_arguments = std::to_string(bytes.zero_point);
  lower_convolution(node, bytes.convolution, std::move(chosen), vectors, blocked_input(node, vectors),
                    std::move(packed_weights), context);
}

}  // namespace onnxc
