// Convolutions of bytes by Winograd (conv_int8_winograd.h): ConvInteger, NCHWc to NCHWc. Each tile that the kernel has
// is weighed; those that win against conv_int8 are offered.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv_int8_winograd/conv_int8_winograd_packing.h"

namespace onnxc {
namespace {

using kernels::Axes;
using kernels::Int8WinogradPacking;

// Fraction of the peak of its products, and the transforms of a vector at a point of a tile in multiply-adds: measured
// on Zen 4.
constexpr double share = 0.85, input_cost = 3.0, output_cost = 4.0;
// A vector of pairs without VPDPWSSD (int16_pairs.h), in multiply-adds.
constexpr double pairs_without_instruction = 2.0;
// Relative to int8_cost: the weights are more than those of conv_int8, and a hint of a size may be wrong.
constexpr double least_gain = 0.9, clear_gain = 0.8;

double cost_of(const ByteConvolution& problem, const Int8WinogradPacking& packing, const CpuMachine& machine) {
  const Axes& size = problem.output.size;
  const kernels::Int8WinogradGeometry geometry = kernels::int8_winograd_geometry(packing, {1, size, size, {0, 0, 0}});
  const double each = machine.convolution.int8_products > 0 ? 1.0 / share : pairs_without_instruction;
  const double point = as_real(packing.pairs() * packing.output_blocks()) * each +
                       as_real(packing.input_blocks() * kernels::larger(1, geometry.splits)) * input_cost +
                       as_real(packing.output_blocks()) * output_cost;
  return as_real(geometry.tiles.product() * packing.points()) * point +
         as_real(packing.size()) * machine.convolution.weight_byte;
}

void lower(const CpuProblem& problem, const Int8WinogradPacking& packing, const machine::VectorUnit& vectors,
           LoweringContext& context) {
  const ByteConvolution& bytes = *problem.bytes;
  const Axes& tile = packing.tile;
  ConvolutionTemplate chosen{"kernels/cpu/conv_int8_winograd/conv_int8_winograd.h", "Int8WinogradConvolution",
                             fmt::format(", Axes{{{}, {}, {}}}", tile.d, tile.h, tile.w)};
  chosen.arithmetic = "int16";
  const auto signed_zero = static_cast<int8_t>(bytes.zero_point - (bytes.is_signed ? 0 : 128));
  lower_byte_convolution(*problem.node, bytes, std::move(chosen), vectors,
                         as_tensor(pack_int8_winograd_weights(packing, signed_zero, bytes.weights)), context);
}

}  // namespace

void offer_conv_int8_winograd(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!problem.bytes) return;
  const ByteConvolution& bytes = *problem.bytes;
  const double gain = bytes.output.is_known ? least_gain : clear_gain;
  for (const Axes& tile : {Axes{2, 2, 2}, Axes{2, 2, 4}, Axes{2, 4, 4}, Axes{1, 2, 2}, Axes{1, 4, 4}}) {
    if (!kernels::int8_winograd_supports(bytes.shape(), tile)) continue;
    const Int8WinogradPacking packing{bytes.shape(), tile, machine.lanes()};
    Offer offer{.kernel = "conv_int8_winograd " + winograd_name(tile, bytes.shape().kernel),
                .reads = LayoutDemand::blocks,
                .gives = LayoutDemand::blocks,
                .cost = cost_of(bytes, packing, machine),
                .lower = [problem, packing, vectors = machine.vectors](LoweringContext& context) {
                  lower(problem, packing, vectors, context);
                }};
    if (!int8_winograd_is_exact(packing, bytes.weights))
      offer.declined = fmt::format("sums may reach {}", packing.sum_limit());
    else if (*offer.cost >= gain * int8_cost(bytes, machine))
      offer.declined = fmt::format("not below {} of conv_int8", gain);
    offers.push_back(std::move(offer));
  }
}

}  // namespace onnxc
