// Convolutions by matrix tiles (conv_tiles.h): of bfloat16, and ConvInteger; NCHWc to NCHWc.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv_tiles/conv_tiles_packing.h"

namespace onnxc {
namespace {

using kernels::TilesGeometry;
using kernels::TilesPacking;

// In vector multiply-adds: a line of the strip copied, and a vector of sums through scratch and the epilogue. Estimated
// from the prototype's times (a line from memory some 4 ns, a vector some 5 cycles), not measured with this kernel.
constexpr double copy_cost = 16.0, epilogue_cost = 10.0;

double tiles_cost(const TilesPacking& packing, const kernels::Axes& output, double products,
                  const CpuMachine& machine) {
  const kernels::ConvShape& shape = packing.shape;
  const auto pad = [](int64_t kernel, int64_t dilation) { return (kernel - 1) * dilation / 2; };
  const kernels::Axes pads{pad(shape.kernel.d, shape.dilation.d), pad(shape.kernel.h, shape.dilation.h),
                           pad(shape.kernel.w, shape.dilation.w)};
  const kernels::Axes input{output.d * shape.stride.d, output.h * shape.stride.h, output.w * shape.stride.w};
  const TilesGeometry geometry = kernels::tiles_geometry(packing, {1, input, output, pads});
  // With the gaps between rows, and up to a whole group.
  const int64_t flat = kernels::round_up(geometry.planes * geometry.plane_pitch, TilesGeometry::group_voxels);
  const double tiles = as_real(geometry.tasks * flat / 16 * packing.output_tiles());
  const double step = as_real(16 * TilesPacking::step_outputs * packing.step_inputs()) / machine.lanes() / products;
  return tiles * as_real(packing.steps()) * step +
         as_real(geometry.tasks * geometry.splits * geometry.strip_voxels) * copy_cost +
         tiles * 16 * TilesPacking::step_outputs / machine.lanes() * epilogue_cost +
         as_real(packing.size()) * machine.convolution.weight_byte;
}

ConvolutionTemplate tiles_template(const char* arithmetic, const char* arguments) {
  ConvolutionTemplate result{"conv_tiles", "kernels/cpu/conv_tiles/conv_tiles.h", "TilesConvolution", arguments};
  result.arithmetic = arithmetic;
  result.uses_tiles = true;
  return result;
}

void lower_floats(const CpuProblem& problem, int lanes, LoweringContext& context) {
  const KernelConvolution& convolution = problem.convolution->convolution;
  Tensor weights = as_tensor(pack_tiles_weights(convolution.shape, weights_of(*problem.node)), DType::bfloat16);
  lower_convolution(*problem.node, convolution, tiles_template("bfloat16", ""), lanes,
                    blocked_input(*problem.node, lanes), std::move(weights), context);
}

void lower_bytes(const CpuProblem& problem, int lanes, LoweringContext& context) {
  const ByteConvolution& bytes = *problem.bytes;
  lower_byte_convolution(*problem.node, bytes, tiles_template("int8", ", TilesOfBytes"), lanes,
                         pack_tiles_weights(bytes.shape(), unsigned_zero_point(bytes), bytes.weights), context);
}

using Lower = void (*)(const CpuProblem& problem, int lanes, LoweringContext& context);

void add_offer(const CpuProblem& problem, const CpuMachine& machine, double cost, Lower lower, Offers& offers) {
  offers.push_back({.kernel = "conv_tiles",
                    .reads = LayoutDemand::blocks,
                    .gives = LayoutDemand::blocks,
                    .cost = cost,
                    .lower = [problem, lanes = machine.lanes(), lower](LoweringContext& context) {
                      lower(problem, lanes, context);
                    }});
}

}  // namespace

void offer_conv_tiles(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  const ConvolutionCosts& costs = machine.convolution;
  if (costs.bfloat16_tile_products > 0 && problem.convolution && problem.convolution->input == DType::bfloat16 &&
      reads_blocks(*problem.convolution, machine) && kernels::tiles_support(problem.convolution->shape())) {
    const TilesPacking packing{problem.convolution->shape(), 2};
    const double cost = tiles_cost(packing, problem.convolution->output, costs.bfloat16_tile_products, machine);
    add_offer(problem, machine, cost, lower_floats, offers);
  }
  if (costs.int8_tile_products > 0 && problem.bytes && kernels::tiles_support(problem.bytes->shape())) {
    const TilesPacking packing{problem.bytes->shape(), 1};
    const double cost = tiles_cost(packing, problem.bytes->output.size, costs.int8_tile_products, machine);
    add_offer(problem, machine, cost, lower_bytes, offers);
  }
}

}  // namespace onnxc
