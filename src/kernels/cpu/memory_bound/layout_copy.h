// Reorders a tensor from NCHWc to NCHW or back, with arithmetic on the way.
//
// Problem: y[n, c, z] = epilogue(x[n, c, z]); one of the two is nCdhw{lanes}c and the other row-major. Method: `lanes`
// voxels of a block are a square that is transposed in registers, so that both sides are read and written in whole
// vectors. The epilogue sees NCHWc: it runs before the transposition to NCHW, or after the one from NCHW. It may give
// integers, as QuantizeLinear does. Rows that are contiguous on both sides are copied as one. Towards NCHWc the padding
// of the last channel block becomes zero. Bound by: memory; with few channels by the transposition, which moves their
// padding as well.
#pragma once

#include "kernels/cpu/memory_bound/layout_copy_geometry.h"
#include "kernels/cpu/vector/integers.h"
#include "kernels/cpu/vector/transpose.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class Input, class Output>
struct LayoutCopyArguments {
  const Input* input;
  Output* output;
  LayoutCopySizes sizes;
  BlockedView input_view;
  BlockedView output_view;  // the row-major side counts blocks of one channel
};

template <class Input, class Output, bool to_rows, class Epilogue = NoEpilogue>
class LayoutCopy {
 public:
  using Arguments = LayoutCopyArguments<Input, Output>;

  static KernelWork work(const LayoutCopySizes& sizes) { return layout_copy_geometry(sizes, lanes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; needs no scratch.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch);
  static void run(const Arguments& arguments, int64_t task_begin, int64_t task_end, void* scratch) {
    run(arguments, NoEpilogue(), task_begin, task_end, scratch);
  }

 private:
  static constexpr bool computes = !__is_same(Epilogue, NoEpilogue);
  // The type of the epilogue's result; the square has its bits.
  using Stored = decltype(static_cast<const Epilogue*>(nullptr)->operator()(vec(), Position()));

  // Voxels that follow one another on both sides.
  struct Row {
    const Input* from;
    Output* to;
    int64_t channels, count;
    int64_t channel_stride;  // of the row-major side
    const Axes& size;        // of the tensor
  };

  [[gnu::noinline]] static void copy_range(const Arguments& arguments, const Epilogue& epilogue, int64_t batch,
                                           int64_t block, int64_t begin, int64_t end) {
    const BlockedView &input = arguments.input_view, &output = arguments.output_view;
    constexpr int64_t input_lanes = to_rows ? lanes : 1, output_lanes = to_rows ? 1 : lanes;
    constexpr int64_t input_blocks = to_rows ? 1 : lanes, output_blocks = to_rows ? lanes : 1;  // for one block
    const Input* from =
        arguments.input + batch * input.batch_stride + block * input_blocks * input.channel_block_stride;
    Output* to = arguments.output + batch * output.batch_stride + block * output_blocks * output.channel_block_stride;
    const Axes& whole = arguments.sizes.size;
    const Axes size = joined_rows(whole, input, input_lanes, output, output_lanes);
    const int64_t channels = smaller(lanes, arguments.sizes.channels - block * lanes);
    int64_t voxel = begin;
    for_each_row(size, begin, end - begin, [&](const Axes& at, int64_t count) {
      const Row row{from + at.d * input.d_stride + at.h * input.h_stride + at.w * input_lanes,
                    to + at.d * output.d_stride + at.h * output.h_stride + at.w * output_lanes,
                    channels,
                    count,
                    to_rows ? output.channel_block_stride : input.channel_block_stride,
                    whole};
      copy_row(row, epilogue, {batch, block, voxel / whole.w / whole.h, voxel / whole.w % whole.h, voxel % whole.w, 0});
      voxel += count;
    });
  }

  static void copy_row(const Row& row, const Epilogue& epilogue, Position position) {
    int64_t voxel = 0;
    if (row.channels == lanes)
      for (; voxel + lanes <= row.count; voxel += lanes) copy_square<true>(row, voxel, lanes, epilogue, position);
    for (; voxel < row.count; voxel += lanes)
      copy_square<false>(row, voxel, smaller(lanes, row.count - voxel), epilogue, position);
  }

  // Up to `lanes` voxels from `voxel` on; moves `position` past them.
  template <bool whole>
  [[gnu::always_inline]] static void copy_square(const Row& row, int64_t voxel, int64_t count, const Epilogue& epilogue,
                                                 Position& position) {
    const int64_t inputs = to_rows ? count : row.channels, outputs = to_rows ? row.channels : count;
    const int64_t input_stride = to_rows ? lanes : row.channel_stride,
                  output_stride = to_rows ? row.channel_stride : lanes;
    const Input* const from = row.from + voxel * (to_rows ? lanes : 1);
    Output* const to = row.to + voxel * (to_rows ? 1 : lanes);
    vec square[lanes];
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i) {
      if constexpr (whole)
        square[i] = load(from + i * input_stride);
      else
        square[i] = i < inputs ? load_partial(from + i * input_stride, to_rows ? lanes : count) : splat(0.0f);
    }
    if constexpr (computes && to_rows) compute(row.size, count, epilogue, position, square);
    transpose(square);
    if constexpr (computes && !to_rows) {
      compute(row.size, count, epilogue, position, square);
      if constexpr (!whole)
        for (int i = 0; i < lanes; ++i) square[i] = keep_lanes(first_lanes(row.channels), square[i]);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i) {
      if constexpr (whole)
        store(to + i * output_stride, __builtin_bit_cast(Stored, square[i]));
      else if (i < outputs)
        store_partial(to + i * output_stride, __builtin_bit_cast(Stored, square[i]), to_rows ? count : lanes);
    }
  }

  // Applies the epilogue to `count` voxels. The loop stays rolled: unrolled it is `lanes` times the code and needs the
  // registers of the square.
  [[gnu::always_inline]] static void compute(const Axes& size, int64_t count, const Epilogue& epilogue,
                                             Position& position, vec (&square)[lanes]) {
    vec values[lanes];
    for (int i = 0; i < lanes; ++i) values[i] = square[i];
    asm("" : "+m"(values));  // in memory, so that a rolled loop finds them
    Axes at{position.d, position.h, position.w};
#pragma clang loop unroll(disable)
    for (int64_t i = 0; i < count; ++i, advance(size, at)) {
      position.d = at.d;
      position.h = at.h;
      position.w = at.w;
      values[i] = __builtin_bit_cast(vec, epilogue(values[i], position));
    }
    position.d = at.d;
    position.h = at.h;
    position.w = at.w;
    asm("" : "+m"(values));
    for (int i = 0; i < lanes; ++i) square[i] = values[i];
  }
};

// Outside the class: clang would parse and instantiate an inline definition with each model, the runtime's as well.
template <class Input, class Output, bool to_rows, class Epilogue>
void LayoutCopy<Input, Output, to_rows, Epilogue>::run(const Arguments& arguments, const Epilogue& epilogue,
                                                       int64_t task_begin, int64_t task_end, void* /*scratch*/) {
  for_each_piece(arguments.sizes, lanes, task_begin, task_end,
                 [&](int64_t batch, int64_t block, int64_t begin, int64_t end) {
                   copy_range(arguments, epilogue, batch, block, begin, end);
                 });
}

// Compiled with the runtime (layout_copy_instances.cpp).
extern template class LayoutCopy<float, float, false>;
extern template class LayoutCopy<float, float, true>;

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
