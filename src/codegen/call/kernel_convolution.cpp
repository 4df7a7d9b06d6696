#include "codegen/call/kernel_convolution.h"

#include "ops/op.h"

namespace onnxc {

KernelOperand window_operand(const ConvSpec& spec, const Expr& channels, Expr WindowAxis::* extent,
                             std::vector<Layout> layouts) {
  Shape shape = {spec.batch, channels};
  for (const WindowAxis& axis : spec.axes) shape.push_back(axis.*extent);
  return whole_operand(shape, std::move(layouts));
}

std::string shape_text(const kernels::ConvShape& shape) {
  return fmt::format("ConvShape{{{}, {}, {}, {}, {}, {}}}", shape.input_channels, shape.output_channels, shape.groups,
                     braced(shape.kernel), braced(shape.stride), braced(shape.dilation));
}

std::string convolution_title(const std::string& kernel, const KernelConvolution& convolution) {
  const kernels::ConvShape& shape = convolution.shape;
  std::string text =
      fmt::format("{} {} {}->{}", kernel, describe(shape.kernel), shape.input_channels, shape.output_channels);
  if (shape.stride != kernels::Axes{1, 1, 1}) text += " stride " + describe(shape.stride);
  if (shape.dilation != kernels::Axes{1, 1, 1}) text += " dilation " + describe(shape.dilation);
  if (shape.groups != 1) text += fmt::format(" groups {}", shape.groups);
  return text;
}

std::string convolution_sizes(const KernelConvolution& convolution, const KernelText& text) {
  return braced({text.expr(convolution.spec.batch), braced(text, convolution.axes, &WindowAxis::input),
                 braced(text, convolution.axes, &WindowAxis::output),
                 braced(text, convolution.axes, &WindowAxis::pad_begin)});
}

std::string convolution_arguments(const KernelConvolution& convolution, const KernelCall& call,
                                  const KernelText& text) {
  return braced({text.pointer(call.inputs[0]), text.pointer(call.inputs[1]), text.pointer(call.output),
                 convolution_sizes(convolution, text), blocked_view(text, call.inputs[0]),
                 blocked_view(text, call.output)});
}

Epilogue bias_epilogue(const Node& node, LoweringContext& context) {
  const Value& output = *node.outputs[0];
  Epilogue epilogue = plain_epilogue(output);
  if (node.inputs.size() < 3 || node.inputs[2] == nullptr) return epilogue;
  const Value& bias = *node.inputs[2];
  const BufferId buffer = bias.constant ? add_parameters(context.program(), bias.name, as_float(*bias.constant))
                                        : context.buffer_as(bias, Layout::row_major(1), node.origin);
  const Scalar loaded = scalar::load(context.program().buffer(buffer).dtype, buffer, {epilogue.axes[1].symbol});
  epilogue.value =
      scalar::cast(output.dtype, scalar::accumulator(DType::float32, 0) + scalar::cast(DType::float32, loaded));
  return epilogue;
}

std::optional<KernelConvolution> as_kernel_convolution(const Node& node) {
  if (!node.op->domain.empty()) return std::nullopt;
  const bool is_transposed = node.op->name == "ConvTranspose";
  if (node.op->name != "Conv" && !is_transposed) return std::nullopt;
  if (!is_kernel_type(node.inputs[0]->dtype)) return std::nullopt;
  const NodeReader reader(node);
  std::optional<KernelConvolution> result =
      with_static_channels(is_transposed ? resolve_conv_transpose(reader) : resolve_conv(reader));
  if (!result) return std::nullopt;
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != nullptr;
  result->has_constant_weights = node.inputs[1]->constant.has_value();
  result->has_constant_bias = !has_bias || node.inputs[2]->constant;
  return result;
}

std::optional<KernelConvolution> with_static_channels(ConvSpec convolution) {
  KernelConvolution result{std::move(convolution), {}, {}};
  const ConvSpec& spec = result.spec;
  std::optional<int64_t> input_channels = spec.input_channels.constant();
  std::optional<int64_t> output_channels = spec.output_channels.constant();
  if (!input_channels || !output_channels || *output_channels == 0 || *input_channels == 0) return std::nullopt;
  result.axes = three_axes(spec.axes);
  result.shape = {*input_channels,
                  *output_channels,
                  spec.groups,
                  gather(result.axes, &WindowAxis::kernel),
                  gather(result.axes, &WindowAxis::stride),
                  gather(result.axes, &WindowAxis::dilation)};
  return result;
}

}  // namespace onnxc
