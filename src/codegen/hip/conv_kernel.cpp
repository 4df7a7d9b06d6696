#include "codegen/hip/conv_kernel.h"

#include "codegen/hip/kernel_spec.h"
#include "codegen/hip/kernels/conv_geometry.h"
#include "codegen/kernel_convolution.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using kernels::ConvShape;
using kernels::ConvTile;
using kernels::GemmPacking;

std::string tile_text(const ConvTile& tile) { return fmt::format("ConvTile{{{}, {}}}", tile.voxels, tile.channels); }

class ImplicitGemmSpec : public HipKernelSpec {
 public:
  ImplicitGemmSpec(KernelConvolution convolution, const ConvTile& tile)
      : convolution_(std::move(convolution)), tile_(tile) {}

  std::string describe() const override {
    const ConvShape& shape = convolution_.shape;
    std::string text = fmt::format("implicit_gemm {} {}->{}", onnxc::describe(shape.kernel), shape.input_channels,
                                   shape.output_channels);
    if (shape.groups != 1) text += fmt::format(" groups {}", shape.groups);
    return text + fmt::format(" tile {}x{}", tile_.voxels, tile_.channels);
  }
  std::string device_header() const override { return "codegen/hip/kernels/conv_implicit_gemm.h"; }
  std::string host_header() const override { return "codegen/hip/kernels/conv_geometry.h"; }

  std::string arguments_type(const KernelCall& call, const Program& program) const override {
    return fmt::format("ConvArguments<{}, {}>", info(program.buffer(call.inputs[0]).dtype).c_type,
                       info(program.buffer(call.output).dtype).c_type);
  }
  std::string function() const override {
    return fmt::format("implicit_gemm<{}, {}>", shape_text(convolution_.shape), tile_text(tile_));
  }

  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return convolution_arguments(convolution_, call, text);
  }
  std::string blocks() const override {
    return fmt::format("implicit_gemm_blocks({}, {}, arguments.call.sizes)", shape_text(convolution_.shape),
                       tile_text(tile_));
  }

 private:
  KernelConvolution convolution_;
  ConvTile tile_;
};

// `weights`: ONNX's [output channels, input channels / groups, taps...].
std::vector<float> pack(const GemmPacking& packing, const std::vector<float>& weights) {
  const ConvShape& shape = packing.shape;
  const int64_t taps = shape.kernel.product(), inputs = shape.group_input_channels(),
                outputs = shape.group_output_channels();
  internal_check(static_cast<int64_t>(weights.size()) == shape.output_channels * inputs * taps,
                 "as many weights as the shape has");
  std::vector<float> packed(static_cast<size_t>(packing.size()), 0.0F);
  for (int64_t output = 0; output < shape.output_channels; ++output)
    for (int64_t input = 0; input < inputs; ++input)
      for (int64_t tap = 0; tap < taps; ++tap)
        packed[static_cast<size_t>(
            packing.offset(output / outputs, tap, input / kernels::gemm_channels, output % outputs) +
            input % kernels::gemm_channels)] = weights[static_cast<size_t>((output * inputs + input) * taps + tap)];
  return packed;
}

constexpr int64_t dynamic_voxels = int64_t{1} << 20;

}  // namespace

bool takes_implicit_gemm(const Node& node) {
  const std::optional<KernelConvolution> convolution = as_kernel_convolution(node);
  return convolution && !convolution->spec.transposed && kernels::implicit_gemm_supports(convolution->shape);
}

void lower_implicit_gemm(const Node& node, LoweringContext& context) {
  const KernelConvolution convolution = *as_kernel_convolution(node);
  Expr voxels = convolution.spec.batch;
  for (const WindowAxis& axis : convolution.axes) voxels *= axis.output;
  const ConvTile tile = kernels::choose_conv_tile(convolution.shape, voxels.constant().value_or(dynamic_voxels));
  const Value &input = *node.inputs[0], &output = *node.outputs[0];
  auto blocked = [](const Value& value) {
    return Layout::channel_blocked(value.shape->size(), kernels::gemm_channels);
  };
  KernelCall call;
  call.inputs = {context.buffer_as(input, blocked(input), node.origin),
                 add_constant(context.program(), node.inputs[1]->name,
                              pack({convolution.shape, tile}, as_float(*node.inputs[1]->constant)), true)};
  call.epilogue = bias_epilogue(node, context);
  call.spec = std::make_shared<ImplicitGemmSpec>(convolution, tile);
  context.emit_kernel(std::move(call), output, blocked(output), node.origin);
}

}  // namespace onnxc
