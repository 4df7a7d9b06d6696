// The convolution by tiles (conv_tiles.h): how its weights are packed, and how its work is cut into tasks.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// Packed weights: [tile of 16 output channels][block of 32 input channels][tap][pair of input channels][output
// channel][of the pair], bfloat16. One tap of one block is a tile, a step of the reduction. Padding is zero.
struct TilesPacking {
  static constexpr int64_t step_inputs = 32, step_outputs = 16, step_elements = step_inputs * step_outputs;

  ConvShape shape;

  constexpr int64_t input_blocks() const { return divide_up(shape.input_channels, step_inputs); }
  constexpr int64_t output_tiles() const { return divide_up(shape.output_channels, step_outputs); }
  constexpr int64_t steps() const { return input_blocks() * shape.kernel.product(); }
  constexpr int64_t size() const { return output_tiles() * steps() * step_elements; }
  constexpr int64_t offset(int64_t output, int64_t input, int64_t tap) const {
    const int64_t step = input / step_inputs * shape.kernel.product() + tap;
    const int64_t in_step = input % step_inputs;
    return (output / step_outputs * steps() + step) * step_elements + in_step / 2 * 2 * step_outputs +
           output % step_outputs * 2 + in_step % 2;
  }
};

// Any kernel, stride and dilation; one group.
constexpr bool tiles_support(const ConvShape& shape) { return shape.groups == 1; }

// One axis of the strip of input that a task copies. The output at `o` reads tap k at o * stride + k * dilation, which
// is element o + k * dilation / stride of phase k * dilation % stride: within a phase neighbouring outputs read
// neighbouring elements.
struct StripAxis {
  int64_t kernel, stride, dilation;

  constexpr int64_t phases() const { return smaller(stride, (kernel - 1) * dilation + 1); }
  constexpr int64_t phase(int64_t tap) const { return tap * dilation % stride; }
  constexpr int64_t shift(int64_t tap) const { return tap * dilation / stride; }
  // Elements of a phase that `outputs` outputs read.
  constexpr int64_t extent(int64_t outputs) const { return outputs + shift(kernel - 1); }
};

// A task computes all channels of `planes` output planes by `rows` rows of one image. Its strip holds, in bfloat16,
// [block of 32 channels][phase d, h, w][plane][row][column][32]; voxels are counted through columns, rows and planes
// (flat voxels), so that each tap is one distance and 16 flat voxels are a tile wherever rows end. `row_pitch` is the
// distance of rows: where padding ends one row and begins the next, both share its zeros.
struct TilesGeometry {
  static constexpr int64_t group_tiles = 6;  // tiles of voxels that share one load of weights

  int64_t planes, rows;                                      // of a task; the last of an axis may have fewer
  int64_t plane_ranges, row_ranges;                          // of an image
  int64_t row_pitch, plane_pitch, phase_pitch, block_pitch;  // in voxels
  int64_t strip_voxels;
  KernelWork work;

  static constexpr int64_t group_voxels = group_tiles * 16;
};

constexpr TilesGeometry tiles_geometry(const TilesPacking& packing, const ConvSizes& sizes) {
  // The strip stays in the second-level cache beside the weights of a tile of outputs.
  constexpr int64_t strip_bytes = 768 * 1024, wished_tasks = 16;
  const ConvShape& shape = packing.shape;
  const StripAxis d{shape.kernel.d, shape.stride.d, shape.dilation.d};
  const StripAxis h{shape.kernel.h, shape.stride.h, shape.dilation.h};
  const StripAxis w{shape.kernel.w, shape.stride.w, shape.dilation.w};
  TilesGeometry result{};
  if (sizes.batch * sizes.output.product() == 0) return result;
  const int64_t columns = w.extent(sizes.output.w);
  const int64_t zeros_before = larger(0, sizes.begin_pads.w);
  const int64_t zeros_after = larger(0, columns - sizes.begin_pads.w - sizes.input.w);
  // An output of one row stays before the first of the next.
  const int64_t shared = smaller(smaller(zeros_before, zeros_after), columns - sizes.output.w);
  result.row_pitch = columns - (shape.stride.w == 1 ? shared : 0);
  const int64_t phases = d.phases() * h.phases() * w.phases();
  const auto bytes = [&](int64_t planes, int64_t rows) {
    return packing.input_blocks() * phases * d.extent(planes) * h.extent(rows) * result.row_pitch * 64;
  };
  result.planes = sizes.output.d;
  result.rows = sizes.output.h;
  // Planes are cut first, since a cut there copies fewer rows twice than one between rows of few planes.
  while (result.planes > 1 && bytes(result.planes, result.rows) > strip_bytes) --result.planes;
  while (result.rows > 1 && bytes(result.planes, result.rows) > strip_bytes) --result.rows;
  const int64_t wished = divide_up(wished_tasks, sizes.batch);
  const auto tasks = [&] { return divide_up(sizes.output.d, result.planes) * divide_up(sizes.output.h, result.rows); };
  while (tasks() < wished && result.planes > 1) result.planes = divide_up(result.planes, 2);
  while (tasks() < wished && result.rows * result.row_pitch > 2 * TilesGeometry::group_voxels && result.rows > 1)
    result.rows = divide_up(result.rows, 2);
  result.plane_ranges = divide_up(sizes.output.d, result.planes);
  result.row_ranges = divide_up(sizes.output.h, result.rows);
  result.plane_pitch = h.extent(result.rows) * result.row_pitch;
  result.phase_pitch = d.extent(result.planes) * result.plane_pitch;
  result.block_pitch = phases * result.phase_pitch;
  // Tiles reach past the last voxel, by a whole group and what the rows' shared zeros save.
  result.strip_voxels =
      packing.input_blocks() * result.block_pitch + TilesGeometry::group_voxels + columns - result.row_pitch;
  const int64_t sums = TilesGeometry::group_voxels * TilesPacking::step_outputs * static_cast<int64_t>(sizeof(float));
  constexpr int64_t spare_store = 1024;  // see conv_tiles.h
  result.work = {sizes.batch * result.plane_ranges * result.row_ranges, result.strip_voxels * 64 + sums + spare_store};
  return result;
}

}  // namespace onnxc::kernels
