// The shared parts of the tests of transposed convolutions: their definition and their sizes.
#pragma once

#include "kernels/cpu/conv/conv_harness.h"

namespace onnxc::kernels {
namespace {

// The definition, in double: every input element is spread over the outputs.
inline PlainTensor reference_transposed(const ConvShape& shape, const ConvSizes& sizes, const PlainTensor& input,
                                        const std::vector<float>& weights) {
  PlainTensor output(sizes.batch, shape.output_channels, sizes.output);
  std::vector<double> sums(output.values.size(), 0.0);
  const int64_t inputs = shape.group_input_channels(), outputs = shape.group_output_channels();
  for (int64_t n = 0; n < sizes.batch; ++n)
    for (int64_t i = 0; i < shape.input_channels; ++i)
      for (int64_t o = 0; o < outputs; ++o)
        for_each_voxel(sizes.input, [&](int64_t d, int64_t h, int64_t w) {
          for_each_voxel(shape.kernel, [&](int64_t kd, int64_t kh, int64_t kw) {
            const int64_t od = d * shape.stride.d - sizes.begin_pads.d + kd * shape.dilation.d;
            const int64_t oh = h * shape.stride.h - sizes.begin_pads.h + kh * shape.dilation.h;
            const int64_t ow = w * shape.stride.w - sizes.begin_pads.w + kw * shape.dilation.w;
            if (od < 0 || od >= sizes.output.d || oh < 0 || oh >= sizes.output.h || ow < 0 || ow >= sizes.output.w)
              return;
            const int64_t tap = (kd * shape.kernel.h + kh) * shape.kernel.w + kw;
            sums[static_cast<size_t>(output.index(n, i / inputs * outputs + o, od, oh, ow))] +=
                static_cast<double>(input.at(n, i, d, h, w)) *
                weights[static_cast<size_t>((i * outputs + o) * shape.kernel.product() + tap)];
          });
        });
  for (size_t i = 0; i < sums.size(); ++i) output.values[i] = static_cast<float>(sums[i]);
  return output;
}

inline ConvSizes transposed_sizes(const ConvShape& shape, int64_t batch, const Axes& input, const Axes& begin_pads,
                                  const Axes& end_pads, const Axes& output_padding = {0, 0, 0}) {
  auto extent = [](int64_t in, int64_t begin, int64_t end, int64_t kernel, int64_t stride, int64_t dilation,
                   int64_t extra) { return (in - 1) * stride + dilation * (kernel - 1) + 1 + extra - begin - end; };
  return {
      batch,
      input,
      {extent(input.d, begin_pads.d, end_pads.d, shape.kernel.d, shape.stride.d, shape.dilation.d, output_padding.d),
       extent(input.h, begin_pads.h, end_pads.h, shape.kernel.h, shape.stride.h, shape.dilation.h, output_padding.h),
       extent(input.w, begin_pads.w, end_pads.w, shape.kernel.w, shape.stride.w, shape.dilation.w, output_padding.w)},
      begin_pads};
}

}  // namespace
}  // namespace onnxc::kernels
