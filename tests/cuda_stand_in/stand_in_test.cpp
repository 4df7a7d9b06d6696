// The stand-in for NVIDIA's driver refuses what the driver refuses.
#include <gmock/gmock.h>

#include "runtime/gpu/cuda_stand_in.h"
#include "runtime/gpu/fake_code.h"
#include "runtime/gpu/fake_kernels.h"

namespace onnxc {
namespace {

constexpr int invalid_value = 1, out_of_memory = 2, not_initialized = 3, invalid_device = 101, invalid_image = 200,
              invalid_context = 201, no_binary = 209, invalid_ptx = 218, unsupported_ptx = 222, invalid_handle = 400,
              not_found = 500, not_ready = 600, illegal_address = 700, capture_unsupported = 900,
              capture_invalidated = 901, capture_implicit = 906;

class StandIn : public ::testing::Test {
 protected:
  StandIn() {
    cuda.set("CUDA_STAND_IN_DEVICES", "2");
    context = cuda.enter(0);
  }
  ~StandIn() override {
    cuda.leave(0);
    EXPECT_EQ(cuda.alive(), 0);
  }
  int load(const char* code, char* log = nullptr, size_t log_size = 0) {
    int options[] = {5, 6};
    void* values[] = {log, reinterpret_cast<void*>(log_size)};
    return cuda.call("cuModuleLoadDataEx", &module, code, 2U, options, values);
  }
  // The kernel "twice" on so many points.
  int launch(void* in_stream, const float* from, float* to, int64_t points, unsigned shared_bytes = 0,
             size_t size = sizeof(FakeArguments), const void* end = nullptr) {
    void* kernel = nullptr;
    EXPECT_EQ(cuda.call("cuModuleGetFunction", &kernel, module, "twice"), 0);
    FakeArguments arguments = {points, 256, from, from, to, 0};
    void* extra[] = {reinterpret_cast<void*>(1), &arguments, reinterpret_cast<void*>(2), &size, const_cast<void*>(end)};
    return cuda.call("cuLaunchKernel", kernel, 1U, 1U, 1U, 256U, 1U, 1U, shared_bytes, in_stream,
                     static_cast<void**>(nullptr), extra);
  }

  CudaStandIn cuda;
  void* context = nullptr;
  void* module = nullptr;
};

TEST_F(StandIn, CallsWithoutAContext) {
  void* pointer = nullptr;
  cuda.call<void*>("cuCtxSetCurrent", nullptr);
  EXPECT_EQ(cuda.call("cuMemAlloc_v2", &pointer, size_t{4}), invalid_context);
  EXPECT_EQ(cuda.call("cuStreamCreate", &pointer, 1U), invalid_context);
  EXPECT_EQ(cuda.call("cuCtxSetCurrent", static_cast<void*>(this)), invalid_context);
  EXPECT_EQ(cuda.call("cuDevicePrimaryCtxRetain", &pointer, 2), invalid_device);
  void* own = nullptr;
  cuda.call("cuCtxCreate_v2", &own, 0U, 0);
  cuda.call("cuCtxSetCurrent", own);
  cuda.call("cuCtxDestroy_v2", own);
  EXPECT_EQ(cuda.current(), nullptr);
  cuda.call("cuCtxSetCurrent", context);
}

TEST_F(StandIn, WhatIsOfAnotherContext) {
  void *stream = cuda.stream(), *event = nullptr, *other = nullptr;
  cuda.call("cuEventCreate", &event, 2U);
  ASSERT_EQ(load(runtime::fake_ptx), 0);
  cuda.call("cuDevicePrimaryCtxRetain", &other, 1);
  cuda.call("cuCtxSetCurrent", other);
  void *found = nullptr, *kernel = nullptr, *none = nullptr;
  EXPECT_EQ(cuda.call("cuStreamSynchronize", stream), invalid_handle);
  EXPECT_EQ(cuda.call("cuEventRecord", event, none), invalid_handle);
  EXPECT_EQ(cuda.call("cuModuleGetFunction", &kernel, module, "twice"), invalid_handle);
  EXPECT_EQ(cuda.call("cuStreamGetCtx", stream, &found), 0);
  EXPECT_EQ(found, context);
  cuda.call("cuCtxSetCurrent", context);
  cuda.call("cuDevicePrimaryCtxRelease_v2", 1);
  EXPECT_EQ(cuda.call("cuCtxSetCurrent", other), invalid_context);
}

TEST_F(StandIn, MemoryThatIsNotThere) {
  std::vector<float> host(4, 1);
  void *floats = nullptr, *none = nullptr;
  EXPECT_EQ(cuda.call("cuMemAlloc_v2", &floats, size_t{0}), invalid_value);
  cuda.set("CUDA_STAND_IN_MEMORY", "100");
  EXPECT_EQ(cuda.call("cuMemAlloc_v2", &floats, size_t{101}), out_of_memory);
  ASSERT_EQ(cuda.call("cuMemAlloc_v2", &floats, size_t{16}), 0);
  const auto copy = [&](void* to, size_t bytes) {
    return cuda.call("cuMemcpyHtoDAsync_v2", to, static_cast<void*>(host.data()), bytes, none);
  };
  EXPECT_EQ(copy(floats, 16), 0);
  EXPECT_EQ(copy(floats, 17), invalid_value);
  EXPECT_EQ(copy(host.data(), 16), invalid_value);
  EXPECT_EQ(cuda.call("cuMemcpyAsync", static_cast<void*>(host.data()), floats, size_t{16}, none), invalid_value);
  EXPECT_EQ(cuda.call("cuMemFree_v2", static_cast<void*>(static_cast<char*>(floats) + 4)), invalid_value);
  EXPECT_EQ(cuda.call("cuMemFree_v2", floats), 0);
  EXPECT_EQ(copy(floats, 16), invalid_value);
  EXPECT_EQ(cuda.call("cuMemFree_v2", floats), invalid_value);
}

TEST_F(StandIn, MemoryIsNotANumberBeforeItIsWritten) {
  CudaFloats floats(cuda, 3);
  for (const float value : floats.read(3)) EXPECT_TRUE(value != value);
}

TEST_F(StandIn, CodeThatTheDriverDoesNotTake) {
  EXPECT_EQ(load("no code"), invalid_ptx);
  EXPECT_EQ(load(".version 7.1\n.target gfx942\n"), invalid_ptx);
  EXPECT_EQ(load(".target sm_80\n"), invalid_ptx);
  EXPECT_EQ(load(".version 7.1 .target sm_80 .entry k(.param .align 3 .b8 p[4]) {}"), invalid_ptx);
  EXPECT_EQ(load(".version 7.1 .target sm_80 .entry k(.param .u64"), invalid_ptx);
  const char of_another_machine[64] = "\177ELF\2\1\1";
  EXPECT_EQ(load(of_another_machine), invalid_image);
  cuda.set("CUDA_STAND_IN_CAPABILITY", "10.0");
  EXPECT_EQ(load(".version 8.0 .target sm_90a"), no_binary);
  EXPECT_EQ(load(".version 8.6 .target sm_120"), no_binary);
  EXPECT_EQ(load(".version 8.0 .target sm_90"), 0);
  char log[200] = "";
  EXPECT_EQ(load(".version 8.9\n.target sm_80", log, sizeof log), unsupported_ptx);
  EXPECT_THAT(log, testing::HasSubstr("Unsupported .version 8.9; current version is '8.8'"));
  void* kernel = nullptr;
  EXPECT_EQ(cuda.call("cuModuleGetFunction", &kernel, module, "none"), not_found);
}

TEST_F(StandIn, LaunchesThatDoNotFitTheKernel) {
  ASSERT_EQ(load(runtime::fake_ptx), 0);
  CudaFloats from(cuda, 4), to(cuda, 4);
  from.write({1, 2, 3, 4});
  EXPECT_EQ(launch(nullptr, from.data(), to.data(), 4, 0, sizeof(FakeArguments) - 8), invalid_value);
  EXPECT_EQ(launch(nullptr, from.data(), to.data(), 4, 0, sizeof(FakeArguments), reinterpret_cast<void*>(3)),
            invalid_value);  // as HIP's list ends
  EXPECT_EQ(launch(nullptr, from.data(), to.data(), 4, 49 * 1024), invalid_value);
  EXPECT_EQ(launch(nullptr, from.data(), to.data(), 4), 0);
  EXPECT_EQ(to.read(4), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(cuda.take_launches(), "twice 1 256 0\n");
}

TEST_F(StandIn, AKernelThatLeavesItsMemoryEndsTheContext) {
  ASSERT_EQ(load(runtime::fake_ptx), 0);
  CudaFloats from(cuda, 8), to(cuda, 4);
  from.write(std::vector<float>(8, 1));
  EXPECT_EQ(launch(nullptr, from.data(), to.data(), 5), 0);
  EXPECT_EQ(cuda.call<void*>("cuStreamSynchronize", nullptr), illegal_address);
  void* pointer = nullptr;
  EXPECT_EQ(cuda.call("cuMemAlloc_v2", &pointer, size_t{4}), illegal_address);
}

TEST_F(StandIn, NothingHappensBeforeSomebodyWaits) {
  ASSERT_EQ(load(runtime::fake_ptx), 0);
  CudaFloats from(cuda, 1), to(cuda, 1);
  from.write({3});
  void *stream = cuda.stream(), *event = nullptr;
  cuda.call("cuEventCreate", &event, 2U);
  cuda.take_launches();
  ASSERT_EQ(launch(stream, from.data(), to.data(), 1), 0);
  cuda.call("cuEventRecord", event, stream);
  EXPECT_EQ(cuda.take_launches(), "");
  EXPECT_EQ(cuda.call("cuStreamQuery", stream), not_ready);
  EXPECT_EQ(cuda.call("cuEventSynchronize", event), 0);
  EXPECT_EQ(cuda.take_launches(), "twice 1 256 0\n");
}

TEST_F(StandIn, WhatNoCaptureAllowsSpoilsIt) {
  void *stream = cuda.stream(), *pointer = nullptr, *graph = nullptr, *event = nullptr;
  cuda.call("cuEventCreate", &event, 2U);
  CudaFloats floats(cuda, 1);
  float host = 1;
  const auto spoils = [&](int expected, auto call) {
    EXPECT_EQ(cuda.call("cuStreamBeginCapture_v2", stream, 0), 0);
    EXPECT_EQ(call(), expected);
    EXPECT_EQ(cuda.call("cuStreamEndCapture", stream, &graph), capture_invalidated);
  };
  spoils(capture_unsupported, [&] { return cuda.call("cuMemAlloc_v2", &pointer, size_t{4}); });
  spoils(capture_unsupported, [&] { return cuda.call("cuStreamSynchronize", stream); });
  spoils(capture_unsupported, [&] { return cuda.call("cuEventSynchronize", event); });
  spoils(capture_unsupported, [&] {
    return cuda.call("cuMemcpyHtoDAsync_v2", static_cast<void*>(floats.data()), static_cast<void*>(&host), size_t{4},
                     stream);
  });
  spoils(capture_implicit, [&] {
    return cuda.call("cuMemcpyDtoH_v2", static_cast<void*>(&host), static_cast<void*>(floats.data()), size_t{4});
  });
  // A thread that says that its calls spoil none may allocate.
  int mode = 2;
  cuda.call("cuThreadExchangeStreamCaptureMode", &mode);
  EXPECT_EQ(cuda.call("cuStreamBeginCapture_v2", stream, 0), 0);
  EXPECT_EQ(cuda.call("cuMemAlloc_v2", &pointer, size_t{4}), 0);
  EXPECT_EQ(cuda.call("cuStreamEndCapture", stream, &graph), 0);
  cuda.call("cuMemFree_v2", pointer);
  cuda.call("cuGraphDestroy", graph);
  cuda.call("cuThreadExchangeStreamCaptureMode", &mode);
}

TEST_F(StandIn, CallsFailOnDemand) {
  void* pointer = nullptr;
  cuda.set("CUDA_STAND_IN_FAIL", "cuMemAlloc_v2 2 3");
  ASSERT_EQ(cuda.call("cuMemAlloc_v2", &pointer, size_t{4}), 0);
  EXPECT_EQ(cuda.call("cuMemAlloc_v2", &pointer, size_t{4}), not_initialized);
  EXPECT_EQ(cuda.failed_call(), "cuMemAlloc_v2");
}

}  // namespace
}  // namespace onnxc
