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

struct FakeKernel {
  void (*run)(const void* arguments);
  size_t arguments_size;
  // Whether a launch of so many threads is what these arguments ask for.
  bool (*is_right)(const void* arguments, int64_t threads);
};
// Null for another name.
const FakeKernel* find_fake_kernel(const std::string& name);
// Those of volumes, by plain loops (kernels/hip/volume/volume_geometry.h).
const FakeKernel* find_fake_volume_kernel(const std::string& name);

}  // namespace onnxc
