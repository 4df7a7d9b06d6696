// The contract of the compiler, the weight packer and conv_to_rows.h.
#pragma once

#include "kernels/cpu/conv_nchw/conv_planar_geometry.h"
#include "kernels/cpu/conv_transpose/conv_transpose_geometry.h"

namespace onnxc::kernels {

// One axis. Output z = stride * m + r - before, with residue r, sums x[m + t - begin_pad] over its taps t. A
// convolution has all taps and the one residue 0; a transposed one the residues and taps of conv_transpose_geometry.h.
struct RowsAxis {
  int64_t kernel, stride;
  bool is_transposed;

  constexpr int64_t residues() const { return is_transposed ? stride : 1; }
  constexpr int64_t taps() const { return divide_up(kernel, residues()); }
  // The kernel's tap that is the residue's tap t. A residue may lack tap 0; the result is then not below `kernel`.
  constexpr int64_t kernel_tap(int64_t residue, int64_t t) const {
    return is_transposed ? PackedTransposedPacking::kernel_tap(residue, stride, taps(), t) : t;
  }
  constexpr int64_t first_tap(int64_t residue) const { return kernel_tap(residue, 0) < kernel ? 0 : 1; }

  constexpr int64_t count(int64_t pad, int64_t output) const {
    return is_transposed ? PackedTransposedPacking::count(stride, pad, output) : output;
  }
  constexpr int64_t begin_pad(int64_t pad) const {
    return is_transposed ? taps() - 1 - PackedTransposedPacking::first(stride, pad) : pad;
  }
  constexpr int64_t before(int64_t pad) const {
    return is_transposed ? pad - stride * PackedTransposedPacking::first(stride, pad) : 0;
  }
};

// Packed weights: [kd][kh][input channel][kw][output channel].
struct RowsPacking {
  ConvShape shape;
  bool is_transposed;

  constexpr RowsAxis d() const { return {shape.kernel.d, shape.stride.d, is_transposed}; }
  constexpr RowsAxis h() const { return {shape.kernel.h, shape.stride.h, is_transposed}; }
  constexpr RowsAxis w() const { return {shape.kernel.w, shape.stride.w, is_transposed}; }
  constexpr Axes taps() const { return {d().taps(), h().taps(), w().taps()}; }
  constexpr Axes residues() const { return {d().residues(), h().residues(), w().residues()}; }

  // Whether each output reads only the input voxel at its own position, up to pads.
  constexpr bool is_pointwise() const { return shape.kernel == Axes{1, 1, 1} && residues() == Axes{1, 1, 1}; }
  // Sums for one vector of positions m: one for each residue and output channel.
  constexpr int64_t sums() const { return w().residues() * shape.output_channels; }
  // Weights of an input channel at one tap of the depth and the height.
  constexpr int64_t line_size() const { return shape.kernel.w * shape.output_channels; }
  constexpr int64_t offset(int64_t kd, int64_t kh) const {
    return (kd * shape.kernel.h + kh) * shape.input_channels * line_size();
  }
  constexpr int64_t offset(int64_t output_channel, int64_t input_channel, const Axes& tap) const {
    return offset(tap.d, tap.h) + input_channel * line_size() + tap.w * shape.output_channels + output_channel;
  }
};

// All sums for one vector of positions must fit the registers, beside an element and a weight.
constexpr bool to_rows_supports(const RowsPacking& packing, int target_lanes) {
  const ConvShape& shape = packing.shape;
  return shape.groups == 1 && shape.dilation == Axes{1, 1, 1} && shape.output_channels <= most_planar_channels &&
         (packing.is_transposed || shape.stride == Axes{1, 1, 1}) &&
         packing.sums() <= machine::vector_unit(target_lanes).registers - 2;
}

// A task computes all outputs of a band of rows of one plane of positions m, or of a piece of these rows if they are
// long. A pointwise convolution is one row of all voxels, so that its tasks are the same whether the caller says so or
// not (convolution_call.h). Scratch holds the input that the task reads, as floats [tap of the depth][row][input
// channel] [column], with zeros for a row that continues past its ends.
struct RowsGeometry {
  Axes size, begin_pads, before;  // of the axes, as RowsAxis has them
  int64_t piece_columns, pieces;  // the last piece, and the last band, may be smaller
  int64_t band_rows, bands;
  int64_t input_rows, row_stride;  // in scratch
  KernelWork work;
};

constexpr RowsGeometry to_rows_geometry(const RowsPacking& packing, const ConvSizes& sizes, int target_lanes) {
  // A quarter of a second-level cache of 1 MiB.
  constexpr int64_t budget = 256 * 1024 / static_cast<int64_t>(sizeof(float)), wished_tasks = 16, most_columns = 256;
  const RowsAxis d = packing.d(), h = packing.h(), w = packing.w();
  const Axes &pads = sizes.begin_pads, &output = sizes.output, taps = packing.taps();
  RowsGeometry result{};
  result.size = {d.count(pads.d, output.d), h.count(pads.h, output.h), w.count(pads.w, output.w)};
  result.begin_pads = {d.begin_pad(pads.d), h.begin_pad(pads.h), w.begin_pad(pads.w)};
  result.before = {d.before(pads.d), h.before(pads.h), w.before(pads.w)};
  if (packing.is_pointwise()) result.size = {1, 1, output.product()};
  if (sizes.batch * output.product() == 0) return result;

  const int64_t wished_pieces = divide_up(result.size.w, most_columns);
  const int64_t tile = wished_pieces == 1 ? target_lanes : planar_vectors(packing.sums(), target_lanes) * target_lanes;
  result.piece_columns = round_up(divide_up(result.size.w, wished_pieces), tile);
  result.pieces = divide_up(result.size.w, result.piece_columns);
  result.row_stride = round_up(result.piece_columns + taps.w - 1, target_lanes);
  const int64_t row_elements = packing.shape.input_channels * taps.d * result.row_stride;
  const int64_t planes = sizes.batch * result.size.d * result.pieces;
  const int64_t wished_rows = divide_up(result.size.h, divide_up(wished_tasks, planes));
  const int64_t most_rows = larger(1, smaller(budget / row_elements - taps.h + 1, wished_rows));
  result.bands = divide_up(result.size.h, most_rows);
  result.band_rows = divide_up(result.size.h, result.bands);
  result.bands = divide_up(result.size.h, result.band_rows);
  result.input_rows = result.band_rows + taps.h - 1;
  result.work = {planes * result.bands, row_elements * result.input_rows * static_cast<int64_t>(sizeof(float))};
  return result;
}

}  // namespace onnxc::kernels
