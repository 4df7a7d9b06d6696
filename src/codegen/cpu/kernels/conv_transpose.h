// Transposed convolution over blocked channels: any kernel, stride, dilation, begin pads and output padding, ranks 1 to
// 3, groups of whole blocks.
//
// Problem: each input element, multiplied with the kernel, is added to the outputs at z * stride - pad + k * dilation.
// Method: by gathering. The outputs whose position leaves the same residue by the stride read the same taps; they are a
// convolution of stride 1 with that part of the kernel (conv_transpose_geometry.h), which the direct kernel computes
// and stores, with its epilogue, at every stride-th place of the output. With a kernel as large as the stride each part
// is a single tap: a matrix product that stores straight into the output. Nothing is scattered, summed twice or copied.
// Limits: those of conv_direct.h; a residue without any tap (a kernel smaller than the stride) gets the epilogue of 0.
// Bound by: FMA throughput; with few input channels, by writing the output.
#pragma once

#include "codegen/cpu/kernels/conv_direct.h"
#include "codegen/cpu/kernels/conv_transpose_geometry.h"
#include "codegen/cpu/kernels/light_epilogue.h"
#include "codegen/cpu/kernels/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <ConvShape shape, class Input, class Output, class Epilogue>
class TransposedConvolution {
 public:
  using Arguments = ConvArguments<Input, Output>;
  static_assert(transposed_supports(shape, lanes), "a group that is no whole number of blocks");

  static KernelWork work(const ConvSizes& sizes) { return transposed_work(packing, sizes); }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    for (int64_t task = task_begin; task < task_end; ++task)
      run_part(arguments, epilogue, task % packing.residues(), task / packing.residues(), scratch);
  }

 private:
  static constexpr TransposedPacking packing{shape, lanes};

  // What is known of the residues when the kernel is compiled.
  struct Parts {
    Axes taps[packing.residues()];
    int64_t offset[packing.residues()];  // of the packed weights
    constexpr Parts() : taps(), offset() {
      for (int64_t i = 0; i < packing.residues(); ++i) {
        taps[i] = packing.taps(packing.residue(i));
        offset[i] = packing.part_offset(i);
      }
    }
  };
  static constexpr Parts parts{};

  // The epilogue of a residue's convolution: tells the caller's where the output really is.
  struct PartEpilogue {
    static constexpr bool is_light = is_light_epilogue<Epilogue>;

    const Epilogue& epilogue;
    Axes phase;
    int64_t offset;  // of the residue's first output, in elements
    [[gnu::always_inline]] vec operator()(vec accumulator, const Position& p) const {
      return epilogue(accumulator,
                      Position{p.n, p.channel_block, p.d * shape.stride.d + phase.d, p.h * shape.stride.h + phase.h,
                               p.w * shape.stride.w + phase.w, p.offset + offset});
    }
  };

  static void run_part(const Arguments& whole, const Epilogue& epilogue, int64_t index, int64_t task, void* scratch) {
    const Axes residue = packing.residue(index);
    const Axes phase = packing.phases(residue, whole.sizes);
    const BlockedView& view = whole.output_view;
    const int64_t offset = phase.d * view.d_stride + phase.h * view.h_stride + phase.w * view.w_step * lanes;
    Arguments part = whole;
    part.weights += parts.offset[index];
    part.sizes = packing.part_sizes(residue, whole.sizes);
    part.output += offset;
    part.output_view.d_stride *= shape.stride.d;
    part.output_view.h_stride *= shape.stride.h;
    part.output_view.w_step *= shape.stride.w;
    run_with_taps(parts.taps[index], part, PartEpilogue{epilogue, phase, offset}, task, scratch);
  }

  // Runs the instance for a number of taps: along each axis there are two at most. `chosen` are those of the first
  // axes.
  template <int64_t... chosen>
  static void run_with_taps(const Axes& taps, const Arguments& part, const PartEpilogue& epilogue, int64_t task,
                            void* scratch) {
    constexpr int axis = sizeof...(chosen);
    if constexpr (axis == 3) {
      using Part = DirectConvolution<packing.part({chosen...}), Input, Output, PartEpilogue>;
      if (task < Part::work(part.sizes).tasks) Part::run(part, epilogue, task, task + 1, scratch);
    } else {
      constexpr TransposedAxis along = axis == 0 ? packing.d() : axis == 1 ? packing.h() : packing.w();
      constexpr int64_t fewest = along.fewest_taps(), most = along.most_taps();
      if constexpr (fewest == most) {
        run_with_taps<chosen..., most>(taps, part, epilogue, task, scratch);
      } else {
        const int64_t count = axis == 0 ? taps.d : axis == 1 ? taps.h : taps.w;
        if (count == most)
          run_with_taps<chosen..., most>(taps, part, epilogue, task, scratch);
        else
          run_with_taps<chosen..., fewest>(taps, part, epilogue, task, scratch);
      }
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
