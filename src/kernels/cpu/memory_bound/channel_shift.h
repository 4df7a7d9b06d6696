// Copies an NCHWc tensor to a channel offset of another one that is not a multiple of the block: a part of a Concat,
// with arithmetic on the way.
//
// Problem: y[n, c + shift, z] = epilogue(x[n, c, z]), both nCdhw{lanes}c. Method: the lanes of an input block belong to
// two output blocks; each is written by one store at a shifted address whose mask keeps the other lanes, so no element
// moves between lanes. If the part ends the output's channels, the padding of its last block becomes zero. Bound by:
// memory. Limits: neighbouring lanes must be stored by other steps, not at the same time.
#pragma once

#include "kernels/cpu/memory_bound/layout_copy_geometry.h"
#include "kernels/cpu/vector/store_between.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class Input, class Output>
struct ChannelShiftArguments {
  const Input* input;
  Output* output;
  LayoutCopySizes sizes;  // of the input
  int64_t shift;          // channels
  int64_t output_channels;
  BlockedView input_view;
  BlockedView output_view;
};

template <class Input, class Output, class Epilogue>
class ChannelShift {
 public:
  using Arguments = ChannelShiftArguments<Input, Output>;

  static KernelWork work(const LayoutCopySizes& sizes) { return layout_copy_geometry(sizes, lanes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; needs no scratch.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* /*scratch*/) {
    for_each_piece(arguments.sizes, lanes, task_begin, task_end,
                   [&](int64_t batch, int64_t block, int64_t begin, int64_t end) {
                     move_range(arguments, epilogue, batch, block, begin, end);
                   });
  }
  static void run(const Arguments& arguments, int64_t task_begin, int64_t task_end, void* scratch) {
    run(arguments, NoEpilogue(), task_begin, task_end, scratch);
  }

 private:
  // The destination of a block's lanes: lanes [0, split) go to lane `shift` and following of one output block, lanes
  // [split, end) to the front of the next.
  struct Lanes {
    int64_t channels;  // the others hold padding, and become zero if they are stored
    int64_t shift, split, end;
    bool pads;  // the next block from lane `shift` on
  };

  static Lanes lanes_of(const Arguments& arguments, int64_t block) {
    Lanes result{};
    result.channels = smaller(lanes, arguments.sizes.channels - block * lanes);
    result.shift = arguments.shift % lanes;
    const bool ends_output = arguments.shift + block * lanes + result.channels == arguments.output_channels;
    const int64_t room = lanes - result.shift;
    const bool has_next = result.channels > room;
    result.split = ends_output || has_next ? room : result.channels;
    result.end = !has_next ? result.split : ends_output ? lanes : result.channels;
    result.pads = ends_output && has_next;
    return result;
  }

  static void move_range(const Arguments& arguments, const Epilogue& epilogue, int64_t batch, int64_t block,
                         int64_t begin, int64_t end) {
    const BlockedView &input = arguments.input_view, &output = arguments.output_view;
    const Input* from = arguments.input + batch * input.batch_stride + block * input.channel_block_stride;
    Output* to = arguments.output + batch * output.batch_stride +
                 (arguments.shift / lanes + block) * output.channel_block_stride;
    const Lanes parts = lanes_of(arguments, block);
    for_each_row(arguments.sizes.size, begin, end - begin, [&](const Axes& at, int64_t count) {
      move_row(from + at.d * input.d_stride + at.h * input.h_stride + at.w * lanes,
               to + at.d * output.d_stride + at.h * output.h_stride + at.w * lanes, output.channel_block_stride, count,
               parts, epilogue, Position{batch, block, at.d, at.h, at.w, 0});
    });
  }

  static void move_row(const Input* from, Output* to, int64_t block_stride, int64_t count, const Lanes& parts,
                       const Epilogue& epilogue, Position position) {
    const vec_mask valid = first_lanes(parts.channels);
    Output* const next = to + block_stride + parts.shift - lanes;
    for (int64_t i = 0; i < count; ++i, ++position.w) {
      const vec value = keep_lanes(valid, epilogue(load(from + i * lanes), position));
      store_between(to + i * lanes + parts.shift, value, 0, parts.split);
      if (parts.end > parts.split) store_between(next + i * lanes, value, parts.split, parts.end);
      if (parts.pads) store_between(to + block_stride + i * lanes, splat(0.0f), parts.shift, lanes);
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
