// States on the CPU: they are carried from run to run, read, set, reset and shared.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "runtime/states_run.h"

namespace onnxc {
namespace {

using testing::Each;
using testing::HasSubstr;

class States : public testing::Test {
 protected:
  ~States() override {
    model->destroy(instance);
    model->destroy(other);
  }

  const onnxc_api* api() const { return model.operator->(); }
  std::string error() const { return model->last_error(instance); }
  void expect_run(onnxc_instance* used, int64_t rows, float step, float sum) {
    std::vector<float> y;
    ASSERT_EQ(run_states(api(), used, rows, step, y), ONNXC_OK) << model->last_error(used);
    EXPECT_EQ(y, outputs(rows, sum));
  }
  onnxc_status share(int32_t entry) { return create_sharing(model->entry(entry), instance, other, sharing_error); }

  LoadedModel model{"fake_states.so"};
  onnxc_instance* instance = model.create(1, ONNXC_POISON);
  onnxc_instance* other = nullptr;
  std::string sharing_error;
};

TEST_F(States, AreListedBesideInputsAndOutputs) {
  ASSERT_EQ(model->state_count, 1);
  EXPECT_STREQ(model->state(0)->name, "total");
  EXPECT_EQ(model->entry(1)->state_count, 2);
  EXPECT_STREQ(model->entry(1)->state(0)->name, "count");
  EXPECT_EQ(model->entry(2)->state_count, 0);
  for (int32_t wrong : {-1, 1, INT32_MIN, INT32_MAX}) EXPECT_EQ(model->state(wrong), nullptr);
  EXPECT_EQ(LoadedModel("fake_model.so")->state_count, 0);
}

TEST_F(States, AreCarriedFromRunToRun) {
  for (float sum : {1.0F, 2.0F, 3.0F}) expect_run(instance, 5, 1, sum);
  EXPECT_EQ(read_state(api(), instance), totals(5, 3));
}

TEST_F(States, AreZeroAgainWithOtherDims) {
  expect_run(instance, 5, 1, 1);
  expect_run(instance, 700, 2, 2);
  expect_run(instance, 5, 1, 1);
  expect_run(instance, 0, 1, 1);
  expect_run(instance, 1, 1, 1);
  EXPECT_EQ(read_state(api(), instance), totals(1, 1));
}

TEST_F(States, AreResetAndSet) {
  expect_run(instance, 3, 4, 4);
  ASSERT_EQ(model->reset_states(instance), ONNXC_OK);
  EXPECT_THAT(read_state(api(), instance), Each(0));
  expect_run(instance, 3, 4, 4);
  ASSERT_EQ(write_state(api(), instance, totals(3, 10)), ONNXC_OK) << error();
  expect_run(instance, 3, 4, 14);
  // Before any run, and with other dims than it had.
  ASSERT_EQ(write_state(api(), instance, totals(6, 1)), ONNXC_OK) << error();
  EXPECT_EQ(read_state(api(), instance), totals(6, 1));
  expect_run(instance, 6, 1, 2);
}

TEST_F(States, OneThatWasSetHasTheDimsOfTheNextRun) {
  ASSERT_EQ(write_state(api(), instance, totals(6, 1)), ONNXC_OK) << error();
  std::vector<float> y;
  EXPECT_EQ(run_states(api(), instance, 5, 1, y), ONNXC_WRONG_DIMS);
  EXPECT_EQ(error(),
            "state 'total' was set with the dims 6x4, and with these inputs it has 5x4: set it with those, or reset "
            "the states");
  expect_run(instance, 6, 1, 2);
  ASSERT_EQ(write_state(api(), instance, totals(6, 1)), ONNXC_OK) << error();
  ASSERT_EQ(model->reset_states(instance), ONNXC_OK);
  expect_run(instance, 5, 1, 1);
}

TEST_F(States, StayAsTheyAreInARunThatIsRefused) {
  expect_run(instance, 3, 1, 1);
  std::vector<float> x(12), k(4), y(11);
  const int64_t x_dims[] = {3, 4}, k_dims[] = {4};
  const onnxc_value inputs[] = {FakeRun::value(2, x_dims, x), FakeRun::value(1, k_dims, k)};
  const onnxc_value output = FakeRun::value(0, nullptr, y);
  EXPECT_EQ(model->run(instance, inputs, 2, &output, 1, nullptr), ONNXC_SHORT_BUFFER);
  expect_run(instance, 3, 1, 2);
}

TEST_F(States, RefuseBadCalls) {
  std::vector<float> values(12);
  const int64_t dims[] = {3, 4}, wide[] = {3, 5};
  onnxc_value value = FakeRun::value(2, dims, values);
  int64_t found[2];
  for (int32_t wrong : {-1, 1, INT32_MAX}) {
    EXPECT_EQ(model->get_state(instance, wrong, &value), ONNXC_INVALID_ARGUMENT);
    EXPECT_EQ(model->set_state(instance, wrong, &value), ONNXC_INVALID_ARGUMENT);
    EXPECT_EQ(model->state_dims(instance, wrong, found), ONNXC_INVALID_ARGUMENT);
    EXPECT_EQ(error(), "no such state");
  }
  EXPECT_EQ(model->get_state(instance, 0, nullptr), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(model->set_state(instance, 0, nullptr), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(model->state_dims(instance, 0, nullptr), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(model->get_state(instance, 0, &value), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "state 'total' has no dims before the first run: run the model, or set the state");
  expect_run(instance, 3, 1, 1);
  const auto refused = [&](onnxc_value wrong, onnxc_status status) {
    EXPECT_EQ(model->get_state(instance, 0, &wrong), status);
    const std::string text = error();
    EXPECT_EQ(model->set_state(instance, 0, &wrong), status);
    EXPECT_EQ(error(), text);
    return text;
  };
  onnxc_value wrong = value;
  wrong.dtype = ONNXC_INT32;
  EXPECT_EQ(refused(wrong, ONNXC_WRONG_DTYPE), "state 0 'total': expected the dtype float32, found int32");
  wrong = value;
  wrong.rank = 1;
  EXPECT_EQ(refused(wrong, ONNXC_WRONG_RANK), "state 0 'total': expected rank 2 (N, 4), found rank 1");
  wrong = value;
  wrong.dims = wide;
  EXPECT_EQ(refused(wrong, ONNXC_WRONG_DIMS), "state 0 'total': dim 1 is 5, and that of the state is 4");
  wrong = value;
  wrong.bytes = 47;
  EXPECT_EQ(refused(wrong, ONNXC_SHORT_BUFFER), "state 0 'total': dims 3x4 need 48 bytes, and data has 47");
  wrong = value;
  wrong.device = ONNXC_GPU;
  EXPECT_EQ(refused(wrong, ONNXC_UNSUPPORTED_DEVICE), "state 0 'total': its value must be in host memory");
  EXPECT_EQ(read_state(api(), instance), totals(3, 1));
  for (auto* call : {model->get_state, model->set_state}) EXPECT_EQ(call(nullptr, 0, &value), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(model->state_dims(nullptr, 0, found), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(model->reset_states(nullptr), ONNXC_INVALID_ARGUMENT);
}

TEST_F(States, AStateOfKnownDimsIsThereBeforeARun) {
  ASSERT_EQ(create_sharing(model->entry(1), nullptr, other, sharing_error), ONNXC_OK) << sharing_error;
  int64_t dims[1] = {};
  ASSERT_EQ(model->state_dims(other, 0, dims), ONNXC_OK);
  EXPECT_EQ(dims[0], 4);
  int64_t counts[4] = {-1, -1, -1, -1};
  onnxc_value value = {};
  value.dtype = ONNXC_INT64;
  value.rank = 1;
  value.data = counts;
  value.bytes = sizeof counts;
  ASSERT_EQ(model->get_state(other, 0, &value), ONNXC_OK) << model->last_error(other);
  EXPECT_THAT(counts, Each(0));
}

TEST_F(States, AreSharedByInstancesOfSeveralEntries) {
  ASSERT_EQ(share(1), ONNXC_OK) << sharing_error;
  expect_run(instance, 3, 1, 1);
  expect_run(other, 3, 2, 3);
  EXPECT_EQ(read_state(api(), instance), totals(3, 3));
  EXPECT_EQ(read_state(model->entry(1), other, 1), totals(3, 3));
  // Whichever goes first.
  model->destroy(instance);
  instance = nullptr;
  expect_run(other, 3, 1, 4);
  ASSERT_EQ(model->reset_states(other), ONNXC_OK);
  expect_run(other, 3, 1, 1);
}

TEST_F(States, AreNotSharedUnasked) {
  ASSERT_EQ(create_sharing(api(), nullptr, other, sharing_error), ONNXC_OK);
  expect_run(instance, 3, 1, 1);
  expect_run(other, 3, 1, 1);
}

TEST_F(States, AreSharedWithinALibraryOnly) {
  EXPECT_EQ(share(2), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(sharing_error, "the instance of onnxc_options.states_of is to share its states, and this graph has none");
  const LoadedModel stranger("fake_model.so");
  onnxc_instance* strange = stranger.create(1);
  EXPECT_EQ(create_sharing(api(), strange, other, sharing_error), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(sharing_error, "the instance of onnxc_options.states_of is of another library");
  EXPECT_EQ(other, nullptr);
  stranger->destroy(strange);
  ASSERT_EQ(create_sharing(model->entry(2), nullptr, other, sharing_error), ONNXC_OK);
  onnxc_instance* third = nullptr;
  EXPECT_EQ(create_sharing(api(), other, third, sharing_error), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(sharing_error, "the instance of onnxc_options.states_of has no states");
}

// A call is refused while another instance is in one that uses the same states.
TEST_F(States, AreInOneCallAtATime) {
  ASSERT_EQ(share(1), ONNXC_OK) << sharing_error;
  expect_run(instance, 3, 1, 1);
  struct Seen {
    const onnxc_api* api;
    onnxc_instance* other;
    int steps = 0;
  } seen{api(), other};
  onnxc_run_options options = {};
  options.struct_size = sizeof options;
  options.hook_context = &seen;
  options.hook = [](void* context, onnxc_instance*, int32_t, int32_t) {
    auto& [used, sharing, steps] = *static_cast<Seen*>(context);
    std::vector<float> y;
    EXPECT_EQ(run_states(used, sharing, 3, 1, y), ONNXC_BUSY);
    EXPECT_THAT(used->last_error(sharing), HasSubstr("an instance that shares the states is in another call"));
    EXPECT_EQ(used->reset_states(sharing), ONNXC_BUSY);
    ++steps;
    return 0;
  };
  std::vector<float> y;
  ASSERT_EQ(run_states(api(), instance, 3, 1, y, &options), ONNXC_OK) << error();
  EXPECT_EQ(seen.steps, 4);
  EXPECT_EQ(y, outputs(3, 2));
  expect_run(other, 3, 1, 3);
}

// Threads that share states: each run either happens whole or is refused.
TEST_F(States, AreCountedRightByTwoThreads) {
  ASSERT_EQ(share(1), ONNXC_OK) << sharing_error;
  expect_run(instance, 3, 1, 1);
  constexpr int runs = 200;
  std::atomic<int> done = 1;
  const auto count = [&](onnxc_instance* used) {
    std::vector<float> y;
    for (int i = 0; i < runs; ++i)
      if (run_states(api(), used, 3, 1, y) == ONNXC_OK) ++done;
  };
  std::thread thread([&] { count(other); });
  count(instance);
  thread.join();
  EXPECT_EQ(read_state(api(), instance), totals(3, static_cast<float>(done)));
}

}  // namespace
}  // namespace onnxc
