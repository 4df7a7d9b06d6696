#include "kernels/cpu/conv_transpose/conv_transpose_packing.h"

#include <array>

#include "support/checked.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using kernels::Axes;
using kernels::ConvShape;
using kernels::DirectPacking;
using kernels::TransposedPacking;

// Copies the taps of one residue to where its convolution reads them.
void pack_part(const TransposedPacking& packing, int64_t index, std::span<const float> weights, float* packed) {
  const ConvShape& shape = packing.shape;
  const DirectPacking part = packing.part_packing(index);
  const Axes residue = packing.residue(index), taps = packing.taps(residue);
  const int64_t inputs = shape.group_input_channels(), outputs = shape.group_output_channels();
  for (int64_t d = 0; d < taps.d; ++d)
    for (int64_t h = 0; h < taps.h; ++h)
      for (int64_t w = 0; w < taps.w; ++w) {
        const int64_t part_tap = (d * taps.h + h) * taps.w + w;
        const int64_t tap =
            (packing.d().tap(residue.d, d) * shape.kernel.h + packing.h().tap(residue.h, h)) * shape.kernel.w +
            packing.w().tap(residue.w, w);
        for (int64_t input = 0; input < shape.input_channels; ++input)
          for (int64_t output = 0; output < outputs; ++output)
            packed[part.offset(input / inputs, output, input % inputs, part_tap)] =
                weights[static_cast<size_t>((input * outputs + output) * shape.kernel.product() + tap)];
      }
}

void check_size(const ConvShape& shape, std::span<const float> weights) {
  const std::array dims = {shape.input_channels, shape.group_output_channels(), shape.kernel.d, shape.kernel.h,
                           shape.kernel.w};
  internal_check(checked_product(dims) == static_cast<int64_t>(weights.size()),
                 "the number of weights is not what the transposed convolution's shape says");
}

}  // namespace

std::vector<float> pack_transposed_weights(const ConvShape& shape, int lanes, std::span<const float> weights) {
  internal_check(kernels::transposed_supports(shape),
                 "weights packed for a transposed convolution that the kernel does not support");
  check_size(shape, weights);
  const TransposedPacking packing{shape, lanes};
  std::vector<float> packed(static_cast<size_t>(packing.size()), 0.0f);
  for (int64_t i = 0; i < packing.residues(); ++i)
    pack_part(packing, i, weights, packed.data() + packing.part_offset(i));
  return packed;
}

std::vector<float> pack_packed_transposed_weights(const ConvShape& shape, int lanes, std::span<const float> weights) {
  internal_check(kernels::packs_transposed(shape, lanes), "weights packed for residues that do not lie side by side");
  check_size(shape, weights);
  const kernels::PackedTransposedPacking packing{shape, lanes};
  const DirectPacking direct = packing.direct();
  const Axes taps = packing.taps(), &kernel = shape.kernel, &stride = shape.stride;
  std::vector<float> packed(static_cast<size_t>(direct.size()), 0.0f);
  for (int64_t index = 0; index < packing.residues(); ++index) {
    const Axes residue = packing.residue(index);
    for (int64_t tap = 0; tap < taps.product(); ++tap) {
      const int64_t d = packing.kernel_tap(residue.d, stride.d, taps.d, tap / taps.w / taps.h);
      const int64_t h = packing.kernel_tap(residue.h, stride.h, taps.h, tap / taps.w % taps.h);
      const int64_t w = packing.kernel_tap(residue.w, stride.w, taps.w, tap % taps.w);
      if (d >= kernel.d || h >= kernel.h || w >= kernel.w) continue;
      for (int64_t input = 0; input < shape.input_channels; ++input)
        for (int64_t output = 0; output < shape.output_channels; ++output) {
          const int64_t lane =
              index / packing.slots() * lanes + index % packing.slots() * shape.output_channels + output;
          packed[static_cast<size_t>(direct.offset(0, lane, input, tap))] = weights[static_cast<size_t>(
              (input * shape.output_channels + output) * kernel.product() + (d * kernel.h + h) * kernel.w + w)];
        }
    }
  }
  return packed;
}

}  // namespace onnxc
