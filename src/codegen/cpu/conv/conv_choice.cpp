#include "codegen/cpu/conv/conv_choice.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/conv_nchw/conv_planar_geometry.h"
#include "kernels/cpu/conv_nchw/conv_planar_winograd_geometry.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd_geometry.h"
#include "kernels/cpu/conv_winograd/conv_winograd_geometry.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using kernels::Axes;
using kernels::ConvShape;

// A block of few input channels (NCHWc) would be mostly padding: the stem reads NCHW instead.
constexpr int64_t most_stem_channels = 4;

// Fraction of the peak that each kernel's multiply-adds reach: measured on AVX-512, large maps, weights in cache.
constexpr double direct_share = 0.72, stem_share = 0.95, winograd_share = 0.85, stem_winograd_share = 0.8;
// Winograd's transforms, in vector multiply-adds. input_cost: transforming one input vector to one (outer, row) point.
// output_cost: adding one product vector to one output of a tile. With strides an input vector serves fewer products
// and more of them come from memory: ConvolutionCosts::strided_input.
constexpr double input_cost = 7.0, output_cost = 7.0;
// Tiles of 4x4 have a cheaper transform: the points +p and -p share terms, and with six points along two axes the rows
// are combined before the depth.
double transform_share(const kernels::WinogradPacking& packing) {
  return packing.form().axes_of_six_points() >= 2 ? 0.6 : 1.0;
}
// The same for conv_stem_winograd.h: per vector of transformed input, per vector of outputs, and per register tile and
// point of the depth.
constexpr double stem_input_cost = 4.0, stem_output_cost = 4.0, stem_tile_cost = 80.0;
// The same for the kernels NCHW to NCHW, per vector of neighbouring voxels. copy_to_rows_cost: reordering one vector
// from NCHWc to NCHW, which takes 25 in small tensors and more in large ones.
constexpr double planar_share = 0.5, planar_output_cost = 12.0;
constexpr double planar_winograd_input_cost = 5.0, planar_winograd_output_cost = 20.0, planar_winograd_tile_cost = 80.0;
constexpr double copy_to_rows_cost = 35.0;
// With 64 output channels the input transform is a small part of the time: NCHWc and the reorder behind it measured as
// fast or faster (0.8 to 1.1), although the costs say otherwise.
constexpr int64_t most_planar_winograd_channels = 32;
// A byte of weights that is read again from the second- or third-level cache (45 GB/s), in multiply-adds at the peak
// rate. A byte from memory: ConvolutionCosts::weight_byte.
constexpr double cached_byte_cost = 0.12;
// Where Winograd must win clearly, it may cost this fraction of direct; elsewhere ConvolutionCosts::least_gain.
constexpr double clear_gain = 0.8;
// Packed weights above `many_weights` bytes are a large part of a process's memory, so Winograd must win clearly. Tiles
// of 2x4x4 pack one and a half times the weights of 2x2x4.
constexpr int64_t many_weights = 16 * 1024 * 1024, most_weights_of_two_fours = 8 * 1024 * 1024;

// Fraction of the taps along an axis that read inside the input; the pads are assumed to be half the kernel, as usual.
double taps_inside(int64_t kernel, int64_t stride, int64_t dilation, int64_t output) {
  int64_t inside = 0;
  for (int64_t at = 0; at < output; ++at)
    for (int64_t tap = 0; tap < kernel; ++tap) {
      const int64_t from = at * stride + tap * dilation - (kernel - 1) * dilation / 2;
      inside += from >= 0 && from < output * stride ? 1 : 0;
    }
  return output == 0 ? 1.0 : static_cast<double>(inside) / static_cast<double>(kernel * output);
}

double direct_cost(const ConvShape& shape, const CpuMachine& machine, const Axes& output, double share) {
  const int lanes = machine.lanes();
  const double products = static_cast<double>(shape.kernel.product() * shape.group_input_channels()) *
                          static_cast<double>(kernels::divide_up(shape.output_channels, lanes));
  // Taps in the padding are left out where a whole register tile has them there: along the depth nearly all.
  const double computed = machine.convolution.leaves_out_taps_of_padding
                              ? taps_inside(shape.kernel.d, shape.stride.d, shape.dilation.d, output.d)
                              : 1.0;
  return static_cast<double>(output.product()) * products * computed / share +
         products * lanes * 4 * machine.convolution.weight_byte;
}

double stem_winograd_cost(const ConvShape& shape, const CpuMachine& machine, const Axes& output) {
  const int lanes = machine.lanes();
  const kernels::StemWinogradPacking packing{shape, lanes};
  const kernels::StemWinogradAxis depth = packing.depth(), height = packing.height();
  const auto rows = static_cast<double>(depth.tiles(output.d) * height.tiles(output.h));
  const auto blocks = static_cast<double>(packing.output_blocks());
  const double of_outputs = static_cast<double>(depth.outputs() * height.outputs()) * stem_output_cost +
                            static_cast<double>(depth.points()) * stem_tile_cost /
                                static_cast<double>(kernels::stem_winograd_voxels(1, lanes));
  const double of_voxel = blocks * (static_cast<double>(packing.products()) / stem_winograd_share + of_outputs);
  const double of_column = static_cast<double>(shape.input_channels * depth.terms() * height.terms()) * stem_input_cost;
  const auto columns = static_cast<double>(kernels::divide_up(output.w * shape.stride.w, lanes));
  const double weights = static_cast<double>(packing.plain_offset()) * 4 * machine.convolution.weight_byte;
  return rows * (static_cast<double>(output.w) * of_voxel + columns * of_column) + weights;
}

// Vectors of neighbours along the width in rows of `output`.
double row_vectors(const Axes& output, int lanes, int64_t rows) {
  return static_cast<double>(rows * kernels::divide_up(output.w, lanes));
}

double planar_cost(const ConvShape& shape, int lanes, const Axes& output) {
  const auto channels = static_cast<double>(shape.output_channels);
  const double products = static_cast<double>(shape.kernel.product() * shape.input_channels) / planar_share;
  return row_vectors(output, lanes, output.d * output.h) * channels * (products + planar_output_cost);
}

double planar_winograd_cost(const ConvShape& shape, const CpuMachine& machine, const Axes& output) {
  const int lanes = machine.lanes();
  const kernels::StemWinogradPacking packing = kernels::planar_winograd_packing(shape, lanes);
  const kernels::PlanarWinogradTile tile = kernels::planar_winograd_tile(shape.output_channels, lanes);
  const kernels::StemWinogradAxis depth = packing.depth(), height = packing.height();
  const int64_t rows = depth.tiles(output.d) * height.tiles(output.h);
  const int64_t register_tiles =
      kernels::divide_up(kernels::divide_up(output.w, lanes), tile.vectors) * packing.chunks() * depth.points();
  const auto channels = static_cast<double>(packing.output_blocks() * packing.lanes);
  const auto terms = static_cast<double>(shape.input_channels * depth.terms() * height.terms());
  const double of_channel = static_cast<double>(packing.products()) / machine.convolution.planar_winograd_share +
                            static_cast<double>(depth.outputs() * height.outputs()) * planar_winograd_output_cost;
  return row_vectors(output, lanes, rows) * (channels * of_channel + terms * planar_winograd_input_cost) +
         static_cast<double>(rows * register_tiles) * planar_winograd_tile_cost;
}

// Outputs of one axis that the points of it reach, summed over the points.
int64_t reached_outputs(const kernels::WinogradAxis& axis) {
  int64_t count = 0;
  for (int64_t point = 0; point < axis.points(); ++point)
    for (int64_t i = 0; i < axis.outputs; ++i) count += axis.table()[point].output[i] != 0.0f ? 1 : 0;
  return count;
}

// Inputs of one axis that its points read, summed over the points.
int64_t read_inputs(const kernels::WinogradAxis& axis) {
  int64_t count = 0;
  for (int64_t point = 0; point < axis.points(); ++point) count += axis.table()[point].inputs;
  return count;
}

double winograd_cost(const ConvShape& shape, const Axes& tile, const CpuMachine& machine, const Axes& output) {
  const int lanes = machine.lanes();
  const kernels::WinogradPacking packing{shape, tile, lanes};
  const Axes &kernel = shape.kernel, &stride = shape.stride;
  const Axes input{(output.d - 1) * stride.d + kernel.d, (output.h - 1) * stride.h + kernel.h,
                   (output.w - 1) * stride.w + kernel.w};
  const kernels::WinogradGeometry geometry = kernels::winograd_geometry(packing, {1, input, output, {0, 0, 0}});
  const kernels::WinogradForm form = packing.form();
  const int64_t inputs =
      read_inputs(form.outer) * read_inputs(form.row) * form.column.step() * packing.input_blocks() * geometry.splits;
  const int64_t outputs = reached_outputs(form.outer) * reached_outputs(form.row) * form.column.outputs;
  const int64_t products = form.points() * packing.depth() * packing.output_blocks();
  // A register tile is computed whole, and a lattice may have fewer tiles than it holds.
  const int64_t tiles = geometry.tiles.product();
  const bool has_lattices = form.is_dilated() && tiles > 0;
  const double computed_for_each =
      has_lattices ? static_cast<double>(kernels::winograd_padded_tiles(tiles, lanes)) / static_cast<double>(tiles)
                   : 1.0;
  const double tile_cost =
      computed_for_each * static_cast<double>(products) / winograd_share +
      transform_share(packing) *
          (static_cast<double>(inputs) * (stride == Axes{1, 1, 1} ? input_cost : machine.convolution.strided_input) +
           static_cast<double>(outputs * packing.output_blocks()) * output_cost);
  const double byte_cost =
      machine.convolution.weight_byte + static_cast<double>(geometry.passes - 1) * cached_byte_cost;
  return static_cast<double>(geometry.lattices * tiles) * tile_cost +
         static_cast<double>(packing.size()) * 4 * byte_cost;
}

// The tiles that a shape may have.
std::vector<Axes> winograd_tiles(const ConvShape& shape, const CpuMachine& machine, ConvWeights weights) {
  std::vector<Axes> tiles;
  for (const int64_t d : {1, 2, 4})
    for (const int64_t h : {1, 2, 4})
      for (const int64_t w : {1, 2, 4})
        if (const Axes tile{d, h, w}; kernels::winograd_supports(shape, tile)) {
          const kernels::WinogradPacking packing{shape, tile, machine.lanes()};
          const kernels::WinogradForm form = packing.form();
          if (weights == ConvWeights::whole && form.axes_of_six_points() > 0) continue;
          const bool is_plane = form.outer.outputs == 1;
          const bool has_few_weights =
              is_plane || packing.size() * static_cast<int64_t>(sizeof(float)) <= most_weights_of_two_fours;
          if (!packing.has_two_fours() || (machine.convolution.takes_two_fours && has_few_weights))
            tiles.push_back(tile);
        }
  return tiles;
}

int64_t winograd_weight_bytes(const ConvChoice& choice, const ConvShape& shape, int lanes) {
  if (choice.algorithm != ConvAlgorithm::winograd) return 0;
  return kernels::WinogradPacking{shape, choice.tile, lanes}.size() * static_cast<int64_t>(sizeof(float));
}

}  // namespace

bool is_stem(const ConvShape& shape) { return shape.groups == 1 && shape.input_channels <= most_stem_channels; }

double convolution_cost(const ConvChoice& choice, const ConvShape& shape, const CpuMachine& machine,
                        const Axes& output) {
  switch (choice.algorithm) {
    case ConvAlgorithm::direct:
      return direct_cost(shape, machine, output,
                         shape.group_input_channels() % machine.lanes() != 0
                             ? machine.convolution.direct_share_of_partial_blocks
                             : direct_share);
    case ConvAlgorithm::stem:
      return direct_cost(shape, machine, output, stem_share);
    case ConvAlgorithm::stem_winograd:
      return stem_winograd_cost(shape, machine, output);
    case ConvAlgorithm::winograd:
      return winograd_cost(shape, choice.tile, machine, output);
    case ConvAlgorithm::planar:
      return planar_cost(shape, machine.lanes(), output);
    case ConvAlgorithm::planar_winograd:
      return planar_winograd_cost(shape, machine, output);
  }
  internal_error("a convolution algorithm");
}

ConvChoice choose_convolution(const ConvShape& shape, const CpuMachine& machine, const ConvOutput& output,
                              ConvWeights weights) {
  const bool reads_planar = is_stem(shape);
  std::vector<ConvChoice> transformed;
  if (!reads_planar)
    for (const Axes& tile : winograd_tiles(shape, machine, weights))
      transformed.push_back({ConvAlgorithm::winograd, tile});
  else if (kernels::stem_winograd_supports(shape))
    transformed.push_back({ConvAlgorithm::stem_winograd});

  const ConvChoice plain{reads_planar ? ConvAlgorithm::stem : ConvAlgorithm::direct};
  ConvChoice best = plain;
  const double plain_cost = convolution_cost(plain, shape, machine, output.size);
  double least = std::numeric_limits<double>::infinity();
  for (const ConvChoice& choice : transformed) {
    const double cost = convolution_cost(choice, shape, machine, output.size);
    const int64_t bytes = winograd_weight_bytes(choice, shape, machine.lanes());
    const bool must_be_clear = !output.is_known || bytes > many_weights;
    if (cost >= (must_be_clear ? clear_gain : machine.convolution.least_gain) * plain_cost) continue;
    const double cost_with_weights = cost + machine.convolution.held_byte * static_cast<double>(bytes);
    if (cost_with_weights >= least) continue;
    least = cost_with_weights;
    best = choice;
  }
  return best;
}

std::optional<ConvAlgorithm> choose_planar_convolution(const ConvShape& shape, const CpuMachine& machine,
                                                       const Axes& output) {
  if (!is_stem(shape)) return std::nullopt;
  const auto blocks =
      static_cast<double>(output.product() * kernels::divide_up(shape.output_channels, machine.lanes()));
  double least = convolution_cost(choose_convolution(shape, machine, {output}), shape, machine, output) +
                 blocks * copy_to_rows_cost;
  std::optional<ConvAlgorithm> best;
  const auto consider = [&](ConvAlgorithm algorithm) {
    const double cost = convolution_cost({algorithm}, shape, machine, output);
    if (cost >= least) return;
    least = cost;
    best = algorithm;
  };
  if (kernels::planar_supports(shape)) consider(ConvAlgorithm::planar);
  if (kernels::planar_winograd_supports(shape) && shape.output_channels <= most_planar_winograd_channels)
    consider(ConvAlgorithm::planar_winograd);
  return best;
}

}  // namespace onnxc
