// A strip: the part of the input that a task of a convolution reads, copied with its padding.
//
// Problem: taps of padding, strides and rows that end anywhere make each tap of each tile a case of its own. Method: a
// task copies what it reads into scratch, [block of channels][phase d, h, w][plane][row][column][channels of a block].
// Padding is written out, and strides are taken apart into phases. Voxels are counted through columns, rows and planes
// (flat voxels), so that each tap is one distance, and a tile is consecutive flat voxels wherever rows end. `row_pitch`
// is the distance of rows: padding that ends one row and begins the next is shared. Outputs in the gaps between rows
// are computed and dropped. Limits: one group; the copy reads each plane of the input once a task.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

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

// A kernel's demands on its strips.
struct StripDemand {
  int64_t input_blocks, voxel_bytes;  // blocks of channels, and bytes of a voxel in one of them
  int64_t strip_bytes;                // of a strip at most, if one row of outputs fits
  int64_t group_voxels;               // flat voxels that the kernel computes at once
  int64_t wished_strips;              // of all images, if they are large enough
};

// A task computes all channels of `planes` output planes by `rows` rows of one image.
struct StripGeometry {
  int64_t planes, rows;                                      // of a task; the last of an axis may have fewer
  int64_t plane_ranges, row_ranges;                          // of an image
  int64_t row_pitch, plane_pitch, phase_pitch, block_pitch;  // in voxels
  int64_t strip_voxels;
  int64_t tasks;
};

constexpr StripGeometry strip_geometry(const ConvShape& shape, const StripDemand& demand, const ConvSizes& sizes) {
  const StripAxis d{shape.kernel.d, shape.stride.d, shape.dilation.d};
  const StripAxis h{shape.kernel.h, shape.stride.h, shape.dilation.h};
  const StripAxis w{shape.kernel.w, shape.stride.w, shape.dilation.w};
  StripGeometry result{};
  if (sizes.batch * sizes.output.product() == 0) return result;
  const int64_t columns = w.extent(sizes.output.w);
  const int64_t padding_before = larger(0, sizes.begin_pads.w);
  const int64_t padding_after = larger(0, columns - sizes.begin_pads.w - sizes.input.w);
  // An output of one row stays before the first of the next.
  const int64_t shared = smaller(smaller(padding_before, padding_after), columns - sizes.output.w);
  result.row_pitch = columns - (shape.stride.w == 1 ? shared : 0);
  const int64_t phases = d.phases() * h.phases() * w.phases();
  const auto bytes = [&](int64_t planes, int64_t rows) {
    return demand.input_blocks * phases * d.extent(planes) * h.extent(rows) * result.row_pitch * demand.voxel_bytes;
  };
  result.planes = sizes.output.d;
  result.rows = sizes.output.h;
  // Planes are cut first, since a cut there copies fewer rows twice than one between rows of few planes.
  while (result.planes > 1 && bytes(result.planes, result.rows) > demand.strip_bytes) --result.planes;
  while (result.rows > 1 && bytes(result.planes, result.rows) > demand.strip_bytes) --result.rows;
  const int64_t wished = divide_up(demand.wished_strips, sizes.batch);
  const auto tasks = [&] { return divide_up(sizes.output.d, result.planes) * divide_up(sizes.output.h, result.rows); };
  while (tasks() < wished && result.planes > 1) result.planes = divide_up(result.planes, 2);
  while (tasks() < wished && result.rows * result.row_pitch > 2 * demand.group_voxels && result.rows > 1)
    result.rows = divide_up(result.rows, 2);
  result.plane_ranges = divide_up(sizes.output.d, result.planes);
  result.row_ranges = divide_up(sizes.output.h, result.rows);
  result.tasks = sizes.batch * result.plane_ranges * result.row_ranges;
  result.plane_pitch = h.extent(result.rows) * result.row_pitch;
  result.phase_pitch = d.extent(result.planes) * result.plane_pitch;
  result.block_pitch = phases * result.phase_pitch;
  // Tiles reach past the last voxel, by a whole group and what the rows' shared padding saves.
  result.strip_voxels = demand.input_blocks * result.block_pitch + demand.group_voxels + columns - result.row_pitch;
  return result;
}

// With many weights each strip would read them once more: then strips are few, and tasks share the units of output
// channels of a strip out among them.
struct OutputSplits {
  int64_t units, splits;  // of a task, and of a strip
};

constexpr OutputSplits split_outputs(int64_t units, int64_t strips, int64_t wished_tasks) {
  const int64_t each = divide_up(units, divide_up(wished_tasks, strips));
  return {each, divide_up(units, each)};
}

// The walks over a strip.
template <ConvShape shape>
struct Strip {
  static constexpr StripAxis d{shape.kernel.d, shape.stride.d, shape.dilation.d};
  static constexpr StripAxis h{shape.kernel.h, shape.stride.h, shape.dilation.h};
  static constexpr StripAxis w{shape.kernel.w, shape.stride.w, shape.dilation.w};

  struct Task {
    int64_t batch, plane, row;  // the first of its outputs
    int64_t planes, rows;
  };

  static Task task(const StripGeometry& geometry, const ConvSizes& sizes, int64_t index) {
    const int64_t range = index % (geometry.plane_ranges * geometry.row_ranges);
    const int64_t plane = range / geometry.row_ranges * geometry.planes;
    const int64_t row = range % geometry.row_ranges * geometry.rows;
    return {index / (geometry.plane_ranges * geometry.row_ranges), plane, row,
            smaller(geometry.planes, sizes.output.d - plane), smaller(geometry.rows, sizes.output.h - row)};
  }

  // Calls copy(block, first, is_inside, voxel) for each row of the strip. Its first element lies at `first` of the
  // input, whose plane and row are inside of it or not, and goes to `voxel` of the strip. row_pitch elements follow,
  // each a stride further.
  template <class Copy>
  static void for_each_row(const StripGeometry& geometry, const ConvSizes& sizes, const Task& task, int64_t blocks,
                           const Copy& copy) {
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t phase = block * geometry.block_pitch;
      for (int64_t pd = 0; pd < d.phases(); ++pd)
        for (int64_t ph = 0; ph < h.phases(); ++ph)
          for (int64_t pw = 0; pw < w.phases(); ++pw, phase += geometry.phase_pitch)
            for (int64_t i = 0; i < d.extent(geometry.planes); ++i) {
              const int64_t at_d = (task.plane + i) * shape.stride.d + pd - sizes.begin_pads.d;
              for (int64_t j = 0; j < h.extent(geometry.rows); ++j) {
                const int64_t at_h = (task.row + j) * shape.stride.h + ph - sizes.begin_pads.h;
                const bool is_inside = at_d >= 0 && at_d < sizes.input.d && at_h >= 0 && at_h < sizes.input.h;
                copy(block, Axes{at_d, at_h, pw - sizes.begin_pads.w}, is_inside,
                     phase + i * geometry.plane_pitch + j * geometry.row_pitch);
              }
            }
    }
  }

  struct Columns {
    int64_t begin, end;
  };

  // Those of a row of `columns` whose first element lies at `first` that are inside of the input.
  static Columns columns_inside(const ConvSizes& sizes, const Axes& first, bool is_inside, int64_t columns) {
    constexpr int64_t stride = shape.stride.w;
    const int64_t begin = is_inside ? smaller(columns, first.w >= 0 ? 0 : divide_up(-first.w, stride)) : columns;
    return {begin, larger(begin, smaller(columns, divide_up(sizes.input.w - first.w, stride)))};
  }

  // The distance of a tap from its output, in flat voxels.
  static int64_t tap_voxel(const StripGeometry& geometry, int64_t block, int64_t kd, int64_t kh, int64_t kw) {
    const int64_t phase = (d.phase(kd) * h.phases() + h.phase(kh)) * w.phases() + w.phase(kw);
    return block * geometry.block_pitch + phase * geometry.phase_pitch + d.shift(kd) * geometry.plane_pitch +
           h.shift(kh) * geometry.row_pitch + w.shift(kw);
  }

  // The offset of a block with that many channels.
  [[gnu::always_inline]] static int64_t offset(const BlockedView& view, int64_t batch, int64_t block, const Axes& at,
                                               int64_t channels) {
    return batch * view.batch_stride + block * view.channel_block_stride + at.d * view.d_stride + at.h * view.h_stride +
           at.w * channels;
  }

  // Flat voxels up to the last output.
  static int64_t flat_outputs(const StripGeometry& geometry, const ConvSizes& sizes, const Task& task) {
    return (task.planes - 1) * geometry.plane_pitch + (task.rows - 1) * geometry.row_pitch + sizes.output.w;
  }

  // Calls visit(i, at) for the flat voxels begin + i before `end` that are outputs, `at` within the task.
  template <class Visit>
  [[gnu::always_inline]] static void for_each_output(const StripGeometry& geometry, const ConvSizes& sizes,
                                                     const Task& task, int64_t begin, int64_t end, const Visit& visit) {
    Axes at{begin / geometry.plane_pitch, begin % geometry.plane_pitch / geometry.row_pitch,
            begin % geometry.row_pitch};
    for (int64_t i = 0; begin + i < end; ++i) {
      if (at.h < task.rows && at.w < sizes.output.w) visit(i, at);
      if (++at.w < geometry.row_pitch) continue;
      at.w = 0;
      if (++at.h * geometry.row_pitch < geometry.plane_pitch) continue;
      at.h = 0;
      ++at.d;
    }
  }
};

}  // namespace onnxc::kernels
