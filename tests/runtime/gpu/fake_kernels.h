// The arguments that the kernels of the double of libamdhip64.so get from the models written by hand.
#pragma once

#include <cstdint>

namespace onnxc {

struct FakeArguments {
  int64_t points, point_stride;
  const float *left, *right;
  float* result;
  int64_t limit;
};

}  // namespace onnxc
