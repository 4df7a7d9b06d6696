// The kernels of the models written by hand, as functions of the host.
#pragma once

#include <cstdint>
#include <string>

namespace onnxc {

struct FakeArguments {
  int64_t points, point_stride;
  const float *left, *right;
  float* result;
  int64_t limit;
};

using FakeKernel = void (*)(const FakeArguments&);
// Null for another name.
FakeKernel find_fake_kernel(const std::string& name);

}  // namespace onnxc
