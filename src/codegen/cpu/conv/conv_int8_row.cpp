// Convolutions of bytes (conv_int8.h): ConvInteger, NCHWc to NCHWc. It has no rival.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv_int8/conv_int8_packing.h"
#include "ops/op.h"

namespace onnxc {
namespace {

// Inputs of ConvInteger (ONNX 10).
constexpr size_t input = 0, weights = 1, input_zero_point = 2, weights_zero_point = 3;

// The weights less their zero point, of which there is one, or one an output channel; nothing where one is no int8.
std::optional<std::vector<int8_t>> constant_weights(const NodeReader& node) {
  const Tensor* tensor = node.constant(weights);
  if (tensor == nullptr || (node.has_input(weights_zero_point) && node.constant(weights_zero_point) == nullptr))
    return std::nullopt;
  const std::vector<int64_t> values = tensor->as_int64();
  std::vector<int64_t> zeros{0};
  if (node.has_input(weights_zero_point)) zeros = node.constant(weights_zero_point)->as_int64();
  const size_t each = values.size() / static_cast<size_t>(tensor->dims()[0]);
  std::vector<int8_t> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t difference = values[i] - zeros[zeros.size() == 1 ? 0 : i / each];
    if (difference < INT8_MIN || difference > INT8_MAX) return std::nullopt;
    result[i] = static_cast<int8_t>(difference);
  }
  return result;
}

}  // namespace

void offer_conv_int8(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!is_operator(problem.node, "ConvInteger") || !is_within_rank(*problem.node->inputs[input])) return;
  const NodeReader node(*problem.node);
  const Tensor* zero = node.has_input(input_zero_point) ? node.constant(input_zero_point) : nullptr;
  if (node.has_input(input_zero_point) && zero == nullptr) return;
  const std::optional<KernelConvolution> convolution = with_static_channels(resolve_conv_integer(node));
  if (!convolution || !kernels::int8_supports(convolution->shape)) return;
  std::optional<std::vector<int8_t>> packed = constant_weights(node);
  if (!packed) return;
  const int64_t zero_point = zero == nullptr ? 0 : zero->as_int64().at(0);
  offers.push_back({.kernel = "conv_int8",
                    .reads = LayoutDemand::blocks,
                    .gives = LayoutDemand::blocks,
                    .lower = [problem, convolution, values = *std::move(packed), zero_point,
                              lanes = machine.lanes()](LoweringContext& context) {
                      ConvolutionTemplate chosen{"conv_int8", "kernels/cpu/conv_int8/conv_int8.h", "Int8Convolution"};
                      chosen.arithmetic = "int8";
                      chosen.accumulator = DType::int32;
                      chosen.more_arguments = fmt::format("{}", zero_point);
                      const bool is_signed = problem.node->inputs[input]->dtype == DType::int8;
                      const auto unsigned_zero = static_cast<uint8_t>(zero_point + (is_signed ? 128 : 0));
                      lower_convolution(
                          *problem.node, *convolution, std::move(chosen), lanes, blocked_input(*problem.node, lanes),
                          as_tensor(pack_int8_weights(convolution->shape, lanes, unsigned_zero, values, {})), context);
                    }});
}

}  // namespace onnxc
