// Tiles of a video that overlap, blended as diffusers' enable_tiling does.
//
// Problem: a decoder's memory grows with the size of the video, so that it decodes one in parts.
//
// Method: along each axis tiles begin a stride apart, and the last ones are cut at the edge. The first lines of a tile
// run linearly from the last of its neighbour to its own: line i of n is before * (1 - i/n) + own * i/n. First the rows
// do so from the tile above, then the columns from the one on the left, both as they were blended themselves.
// Over time the model is causal: r*(t-1) + 1 frames of t latent ones. A window has one latent frame more than its
// length, and the first frame of each but the first window goes. Then windows are blended as tiles are.
//
// Limits: if four tiles meet, the weights are not the product of the ramps. So sums of weighted windows, as
// runtime/volume has them, cannot give the same.
//
// Source: diffusers 0.42.1, tiled_decode, _temporal_tiled_decode, blend_v, blend_h and blend_t of the autoencoders of
// video. python/onnxc/video has the same for Python.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace onnxc {

// Values [channels, frames, rows, columns], row-major.
struct FrameBlock {
  std::array<int64_t, 4> dims = {};
  std::vector<float> values;

  explicit FrameBlock(const std::array<int64_t, 4>& of_dims);
  // A copy of [first, end) along one axis.
  FrameBlock part(size_t axis, int64_t first, int64_t end) const;
  // Its last lines along an axis, all of them if there are fewer.
  FrameBlock last(size_t axis, int64_t count) const {
    return part(axis, std::max<int64_t>(0, dims[axis] - count), dims[axis]);
  }
  // Copies all of a smaller block to this place in frames, rows and columns.
  void put(const FrameBlock& block, const std::array<int64_t, 3>& place);
};

// The first lines of `own` along the axis, at most `extent`, run linearly from the last of `before` to their own.
void run_over(const FrameBlock& before, FrameBlock& own, int64_t extent, size_t axis);

// The tiles along one axis of the input.
struct AxisTiles {
  int64_t size, tile, overlap;

  int64_t stride() const { return tile - overlap; }
  int64_t count() const { return (size + stride() - 1) / stride(); }
  int64_t first(int64_t index) const { return index * stride(); }
  // `more`: what each has beyond its length.
  int64_t end(int64_t index, int64_t more = 0) const { return std::min(first(index) + tile + more, size); }
};

// Blends what a model made of the tiles of some frames, given row by row.
class TileBlend {
 public:
  // Overlaps and strides of rows and columns, in the model's output.
  TileBlend(std::array<int64_t, 2> overlap, std::array<int64_t, 2> stride, int64_t columns);

  // Takes the tile at this place, and gives the part of it that is final.
  FrameBlock add(int64_t row, int64_t column, FrameBlock block);

 private:
  std::array<int64_t, 2> overlap_, stride_;
  std::vector<std::optional<FrameBlock>> above_;  // the last rows of the tiles of the row before
  std::optional<FrameBlock> left_;                // the last columns of the tile before
};

}  // namespace onnxc
