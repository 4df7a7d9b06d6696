// The library that CUDA_STAND_IN_KERNELS names in tests of the runtime.
#include <cstdio>
#include <cstdlib>

#include "runtime/gpu/fake_kernels.h"

extern "C" __attribute__((visibility("default"))) void onnxc_host_launch(const char* kernel, uint32_t blocks,
                                                                         uint32_t threads, uint32_t, void** arguments) {
  const onnxc::FakeKernel& found = *onnxc::find_fake_kernel(kernel);
  if (!found.is_right(arguments[0], int64_t{blocks} * threads)) {
    std::fprintf(stderr, "%s: %u blocks of %u threads\n", kernel, blocks, threads);
    std::abort();
  }
  found.run(arguments[0]);
}
