// Transposed convolution on NCHWc: any kernel, stride, dilation, begin pads, output padding and groups, ranks 1 to 3.
//
// Problem: each input element, multiplied with the kernel, is added to the outputs at z * stride - pad + k * dilation.
// Method: gather. Outputs whose position has the same residue modulo the stride read the same taps: they are a
// convolution of stride 1 with that part of the kernel (conv_transpose_geometry.h). The direct kernel computes it and
// stores it, with its epilogue, to every stride-th output. With a kernel as large as the stride each part is a single
// tap: a matrix product that stores straight into the output. Nothing is scattered, summed twice or copied. Limits:
// those of conv_direct.h; a residue without taps (the kernel is smaller than the stride) gets the epilogue of 0. Bound
// by: FMA throughput; with few input channels by writing the output.
#pragma once

#include "kernels/cpu/conv/conv_direct.h"
#include "kernels/cpu/conv_transpose/conv_transpose_geometry.h"
#include "kernels/cpu/vector/light_epilogue.h"
#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Compiled with the runtime (conv_transpose_instances.cpp).
KernelWork transposed_work_at_run_time(const TransposedPacking& packing, const ConvSizes& sizes);
TransposedPart transposed_part_at_run_time(const TransposedPacking& packing, int64_t index, const ConvSizes& sizes);

template <ConvShape shape, class Input, class Output, class Epilogue>
class TransposedConvolution {
 public:
  using Arguments = ConvArguments<Input, Output>;
  static_assert(transposed_supports(shape), "too many residues");

  static KernelWork work(const ConvSizes& sizes) { return transposed_work_at_run_time(packing, sizes); }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    for (int64_t task = task_begin; task < task_end; ++task)
      run_part(arguments, epilogue, task % packing.residues(), task / packing.residues(), scratch);
  }

 private:
  static constexpr TransposedPacking packing{shape, lanes};

  // Whether the residues' packed weights have a table.
  static constexpr bool has_table = packing.residues() <= most_tabled_residues;
  struct Offsets {
    int64_t of_residue[has_table ? packing.residues() : 1];
    constexpr Offsets() : of_residue() {
      for (int64_t i = 0; has_table && i < packing.residues(); ++i) of_residue[i] = packing.part_offset(i);
    }
  };
  static constexpr Offsets offsets{};

  // The epilogue of a residue's convolution: tells the caller's epilogue the true place of the output.
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
    const TransposedPart part = transposed_part_at_run_time(packing, index, whole.sizes);
    // Residues with fewer tasks than the others have nothing to do in the last ones.
    if (task >= part.geometry.work.tasks) return;
    const BlockedView& view = whole.output_view;
    const Axes& phase = part.phases;
    const int64_t offset = phase.d * view.d_stride + phase.h * view.h_stride + phase.w * view.w_step * lanes;
    Arguments arguments = whole;
    arguments.weights += has_table ? offsets.of_residue[index] : packing.part_offset(index);
    arguments.sizes = part.sizes;
    arguments.output += offset;
    arguments.output_view.d_stride *= shape.stride.d;
    arguments.output_view.h_stride *= shape.stride.h;
    arguments.output_view.w_step *= shape.stride.w;
    Kernel::run(arguments, PartEpilogue{epilogue, phase, offset}, part.kernel, part.geometry, task, task + 1, scratch);
  }

  // Residues differ by one tap along each axis. Clang would take 1.5 s for eight instances of the kernel, so one
  // instance gets its extents at run time.
  static constexpr ConvShape largest_part =
      packing.part({packing.d().most_taps(), packing.h().most_taps(), packing.w().most_taps()});
  using Kernel = DirectConvolution<largest_part, Input, Output, PartEpilogue, largest_part.kernel != Axes{1, 1, 1}>;
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
