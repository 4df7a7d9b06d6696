// The convolution by tiles (conv_tiles.h): how its weights are packed, and how its work is cut into tasks.
#pragma once

#include "kernels/cpu/conv/conv_strip.h"

namespace onnxc::kernels {

// The kind of the elements of a strip, and so how many tiles a step of the reduction has.
enum class TilesKind { bfloat16, bytes, digits };

// Packed weights, in bytes: for each tile of 16 output channels a row, which is of bytes the int32 with which its sums
// begin, of digits the float of one unit (conv_tiles_digits.h); of bfloat16 there is none. Then
// [block of input channels][tap][digit][word of input channels][output channel][of the word]. A word of 32 bits holds
// two bfloat16 or four bytes. One tap of one block is a step of the reduction. Padding is zero.
struct TilesPacking {
  static constexpr int64_t row_bytes = 64, step_outputs = 16, tile_bytes = step_outputs * row_bytes;

  ConvShape shape;
  TilesKind kind;

  constexpr int64_t input_bytes() const { return kind == TilesKind::bfloat16 ? 2 : 1; }
  constexpr int64_t digits() const { return kind == TilesKind::digits ? 3 : 1; }
  constexpr int64_t step_inputs() const { return row_bytes / input_bytes(); }
  constexpr int64_t step_bytes() const { return digits() * tile_bytes; }
  constexpr int64_t input_blocks() const { return divide_up(shape.input_channels, step_inputs()); }
  constexpr int64_t output_tiles() const { return divide_up(shape.output_channels, step_outputs); }
  constexpr int64_t steps() const { return input_blocks() * shape.kernel.product(); }
  constexpr int64_t start_bytes() const { return kind == TilesKind::bfloat16 ? 0 : row_bytes; }
  constexpr int64_t output_tile_bytes() const { return start_bytes() + steps() * step_bytes(); }
  constexpr int64_t size() const { return output_tiles() * output_tile_bytes(); }
  // The offset of an output channel in the row before its tile's steps.
  constexpr int64_t start_offset(int64_t output) const {
    return output / step_outputs * output_tile_bytes() + output % step_outputs * 4;
  }
  constexpr int64_t offset(int64_t output, int64_t input, int64_t tap) const {
    const int64_t step = input / step_inputs() * shape.kernel.product() + tap;
    const int64_t byte = input % step_inputs() * input_bytes();
    return output / step_outputs * output_tile_bytes() + start_bytes() + step * step_bytes() + byte / 4 * row_bytes +
           output % step_outputs * 4 + byte % 4;
  }

  // Flat voxels whose sums are in the tile registers together: six tiles of 16, or of digits one, which has four sums.
  constexpr int64_t group_voxels() const { return kind == TilesKind::digits ? 16 : 96; }
  // The place of the sums of voxel i of a group: for digits those of the first order.
  constexpr int64_t sums_offset(int64_t i) const { return (i / 16 * digits() * 16 + i % 16) * step_outputs; }
  // With digits a strip has room for two sets of three (conv_tiles_digits.h).
  constexpr int64_t sets() const { return kind == TilesKind::digits ? 2 : 1; }
  constexpr int64_t strip_digits() const { return sets() * digits(); }
  // The strip, six tiles of sums a set, and one for the spare store (conv_tiles.h).
  constexpr int64_t scratch_bytes(int64_t strip_voxels) const {
    return strip_digits() * strip_voxels * row_bytes + (sets() * 6 + 1) * tile_bytes;
  }
};

// Any kernel, stride and dilation; one group. An int32 holds the sum of so many products of digits: an order has three
// at most, each of 127 * 128 or 128 * 128.
constexpr bool tiles_support(const ConvShape& shape, TilesKind kind) {
  constexpr int64_t most_digits = 43000;
  return shape.groups == 1 &&
         (kind != TilesKind::digits || shape.input_channels * shape.kernel.product() <= most_digits);
}

inline constexpr int32_t largest_of_digits = 8323071;  // 127 * 2^16 - 1

// The exponent e of the power of two by which numbers up to `largest` become the integers of digits: at most
// largest_of_digits, and more than half of that. Denormals are treated as FLT_MIN.
constexpr int digit_exponent(float largest) {
  const auto bits = __builtin_bit_cast(uint32_t, largest);
  const int exponent = static_cast<int>(larger(bits >> 23 & 255, 1)) - 127;
  return (bits & 0x7fffff) + 0x800000 > 2 * largest_of_digits ? 21 - exponent : 22 - exponent;
}
// 2^exponent, -126 to 127.
constexpr float power_of_two(int exponent) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(exponent + 127) << 23);
}

// A task computes a strip, and of its output channels a split of the tiles.
struct TilesGeometry : StripGeometry, OutputSplits {
  KernelWork work;
};

constexpr TilesGeometry tiles_geometry(const TilesPacking& packing, const ConvSizes& sizes) {
  constexpr int64_t wished_tasks = 16;
  constexpr int64_t strip_bytes = 768 * 1024;   // stay in the second-level cache beside a tile of outputs' weights
  constexpr int64_t cache_bytes = 1024 * 1024;  // of weights that strips may read again
  const bool has_many_weights = packing.size() > cache_bytes;
  const StripDemand demand{packing.input_blocks(), packing.digits() * TilesPacking::row_bytes, strip_bytes,
                           packing.group_voxels(), has_many_weights ? 1 : wished_tasks};
  TilesGeometry result{strip_geometry(packing.shape, demand, sizes), {packing.output_tiles(), 1}, {}};
  if (result.tasks == 0) return result;
  if (has_many_weights)
    static_cast<OutputSplits&>(result) = split_outputs(packing.output_tiles(), result.tasks, wished_tasks);
  result.work = {result.tasks * result.splits, packing.scratch_bytes(result.strip_voxels)};
  return result;
}

}  // namespace onnxc::kernels
