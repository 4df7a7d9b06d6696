// The contract of the compiler, the weight packer and the kernels conv_stem_winograd.h and conv_planar_winograd.h: the
// supported convolutions, the order of the transformed weights, and how the work is cut into tasks.
//
// Along an axis of stride 1 two neighbouring outputs of a filter are y0, y1 = sum of g_k x_k, sum of g_k x_(k+1). Its
// taps are cut into pieces of three, two or one. Each piece is Winograd's F(2, 3) or F(2, 2), written so that all
// pieces share the points of F(2, 3):
//  y0 = m0 + m1 + m2,  y1 = m1 - m2 + m3,  each m the sum over the pieces of
//  three taps: (x0 - x2) g0, (x1 + x2) (g0 + g1 + g2) / 2, (x2 - x1) (g0 - g1 + g2) / 2, (x3 - x1) g2
//  two taps:   (x0 - x1) g0,       x1 (g0 + g1),                                      0, (x2 - x1) g1
//  one tap:           x0 g0,                  0,                                      0,        x1 g0
// So nine taps take 12 products for two outputs instead of 18, and seven take 10 instead of 14. With stride 2 along an
// axis the even and the odd taps are two filters of stride 1, whose pieces are summed in the same points.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// A piece of an axis's taps: tap i of it is tap `first + i * stride` of the kernel.
struct StemWinogradPiece {
  int64_t first, taps;
};

// One point of a piece: reads the piece's input `first` and adds, with a sign, input `second` unless that is negative.
struct StemWinogradTerm {
  int first, second;
  float sign;
};

// Depth or height: outputs in pairs, or not transformed: then each tap is a piece, and 0 the only point.
struct StemWinogradAxis {
  int64_t kernel, stride, dilation;

  // Products for two outputs, if they come in pairs.
  constexpr int64_t paired_products() const {
    int64_t products = 0;
    for (int64_t phase = 0; phase < stride && phase < kernel; ++phase) {
      const int64_t taps = divide_up(kernel - phase, stride);
      products += taps / 3 * 4 + (taps % 3 == 0 ? 0 : taps % 3 + 1);
    }
    return products;
  }
  constexpr bool is_paired() const { return dilation == 1 && paired_products() < 2 * kernel; }
  constexpr int64_t outputs() const { return is_paired() ? 2 : 1; }
  constexpr int64_t points() const { return is_paired() ? 4 : 1; }

  // Pieces of `taps` taps.
  constexpr int64_t pieces_of(int64_t taps) const {
    if (!is_paired()) return taps == 1 ? kernel : 0;
    int64_t count = 0;
    for (int64_t phase = 0; phase < stride && phase < kernel; ++phase) {
      const int64_t all = divide_up(kernel - phase, stride);
      count += taps == 3 ? all / 3 : all % 3 == taps ? 1 : 0;
    }
    return count;
  }
  constexpr int64_t pieces() const { return pieces_of(3) + pieces_of(2) + pieces_of(1); }
  // Pieces in their order: those of three taps first, then of two, then of one.
  constexpr StemWinogradPiece piece(int64_t index) const {
    if (!is_paired()) return {index, 1};
    for (int64_t taps = 3; taps > 0; --taps)
      for (int64_t phase = 0; phase < stride && phase < kernel; ++phase) {
        const int64_t all = divide_up(kernel - phase, stride);
        const int64_t count = taps == 3 ? all / 3 : all % 3 == taps ? 1 : 0;
        if (index < count) return {phase + (taps == 3 ? index * 3 : all / 3 * 3) * stride, taps};
        index -= count;
      }
    return {0, 0};
  }
  // Whether a piece of so many taps has a term at a point; and how many pieces, counted from the first, have one.
  static constexpr bool has_point(int64_t point, int64_t taps) { return point == 0 || point == 3 || taps > point; }
  constexpr int64_t pieces_at(int64_t point) const {
    int64_t count = 0;
    for (int64_t taps = 1; taps <= 3; ++taps) count += has_point(point, taps) ? pieces_of(taps) : 0;
    return count;
  }

  // The terms of all pieces have one order: points 1 and 2 of each piece of three taps, point 1 of those of two, then
  // points 0 and 3 of each.
  constexpr int64_t terms() const { return term(points() == 4 ? 3 : 0, pieces() - 1) + 1; }
  constexpr int64_t term(int64_t point, int64_t piece) const {
    if (!is_paired()) return piece;
    if (point == 1 || point == 2) return piece < pieces_of(3) ? 2 * piece + point - 1 : pieces_of(3) + piece;
    return 2 * pieces_of(3) + pieces_of(2) + 2 * piece + (point == 3 ? 1 : 0);
  }
  static constexpr StemWinogradTerm input_of(int64_t point, int64_t taps) {
    constexpr StemWinogradTerm of_three[4] = {{0, 2, -1}, {1, 2, 1}, {2, 1, -1}, {3, 1, -1}};
    constexpr StemWinogradTerm of_two[4] = {{0, 1, -1}, {1, -1, 0}, {}, {2, 1, -1}};
    if (taps == 3) return of_three[point];
    if (taps == 2) return of_two[point];
    return {point == 3 ? 1 : 0, -1, 0};
  }
  // With what tap `tap` of a piece enters the weight of a point.
  constexpr double weight_of(int64_t point, int64_t taps, int64_t tap) const {
    if (point == 0 || point == 3) return tap == (point == 0 ? 0 : taps - 1) ? 1.0 : 0.0;
    if (taps == 2) return 1.0;
    return point == 2 && tap == 1 ? -0.5 : 0.5;
  }

  constexpr int64_t tiles(int64_t output) const { return divide_up(output, outputs()); }
  // The inputs that a number of tiles reads, counted from the first tap of the first tile's first output.
  constexpr int64_t inputs(int64_t tiles) const {
    return (tiles * outputs() - 1) * stride + (kernel - 1) * dilation + 1;
  }
};

// Transformed weights: [chunk of `most_blocks` output blocks, the last may have fewer][depth point][points of the
// height: 1 and 2, 0 and 3][input channel][piece of the depth that has the point][piece of the height][tap of the
// width][point] [output block in chunk][lane]; a height that is not transformed has one group of points. The
// untransformed weights for direct sums follow: [output block][input channel][kd][kh][kw][lane]. Padding is zero.
struct StemWinogradPacking {
  ConvShape shape;
  int lanes;  // output channels of a block
  int most_blocks = 2;

  constexpr StemWinogradAxis depth() const { return {shape.kernel.d, shape.stride.d, shape.dilation.d}; }
  constexpr StemWinogradAxis height() const { return {shape.kernel.h, shape.stride.h, shape.dilation.h}; }
  constexpr int64_t output_blocks() const { return divide_up(shape.output_channels, lanes); }
  constexpr int64_t chunks() const { return divide_up(output_blocks(), most_blocks); }
  constexpr int64_t chunk_blocks(int64_t chunk) const {
    return smaller(most_blocks, output_blocks() - most_blocks * chunk);
  }

  // Vectors of weights for one output block; `inner` of an input channel and a term of the depth for a group of points
  // of the height.
  constexpr int64_t inner_products() const {
    return height().is_paired() ? 2 * height().pieces_of(3) + height().pieces_of(2) : 0;
  }
  constexpr int64_t inner(bool is_outer_group) const {
    return (is_outer_group ? height().terms() - inner_products() : inner_products()) * shape.kernel.w;
  }
  constexpr int64_t group_offset(int64_t depth_point, bool is_outer_group) const {
    int64_t offset = 0;
    for (int64_t point = 0; point < depth_point; ++point)
      offset += depth().pieces_at(point) * (inner(false) + inner(true));
    if (is_outer_group) offset += depth().pieces_at(depth_point) * inner(false);
    return offset * shape.input_channels;
  }
  constexpr int64_t products() const { return group_offset(depth().points(), false); }
  constexpr int64_t chunk_offset(int64_t chunk) const { return most_blocks * chunk * lanes * products(); }
  constexpr int64_t plain_offset() const { return output_blocks() * lanes * products(); }
  constexpr int64_t plain(int64_t output_channel, int64_t input_channel, int64_t tap) const {
    return plain_offset() + plain_place(output_channel, input_channel, tap);
  }
  constexpr int64_t plain_place(int64_t output_channel, int64_t input_channel, int64_t tap) const {
    return ((output_channel / lanes * shape.input_channels + input_channel) * shape.kernel.product() + tap) * lanes +
           output_channel % lanes;
  }
  constexpr int64_t size() const { return plain(output_blocks() * lanes, 0, 0); }

  // The offset of the weight of two channels, for a piece and a point of each axis and a tap of the width.
  constexpr int64_t offset(int64_t output_channel, int64_t input_channel, int64_t depth_point, int64_t depth_piece,
                           int64_t height_point, int64_t height_piece, int64_t kw) const {
    const StemWinogradAxis rows = height();
    const int64_t block = output_channel / lanes;
    const bool is_outer_group = !rows.is_paired() || height_point == 0 || height_point == 3;
    const int64_t threes = rows.is_paired() ? rows.pieces_of(3) : 0;
    const bool is_pair = rows.is_paired() && (is_outer_group || height_piece < threes);
    int64_t place = 0;
    if (is_pair)
      place = (height_piece * shape.kernel.w + kw) * 2 + (height_point == 2 || height_point == 3 ? 1 : 0);
    else
      place = (is_outer_group ? 0 : threes * shape.kernel.w) + height_piece * shape.kernel.w + kw;
    const int64_t vector = group_offset(depth_point, is_outer_group) +
                           (input_channel * depth().pieces_at(depth_point) + depth_piece) * inner(is_outer_group) +
                           place;
    const int64_t chunk = block / most_blocks;
    return chunk_offset(chunk) + (vector * chunk_blocks(chunk) + block % most_blocks) * lanes + output_channel % lanes;
  }
};

// One group, and at least one axis in pairs.
constexpr bool stem_winograd_supports(const ConvShape& shape) {
  const StemWinogradPacking packing{shape, 1};
  constexpr int64_t most_pieces = 64;  // a bit each
  return shape.groups == 1 && (packing.depth().is_paired() || packing.height().is_paired()) &&
         packing.depth().pieces() <= most_pieces && packing.height().pieces() <= most_pieces;
}

// Output voxels in a register tile (neighbours in a row) for a number of output blocks: two points of each.
constexpr int64_t stem_winograd_voxels(int64_t blocks, int target_lanes) {
  return machine::vector_unit(target_lanes).tile_rows() / blocks;
}

constexpr int64_t stem_winograd_middle_voxels(int64_t blocks, int target_lanes) {
  return larger(1, stem_winograd_voxels(blocks, target_lanes) * 2 / 3);
}
constexpr int64_t stem_winograd_least_voxels(int64_t blocks, int target_lanes) {
  return larger(1, stem_winograd_voxels(blocks, target_lanes) / 3);
}

// A task computes all channels of a band of tiles along the height, for one tile of the depth. For one tile after
// another its scratch holds the input rows, with zeros past their ends, transformed along both axes [input
// channel][term of the depth][term of the height][column] and along only the depth; and a row of zeros.
struct StemWinogradBands {
  Axes tiles;          // of an image; along the width every voxel is one
  int64_t band_tiles;  // of the height; the last band may have fewer
  int64_t bands;
  int64_t row_stride;  // in scratch; this and all below in elements
  int64_t kept_offset, zeros_offset;
  int64_t size;
  int64_t tasks;
};

// `columns` of a row are read.
constexpr StemWinogradBands stem_winograd_bands(const ConvShape& shape, const ConvSizes& sizes, int64_t columns,
                                                int vector_lanes) {
  constexpr int64_t line = 64 / static_cast<int64_t>(sizeof(float)), wished_tasks = 16;
  const StemWinogradPacking packing{shape, vector_lanes};
  const StemWinogradAxis depth = packing.depth(), height = packing.height();
  StemWinogradBands result{};
  result.tiles = {depth.tiles(sizes.output.d), height.tiles(sizes.output.h), sizes.output.w};
  // A longer stride keeps long rows out of one set of the first-level cache.
  result.row_stride = round_up(columns, vector_lanes);
  if (result.row_stride % (4 * vector_lanes) == 0) result.row_stride += vector_lanes;
  const int64_t planes = sizes.batch * result.tiles.d;
  const int64_t wished_bands = planes == 0 ? 1 : divide_up(wished_tasks, planes);
  const int64_t most_tiles = larger(1, divide_up(result.tiles.h, wished_bands));
  result.bands = divide_up(result.tiles.h, most_tiles);
  result.band_tiles = result.bands == 0 ? 0 : divide_up(result.tiles.h, result.bands);
  result.bands = result.band_tiles == 0 ? 0 : divide_up(result.tiles.h, result.band_tiles);
  const int64_t rows = shape.input_channels * depth.terms() * result.row_stride;
  result.kept_offset = rows * height.terms();
  result.zeros_offset = result.kept_offset + rows * height.inputs(1);
  result.size = result.zeros_offset + round_up(sizes.input.w, line);
  result.tasks = sizes.output.product() == 0 ? 0 : planes * result.bands;
  return result;
}

// After the input the scratch holds the partial outputs of one segment of the tile's rows [output of the depth][output
// of the height][voxel][output block][lane].
struct StemWinogradGeometry {
  StemWinogradBands input;
  int64_t segment_voxels;                // of a row
  int64_t output_offset, output_stride;  // in elements
  KernelWork work;
};

constexpr StemWinogradGeometry stem_winograd_geometry(const StemWinogradPacking& packing, const ConvSizes& sizes) {
  constexpr int64_t element = static_cast<int64_t>(sizeof(float));
  constexpr int64_t segment_bytes = 24 * 1024;  // half of a first-level cache
  const ConvShape& shape = packing.shape;
  StemWinogradGeometry result{};
  // A row's last register tile may reach past its end.
  const int64_t voxels_read = round_up(sizes.output.w, stem_winograd_least_voxels(1, packing.lanes));
  const int64_t columns = (voxels_read - 1) * shape.stride.w + (shape.kernel.w - 1) * shape.dilation.w + 1;
  result.input = stem_winograd_bands(shape, sizes, columns, packing.lanes);
  const int64_t blocks = smaller(2, packing.output_blocks());
  const int64_t rows = packing.depth().outputs() * packing.height().outputs();
  const int64_t voxels = stem_winograd_voxels(blocks, packing.lanes);
  const int64_t row_bytes = sizes.output.w * rows * blocks * packing.lanes * element;
  const int64_t segments = larger(1, divide_up(row_bytes, segment_bytes));
  result.segment_voxels = round_up(divide_up(sizes.output.w, segments), voxels);
  result.output_stride = result.segment_voxels * blocks * packing.lanes;
  result.output_offset = result.input.size;
  result.work = {result.input.tasks, (result.output_offset + rows * result.output_stride) * element};
  return result;
}

}  // namespace onnxc::kernels
