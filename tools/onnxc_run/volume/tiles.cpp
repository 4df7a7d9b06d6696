#include "onnxc_run/volume/tiles.h"

#include "support/checked.h"

namespace onnxc {
namespace {

// The elements before and within one index of an axis.
int64_t outer_of(const FrameBlock& block, size_t axis) {
  int64_t outer = 1;
  for (size_t i = 0; i < axis; ++i) outer *= block.dims[i];
  return outer;
}

int64_t inner_of(const FrameBlock& block, size_t axis) {
  int64_t inner = 1;
  for (size_t i = axis + 1; i < block.dims.size(); ++i) inner *= block.dims[i];
  return inner;
}

}  // namespace

FrameBlock::FrameBlock(const std::array<int64_t, 4>& of_dims)
    : dims(of_dims), values(static_cast<size_t>(checked_product({of_dims.begin(), of_dims.end()}))) {}

FrameBlock FrameBlock::part(size_t axis, int64_t first, int64_t end) const {
  std::array<int64_t, 4> part_dims = dims;
  part_dims[axis] = end - first;
  FrameBlock result(part_dims);
  const int64_t inner = inner_of(*this, axis), lines = (end - first) * inner;
  for (int64_t outer = 0; outer < outer_of(*this, axis); ++outer) {
    const float* source = values.data() + (outer * dims[axis] + first) * inner;
    std::copy(source, source + lines, result.values.data() + outer * lines);
  }
  return result;
}

void FrameBlock::put(const FrameBlock& block, const std::array<int64_t, 3>& place) {
  const auto [channels, frames, rows, columns] = block.dims;
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t frame = 0; frame < frames; ++frame)
      for (int64_t row = 0; row < rows; ++row) {
        const float* source = block.values.data() + ((channel * frames + frame) * rows + row) * columns;
        const int64_t line = (channel * dims[1] + place[0] + frame) * dims[2] + place[1] + row;
        std::copy(source, source + columns, values.data() + line * dims[3] + place[2]);
      }
}

void run_over(const FrameBlock& before, FrameBlock& own, int64_t extent, size_t axis) {
  extent = std::min({before.dims[axis], own.dims[axis], extent});
  const int64_t inner = inner_of(own, axis);
  for (int64_t outer = 0; outer < outer_of(own, axis); ++outer)
    for (int64_t line = 0; line < extent; ++line) {
      const double share = static_cast<double>(line) / static_cast<double>(extent);
      const auto own_weight = static_cast<float>(share), before_weight = static_cast<float>(1 - share);
      const float* from = before.values.data() + ((outer + 1) * before.dims[axis] - extent + line) * inner;
      float* to = own.values.data() + (outer * own.dims[axis] + line) * inner;
      for (int64_t i = 0; i < inner; ++i) to[i] = from[i] * before_weight + to[i] * own_weight;
    }
}

TileBlend::TileBlend(std::array<int64_t, 2> overlap, std::array<int64_t, 2> stride, int64_t columns)
    : overlap_(overlap), stride_(stride), above_(static_cast<size_t>(columns)) {}

FrameBlock TileBlend::add(int64_t row, int64_t column, FrameBlock block) {
  std::optional<FrameBlock>& above = above_[static_cast<size_t>(column)];
  if (row > 0 && above) run_over(*above, block, overlap_[0], 2);
  if (column > 0 && left_) run_over(*left_, block, overlap_[1], 3);
  above = block.last(2, overlap_[0]);
  left_ = block.last(3, overlap_[1]);
  const FrameBlock rows = block.part(2, 0, std::min(block.dims[2], stride_[0]));
  return rows.part(3, 0, std::min(block.dims[3], stride_[1]));
}

}  // namespace onnxc
