// Convolutions by matrix tiles (conv_tiles.h): of bfloat16, ConvInteger, and of float32 as digits; NCHWc to NCHWc.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv_tiles/conv_tiles_packing.h"

namespace onnxc {
namespace {

using kernels::TilesGeometry;
using kernels::TilesKind;
using kernels::TilesPacking;

// In vector multiply-adds: a voxel's block brought to the strip, and a vector of sums through scratch and the epilogue.
// Estimated from the prototype's times (a line from memory some 4 ns, a vector some 5 cycles), not measured with this
// kernel. With digits a block is three lines, and is read twice.
struct TilesCosts {
  double products;  // to one of an FMA in the time
  double copy, epilogue;
};
TilesCosts costs_of(TilesKind kind, const CpuMachine& machine) {
  constexpr double products_of_digits = 8.0;
  const ConvolutionCosts& costs = machine.convolution;
  if (kind == TilesKind::bfloat16) return {costs.bfloat16_tile_products, 16.0, 10.0};
  if (kind == TilesKind::bytes) return {costs.int8_tile_products, 16.0, 10.0};
  return {costs.int8_tile_products / products_of_digits, 96.0, 20.0};
}

double tiles_cost(const TilesPacking& packing, const kernels::Axes& output, const CpuMachine& machine) {
  const kernels::ConvShape& shape = packing.shape;
  const auto pad = [](int64_t kernel, int64_t dilation) { return (kernel - 1) * dilation / 2; };
  const kernels::Axes pads{pad(shape.kernel.d, shape.dilation.d), pad(shape.kernel.h, shape.dilation.h),
                           pad(shape.kernel.w, shape.dilation.w)};
  const kernels::Axes input{output.d * shape.stride.d, output.h * shape.stride.h, output.w * shape.stride.w};
  const TilesGeometry geometry = kernels::tiles_geometry(packing, {1, input, output, pads});
  // With the gaps between rows, and up to a whole group.
  const int64_t flat = kernels::round_up(geometry.planes * geometry.plane_pitch, packing.group_voxels());
  const double tiles = as_real(geometry.tasks * flat / 16 * packing.output_tiles());
  const TilesCosts costs = costs_of(packing.kind, machine);
  const double step =
      as_real(16 * TilesPacking::step_outputs * packing.step_inputs()) / machine.lanes() / costs.products;
  return tiles * as_real(packing.steps()) * step +
         as_real(geometry.tasks * geometry.splits * geometry.strip_voxels) * costs.copy +
         tiles * 16 * TilesPacking::step_outputs / machine.lanes() * costs.epilogue +
         as_real(packing.size()) * machine.convolution.weight_byte;
}

ConvolutionTemplate tiles_template(const char* arithmetic, const char* arguments) {
  ConvolutionTemplate result{"kernels/cpu/conv_tiles/conv_tiles.h", "TilesConvolution", arguments};
  result.arithmetic = arithmetic;
  result.uses_tiles = true;
  return result;
}

void lower_floats(const CpuProblem& problem, const machine::VectorUnit& vectors, LoweringContext& context) {
  const KernelConvolution& convolution = problem.convolution->convolution;
  Tensor weights = as_tensor(pack_tiles_weights(convolution.shape, weights_of(*problem.node)), DType::bfloat16);
  lower_convolution(*problem.node, convolution, tiles_template("bfloat16", ""), vectors,
                    blocked_input(*problem.node, vectors), std::move(weights), context);
}

void lower_digits(const CpuProblem& problem, const machine::VectorUnit& vectors, LoweringContext& context) {
  const KernelConvolution& convolution = problem.convolution->convolution;
  lower_convolution(*problem.node, convolution, tiles_template("digits", ", TilesOfDigits"), vectors,
                    blocked_input(*problem.node, vectors),
                    as_tensor(pack_tiles_digits(convolution.shape, weights_of(*problem.node))), context);
}

void lower_bytes(const CpuProblem& problem, const machine::VectorUnit& vectors, LoweringContext& context) {
  const ByteConvolution& bytes = *problem.bytes;
  lower_byte_convolution(*problem.node, bytes, tiles_template("int8", ", TilesOfBytes"), vectors,
                         as_tensor(pack_tiles_weights(bytes.shape(), unsigned_zero_point(bytes), bytes.weights)),
                         context);
}

using Lower = void (*)(const CpuProblem& problem, const machine::VectorUnit& vectors, LoweringContext& context);

void add_offer(const CpuProblem& problem, const CpuMachine& machine, const TilesPacking& packing,
               const kernels::Axes& output, Lower lower, Offers& offers) {
  offers.push_back({.kernel = "conv_tiles",
                    .reads = LayoutDemand::blocks,
                    .gives = LayoutDemand::blocks,
                    .cost = tiles_cost(packing, output, machine),
                    .lower = [problem, vectors = machine.vectors, lower](LoweringContext& context) {
                      lower(problem, vectors, context);
                    }});
}

}  // namespace

void offer_conv_tiles(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  const bool has_tiles = machine.convolution.int8_tile_products > 0;
  if (has_tiles && problem.bytes && kernels::tiles_support(problem.bytes->shape(), TilesKind::bytes))
    add_offer(problem, machine, {problem.bytes->shape(), TilesKind::bytes}, problem.bytes->output.size, lower_bytes,
              offers);
  if (!has_tiles || !problem.convolution || !reads_blocks(*problem.convolution, machine)) return;
  const ConvolutionProblem& convolution = *problem.convolution;
  const TilesKind kind = convolution.input == DType::bfloat16 ? TilesKind::bfloat16 : TilesKind::digits;
  if (!kernels::tiles_support(convolution.shape(), kind)) return;
  if (kind == TilesKind::digits &&
      (convolution.input != DType::float32 || !have_digits(convolution.shape(), weights_of(*problem.node))))
    return;
  add_offer(problem, machine, {convolution.shape(), kind}, convolution.output,
            kind == TilesKind::digits ? lower_digits : lower_floats, offers);
}

}  // namespace onnxc
