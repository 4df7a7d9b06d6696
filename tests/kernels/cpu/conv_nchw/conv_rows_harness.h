// Compares a convolution kernel that writes rows of voxels with a plain loop in double precision.
#pragma once

#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/matmul/matmul.h"

namespace onnxc::kernels {
namespace {

// Adds what only the right position gives, and a residual that has the output's view.
template <class Output, int spatial_axes>
struct AddPlace {
  const Output* residual;
  static float of(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
    return static_cast<float>(n * 7 + c * 11 + d * 5 + h * 3 + w);
  }
  vec operator()(vec x, const MatrixPosition& p) const {
    const float first = spatial_axes == 3   ? of(p.batch[1], p.batch[2], p.batch[3], p.row, p.column)
                        : spatial_axes == 2 ? of(p.batch[2], p.batch[3], 0, p.row, p.column)
                                            : of(p.batch[3], p.row, 0, 0, p.column);
    return x + splat(first) + __builtin_convertvector(lane_indices(), vec) + load_partial(residual + p.offset, p.count);
  }
};

template <class Output, int spatial_axes>
struct LightAddPlace : AddPlace<Output, spatial_axes> {
  static constexpr bool is_light = true;
};

// Runs the kernel, with an epilogue AddPlace, and compares it with `expected`. The output is a part of a larger tensor,
// with gaps.
template <class Kernel, class Input, class Output, int spatial_axes, class Epilogue = AddPlace<Output, spatial_axes>>
void run_and_compare_rows(const Operands& operands, const PlainTensor& expected, const Input* input,
                          const BlockedView& input_view, const std::vector<float>& packed, const Trial& trial) {
  const ConvSizes& sizes = operands.sizes;
  const int64_t channels = expected.channels;
  const Axes& size = sizes.output;
  constexpr int64_t gap = 3;
  const BlockedView view{channels * size.d * (size.h * (size.w + gap) + gap) + gap,
                         size.d * (size.h * (size.w + gap) + gap), size.h * (size.w + gap) + gap, size.w + gap};
  const auto elements = static_cast<size_t>(sizes.batch * view.batch_stride + gap);
  const float nothing = std::numeric_limits<float>::quiet_NaN();
  std::vector<Output> output(elements, Output(nothing)), residual(elements, Output(nothing));
  std::vector<float> wanted(elements, nothing);
  for (int64_t n = 0; n < sizes.batch; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for_each_voxel(size, [&](int64_t d, int64_t h, int64_t w) {
        const auto at = static_cast<size_t>(n * view.batch_stride + c * view.channel_block_stride + d * view.d_stride +
                                            h * view.h_stride + w);
        const float added = operands.residual.at(n, c, d, h, w);
        residual[at] = Output(added);
        wanted[at] = expected.at(n, c, d, h, w) + added + AddPlace<Output, spatial_axes>::of(n, c, d, h, w);
      });
  run_tasks_backwards<Kernel>({input, packed.data(), output.data(), sizes, input_view, view},
                              Epilogue{residual.data()});
  for (size_t i = 0; i < elements; ++i) {
    const float found = static_cast<float>(output[i]);
    ASSERT_TRUE(found == wanted[i] || (std::isnan(found) && std::isnan(wanted[i])) ||
                std::abs(static_cast<double>(found) - wanted[i]) <= trial.tolerance)
        << "element " << i << " is " << found << ", not " << wanted[i];
  }
}

}  // namespace
}  // namespace onnxc::kernels
