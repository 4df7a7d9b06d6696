#include "codegen/hip/hip_target.h"

#include <algorithm>

#include "codegen/call/typed_call.h"
#include "codegen/hip/attention/attention_kernel.h"
#include "codegen/hip/call/kernel_rows.h"
#include "codegen/hip/call/kernel_spec.h"
#include "codegen/hip/fused/normalized_product.h"
#include "codegen/hip/gemm/gemm_choice.h"
#include "machine/gpu_timing.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {

kernels::Products float32_products(std::string_view name) {
  if (name == "xf32") return kernels::Products::xf32;
  if (name == "bf16x3") return kernels::Products::bf16x3;
  internal_check(name == "ieee", "a kind of products that the command line knows");
  return kernels::Products::float32;
}

void check_types_for_gpu(const Graph& graph) {
  constexpr std::string_view advice = "which GPUs do not support; compile for --target cpu";
  for (const Value* input : graph.inputs)
    user_check(input->dtype != DType::string, "input {}: it is a tensor of strings, {}", quote(input->name), advice);
  for (const auto& node : graph.nodes())
    for (const auto* values : {&node->inputs, &node->outputs})
      for (const Value* value : *values)
        if (value != nullptr)  // an optional one that is left out
          user_check(value->dtype != DType::string, "{}: it has a tensor of strings, {}, {}", node->describe(),
                     quote(value->name), advice);
}

namespace {

// A quarter of the wavefronts that a compute unit holds, with few of their lanes at work.
constexpr int64_t results_a_unit = 16;

// Microseconds, for vectors of floats that come from memory. A reduction reads each element again. Nothing is measured,
// so that only launches decide against blocks, but not the parts of a microsecond that a kernel is expected to take
// less.
LayoutCosts layout_costs(const machine::GpuMachine& gpu) {
  const double element = 1e6 * sizeof(float) / machine::reached_memory_bytes_a_second(gpu),
               vector = element * kernels::block_channels;
  return {.copy_to_rows = 2 * vector,
          .copy_to_blocks = 2 * vector,
          .copy_step = least_launch_microseconds(gpu),
          .preference_for_blocks = kernels::launch_microseconds / 4,
          .moved_vector = vector,
          .weight_byte = element / sizeof(float),
          .folded_element = element};
}

Offers gather_offers(const Node& node, const Graph& graph, kernels::Products products, const machine::GpuMachine& gpu) {
  HipProblem problem{.node = &node, .graph = &graph, .products = products};
  if (std::optional<KernelConvolution> convolution = as_kernel_convolution(node))
    problem.convolution = std::make_shared<KernelConvolution>(*std::move(convolution));
  Offers offers;
  for (const HipKernelRow& row : hip_kernel_rows) row.offer(problem, gpu, offers);
  return offers;
}

bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }
bool sums_integers(const KernelCall& call) { return call.spec->accumulator() == DType::int32; }

// An epilogue is evaluated for one element at a time, at its logical indices: whatever it loads is there.
bool fits_epilogue(const Program& program, const KernelCall& call, const Epilogue& epilogue, BufferId output) {
  const Layout &layout = program.buffer(output).layout, &own = program.buffer(call.output).layout;
  const auto* spec = spec_of<HipKernelSpec>(call);
  // The output may have become part of another buffer.
  if (program.buffer(output).view && !call.spec->accepts_views()) return false;
  const bool fits = layout == own || (layout.is_row_major() && spec != nullptr && spec->writes_row_major());
  const DType dtype = epilogue.value.dtype();
  return fits && (is_kernel_type(dtype) || (sums_integers(call) && is_byte(dtype)));
}

}  // namespace

Target hip_target(kernels::Products products, const machine::GpuMachine& gpu) {
  std::vector<Fusion> fusions;
  // Its operands go from one product to the next in the lanes of the matrix unit.
  fusions.push_back(attention_fusion(gpu));
  fusions.push_back(normalized_product_fusion(gpu));
  fusions.push_back(chunked_product_fusion(gpu));
  return {.name = "the GPU",
          .machine = gpu,
          .block_channels = kernels::block_channels,
          .multiplies_integers = machine::multiplies_bytes(gpu),
          .parallel_results = results_a_unit * gpu.compute_units,
          .cost_unit = "microseconds",
          .costs = layout_costs(gpu),
          .weighs_definitions = false,  // the latency of a small nest is not counted
          .offers = [products, gpu](const Node& node,
                                    const Graph& graph) { return gather_offers(node, graph, products, gpu); },
          .fits_epilogue = fits_epilogue,
          .fusions = std::move(fusions),
          .nests = {}};
}

}  // namespace onnxc
