// The shared parts of the tests of convolutions in groups: shapes, and inputs that must not reach other groups.
#pragma once

#include "kernels/cpu/conv/conv_harness.h"

namespace onnxc::kernels {
namespace {

constexpr ConvShape in_groups(int64_t groups, int64_t inputs, int64_t outputs, const Axes& kernel,
                              const Axes& stride = {1, 1, 1}, const Axes& dilation = {1, 1, 1}) {
  return {groups * inputs, groups * outputs, groups, kernel, stride, dilation};
}

// Small integers with NaN and infinities in all input channels of one group, of one image.
inline Trial not_finite_in_group(const ConvShape& shape, const ConvSizes& sizes, int64_t group) {
  const int64_t group_size = shape.group_input_channels() * sizes.input.product();
  return {.fill = [=](std::vector<float>& values, uint32_t seed) {
    fill_with_integers(values, seed);
    if (seed != 1) return;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr float not_finite[] = {infinity, std::numeric_limits<float>::quiet_NaN(), -infinity};
    for (int64_t i = 0; i < group_size; ++i) values[static_cast<size_t>(group * group_size + i)] = not_finite[i % 3];
  }};
}

}  // namespace
}  // namespace onnxc::kernels
