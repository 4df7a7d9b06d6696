// The runtime in front of a stand-in for NVIDIA's driver, whose streams are strict: nothing happens before somebody
// waits for it.
#include <gmock/gmock.h>

#include <unistd.h>

#include <cstdio>
#include <thread>

#include "runtime/gpu/cuda_stand_in.h"
#include "runtime/gpu/device_model_test.h"
#include "runtime/gpu/fake_hip_library.h"
#include "runtime/levels_run.h"
#include "runtime/volume/scan_volume.h"

namespace onnxc {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class Cuda : public DeviceModelTest<CudaStandIn> {
 protected:
  explicit Cuda(const char* file = "fake_device_model_nvidia.so") : DeviceModelTest(file) {}

  int expect_failures_to_be_told(uint32_t flags);

  CudaStandIn& cuda = library;
};

// Values of the model on the GPU that is current, `offset` floats after an aligned address.
struct ValuesOnCuda {
  ValuesOnCuda(CudaStandIn& cuda, int64_t rows, size_t offset = 0)
      : rows(rows),
        offset(offset),
        x(cuda, count() + offset),
        k(cuda, 4 + offset),
        y(cuda, count() + offset),
        x_dims{rows, 4} {
    const DeviceModelValues values(rows);
    expected = values.expected;
    x.write(values.x, offset);
    k.write(values.k, offset);
    inputs[0] = value(2, x_dims, x);
    inputs[1] = value(1, k_dims, k);
    output = value(0, nullptr, y);
  }
  size_t count() const { return static_cast<size_t>(rows) * 4; }
  onnxc_value value(int32_t rank, const int64_t* dims, CudaFloats& memory) const {
    onnxc_value made = {};
    made.dtype = ONNXC_FLOAT32;
    made.device = ONNXC_GPU;
    made.rank = rank;
    made.dims = dims;
    made.data = memory.data() + offset;
    made.bytes = memory.bytes() - static_cast<int64_t>(offset * sizeof(float));
    return made;
  }
  onnxc_status run(const LoadedModel& model, onnxc_instance* instance, const onnxc_run_options* options = nullptr) {
    return model->run(instance, inputs, 2, &output, 1, options);
  }
  std::vector<float> result() { return y.read(count(), offset); }

  int64_t rows;
  size_t offset;
  CudaFloats x, k, y;
  int64_t x_dims[2], k_dims[1] = {4};
  std::vector<float> expected;
  onnxc_value inputs[2], output;
};

TEST_F(Cuda, RunsWithDimsThatChangeAndGivesEverythingBack) {
  for (const char* streams : {"late", "early"})
    for (uint32_t flags : {uint32_t{0}, uint32_t{ONNXC_HIP_GRAPH}, uint32_t{ONNXC_POISON}}) {
      cuda.set("CUDA_STAND_IN_STREAMS", streams);
      ASSERT_EQ(create(flags), ONNXC_OK) << error;
      for (int64_t rows : {3, 700, 1, 0, 64, 300'000, 64}) expect_right(rows);
      EXPECT_GT(cuda.alive(), 0);
      destroy();
      EXPECT_EQ(cuda.alive(), 0);
    }
}

int Cuda::expect_failures_to_be_told(uint32_t flags) {
  constexpr int64_t staged = 5000;  // large enough for pinned memory
  for (int call = 0;; ++call) {
    cuda.fail_at(call);
    onnxc_status status = create(flags);
    if (status == ONNXC_OK) status = run(5);
    if (status == ONNXC_OK) status = run(staged);
    const std::string failed = cuda.failed_call();
    cuda.fail_at(-1);
    if (failed.empty()) {
      EXPECT_EQ(status, ONNXC_OK) << error;
      destroy();
      EXPECT_EQ(cuda.alive(), 0);
      return call;
    }
    if (status != ONNXC_OK) {
      EXPECT_THAT(error,
                  AllOf(HasSubstr(failed.substr(0, failed.find("_v2"))), HasSubstr("out of memory (CUDA error 2)")));
    } else {
      EXPECT_THAT(failed, testing::AnyOf("cuCtxSetCurrent", "cuThreadExchangeStreamCaptureMode")) << "as we leave";
    }
    // A run that failed leaves the instance usable.
    if (instance != nullptr) {
      expect_right(5);
      expect_right(staged);
    }
    destroy();
    EXPECT_EQ(cuda.alive(), 0) << failed;
    cuda.call<void*>("cuCtxSetCurrent", nullptr);
    int mode = 0;
    cuda.call("cuThreadExchangeStreamCaptureMode", &mode);
  }
}

TEST_F(Cuda, TellsOfEachCallThatFailsAndGivesEverythingBack) { EXPECT_GE(expect_failures_to_be_told(0), 60); }

TEST_F(Cuda, TellsOfEachCallThatFailsWithGraphs) { EXPECT_GE(expect_failures_to_be_told(ONNXC_HIP_GRAPH), 60 + 8); }

TEST_F(Cuda, LeavesTheCallersContextAsItWas) {
  cuda.set("CUDA_STAND_IN_DEVICES", "2");
  ASSERT_EQ(create(0, 1), ONNXC_OK) << error;
  expect_right(5);
  EXPECT_EQ(cuda.current(), nullptr);
  void* own = nullptr;
  cuda.call("cuCtxCreate_v2", &own, 0U, 0);
  expect_right(6);
  EXPECT_EQ(cuda.current(), own);
  // In a hook it is the caller's as well.
  struct Seen {
    CudaStandIn& cuda;
    std::vector<void*> contexts;
  } seen{cuda, {}};
  onnxc_run_options options = in_stream(nullptr);
  options.hook_context = &seen;
  options.hook = [](void* context, onnxc_instance*, int32_t, int32_t) -> int32_t {
    auto& [stand_in, contexts] = *static_cast<Seen*>(context);
    contexts.push_back(stand_in.current());
    return 0;
  };
  expect_right(5, &options);
  EXPECT_THAT(seen.contexts, testing::ElementsAre(own, own, own, own));
  destroy();
  EXPECT_EQ(cuda.current(), own);
  cuda.call("cuCtxDestroy_v2", own);
  EXPECT_EQ(cuda.alive(), 0);
}

TEST_F(Cuda, RunsInTheStreamThatItIsGiven) {
  for (const char* streams : {"late", "early"}) {
    cuda.set("CUDA_STAND_IN_STREAMS", streams);
    cuda.enter(0);
    {
      ASSERT_EQ(create(), ONNXC_OK) << error;
      void* stream = cuda.stream();
      ValuesOnCuda values(cuda, 9);
      const onnxc_run_options named = in_stream(stream), enqueued = in_stream(nullptr, ONNXC_ENQUEUE);
      for (const onnxc_run_options* options : {&named, &enqueued}) {
        values.y.write(std::vector<float>(values.count(), -1));
        ASSERT_EQ(values.run(model, instance, options), ONNXC_OK) << model->last_error(instance);
        cuda.call("cuStreamSynchronize", options->stream);
        EXPECT_EQ(values.result(), values.expected) << streams;
      }
      cuda.call("cuStreamDestroy_v2", stream);
      destroy();
    }
    cuda.leave(0);
    EXPECT_EQ(cuda.alive(), 0);
  }
}

TEST_F(Cuda, TensorsThatAreNotAlignedToSixteenBytesAreCopied) {
  cuda.enter(0);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  for (size_t offset = 0; offset < 5; ++offset) {
    ValuesOnCuda values(cuda, 3, offset);
    ASSERT_EQ(values.run(model, instance), ONNXC_OK) << model->last_error(instance);
    EXPECT_EQ(values.result(), values.expected) << offset;
  }
  destroy();
  cuda.leave(0);
  EXPECT_EQ(cuda.alive(), 0);
}

// As PyTorch begins them: no thread may make an unsafe call meanwhile.
TEST_F(Cuda, ARunInACaptureOfTheCallersIsPartOfIt) {
  constexpr int global_mode = 0;
  cuda.enter(0);
  for (const uint32_t flags : {uint32_t{0}, uint32_t{ONNXC_HIP_GRAPH}}) {
    ASSERT_EQ(create(flags), ONNXC_OK) << error;
    void *stream = cuda.stream(), *graph = nullptr, *executable = nullptr;
    const onnxc_run_options named = in_stream(stream);
    ValuesOnCuda values(cuda, 5);
    ASSERT_EQ(values.run(model, instance, &named), ONNXC_OK) << model->last_error(instance);
    const std::vector<float> nothing(values.count(), -1);
    cuda.call("cuStreamSynchronize", stream);
    values.y.write(nothing);
    ASSERT_EQ(values.run(model, instance, &named), ONNXC_OK);  // whose end the capture must not wait for unheard
    ASSERT_EQ(cuda.call("cuStreamBeginCapture_v2", stream, global_mode), 0);
    EXPECT_EQ(values.run(model, instance, &named), ONNXC_OK) << model->last_error(instance);
    ASSERT_EQ(cuda.call("cuStreamEndCapture", stream, &graph), 0);
    values.y.write(nothing);
    ASSERT_EQ(cuda.call("cuGraphInstantiateWithFlags", &executable, graph, 0ULL), 0);
    cuda.call("cuGraphLaunch", executable, stream);
    cuda.call("cuStreamSynchronize", stream);
    EXPECT_EQ(values.result(), values.expected);
    cuda.call("cuGraphExecDestroy", executable);
    cuda.call("cuGraphDestroy", graph);
    cuda.call("cuStreamDestroy_v2", stream);
    destroy();
  }
  cuda.leave(0);
  EXPECT_EQ(cuda.alive(), 0);
}

TEST_F(Cuda, ACaptureOfAnotherThreadsIsNotSpoilt) {
  cuda.enter(0);
  void *stream = cuda.stream(), *graph = nullptr;
  ASSERT_EQ(cuda.call("cuStreamBeginCapture_v2", stream, 0), 0);
  std::thread other([&] {
    ASSERT_EQ(create(), ONNXC_OK) << error;
    const onnxc_run_options own = in_stream(nullptr, ONNXC_OWN_STREAM);
    expect_right(5000, &own);
    destroy();
  });
  other.join();
  EXPECT_EQ(cuda.call("cuStreamEndCapture", stream, &graph), 0);
  cuda.call("cuGraphDestroy", graph);
  cuda.call("cuStreamDestroy_v2", stream);
  cuda.leave(0);
  EXPECT_EQ(cuda.alive(), 0);
}

TEST_F(Cuda, WhatACaptureCannotHoldIsRefusedBeforeItIsSpoilt) {
  cuda.enter(0);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  void *stream = cuda.stream(), *graph = nullptr;
  const onnxc_run_options named = in_stream(stream);
  ASSERT_EQ(cuda.call("cuStreamBeginCapture_v2", stream, 0), 0);
  EXPECT_EQ(run(5, &named), ONNXC_INVALID_ARGUMENT);
  EXPECT_THAT(error, HasSubstr("this is host memory, for whose copy a run waits"));
  EXPECT_EQ(cuda.call("cuStreamEndCapture", stream, &graph), 0);
  cuda.call("cuGraphDestroy", graph);
  cuda.call("cuStreamDestroy_v2", stream);
  destroy();
  cuda.leave(0);
  EXPECT_EQ(cuda.alive(), 0);
}

TEST_F(Cuda, ValuesOfAnotherGpuAndOfTheHostAreRefused) {
  cuda.set("CUDA_STAND_IN_DEVICES", "2");
  ASSERT_EQ(create(0, 1), ONNXC_OK) << error;
  cuda.enter(0);
  {
    ValuesOnCuda values(cuda, 3);
    EXPECT_EQ(values.run(model, instance), ONNXC_INVALID_ARGUMENT);
    EXPECT_STREQ(model->last_error(instance),
                 "input 0 'x': its memory is of GPU 0, and this instance runs on GPU 1: copy it there");
    std::vector<float> host(values.count());
    values.inputs[0].data = host.data();
    EXPECT_EQ(values.run(model, instance), ONNXC_INVALID_ARGUMENT);
    EXPECT_STREQ(model->last_error(instance),
                 "input 0 'x': its memory is not the GPU's: the device of host memory is ONNXC_CPU");
  }
  cuda.leave(0);
  expect_right(3);
  destroy();
  EXPECT_EQ(cuda.alive(), 0);
}

TEST_F(Cuda, PinnedMemoryOfTheHostMayBeTheGpus) {
  cuda.enter(0);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  {
    ValuesOnCuda values(cuda, 3);
    void* pinned = nullptr;
    cuda.call("cuMemHostAlloc", &pinned, size_t{64}, 0U);
    for (const size_t offset : {0, 1}) {
      float* x = static_cast<float*>(pinned) + offset;
      std::ranges::copy(DeviceModelValues(values.rows).x, x);
      values.inputs[0].data = x;
      ASSERT_EQ(values.run(model, instance), ONNXC_OK) << model->last_error(instance);
      EXPECT_EQ(values.result(), values.expected) << offset;
    }
    cuda.call("cuMemFreeHost", pinned);
  }
  destroy();
  cuda.leave(0);
  EXPECT_EQ(cuda.alive(), 0);
}

TEST_F(Cuda, AStreamOfAnotherGpuIsRefused) {
  cuda.set("CUDA_STAND_IN_DEVICES", "2");
  ASSERT_EQ(create(0, 1), ONNXC_OK) << error;
  cuda.enter(0);
  void* stream = cuda.stream();
  const onnxc_run_options named = in_stream(stream);
  EXPECT_EQ(run(3, &named), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(error,
            "the stream is of another GPU or context: this instance runs in the primary context of GPU 1, as PyTorch "
            "does");
  cuda.call("cuStreamDestroy_v2", stream);
  cuda.leave(0);
  expect_right(3);
  destroy();
  EXPECT_EQ(cuda.alive(), 0);
}

TEST_F(Cuda, RunsOnEachCardThatTheCodeIsFor) {
  for (const char* capability : {"8.0", "8.6", "8.9", "9.0", "10.0", "12.0"}) {
    cuda.set("CUDA_STAND_IN_CAPABILITY", capability);
    ASSERT_EQ(create(), ONNXC_OK) << capability << ": " << error;
    expect_right(3);
    destroy();
  }
}

// More than 48 KiB, which a kernel has only if the driver was asked before.
TEST_F(Cuda, AKernelGetsTheSharedMemoryOfItsLaunch) {
  for (const uint32_t flags : {uint32_t{0}, uint32_t{ONNXC_GPU_GRAPH}}) {
    ASSERT_EQ(create(flags), ONNXC_OK) << error;
    cuda.take_launches();
    expect_right(300);
    EXPECT_EQ(cuda.take_launches(), "multiply 5 256 0\nadd 5 256 65536\n");
    destroy();
  }
}

TEST_F(Cuda, ACardWithLessSharedMemoryIsRefused) {
  cuda.set("CUDA_STAND_IN_FAIL", "cuFuncSetAttribute 1 1");
  EXPECT_EQ(create(), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_EQ(error,
            "cuFuncSetAttribute of 65536 bytes of shared memory for 'add': invalid argument (CUDA error 1); a block of "
            "GPU 0 has less: compile it with --gpu-arch sm_80 --gpu-code ptx, which runs on every GPU of compute "
            "capability 8.0 and newer");
  EXPECT_EQ(cuda.alive(), 0);
}

TEST_F(Cuda, ACardThatIsTooOldIsRefused) {
  cuda.set("CUDA_STAND_IN_CAPABILITY", "7.5");
  EXPECT_EQ(create(), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_EQ(error,
            "this model was compiled for 'cuda sm_90a, cuda sm_80, cpu x86-64', and GPU 0 is NVIDIA stand-in (sm_75); "
            "it is too old: code of onnxc runs on GPUs of compute capability 8.0 and newer; the model also runs on the "
            "CPU");
  EXPECT_EQ(cuda.alive(), 0);
}

TEST_F(Cuda, ADriverThatIsTooOldIsTold) {
  cuda.set("CUDA_STAND_IN_CAPABILITY", "8.0");
  cuda.set("CUDA_STAND_IN_DRIVER", "11.0");
  EXPECT_EQ(create(), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_EQ(error,
            "cuModuleLoadDataEx: the provided PTX was compiled with an unsupported toolchain. (CUDA error 222); the "
            "model's code is newer than the driver: update NVIDIA's driver; the driver says: ptxas application ptx "
            "input, line 1; fatal   : Unsupported .version 7.1; current version is '7.0'");
  EXPECT_EQ(cuda.alive(), 0);
  cuda.set("CUDA_STAND_IN_DRIVER", "11.4");
  ASSERT_EQ(create(), ONNXC_OK) << error;
  destroy();
}

TEST_F(Cuda, ADriverThatIsTooOldForTheNewestCodeTakesOlder) {
  cuda.set("CUDA_STAND_IN_DRIVER", "11.8");
  ASSERT_EQ(create(), ONNXC_OK) << error;
  EXPECT_STREQ(model->instance_architecture(instance), "sm_80");
  expect_right(3);
  destroy();
  cuda.set("CUDA_STAND_IN_DRIVER", "12.0");
  ASSERT_EQ(create(), ONNXC_OK) << error;
  EXPECT_STREQ(model->instance_architecture(instance), "sm_90a");
  destroy();
  EXPECT_EQ(cuda.alive(), 0);
}

// The same model, whose kernels are so long that each is a module of its own: nine, which threads load at once.
class CudaModules : public Cuda {
 protected:
  CudaModules() : Cuda("fake_device_model_modules.so") { cuda.set("ONNXC_THREADS", "4"); }
};

TEST_F(CudaModules, RunAndAreGivenBack) {
  for (const char* threads : {"1", "4", "20"}) {
    cuda.set("ONNXC_THREADS", threads);
    ASSERT_EQ(create(), ONNXC_OK) << error;
    EXPECT_GE(cuda.alive(), 9);
    expect_right(300);
    destroy();
    EXPECT_EQ(cuda.alive(), 0);
  }
}

TEST_F(CudaModules, TellOfEachCallThatFailsAndGiveEverythingBack) { EXPECT_GE(expect_failures_to_be_told(0), 60 + 8); }

TEST_F(CudaModules, AnErrorNamesTheModule) {
  cuda.set("ONNXC_THREADS", "1");
  cuda.set("CUDA_STAND_IN_FAIL", "cuModuleLoadDataEx 3 218");
  EXPECT_EQ(create(), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_EQ(
      error,
      "cuModuleLoadDataEx of module 3 of 12: a PTX JIT compilation failed (CUDA error 218); the driver's compiler "
      "refuses the model's code: update NVIDIA's driver");
  EXPECT_EQ(cuda.alive(), 0);
}

TEST_F(CudaModules, ADriverThatIsTooOldForTheNewestCodeTakesOlder) {
  cuda.set("CUDA_STAND_IN_DRIVER", "11.8");
  ASSERT_EQ(create(), ONNXC_OK) << error;
  EXPECT_STREQ(model->instance_architecture(instance), "sm_80");
  expect_right(3);
  destroy();
  EXPECT_EQ(cuda.alive(), 0);
}

// No call that a capture forbids is made, neither by this thread, whose capture it is, nor by those that help it.
TEST_F(CudaModules, LoadBesideACapture) {
  cuda.enter(0);
  void *stream = cuda.stream(), *graph = nullptr;
  ASSERT_EQ(cuda.call("cuStreamBeginCapture_v2", stream, 0), 0);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  EXPECT_EQ(cuda.call("cuStreamEndCapture", stream, &graph), 0);
  cuda.call("cuGraphDestroy", graph);
  cuda.call("cuStreamDestroy_v2", stream);
  expect_right(5);
  destroy();
  cuda.leave(0);
  EXPECT_EQ(cuda.alive(), 0);
}

TEST_F(Cuda, InstancesOfSeveralThreadsRunBesideEachOther) {
  cuda.set("CUDA_STAND_IN_DEVICES", "2");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      onnxc_instance* own = nullptr;
      std::string text;
      ASSERT_EQ(create_on_device(model, own, text, i % 2 == 0 ? 0 : ONNXC_GPU_GRAPH, i / 2), ONNXC_OK) << text;
      const int64_t x_dims[] = {4, 4}, k_dims[] = {4};
      std::vector<float> x(16, static_cast<float>(i)), k(4, 1), result(16, -1);
      const onnxc_value inputs[] = {FakeRun::value(2, x_dims, x), FakeRun::value(1, k_dims, k)};
      const onnxc_value output = FakeRun::value(0, nullptr, result);
      for (int run = 0; run < 20; ++run) {
        ASSERT_EQ(model->run(own, inputs, 2, &output, 1, nullptr), ONNXC_OK) << model->last_error(own);
        for (size_t j = 0; j < result.size(); ++j) ASSERT_EQ(result[j], static_cast<float>(i) * (j % 4 + 1) + 1);
      }
      model->destroy(own);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cuda.alive(), 0);
}

TEST_F(Cuda, MemoryThatRunsOutIsToldAndTheInstanceGoesOn) {
  cuda.set("CUDA_STAND_IN_MEMORY", "100000");
  ASSERT_EQ(create(), ONNXC_OK) << error;
  expect_right(100);
  EXPECT_EQ(run(100'000), ONNXC_OUT_OF_MEMORY);
  EXPECT_EQ(error, "cuMemAlloc_v2 of working memory: out of memory (CUDA error 2)");
  expect_right(100);
  destroy();
  EXPECT_EQ(cuda.alive(), 0);
}

TEST_F(Cuda, AKernelThatFailsEndsTheUseOfTheGpu) {
  ASSERT_EQ(create(), ONNXC_OK) << error;
  expect_right(5);
  cuda.set("CUDA_STAND_IN_FAIL", "cuStreamSynchronize 1 700");
  EXPECT_EQ(run(5), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_EQ(error,
            "cuStreamSynchronize: an illegal memory access was encountered (CUDA error 700); this process cannot use "
            "the GPU any more: start it again");
  EXPECT_EQ(run(5), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_THAT(error, EndsWith("this process cannot use the GPU any more: start it again"));
  destroy();
}

TEST_F(Cuda, RefusesAGpuThatIsNotThere) {
  EXPECT_EQ(create(0, 3), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_EQ(error, "there is no GPU 3: CUDA sees 1; choose another number; the model also runs on the CPU");
  cuda.set("CUDA_STAND_IN_DEVICES", "0");
  EXPECT_EQ(create(), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_EQ(error,
            "cuInit: no CUDA-capable device is detected (CUDA error 100); the driver finds no NVIDIA GPU, "
            "CUDA_VISIBLE_DEVICES hides it, or this container was started without GPUs; the model also runs on the "
            "CPU");
}

// The error of an instance, with the library that the variable names.
std::string error_with_library(const char* library, const char* file = "fake_device_model_nvidia.so") {
  setenv("ONNXC_CUDA_LIBRARY", library, 1);
  LoadedModel model(file);
  onnxc_instance* instance = nullptr;
  std::string error;
  EXPECT_EQ(create_on_device(model, instance, error), ONNXC_UNSUPPORTED_DEVICE);
  unsetenv("ONNXC_CUDA_LIBRARY");
  return error;
}

TEST(CudaLibrary, SaysWhatIsMissing) {
  EXPECT_THAT(error_with_library("/nonexistent/libcuda.so.1"),
              AllOf(StartsWith("ONNXC_CUDA_LIBRARY: /nonexistent/libcuda.so.1: cannot open"),
                    EndsWith("; the model also runs on the CPU")));
  EXPECT_EQ(error_with_library(ONNXC_TEST_FILES "/fake_hip.so"),
            "NVIDIA's driver lacks cuInit: it is too old, or another library; the model also runs on the CPU");
}

// In a process of its own: this one may have the stand-in, which is taken for the driver.
TEST(CudaLibraryDeathTest, SaysThatThereIsNoDriver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string expected =
      "NVIDIA's driver is not here (libcuda.so.1: cannot open shared object file: No such file or directory): install "
      "it, or set ONNXC_CUDA_LIBRARY to its libcuda.so.1; the model also runs on the CPU";
  for (const char* file : {"fake_device_model_nvidia.so", "fake_levels_of_both.so"})
    EXPECT_EXIT(
        {
          setenv("ONNXC_HIP_LIBRARY", "/nonexistent/libamdhip64.so", 1);
          const bool has_driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr;
          const std::string error = has_driver ? expected : error_with_library("", file);
          fprintf(stderr, "%s\n", error.c_str());
          _exit(0);
        },
        testing::ExitedWithCode(0), HasSubstr(expected));
}

// A model with code for both vendors runs on the first, in the order of its programs, whose GPU here runs its code.
TEST(BothVendors, TheFirstWithAGpuAndCodeForItIsTaken) {
  constexpr char no_hip[] = "/nonexistent/libamdhip64.so", no_cuda[] = "/nonexistent/libcuda.so.1";
  const struct {
    bool has_amd, has_nvidia;
    const char *amds, *nvidias, *expected;
  } cases[] = {{true, true, "gfx942", "9.0", "gfx942"},
               {false, true, "gfx942", "9.0", "sm_80"},
               {true, false, "gfx942", "9.0", "gfx942"},
               {true, true, "gfx1100", "9.0", "sm_80"},
               {true, true, "gfx942", "7.5", "gfx942"}};
  for (const auto& [has_amd, has_nvidia, amds, nvidias, expected] : cases) {
    FakeHip hip;
    hip.reset(-1, amds);
    CudaStandIn cuda;
    cuda.set("CUDA_STAND_IN_CAPABILITY", nvidias);
    if (!has_amd) setenv("ONNXC_HIP_LIBRARY", no_hip, 1);
    if (!has_nvidia) cuda.set("ONNXC_CUDA_LIBRARY", no_cuda);
    LoadedModel model("fake_levels_of_both.so");
    onnxc_instance* instance = nullptr;
    std::string error;
    ASSERT_EQ(create_on_device(model, instance, error), ONNXC_OK) << error;
    EXPECT_STREQ(model->instance_architecture(instance), expected);
    LevelsRun values(5, 4, 2, true);
    ASSERT_EQ(values.run(model.operator->(), instance, false), ONNXC_OK) << model->last_error(instance);
    EXPECT_EQ(values.y, values.expected_y);
    model->destroy(instance);
  }
  setenv("ONNXC_HIP_LIBRARY", no_hip, 1);
  setenv("ONNXC_CUDA_LIBRARY", no_cuda, 1);
  LoadedModel model("fake_levels_of_both.so");
  onnxc_instance* instance = nullptr;
  std::string error;
  EXPECT_EQ(create_on_device(model, instance, error), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_THAT(error, AllOf(HasSubstr("ONNXC_HIP_LIBRARY: /nonexistent/libamdhip64.so: cannot open"),
                           HasSubstr("; ONNXC_CUDA_LIBRARY: /nonexistent/libcuda.so.1: cannot open"),
                           EndsWith("; the model also runs on the CPU")));
  unsetenv("ONNXC_CUDA_LIBRARY");
}

TEST(BothVendors, GpusWithoutCodeAreAllTold) {
  FakeHip hip;
  hip.reset(-1, "gfx1100");
  CudaStandIn cuda;
  cuda.set("CUDA_STAND_IN_CAPABILITY", "7.5");
  LoadedModel model("fake_levels_of_both.so");
  onnxc_instance* instance = nullptr;
  std::string error;
  EXPECT_EQ(create_on_device(model, instance, error), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_THAT(
      error,
      AllOf(HasSubstr("and GPU 0 is gfx1100; compile it with --gpu-arch gfx11-generic, or gfx1100 if onnxc has it; "),
            HasSubstr("and GPU 0 is NVIDIA stand-in (sm_75); it is too old: "),
            EndsWith("; the model also runs on the CPU")));
}

TEST(CudaLevels, RunAsOnTheCpu) {
  CudaStandIn cuda;
  LoadedModel model("fake_levels_nvidia.so");
  for (const char* streams : {"late", "early"})
    for (uint32_t flags : {uint32_t{0}, uint32_t{ONNXC_HIP_GRAPH}, uint32_t{ONNXC_POISON}}) {
      cuda.set("CUDA_STAND_IN_STREAMS", streams);
      onnxc_instance* instance = nullptr;
      std::string error;
      ASSERT_EQ(create_on_device(model, instance, error, flags), ONNXC_OK) << error;
      for (int64_t size : {3, 200, 0, 4})
        for (int64_t rounds : {0, 1, 4}) {
          LevelsRun values(5, size, rounds, rounds == 1);
          ASSERT_EQ(values.run(model.operator->(), instance, false), ONNXC_OK) << model->last_error(instance);
          EXPECT_EQ(values.y, values.expected_y) << size << " " << rounds;
          EXPECT_EQ(values.z, values.expected_z) << size << " " << rounds;
        }
      model->destroy(instance);
      EXPECT_EQ(cuda.alive(), 0);
    }
}

TEST(CudaVolume, RunsInBatchesAndGivesEverythingBack) {
  CudaStandIn cuda;
  LoadedModel model("fake_volume_model_nvidia.so");
  for (const char* streams : {"late", "early"}) {
    cuda.set("CUDA_STAND_IN_STREAMS", streams);
    onnxc_instance* instance = nullptr;
    std::string error;
    ASSERT_EQ(create_on_device(model, instance, error), ONNXC_OK) << error;
    const size_t alive = cuda.alive();
    for (int64_t batch : {0, 1, 4}) {
      ScanVolume scan({7, 6, 14}, {4, 4, 8});
      scan.volume.batch = batch;
      ASSERT_EQ(model->run_volume(instance, &scan.volume, &scan.result), ONNXC_OK) << model->last_error(instance);
      scan.expect_values();
    }
    EXPECT_EQ(cuda.alive(), alive);
    model->destroy(instance);
    EXPECT_EQ(cuda.alive(), 0);
  }
}

}  // namespace
}  // namespace onnxc
