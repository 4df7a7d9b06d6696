// States on a GPU, in front of both libraries' doubles.
#include <gmock/gmock.h>

#include "runtime/gpu/cuda_stand_in.h"
#include "runtime/gpu/device_model_test.h"
#include "runtime/gpu/fake_hip_library.h"
#include "runtime/states_run.h"

namespace onnxc {
namespace {

using testing::Each;
using testing::HasSubstr;

template <class Library>
class StatesOnGpu : public testing::Test {
 protected:
  explicit StatesOnGpu(const char* file) : model(file) {}
  ~StatesOnGpu() override {
    model->destroy(instance);
    model->destroy(other);
  }

  const onnxc_api* api() const { return model.operator->(); }
  onnxc_status create(uint32_t flags = 0) { return create_sharing(api(), nullptr, instance, error, ONNXC_GPU, flags); }
  void expect_run(onnxc_instance* used, int64_t rows, float step, float sum,
                  const onnxc_run_options* options = nullptr) {
    std::vector<float> y;
    ASSERT_EQ(run_states(api(), used, rows, step, y, options), ONNXC_OK) << model->last_error(used);
    EXPECT_EQ(y, outputs(rows, sum));
  }
  void expect_states_to_be_carried(uint32_t flags) {
    ASSERT_EQ(create(flags), ONNXC_OK) << error;
    for (float sum : {1.0F, 2.0F, 3.0F}) expect_run(instance, 5, 1, sum);
    EXPECT_EQ(read_state(api(), instance), totals(5, 3));
    ASSERT_EQ(write_state(api(), instance, totals(5, 10)), ONNXC_OK) << model->last_error(instance);
    expect_run(instance, 5, 1, 11);
    ASSERT_EQ(model->reset_states(instance), ONNXC_OK);
    EXPECT_THAT(read_state(api(), instance), Each(0));
    expect_run(instance, 5, 1, 1);
    // The memory of the state has stayed in its place.
    EXPECT_EQ(model->captured_graphs(instance), (flags & ONNXC_GPU_GRAPH) != 0 ? 1 : 0);
    expect_run(instance, 700, 2, 2);
    expect_run(instance, 0, 1, 1);
    expect_run(instance, 5, 1, 1);
  }

  Library library;
  LoadedModel model;
  onnxc_instance* instance = nullptr;
  onnxc_instance* other = nullptr;
  std::string error;
};

class StatesOnAmd : public StatesOnGpu<FakeHip> {
 protected:
  StatesOnAmd() : StatesOnGpu("fake_states.so") { library.reset(-1); }
};
class StatesOnNvidia : public StatesOnGpu<CudaStandIn> {
 protected:
  StatesOnNvidia() : StatesOnGpu("fake_states_nvidia.so") {}
};

TEST_F(StatesOnAmd, AreCarriedFromRunToRun) { expect_states_to_be_carried(0); }
TEST_F(StatesOnAmd, AreCarriedByGraphs) { expect_states_to_be_carried(ONNXC_GPU_GRAPH); }
TEST_F(StatesOnAmd, AreNotPoisoned) { expect_states_to_be_carried(ONNXC_POISON); }
TEST_F(StatesOnNvidia, AreCarriedFromRunToRun) { expect_states_to_be_carried(0); }
TEST_F(StatesOnNvidia, AreCarriedByGraphs) { expect_states_to_be_carried(ONNXC_GPU_GRAPH); }
TEST_F(StatesOnNvidia, AreNotPoisoned) { expect_states_to_be_carried(ONNXC_POISON); }

// Everything is given back by whichever instance goes last.
TEST_F(StatesOnAmd, AreSharedByInstances) {
  ASSERT_EQ(create(), ONNXC_OK) << error;
  ASSERT_EQ(create_sharing(model->entry(1), instance, other, error, ONNXC_GPU), ONNXC_OK) << error;
  expect_run(instance, 3, 1, 1);
  expect_run(other, 3, 2, 3);
  model->destroy(instance);
  instance = nullptr;
  expect_run(other, 3, 1, 4);
  EXPECT_GT(library.alive(), 0);
  model->destroy(other);
  other = nullptr;
  EXPECT_EQ(library.alive(), 0);
}

TEST_F(StatesOnAmd, AreSharedOnOneDeviceOnly) {
  ASSERT_EQ(create(), ONNXC_OK) << error;
  EXPECT_EQ(create_sharing(api(), instance, other, error, ONNXC_CPU), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(error, "the instance of onnxc_options.states_of keeps its states on another device");
}

// A call that fails is told, and the instance can be used afterwards.
TEST_F(StatesOnAmd, TellOfEachCallThatFails) {
  for (int call = 0;; ++call) {
    library.reset(call);
    onnxc_status status = create();
    std::vector<float> y;
    if (status == ONNXC_OK && (status = run_states(api(), instance, 5, 1, y)) != ONNXC_OK)
      error = model->last_error(instance);
    if (status == ONNXC_OK && (status = write_state(api(), instance, totals(7, 1))) != ONNXC_OK)
      error = model->last_error(instance);
    if (status == ONNXC_OK && (status = model->reset_states(instance)) != ONNXC_OK) error = model->last_error(instance);
    const std::string failed = library.failed_call();
    library.reset(-1);
    if (instance != nullptr) {
      ASSERT_EQ(model->reset_states(instance), ONNXC_OK) << failed;
      expect_run(instance, 3, 1, 1);
    }
    model->destroy(instance);
    instance = nullptr;
    EXPECT_EQ(library.alive(), 0) << failed;
    if (failed.empty()) {
      EXPECT_EQ(status, ONNXC_OK) << error;
      EXPECT_GE(call, 40);
      return;
    }
    EXPECT_NE(status, ONNXC_OK) << failed;
    EXPECT_THAT(error, HasSubstr(failed));
  }
}

// In streams in which nothing happens before somebody waits: runs of both instances, and then the read.
TEST_F(StatesOnNvidia, AreUsedInTheOrderOfTheCalls) {
  ASSERT_EQ(create(), ONNXC_OK) << error;
  ASSERT_EQ(create_sharing(api(), instance, other, error, ONNXC_GPU), ONNXC_OK) << error;
  library.enter(0);
  void *const one = library.stream(), *const two = library.stream();
  {
    // All values on the GPU, so that a run only enqueues.
    CudaFloats x(library, 12), k(library, 4), y(library, 12);
    k.write({1, 2, 3, 4}, 0);
    const int64_t x_dims[] = {3, 4}, k_dims[] = {4};
    const auto on_gpu = [](int32_t rank, const int64_t* dims, CudaFloats& memory) {
      onnxc_value value = {};
      value.dtype = ONNXC_FLOAT32;
      value.device = ONNXC_GPU;
      value.rank = rank;
      value.dims = dims;
      value.data = memory.data();
      value.bytes = memory.bytes();
      return value;
    };
    const onnxc_value inputs[] = {on_gpu(2, x_dims, x), on_gpu(1, k_dims, k)};
    const onnxc_value output = on_gpu(0, nullptr, y);
    const auto enqueue = [&](onnxc_instance* used, void* stream) {
      const onnxc_run_options options = in_stream(stream);
      ASSERT_EQ(model->run(used, inputs, 2, &output, 1, &options), ONNXC_OK) << model->last_error(used);
    };
    enqueue(instance, one);
    enqueue(other, two);
    enqueue(instance, one);
    EXPECT_EQ(read_state(api(), instance), totals(3, 3));
    enqueue(other, two);
    ASSERT_EQ(model->reset_states(instance), ONNXC_OK);
    enqueue(other, one);
    EXPECT_EQ(read_state(api(), other), totals(3, 1));
    for (void* stream : {one, two}) library.call("cuStreamSynchronize", stream);
  }
  for (void* stream : {one, two}) library.call("cuStreamDestroy_v2", stream);
  library.leave(0);
}

}  // namespace
}  // namespace onnxc
