#include "passes/graph/trim_kernels.h"

#include <algorithm>
#include <optional>
#include <span>

#include "ops/network/conv_spec.h"
#include "ops/op.h"

namespace onnxc {
namespace {

// One axis of the trimmed kernel: taps [first, first + count), and the pads with which they read the same elements.
struct TrimmedAxis {
  int64_t first, count;
  int64_t pad_begin, pad_end;
};

// Nothing if a size is dynamic, no tap reads the input, or as many outputs would need the input's end cropped.
std::optional<TrimmedAxis> trim(const WindowAxis& axis) {
  const std::optional<int64_t> input = axis.input.constant(), output = axis.output.constant();
  const std::optional<int64_t> pad_begin = axis.pad_begin.constant();
  if (!input || !output || !pad_begin || *output < 1) return std::nullopt;
  const auto meets_input = [&](int64_t tap) {
    const int64_t at = tap * axis.dilation - *pad_begin;  // of the first output
    const int64_t outputs_before = at < 0 ? (-at + axis.stride - 1) / axis.stride : 0;
    return outputs_before < *output && at + outputs_before * axis.stride < *input;
  };
  int64_t first = 0, end = axis.kernel;
  while (first < end && !meets_input(first)) ++first;
  while (first < end && !meets_input(end - 1)) --end;
  if (first == end) return std::nullopt;
  TrimmedAxis trimmed{first, end - first, *pad_begin - first * axis.dilation, 0};
  const int64_t span = (trimmed.count - 1) * axis.dilation + 1;
  trimmed.pad_end = (*output - 1) * axis.stride + span - *input - trimmed.pad_begin;
  // An input longer than what is read may be left as it is, if the rest is too short for one more output.
  if (trimmed.pad_end < 0 && -trimmed.pad_end < axis.stride) trimmed.pad_end = 0;
  if (trimmed.pad_begin < 0 || trimmed.pad_end < 0) return std::nullopt;
  return trimmed;
}

// The weights [M, C/group, kernel...] of the taps that are left.
Tensor trim_weights(const Tensor& weights, const std::vector<TrimmedAxis>& axes) {
  std::vector<int64_t> dims = weights.dims();
  const std::span<const float> all = weights.values<float>();
  std::vector<float> values(all.begin(), all.end());
  for (size_t i = 0; i < axes.size(); ++i) {
    const TrimmedAxis& axis = axes[i];
    int64_t inner = 1;
    for (size_t j = i + 3; j < dims.size(); ++j) inner *= dims[j];
    const auto line = static_cast<ptrdiff_t>(dims[i + 2] * inner);
    std::vector<float> kept;
    for (auto at = values.begin(); at != values.end(); at += line)
      kept.insert(kept.end(), at + axis.first * inner, at + (axis.first + axis.count) * inner);
    values = std::move(kept);
    dims[i + 2] = axis.count;
  }
  return Tensor::of(DType::float32, std::move(dims), values);
}

void trim_kernel(Graph& graph, Node* node) {
  const Value* weights = node->inputs[1];
  if (!weights->constant || weights->dtype != DType::float32) return;
  const ConvSpec spec = resolve_conv(NodeReader(*node));
  std::vector<TrimmedAxis> axes;
  std::vector<int64_t> kernel, pads, end_pads;
  bool is_shorter = false;
  for (const WindowAxis& axis : spec.axes) {
    const std::optional<TrimmedAxis> trimmed = trim(axis);
    if (!trimmed) return;
    is_shorter |= trimmed->count < axis.kernel;
    axes.push_back(*trimmed);
    kernel.push_back(trimmed->count);
    pads.push_back(trimmed->pad_begin);
    end_pads.push_back(trimmed->pad_end);
  }
  if (!is_shorter) return;
  pads.insert(pads.end(), end_pads.begin(), end_pads.end());
  std::erase_if(node->attributes, [](const NamedAttribute& attribute) {
    return attribute.name == "auto_pad" || attribute.name == "kernel_shape" || attribute.name == "pads";
  });
  node->attributes.push_back({"kernel_shape", kernel});
  node->attributes.push_back({"pads", pads});
  graph.set_input(node, 1, graph.add_constant(weights->name + "/trimmed", trim_weights(*weights->constant, axes)));
}

}  // namespace

void trim_kernels(Graph& graph) {
  for (const auto& node : graph.nodes())
    if (is_operator(node.get(), "Conv")) trim_kernel(graph, node.get());
  graph.erase_unused();
}

}  // namespace onnxc
