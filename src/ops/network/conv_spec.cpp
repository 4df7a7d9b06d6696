#include "ops/network/conv_spec.h"

#include "ops/network/window_attributes.h"
#include "ops/node_reader.h"
#include "support/count_text.h"

namespace onnxc {

std::vector<int64_t> per_axis(const NodeReader& node, std::string_view name, size_t axes, int64_t otherwise,
                              int64_t least) {
  std::vector<int64_t> values = node.integers(name, std::vector<int64_t>(axes, otherwise));
  node.check(values.size() == axes, "attribute '{}' has {} for {}", name, counted(values.size(), "value"),
             counted(axes, "spatial axis"));
  for (int64_t value : values)
    node.check(value >= least && value <= INT32_MAX, "attribute '{}' holds {}; a value from {} to {} is expected", name,
               value, least, INT32_MAX);
  return values;
}

std::vector<int64_t> begin_and_end_pads(const NodeReader& node, size_t axes) {
  std::vector<int64_t> pads = node.integers("pads", std::vector<int64_t>(2 * axes, 0));
  node.check(pads.size() == 2 * axes, "attribute 'pads' has {}; {} are expected, begin and end of each axis",
             counted(pads.size(), "value"), 2 * axes);
  for (int64_t pad : pads)
    node.check(pad >= -INT32_MAX && pad <= INT32_MAX, "attribute 'pads' holds {}; a value of at most {} is expected",
               pad, INT32_MAX);
  return pads;
}

namespace {

enum class AutoPad { none, same_upper, same_lower, valid };

AutoPad read_auto_pad(const NodeReader& node) {
  std::string text = node.text("auto_pad", "NOTSET");
  if (text.empty() || text == "NOTSET") return AutoPad::none;
  if (text == "SAME_UPPER") return AutoPad::same_upper;
  if (text == "SAME_LOWER") return AutoPad::same_lower;
  if (text == "VALID") return AutoPad::valid;
  node.fail("auto_pad must be one of NOTSET, SAME_UPPER, SAME_LOWER, VALID, found '{}'", text);
}

// Kernel, stride, dilation and explicit pads of each axis; the pads stay as they are given if auto_pad is not used.
std::vector<WindowAxis> read_axes(const NodeReader& node, const std::vector<int64_t>& kernel) {
  const Shape& x = node.shape(0);
  size_t count = x.size() - 2;
  std::vector<int64_t> strides = per_axis(node, "strides", count, 1, 1);
  std::vector<int64_t> dilations = per_axis(node, "dilations", count, 1, 1);
  std::vector<int64_t> pads = begin_and_end_pads(node, count);
  std::vector<WindowAxis> axes(count);
  for (size_t i = 0; i < count; ++i) {
    axes[i].kernel = kernel[i];
    axes[i].stride = strides[i];
    axes[i].dilation = dilations[i];
    axes[i].pad_begin = pads[i];
    axes[i].pad_end = pads[count + i];
    axes[i].input = x[2 + i];
  }
  return axes;
}

// Splits a total padding; the odd element goes to the end for SAME_UPPER, to the beginning for SAME_LOWER.
void split_padding(WindowAxis& axis, const Expr& total, AutoPad auto_pad) {
  Expr half = floor_div(total, 2);
  axis.pad_begin = auto_pad == AutoPad::same_lower ? total - half : half;
  axis.pad_end = total - axis.pad_begin;
}

// The window of a convolution or pool: output = (input + pads - span) / stride + 1, rounded down, or for auto_pad SAME
// ceil(input / stride) (ONNX Conv, MaxPool).
void resolve_forward(const NodeReader& node, WindowAxis& axis, AutoPad auto_pad) {
  if (auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower) {
    axis.output = ceil_div(axis.input, axis.stride);
    Expr total = max((axis.output - 1) * axis.stride + axis.span() - axis.input, 0);
    split_padding(axis, total, auto_pad);
    return;
  }
  if (auto_pad == AutoPad::valid) axis.pad_begin = axis.pad_end = 0;
  Expr room = axis.input + axis.pad_begin + axis.pad_end - axis.span();
  axis.output = floor_div(room, axis.stride) + 1;
  node.check(!proven_less(axis.output, 0), "the kernel spans {}, more than the input's {} with its padding {} and {}",
             counted(axis.span(), "element"), short_text(axis.input), short_text(axis.pad_begin),
             short_text(axis.pad_end));
}

std::vector<int64_t> kernel_from_weights(const NodeReader& node, const Shape& w) {
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < w.size(); ++i) {
    std::optional<int64_t> extent = w[i].constant();
    node.check(extent.has_value(), "the kernel's size must be known when the model is compiled, found {}",
               w[i].to_string());
    kernel.push_back(*extent);
  }
  if (node.has_attribute("kernel_shape")) {
    std::vector<int64_t> stated = node.integers("kernel_shape");
    node.check(stated == kernel, "attribute 'kernel_shape' is [{}], but the weights' shape is {}",
               fmt::join(stated, ", "), short_text(w));
  }
  for (int64_t extent : kernel) node.check(extent >= 1, "the kernel's size must be at least 1, found {}", extent);
  return kernel;
}

void check_ranks(const NodeReader& node) {
  size_t rank = node.rank(0);
  node.check(rank >= 3 && rank <= 5, "the input has rank {}; 3 to 5 are expected: batch, channels, 1 to 3 spatial axes",
             rank);
  node.check(node.rank(1) == rank, "the input has rank {} and the weights have rank {}; they must agree", rank,
             node.rank(1));
  const Shape& weights = node.shape(1);
  node.check(!weights[0].is_constant(0) && !weights[1].is_constant(0), "the weights {} have no channels",
             short_text(weights));
}

int64_t read_groups(const NodeReader& node) {
  int64_t groups = node.integer("group", 1);
  node.check(groups >= 1, "attribute 'group' is {}; at least 1 is expected", groups);
  return groups;
}

void check_divides(const NodeReader& node, const Expr& channels, int64_t groups, std::string_view which) {
  node.check(!proven_different(mod(channels, groups), Expr(0)),
             "the number of {} channels, {}, is not divisible by group = {}", which, short_text(channels), groups);
}

void check_bias(const NodeReader& node, const Expr& channels, size_t bias = 2) {
  if (!node.has_input(bias)) return;
  node.check(node.rank(bias) == 1 && !proven_different(node.shape(bias)[0], channels),
             "the bias has shape {}; [{}] is expected", short_text(node.shape(bias)), short_text(channels));
}

// For a convolution whose bias, if it has one, is this input.
ConvSpec resolve_forward_conv(const NodeReader& node, std::optional<size_t> bias) {
  check_ranks(node);
  const Shape &x = node.shape(0), &w = node.shape(1);
  ConvSpec spec;
  spec.batch = x[0];
  spec.input_channels = x[1];
  spec.output_channels = w[0];
  spec.groups = read_groups(node);
  check_divides(node, x[1], spec.groups, "input");
  check_divides(node, w[0], spec.groups, "output");
  node.check(!proven_different(w[1] * spec.groups, x[1]),
             "the input has {}, but the weights {} with group = {} expect {}", counted(x[1].to_string(), "channel"),
             short_text(w), spec.groups, (w[1] * spec.groups).to_string());
  // The weights say how many channels there are where the input does not.
  if (!spec.input_channels.constant()) spec.input_channels = w[1] * spec.groups;
  if (bias) check_bias(node, spec.output_channels, *bias);
  AutoPad auto_pad = read_auto_pad(node);
  spec.axes = read_axes(node, kernel_from_weights(node, w));
  for (WindowAxis& axis : spec.axes) resolve_forward(node, axis, auto_pad);
  return spec;
}

}  // namespace

ConvSpec resolve_conv(const NodeReader& node) { return resolve_forward_conv(node, 2); }

ConvSpec resolve_conv_integer(const NodeReader& node) { return resolve_forward_conv(node, std::nullopt); }

ConvSpec resolve_deform_conv(const NodeReader& node) { return resolve_forward_conv(node, 3); }

ConvSpec resolve_conv_transpose(const NodeReader& node) {
  check_ranks(node);
  const Shape &x = node.shape(0), &w = node.shape(1);
  ConvSpec spec;
  spec.transposed = true;
  spec.batch = x[0];
  spec.input_channels = w[0];
  spec.groups = read_groups(node);
  node.check(!proven_different(w[0], x[1]), "the input has {}, but the weights {} expect {}",
             counted(x[1].to_string(), "channel"), short_text(w), w[0].to_string());
  check_divides(node, w[0], spec.groups, "input");
  spec.output_channels = w[1] * spec.groups;
  check_bias(node, spec.output_channels);
  AutoPad auto_pad = read_auto_pad(node);
  spec.axes = read_axes(node, kernel_from_weights(node, w));
  std::vector<int64_t> output_padding = per_axis(node, "output_padding", spec.axes.size(), 0, 0);
  std::vector<int64_t> output_shape = node.integers("output_shape");
  if (output_shape.size() == spec.axes.size() + 2) output_shape.erase(output_shape.begin(), output_shape.begin() + 2);
  node.check(output_shape.empty() || output_shape.size() == spec.axes.size(), "attribute 'output_shape' has {} for {}",
             counted(output_shape.size(), "value"), counted(spec.axes.size(), "spatial axis"));
  for (size_t i = 0; i < spec.axes.size(); ++i) {
    WindowAxis& axis = spec.axes[i];
    axis.output_padding = output_padding[i];
    node.check(axis.output_padding < std::max(axis.stride, axis.dilation),
               "output_padding {} must be smaller than the stride {} or the dilation {}", axis.output_padding,
               axis.stride, axis.dilation);
    // Everything the kernel reaches before padding takes elements away.
    Expr full = axis.stride * (axis.input - 1) + axis.output_padding + axis.span();
    if (!output_shape.empty()) {
      node.check(output_shape[i] >= 0, "attribute 'output_shape' holds {}", output_shape[i]);
      axis.output = output_shape[i];
      split_padding(axis, full - axis.output, auto_pad == AutoPad::same_upper ? auto_pad : AutoPad::same_lower);
    } else if (auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower) {
      axis.output = axis.input * axis.stride;
      split_padding(axis, full - axis.output, auto_pad);
    } else {
      if (auto_pad == AutoPad::valid) axis.pad_begin = axis.pad_end = 0;
      axis.output = full - axis.pad_begin - axis.pad_end;
      node.check(!proven_less(axis.output, 0), "the padding {} and {} takes more than the {} elements there are",
                 short_text(axis.pad_begin), short_text(axis.pad_end), short_text(full));
    }
  }
  return spec;
}

ConvSpec resolve_pool(const NodeReader& node) {
  const Shape& x = node.shape(0);
  node.check(x.size() >= 3 && x.size() <= 5,
             "the input has rank {}; 3 to 5 are expected: batch, channels, 1 to 3 spatial axes", x.size());
  node.check(node.has_attribute("kernel_shape"), "attribute 'kernel_shape' is missing; it is required");
  std::vector<int64_t> kernel = per_axis(node, "kernel_shape", x.size() - 2, 1, 1);
  ConvSpec spec;
  spec.batch = x[0];
  spec.input_channels = spec.output_channels = x[1];
  AutoPad auto_pad = read_auto_pad(node);
  bool ceil_mode = node.integer("ceil_mode", 0) != 0;
  spec.axes = read_axes(node, kernel);
  for (WindowAxis& axis : spec.axes) {
    resolve_forward(node, axis, auto_pad);
    if (!ceil_mode || auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower) continue;
    // Rounded up, but a window that would start in the padding at the end is left out (ONNX MaxPool 22).
    Expr padded = axis.input + axis.pad_begin + axis.pad_end;
    Expr rounded_up = ceil_div(padded - axis.span(), axis.stride) + 1;
    Expr starting_inside = ceil_div(axis.input + axis.pad_begin, axis.stride);
    axis.output = min(rounded_up, starting_inside);
  }
  return spec;
}

}  // namespace onnxc
