// Winograd on bytes (conv_int8_winograd.h): its forms, how its weights are packed, and how its work is cut into tasks.
//
// The algorithm of Lavin and Gray (Fast Algorithms for Convolutional Neural Networks, 2016), in whole numbers: F(2,3)
// and F(4,3) with the weights' transform times 2 and times 24, so that the outputs come out as that multiple. The
// divisors at the end are 2, or 24 and for all but the first output of four 12.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"
#include "machine/vector_unit.h"

namespace onnxc::kernels {

// One axis: three taps as F(2,3) or F(4,3), or one tap, whose transforms change nothing.
struct Int8WinogradAxis {
  int64_t outputs;  // of a tile: 2, 4 or 1

  constexpr int64_t taps() const { return outputs == 1 ? 1 : 3; }
  constexpr int64_t points() const { return outputs + taps() - 1; }
  // The input transform is at most so many times the largest input, the weights' transform of the largest weight.
  constexpr int64_t input_growth() const { return outputs == 1 ? 1 : outputs == 2 ? 2 : 10; }
  constexpr int64_t weight_growth() const { return outputs == 1 ? 1 : outputs == 2 ? 3 : 7; }
  // An output comes out times 2^shift, and times 3 with four outputs.
  constexpr int64_t shift(int64_t output) const { return outputs == 1 ? 0 : outputs == 2 ? 1 : output == 0 ? 3 : 2; }

  // The weights of the taps at a point.
  constexpr Axes weights(int64_t point) const {
    constexpr Axes two[] = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}};
    constexpr Axes four[] = {{6, 0, 0}, {-2, -2, -2}, {-2, 2, -2}, {1, 2, 4}, {1, -2, 4}, {0, 0, 6}};
    return outputs == 1 ? Axes{1, 0, 0} : outputs == 2 ? two[point] : four[point];
  }
};

// Packed weights, in bytes: [output channel of whole blocks] int32, which is added to each sum, and [depth point][chunk
// of one or two blocks of output channels][point of row and column][pair of input channels][block][output][of the pair]
// int16.
struct Int8WinogradPacking {
  ConvShape shape;
  Axes tile;  // outputs of a tile along each axis
  int lanes;

  constexpr Int8WinogradAxis depth() const { return {tile.d}; }
  constexpr Int8WinogradAxis row() const { return {tile.h}; }
  constexpr Int8WinogradAxis column() const { return {tile.w}; }
  constexpr int64_t plane_points() const { return row().points() * column().points(); }
  constexpr int64_t points() const { return depth().points() * plane_points(); }

  constexpr int64_t input_blocks() const { return divide_up(shape.input_channels, lanes); }
  constexpr int64_t output_blocks() const { return divide_up(shape.output_channels, lanes); }
  constexpr int64_t chunks() const { return divide_up(output_blocks(), 2); }
  constexpr int64_t chunk_blocks(int64_t chunk) const { return smaller(2, output_blocks() - 2 * chunk); }
  constexpr int64_t pairs() const { return divide_up(shape.input_channels, 2); }
  constexpr int64_t vector_bytes() const { return int64_t{lanes} * 4; }
  constexpr int64_t start_bytes() const { return output_blocks() * vector_bytes(); }
  constexpr int64_t point_bytes(int64_t chunk) const { return pairs() * chunk_blocks(chunk) * vector_bytes(); }
  constexpr int64_t chunk_offset(int64_t depth_point, int64_t chunk) const {
    return start_bytes() + (depth_point * output_blocks() + 2 * chunk) * plane_points() * pairs() * vector_bytes();
  }
  constexpr int64_t size() const { return chunk_offset(depth().points(), 0); }
  constexpr int64_t offset(int64_t output, int64_t input, int64_t depth_point, int64_t plane_point) const {
    const int64_t block = output / lanes, chunk = block / 2;
    return chunk_offset(depth_point, chunk) + plane_point * point_bytes(chunk) +
           (input / 2 * chunk_blocks(chunk) + block % 2) * vector_bytes() + output % lanes * 4 + input % 2 * 2;
  }

  // Sums are known modulo 2^32, and an output of the tile comes out times a power of two: a sum below this fits.
  constexpr int64_t sum_limit() const {
    return int64_t{1} << (31 - depth().shift(0) - row().shift(0) - column().shift(0));
  }
};

// Three taps or one along each axis, as the tile has it; no stride, no dilation, one group; one or two planes of
// outputs; and transforms that int16 holds, of inputs from -128 to 127.
constexpr bool int8_winograd_supports(const ConvShape& shape, const Axes& tile) {
  const Int8WinogradAxis depth{tile.d}, row{tile.h}, column{tile.w};
  if (shape.kernel != Axes{depth.taps(), row.taps(), column.taps()}) return false;
  if (shape.groups != 1 || shape.stride != Axes{1, 1, 1} || shape.dilation != Axes{1, 1, 1}) return false;
  return tile.d <= 2 && 128 * depth.input_growth() * row.input_growth() * column.input_growth() <= INT16_MAX &&
         128 * depth.weight_growth() * row.weight_growth() * column.weight_growth() <= INT16_MAX;
}

// A task computes a range of an image's tiles, and of these a split of the chunks of output channels.
struct Int8WinogradGeometry {
  Axes tiles;  // of an image
  int64_t range_tiles, ranges, split_chunks, splits;
  // Bytes of the scratch from its start to the input's points, the products, and the sums.
  int64_t product_offset, sum_offset;
  KernelWork work;
};

// Tiles of a register tile.
constexpr int64_t int8_winograd_rows(int vector_lanes) {
  return machine::vector_unit(vector_lanes).has_many_registers() ? 12 : 4;
}

constexpr Int8WinogradGeometry int8_winograd_geometry(const Int8WinogradPacking& packing, const ConvSizes& sizes) {
  constexpr int64_t wished_tasks = 16;
  const Axes& tile = packing.tile;
  Int8WinogradGeometry result{};
  result.tiles = {divide_up(sizes.output.d, tile.d), divide_up(sizes.output.h, tile.h),
                  divide_up(sizes.output.w, tile.w)};
  const int64_t tiles = result.tiles.product();
  if (sizes.batch * tiles == 0) return result;
  const int64_t rows = int8_winograd_rows(packing.lanes);
  const int64_t input_bytes = packing.plane_points() * packing.input_blocks() * packing.lanes * 2;
  const int64_t product_bytes = packing.plane_points() * 2 * packing.vector_bytes();
  const int64_t chunk_bytes = tile.product() * 2 * packing.vector_bytes();
  const int64_t bytes = input_bytes + product_bytes + packing.chunks() * chunk_bytes;
  const int64_t cache = machine::vector_unit(packing.lanes).cache_without_weights * 3 / 4;
  const int64_t wished = divide_up(wished_tasks, sizes.batch);
  result.range_tiles = larger(1, smaller(cache / bytes, divide_up(tiles, wished)) / rows) * rows;
  result.ranges = divide_up(tiles, result.range_tiles);
  // Splits transform the same input; each has two chunks at least.
  const int64_t splits = smaller(divide_up(wished, result.ranges), larger(1, packing.chunks() / 2));
  result.split_chunks = divide_up(packing.chunks(), splits);
  result.splits = divide_up(packing.chunks(), result.split_chunks);
  result.product_offset = result.range_tiles * input_bytes;
  result.sum_offset = result.product_offset + result.range_tiles * product_bytes;
  result.work = {sizes.batch * result.ranges * result.splits,
                 result.sum_offset + result.range_tiles * result.split_chunks * chunk_bytes};
  return result;
}

}  // namespace onnxc::kernels
