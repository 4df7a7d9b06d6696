// The first convolution of a network (stem): NCHW with few input channels (usually 1 to 4) to NCHWc.
//
// Problem: as in conv_direct.h, but an NCHWc input would be 4 to 16 times as large, and most of each FMA would multiply
// padding. Method: a task copies the input rows that it reads to scratch as floats, with zeros past their ends. The
// copy is a small part of its work, since each row is read for many taps and all output channels, and afterwards no
// tile tests for edges. A register tile is neighbouring voxels of a row by one to three blocks of output channels. Each
// tap of each channel is one step: one element of each voxel is broadcast and multiplied with the output channels'
// weights; the elements lie at constant distances from one pointer, so every stride costs the same. Planes and rows
// inside the padding are skipped. Only the shape fixes the order of each sum. Limits: groups of whole output blocks,
// any number of input channels per group (has_whole_blocks with input_lanes 1). Bound by: FMA throughput; a row's last
// tile may be partly empty.
#pragma once

#include "kernels/cpu/conv_nchw/conv_stem_band.h"
#include "kernels/cpu/vector/light_epilogue.h"
#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <ConvShape shape, class Input, class Output, class Epilogue>
class StemConvolution {
 public:
  using Arguments = ConvArguments<Input, Output>;
  static_assert(has_whole_blocks(shape, lanes, 1), "a group that is not a whole number of output blocks");

  static KernelWork work(const ConvSizes& sizes) { return stem_geometry(packing, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const ConvSizes& sizes = arguments.sizes;
    const StemGeometry geometry = stem_geometry(packing, sizes);
    for (int64_t index = task_begin; index < task_end; ++index) {
      const StemBand<shape> task(sizes, geometry, index, static_cast<float*>(scratch));
      copy_stem_lines(shape, arguments.sizes, arguments.input_view, arguments.input, task);
      for (int64_t group = 0; group < shape.groups; ++group) {
        constexpr int64_t last = packing.chunks() - 1;
        if constexpr (last > 0)
          for (int64_t chunk = 0; chunk < last; ++chunk) run_chunk<2>(arguments, epilogue, task, group, chunk);
        run_chunk<packing.chunk_blocks(last)>(arguments, epilogue, task, group, last);
      }
    }
  }

 private:
  static constexpr DirectPacking packing{shape, lanes, 1};

  template <int blocks>
  static void run_chunk(const Arguments& arguments, const Epilogue& epilogue, const StemBand<shape>& task,
                        int64_t group, int64_t chunk) {
    constexpr int most = stem_tile(blocks, lanes), middle = most * 2 / 3, least = most / 3;
    const int64_t width = arguments.sizes.output.w;
    for (int64_t h = task.row_begin; h < task.row_end; ++h)
      for (int64_t w = 0; w < width; w += most) {
        const int64_t count = smaller(most, width - w);
        if (count <= least)
          run_tile<least, blocks>(arguments, epilogue, task, group, chunk, h, w, count);
        else if (count <= middle)
          run_tile<middle, blocks>(arguments, epilogue, task, group, chunk, h, w, count);
        else
          run_tile<most, blocks>(arguments, epilogue, task, group, chunk, h, w, count);
      }
  }

  template <int voxels, int blocks>
  [[gnu::noinline]] static void run_tile(const Arguments& arguments, const Epilogue& epilogue,
                                         const StemBand<shape>& task, int64_t group, int64_t chunk, int64_t h,
                                         int64_t w, int64_t count) {
    vec accumulators[voxels][blocks];
    for (int i = 0; i < voxels; ++i)
      for (int b = 0; b < blocks; ++b) accumulators[i][b] = splat(0.0f);
    const TapRange rows = task.height_taps(arguments.sizes, h);
    const float* chunk_weights = arguments.weights + packing.chunk_offset(group, chunk);
    for (int64_t channel = 0; channel < shape.group_input_channels(); ++channel)
      for (int64_t kd = task.depth_taps.begin; kd < task.depth_taps.end; ++kd) {
        const float* line = task.line(group * shape.group_input_channels() + channel, kd,
                                      (h - task.row_begin) * shape.stride.h + rows.begin * shape.dilation.h) +
                            w * shape.stride.w;
        const float* weights = chunk_weights + ((channel * shape.kernel.d + kd) * shape.kernel.h + rows.begin) *
                                                   shape.kernel.w * blocks * lanes;
        add_lines<voxels, blocks>(line, task.row_stride * shape.dilation.h, rows.count(), weights, accumulators);
      }
    finish<voxels, blocks>(arguments, epilogue, task, group, chunk, h, w, count, accumulators);
  }

  // The products of `count` lines, one for each tap of the height, with all taps of the width.
  template <int voxels, int blocks>
  [[gnu::always_inline]] static void add_lines(const float* line, int64_t distance, int64_t count, const float* weights,
                                               vec (&accumulators)[voxels][blocks]) {
#pragma clang loop unroll(disable)
    for (; count > 0; --count, line += distance) {
      hide_origin(line, weights);
      // Rolled: unrolled, clang shares broadcasts between taps, keeps them live and spills the tile.
#pragma clang loop unroll(disable)
      for (int64_t kw = 0; kw < shape.kernel.w; ++kw, weights += blocks * lanes) {
        const float* elements = line + kw * shape.dilation.w;
        vec row[blocks];
#pragma clang loop unroll(full)
        for (int b = 0; b < blocks; ++b) row[b] = load(weights + b * lanes);
#pragma clang loop unroll(full)
        for (int i = 0; i < voxels; ++i) {
          const vec element = load_splat(elements + i * shape.stride.w);
#pragma clang loop unroll(full)
          for (int b = 0; b < blocks; ++b) accumulators[i][b] = fma(element, row[b], accumulators[i][b]);
        }
      }
    }
  }

  // Stores the tile's first `count` voxels.
  template <int voxels, int blocks>
  [[gnu::always_inline]] static void finish(const Arguments& arguments, const Epilogue& epilogue,
                                            const StemBand<shape>& task, int64_t group, int64_t chunk, int64_t h,
                                            int64_t w, int64_t count, const vec (&accumulators)[voxels][blocks]) {
    const BlockedView& view = arguments.output_view;
    const int64_t block = group * packing.output_blocks() + packing.first_block(chunk);
    const Position first{task.batch,
                         block,
                         task.d,
                         h,
                         w,
                         task.batch * view.batch_stride + block * view.channel_block_stride + task.d * view.d_stride +
                             h * view.h_stride + w * lanes};
    if constexpr (is_light_epilogue<Epilogue>) {
      if (count == voxels) return store_tile<voxels, blocks>(arguments, epilogue, first, accumulators);
    }
    vec stored[voxels][blocks];
    for (int i = 0; i < voxels; ++i)
      for (int b = 0; b < blocks; ++b) stored[i][b] = accumulators[i][b];
    asm("" : "+m"(stored));  // the accumulators leave their registers here, so that the epilogue has them all
#pragma clang loop unroll(disable)
    for (int64_t i = 0; i < count; ++i) {
      for (int b = 0; b < blocks; ++b) {
        const Position position = position_after(first, i, b, view.channel_block_stride);
        store(arguments.output + position.offset, finished(epilogue, stored[i][b], position));
      }
    }
  }

  // Stores a whole tile from registers. The epilogue is applied to all voxels of a block before the first is stored:
  // after a store clang would reload the epilogue's operands, such as a bias, which the store might have changed.
  template <int voxels, int blocks>
  [[gnu::always_inline]] static void store_tile(const Arguments& arguments, const Epilogue& epilogue,
                                                const Position& first, const vec (&accumulators)[voxels][blocks]) {
    const int64_t block_stride = arguments.output_view.channel_block_stride;
    Output* const output = arguments.output + first.offset;
#pragma clang loop unroll(full)
    for (int b = 0; b < blocks; ++b) {
      vec values[voxels];
#pragma clang loop unroll(full)
      for (int i = 0; i < voxels; ++i)
        values[i] = finished(epilogue, accumulators[i][b], position_after(first, i, b, block_stride));
#pragma clang loop unroll(full)
      for (int i = 0; i < voxels; ++i) store(output + i * lanes + b * block_stride, values[i]);
    }
  }

  // The position of a voxel of the same row, `blocks` blocks further.
  [[gnu::always_inline]] static Position position_after(Position position, int64_t voxels, int64_t blocks,
                                                        int64_t block_stride) {
    position.channel_block += blocks;
    position.w += voxels;
    position.offset += voxels * lanes + blocks * block_stride;
    return position;
  }

  // The stored value of an accumulator: the channels that pad the last block are zero.
  [[gnu::always_inline]] static vec finished(const Epilogue& epilogue, vec accumulator, const Position& position) {
    const vec value = epilogue(accumulator, position);
    if constexpr (shape.output_channels % lanes != 0)
      return keep_lanes(first_lanes(shape.output_channels - position.channel_block * lanes), value);
    return value;
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
