#include "codegen/cpu/call/byte_convolution.h"

#include "codegen/call/byte_operands.h"
#include "kernels/cpu/conv_int8/conv_int8_geometry.h"
#include "ops/op.h"

namespace onnxc {
namespace {

// Inputs of ConvInteger (ONNX 10).
constexpr size_t input = 0, weights = 1, input_zero_point = 2, weights_zero_point = 3;

// Fraction of the peak of its products: measured on Zen 4.
constexpr double share = 0.9;
// A vector of quads without VPDPBUSD (int8_quads.h), in multiply-adds.
constexpr double quads_without_instruction = 4.0;

}  // namespace

std::optional<ByteConvolution> as_byte_convolution(const Node& node, const Graph& graph) {
  if (!is_operator(&node, "ConvInteger") || !is_within_rank(*node.inputs[input])) return std::nullopt;
  const NodeReader reader(node);
  const Tensor* zero = reader.has_input(input_zero_point) ? reader.constant(input_zero_point) : nullptr;
  if (reader.has_input(input_zero_point) && zero == nullptr) return std::nullopt;
  std::optional<KernelConvolution> convolution = with_static_channels(resolve_conv_integer(reader));
  if (!convolution) return std::nullopt;
  std::optional<std::vector<int8_t>> values = bytes_less_zero_point(reader, weights, weights_zero_point, 0);
  if (!values) return std::nullopt;
  const OutputSize output = output_size(*convolution, graph);
  return ByteConvolution{*std::move(convolution), output, *std::move(values),
                         zero == nullptr ? 0 : zero->as_int64().at(0), node.inputs[input]->dtype == DType::int8};
}

uint8_t unsigned_zero_point(const ByteConvolution& problem) {
  return static_cast<uint8_t>(problem.zero_point + (problem.is_signed ? 128 : 0));
}

double int8_cost(const ByteConvolution& problem, const CpuMachine& machine) {
  const kernels::Int8Packing packing{problem.shape(), machine.lanes()};
  const double quads = as_real(packing.steps() * packing.output_blocks());
  const double each = machine.convolution.int8_products > 0 ? 1.0 / share : quads_without_instruction;
  return as_real(problem.output.size.product()) * quads * each +
         as_real(packing.size()) * machine.convolution.weight_byte;
}

}  // namespace onnxc
