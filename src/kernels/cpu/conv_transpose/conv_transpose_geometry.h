// The contract of the compiler, the weight packer and the transposed-convolution kernel (conv_transpose.h).
//
// Along one axis, output z gathers input (z + pad - k * dilation) / stride over the taps k for which that divides.
// Those taps depend only on r = (z + pad) mod stride and form an arithmetic progression. So the outputs z = stride * q
// + phase of one residue r are a convolution of stride 1 over the input with a part of the kernel, reversed:
//   x[q - begin_pad + j * (dilation / g)], j ascending, g = gcd(stride, dilation).
#pragma once

#include "kernels/cpu/conv/conv_direct_geometry.h"

namespace onnxc::kernels {

// The convolution of a residue along one axis.
struct TransposedAxisPart {
  int64_t taps;
  int64_t phase;  // the begin of its outputs
  int64_t outputs;
  int64_t begin_pad;
};

// One axis of a transposed convolution, cut into residues.
struct TransposedAxis {
  int64_t kernel, stride, dilation;
  int64_t divisor = greatest_common_divisor(stride, dilation);

  constexpr int64_t tap_distance() const { return stride / divisor; }
  constexpr int64_t sub_dilation() const { return dilation / divisor; }

  // The smallest tap of a residue; `kernel` for a residue without taps.
  constexpr int64_t first_tap(int64_t residue) const {
    for (int64_t tap = 0; tap < kernel && tap < tap_distance(); ++tap)
      if (tap * dilation % stride == residue) return tap;
    return kernel;
  }
  constexpr int64_t taps_from(int64_t first) const { return divide_up(kernel - first, tap_distance()); }
  constexpr int64_t taps(int64_t residue) const { return taps_from(first_tap(residue)); }
  // The tap of the whole kernel that is tap j of the residue's convolution.
  constexpr int64_t tap(int64_t residue, int64_t j) const {
    return first_tap(residue) + (taps(residue) - 1 - j) * tap_distance();
  }
  constexpr int64_t most_taps() const { return larger(1, divide_up(kernel, tap_distance())); }

  constexpr TransposedAxisPart part(int64_t residue, int64_t pad, int64_t output) const {
    const int64_t first = first_tap(residue), count = taps_from(first);
    const int64_t phase = ((residue - pad) % stride + stride) % stride;
    return {count, phase, output <= phase ? 0 : divide_up(output - phase, stride),
            (count - 1) * sub_dilation() - (phase + pad - first * dilation) / stride};
  }
};

// A transposed convolution; input and output channels of `shape` are those of the transposed convolution itself.
struct TransposedPacking {
  ConvShape shape;
  int lanes;

  constexpr TransposedAxis d() const { return {shape.kernel.d, shape.stride.d, shape.dilation.d}; }
  constexpr TransposedAxis h() const { return {shape.kernel.h, shape.stride.h, shape.dilation.h}; }
  constexpr TransposedAxis w() const { return {shape.kernel.w, shape.stride.w, shape.dilation.w}; }

  constexpr int64_t residues() const { return shape.stride.product(); }
  constexpr Axes residue(int64_t index) const {
    return {index / shape.stride.w / shape.stride.h, index / shape.stride.w % shape.stride.h, index % shape.stride.w};
  }
  constexpr Axes taps(const Axes& residue) const {
    return {d().taps(residue.d), h().taps(residue.h), w().taps(residue.w)};
  }

  // The convolution with `taps` of the kernel; a residue without taps is one that reads nothing.
  constexpr ConvShape part(const Axes& taps) const {
    return {shape.input_channels,
            shape.output_channels,
            shape.groups,
            {larger(1, taps.d), larger(1, taps.h), larger(1, taps.w)},
            {1, 1, 1},
            {d().sub_dilation(), h().sub_dilation(), w().sub_dilation()}};
  }
  constexpr DirectPacking part_packing(int64_t index) const { return {part(taps(residue(index))), lanes, lanes}; }

  // Packed weights: the residues' convolutions one after the other, each as large as it has taps. Those before a
  // residue are whole planes, whole rows of its plane, and the begin of its row.
  constexpr int64_t part_offset(int64_t index) const {
    const Axes at = residue(index);
    const int64_t row = taps_before(w(), shape.stride.w), plane = taps_before(h(), shape.stride.h) * row;
    const int64_t taps_d = at.d < shape.stride.d ? larger(1, d().taps(at.d)) : 0, taps_h = larger(1, h().taps(at.h));
    const int64_t before =
        taps_before(d(), at.d) * plane + taps_d * (taps_before(h(), at.h) * row + taps_h * taps_before(w(), at.w));
    return before * DirectPacking{part({1, 1, 1}), lanes, lanes}.size();
  }
  constexpr int64_t size() const { return part_offset(residues()); }

 private:
  static constexpr int64_t taps_before(const TransposedAxis& axis, int64_t residue) {
    int64_t taps = 0;
    for (int64_t i = 0; i < residue; ++i) taps += larger(1, axis.taps(i));
    return taps;
  }
};

// Residues whose offsets are a table that clang computes; of more each task computes its own.
constexpr int64_t most_tabled_residues = 64;

// The convolution of a residue.
struct TransposedPart {
  Axes kernel;
  Axes phases;
  ConvSizes sizes;
  DirectGeometry geometry;
};

constexpr TransposedPart transposed_part(const TransposedPacking& packing, int64_t index, const ConvSizes& sizes) {
  const Axes residue = packing.residue(index);
  const TransposedAxisPart d = packing.d().part(residue.d, sizes.begin_pads.d, sizes.output.d),
                           h = packing.h().part(residue.h, sizes.begin_pads.h, sizes.output.h),
                           w = packing.w().part(residue.w, sizes.begin_pads.w, sizes.output.w);
  const Axes taps{d.taps, h.taps, w.taps};
  ConvSizes part{sizes.batch, sizes.input, {d.outputs, h.outputs, w.outputs}, {d.begin_pad, h.begin_pad, w.begin_pad}};
  if (taps.product() == 0) part.input = part.begin_pads = {0, 0, 0};
  const ConvShape shape = packing.part(taps);
  return {
      shape.kernel, {d.phase, h.phase, w.phase}, part, direct_geometry({shape, packing.lanes, packing.lanes}, part)};
}

// Each residue is a convolution of its own, which a stride of thousands does not pay.
constexpr bool transposed_supports(const ConvShape& shape) {
  constexpr int64_t longest_stride = 256, most_residues = 4096;
  const Axes& stride = shape.stride;
  return larger(stride.d, larger(stride.h, stride.w)) <= longest_stride && stride.product() <= most_residues;
}

// Task t is task t / residues of residue t % residues: residues run fastest, since they read the same input and write
// neighbouring outputs. A residue with fewer tasks than the others has no work in the last ones.
constexpr KernelWork transposed_work(const TransposedPacking& packing, const ConvSizes& sizes) {
  KernelWork most{0, 0};
  for (int64_t i = 0; i < packing.residues(); ++i) {
    const KernelWork part = transposed_part(packing, i, sizes).geometry.work;
    most = {larger(most.tasks, part.tasks), larger(most.scratch_bytes, part.scratch_bytes)};
  }
  return {most.tasks * packing.residues(), most.scratch_bytes};
}

// ---- few output channels (conv_transpose_packed.h)

// All residues as one convolution of stride 1, with the residues side by side in the lanes. Output z = stride * m + r -
// pad gathers x[m - j] over the taps k = r + stride * j, j below `taps`. A vector holds `slots` residues with all
// output channels of each. A tap that a residue lacks has weight zero.
struct PackedTransposedPacking {
  ConvShape shape;
  int lanes;

  constexpr int64_t residues() const { return shape.stride.product(); }
  constexpr Axes residue(int64_t index) const { return TransposedPacking{shape, lanes}.residue(index); }
  constexpr int64_t slots() const { return lanes / shape.output_channels; }
  constexpr int64_t vectors() const { return divide_up(residues(), slots()); }
  constexpr Axes taps() const {
    return {divide_up(shape.kernel.d, shape.stride.d), divide_up(shape.kernel.h, shape.stride.h),
            divide_up(shape.kernel.w, shape.stride.w)};
  }
  // Whether some residue lacks a tap.
  constexpr bool has_zero_taps() const { return taps().product() * residues() != shape.kernel.product(); }
  // Tap `tap` of an axis's convolution, ascending in the input, is this one of the kernel; the residue may lack it.
  static constexpr int64_t kernel_tap(int64_t residue, int64_t stride, int64_t taps, int64_t tap) {
    return residue + stride * (taps - 1 - tap);
  }

  constexpr ConvShape convolution() const { return {shape.input_channels, vectors() * lanes, 1, taps()}; }
  constexpr DirectPacking direct() const { return {convolution(), lanes, lanes}; }

  // The first m of an axis, and how many follow.
  static constexpr int64_t first(int64_t stride, int64_t pad) {
    return pad >= 0 ? pad / stride : -divide_up(-pad, stride);
  }
  static constexpr int64_t count(int64_t stride, int64_t pad, int64_t output) {
    return output == 0 ? 0 : first(stride, pad + output - 1) + 1 - first(stride, pad);
  }
  constexpr ConvSizes sizes(const ConvSizes& whole) const {
    const Axes &s = shape.stride, &pad = whole.begin_pads, &output = whole.output;
    return {whole.batch,
            whole.input,
            {count(s.d, pad.d, output.d), count(s.h, pad.h, output.h), count(s.w, pad.w, output.w)},
            {taps().d - 1 - first(s.d, pad.d), taps().h - 1 - first(s.h, pad.h), taps().w - 1 - first(s.w, pad.w)}};
  }
};

// Whether that saves time: if a vector of one residue is mostly padding, or if one output block's register tile (little
// more than half the peak) becomes a tile of two blocks by two residues side by side.
constexpr bool packs_transposed(const ConvShape& shape, int target_lanes) {
  if (shape.groups != 1 || shape.dilation != Axes{1, 1, 1} || shape.output_channels > target_lanes) return false;
  if (shape.stride.product() == 1) return false;
  const PackedTransposedPacking packing{shape, target_lanes};
  return 3 * packing.taps().product() * packing.vectors() <= 4 * shape.kernel.product();
}

}  // namespace onnxc::kernels
