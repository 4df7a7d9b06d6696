// Brings a tensor from blocks of channels to rows (NCDHW), or back.
//
// Problem: y[n, c, z] = x[n, c, z], where one of the two is nCdhw{lanes}c and the other row-major. Method: `lanes`
// voxels of a block are a square that is transposed in registers, so that both sides are read and written by whole
// vectors. Rows that follow one another in both are copied as one. Towards blocks, the channels that pad the last block
// become zero. Bound by: memory.
#pragma once

#include "codegen/cpu/kernels/layout_copy_geometry.h"
#include "codegen/cpu/kernels/transpose.h"
#include "codegen/cpu/kernels/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class T>
struct LayoutCopyArguments {
  const T* input;
  T* output;
  LayoutCopySizes sizes;
  BlockedView input_view;
  BlockedView output_view;  // the row-major side counts blocks of one channel
};

template <class T, bool to_rows>
class LayoutCopy {
 public:
  using Arguments = LayoutCopyArguments<T>;

  static KernelWork work(const LayoutCopySizes& sizes) { return layout_copy_geometry(sizes, lanes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; needs no scratch.
  static void run(const Arguments& arguments, int64_t task_begin, int64_t task_end, void* /*scratch*/) {
    const LayoutCopySizes& sizes = arguments.sizes;
    const LayoutCopyGeometry geometry = layout_copy_geometry(sizes, lanes);
    const int64_t blocks = divide_up(sizes.channels, lanes);
    for (int64_t task = task_begin; task < task_end; ++task) {
      const int64_t begin = task % geometry.pieces * geometry.task_voxels;
      copy_range(arguments, task / geometry.pieces / blocks, task / geometry.pieces % blocks, begin,
                 smaller(begin + geometry.task_voxels, sizes.size.product()));
    }
  }

 private:
  static void copy_range(const Arguments& arguments, int64_t batch, int64_t block, int64_t begin, int64_t end) {
    const BlockedView &input = arguments.input_view, &output = arguments.output_view;
    constexpr int64_t input_lanes = to_rows ? lanes : 1, output_lanes = to_rows ? 1 : lanes;
    constexpr int64_t input_blocks = to_rows ? 1 : lanes, output_blocks = to_rows ? lanes : 1;  // for one block
    const T* from = arguments.input + batch * input.batch_stride + block * input_blocks * input.channel_block_stride;
    T* to = arguments.output + batch * output.batch_stride + block * output_blocks * output.channel_block_stride;
    Axes size = arguments.sizes.size;
    const bool joins_rows =
        size.h == 1 || (input.h_stride == size.w * input_lanes && output.h_stride == size.w * output_lanes);
    if (joins_rows) size = {size.d, 1, size.h * size.w};
    if (joins_rows &&
        (size.d == 1 || (input.d_stride == size.w * input_lanes && output.d_stride == size.w * output_lanes)))
      size = {1, 1, size.d * size.w};
    const int64_t channels = smaller(lanes, arguments.sizes.channels - block * lanes);
    for (int64_t voxel = begin; voxel < end;) {
      const int64_t w = voxel % size.w, h = voxel / size.w % size.h, d = voxel / size.w / size.h;
      const int64_t count = smaller(size.w - w, end - voxel);
      copy_row(from + d * input.d_stride + h * input.h_stride + w * input_lanes,
               to + d * output.d_stride + h * output.h_stride + w * output_lanes, channels, count,
               to_rows ? output.channel_block_stride : input.channel_block_stride);
      voxel += count;
    }
  }

  static void copy_row(const T* from, T* to, int64_t channels, int64_t count, int64_t channel_stride) {
    int64_t voxel = 0;
    if (channels == lanes)
      for (; voxel + lanes <= count; voxel += lanes) copy_square<true>(from, to, voxel, lanes, lanes, channel_stride);
    for (; voxel < count; voxel += lanes)
      copy_square<false>(from, to, voxel, channels, smaller(lanes, count - voxel), channel_stride);
  }

  // Up to `lanes` voxels from `voxel` on.
  template <bool whole>
  [[gnu::always_inline]] static void copy_square(const T* from, T* to, int64_t voxel, int64_t channels, int64_t count,
                                                 int64_t channel_stride) {
    const int64_t inputs = to_rows ? count : channels, outputs = to_rows ? channels : count;
    const int64_t input_stride = to_rows ? lanes : channel_stride, output_stride = to_rows ? channel_stride : lanes;
    from += voxel * (to_rows ? lanes : 1);
    to += voxel * (to_rows ? 1 : lanes);
    vec square[lanes];
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i) {
      if constexpr (whole)
        square[i] = load(from + i * input_stride);
      else
        square[i] = i < inputs ? load_partial(from + i * input_stride, to_rows ? lanes : count) : splat(0.0f);
    }
    transpose(square);
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i) {
      if constexpr (whole)
        store(to + i * output_stride, square[i]);
      else if (i < outputs)
        store_partial(to + i * output_stride, square[i], to_rows ? count : lanes);
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
