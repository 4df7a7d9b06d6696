#include "codegen/cpu/calls/conv_choice.h"

#include "codegen/cpu/kernels/conv_stem_winograd_geometry.h"
#include "codegen/cpu/kernels/conv_winograd_geometry.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using kernels::Axes;
using kernels::ConvShape;

// With few input channels a block of them would be mostly padding: the stem reads the planar tensor as it is.
constexpr int64_t most_stem_channels = 4;

// Shares of the peak that the multiply-adds of each kernel reach, measured on AVX-512 (large maps, weights in cache).
constexpr double direct_share = 0.72, stem_share = 0.95, winograd_share = 0.8;
// Additions and moves of the transforms, in multiply-adds: of a point of one input block, and of one output block.
constexpr double input_point_cost = 3.5, output_point_cost = 4.0;
// The same of conv_stem_winograd.h: of a vector of the transformed input, of a vector of outputs, and of a register
// tile for each point of the depth.
constexpr double stem_input_cost = 4.0, stem_output_cost = 4.0, stem_tile_cost = 80.0;
// Multiply-adds at peak rate in the time that a byte of weights takes from memory (about 5 GB/s a core, measured).
constexpr double weight_byte_cost = 1.25;
// What is left of the cost where a size that is guessed must pay.
constexpr double clear_gain = 0.8;

double direct_cost(const ConvShape& shape, int lanes, const Axes& output, double share) {
  const double products = static_cast<double>(shape.kernel.product() * shape.group_input_channels()) *
                          static_cast<double>(kernels::divide_up(shape.output_channels, lanes));
  return static_cast<double>(output.product()) * products / share + products * lanes * 4 * weight_byte_cost;
}

double stem_winograd_cost(const ConvShape& shape, int lanes, const Axes& output) {
  const kernels::StemWinogradPacking packing{shape, lanes};
  const kernels::StemWinogradAxis depth = packing.depth(), height = packing.height();
  const auto rows = static_cast<double>(depth.tiles(output.d) * height.tiles(output.h));
  const auto blocks = static_cast<double>(packing.output_blocks());
  const double of_outputs = static_cast<double>(depth.outputs() * height.outputs()) * stem_output_cost +
                            static_cast<double>(depth.points()) * stem_tile_cost /
                                static_cast<double>(kernels::stem_winograd_voxels(1, lanes));
  const double of_voxel = blocks * (static_cast<double>(packing.products()) / winograd_share + of_outputs);
  const double of_column = static_cast<double>(shape.input_channels * depth.terms() * height.terms()) * stem_input_cost;
  const auto columns = static_cast<double>(kernels::divide_up(output.w * shape.stride.w, lanes));
  const double weights = static_cast<double>(packing.plain_offset()) * 4 * weight_byte_cost;
  return rows * (static_cast<double>(output.w) * of_voxel + columns * of_column) + weights;
}

double winograd_cost(const ConvShape& shape, int lanes, const Axes& output) {
  const kernels::WinogradPacking packing{shape, lanes};
  const kernels::WinogradGeometry geometry = kernels::winograd_geometry(packing, {1, output, output, {0, 0, 0}});
  const auto points = static_cast<double>(packing.form().line_points() * packing.form().column_points());
  const auto inputs = static_cast<double>(packing.input_blocks()),
             outputs = static_cast<double>(packing.output_blocks());
  const double products = static_cast<double>(packing.depth()) * outputs / winograd_share;
  const double transforms =
      inputs * input_point_cost * static_cast<double>(geometry.splits) + outputs * output_point_cost;
  const double weights = static_cast<double>(packing.size()) * 4 * weight_byte_cost;
  return static_cast<double>(geometry.tiles.product()) * points * (products + transforms) +
         static_cast<double>(geometry.passes) * weights;
}

}  // namespace

double convolution_cost(ConvAlgorithm algorithm, const ConvShape& shape, int lanes, const Axes& output) {
  switch (algorithm) {
    case ConvAlgorithm::direct:
      return direct_cost(shape, lanes, output, direct_share);
    case ConvAlgorithm::stem:
      return direct_cost(shape, lanes, output, stem_share);
    case ConvAlgorithm::stem_winograd:
      return stem_winograd_cost(shape, lanes, output);
    case ConvAlgorithm::winograd:
      return winograd_cost(shape, lanes, output);
  }
  internal_error("a convolution algorithm");
}

ConvAlgorithm choose_convolution(const ConvShape& shape, int lanes, const ConvOutput& output) {
  const auto cheaper = [&](bool is_supported, ConvAlgorithm transformed, ConvAlgorithm plain) {
    const double gain = output.is_known ? 1.0 : clear_gain;
    const bool pays = is_supported && convolution_cost(transformed, shape, lanes, output.size) <
                                          gain * convolution_cost(plain, shape, lanes, output.size);
    return pays ? transformed : plain;
  };
  if (shape.groups == 1 && shape.input_channels <= most_stem_channels)
    return cheaper(kernels::stem_winograd_supports(shape), ConvAlgorithm::stem_winograd, ConvAlgorithm::stem);
  return cheaper(kernels::winograd_supports(shape), ConvAlgorithm::winograd, ConvAlgorithm::direct);
}

}  // namespace onnxc
