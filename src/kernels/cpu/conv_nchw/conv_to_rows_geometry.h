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
  // Input channels that are transposed and multiplied at a time: whole blocks of `target_lanes`.
  constexpr int64_t step_channels(int target_lanes) const {
    constexpr int64_t enough = 32;
    return smaller(round_up(shape.input_channels, target_lanes), larger(enough, target_lanes));
  }
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

// A task computes all outputs of some planes of positions m, in a band of their rows, or of a piece of these rows if
// they are long. A pointwise convolution is one row of all voxels, so that its tasks are the same whether the caller
// says so or not (convolution_call.h). Scratch holds one plane of some input channels, as floats
// [row][channel][column], with zeros for a row that continues past its ends; and the task's sums, [plane][row][residue
// of the depth] [residue of the height][sum][column].
struct RowsGeometry {
  Axes size, begin_pads, before;  // of the axes, as RowsAxis has them
  int64_t piece_columns, pieces;  // the last piece, and the last band and range, may be smaller
  int64_t band_rows, bands;
  int64_t range_planes, ranges;
  int64_t input_rows, row_stride, line_elements, row_sums;  // in scratch
  KernelWork work;
};

constexpr RowsGeometry to_rows_geometry(const RowsPacking& packing, const ConvSizes& sizes, int target_lanes) {
  // Together three eighths of a second-level cache of 1 MiB.
  constexpr int64_t line_budget = 256 * 1024 / sizeof(float), sum_budget = 128 * 1024 / sizeof(float);
  // With more, less is transposed twice; there must be tasks for all cores.
  constexpr int64_t most_rows = 8, most_planes = 4, wished_tasks = 16, most_columns = 256;
  const RowsAxis d = packing.d(), h = packing.h(), w = packing.w();
  const Axes &pads = sizes.begin_pads, &output = sizes.output, taps = packing.taps(), residues = packing.residues();
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
  result.row_sums = residues.d * residues.h * packing.sums() * result.piece_columns;

  const int64_t step = packing.step_channels(target_lanes);
  const int64_t rows = sizes.batch * result.size.d * result.pieces * result.size.h;
  const int64_t rows_of_task = smaller(divide_up(rows, wished_tasks), larger(1, sum_budget / result.row_sums));
  const int64_t rows_of_lines = larger(1, line_budget / (step * result.row_stride) - taps.h + 1);
  result.band_rows = smaller(smaller(most_rows, rows_of_lines), smaller(result.size.h, rows_of_task));
  result.bands = divide_up(result.size.h, result.band_rows);
  result.band_rows = divide_up(result.size.h, result.bands);
  result.bands = divide_up(result.size.h, result.band_rows);
  result.input_rows = result.band_rows + taps.h - 1;
  result.line_elements = result.input_rows * step * result.row_stride;
  result.range_planes =
      taps.d == 1 ? 1 : smaller(result.size.d, larger(1, smaller(most_planes, rows_of_task / result.band_rows)));
  result.ranges = divide_up(result.size.d, result.range_planes);
  const int64_t sums = result.range_planes * result.band_rows * result.row_sums;
  result.work = {sizes.batch * result.ranges * result.pieces * result.bands,
                 (result.line_elements + sums) * static_cast<int64_t>(sizeof(float))};
  return result;
}

}  // namespace onnxc::kernels
