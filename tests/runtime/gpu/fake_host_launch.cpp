// The library that CUDA_STAND_IN_KERNELS names in tests of the runtime.
#include <cstdio>
#include <cstdlib>

#include "runtime/gpu/fake_kernels.h"

extern "C" __attribute__((visibility("default"))) void onnxc_host_launch(const char* kernel, uint32_t blocks,
                                                                         uint32_t threads, uint32_t, void** arguments) {
  const auto& row = *static_cast<const onnxc::FakeArguments*>(arguments[0]);
  if (row.point_stride != static_cast<int64_t>(blocks) * threads) {
    std::fprintf(stderr, "%s: %u blocks of %u threads\n", kernel, blocks, threads);
    std::abort();
  }
  onnxc::find_fake_kernel(kernel)(row);
}
