// Sizes that become known while a model runs, by a size that a step binds and by the rounds of a loop.
#include <gmock/gmock.h>

#include "runtime/levels_run.h"

namespace onnxc {
namespace {

using testing::ElementsAre;

class Levels : public testing::Test {
 protected:
  ~Levels() override { model->destroy(instance); }

  onnxc_status run(LevelsRun& values) { return values.run(model.operator->(), instance); }
  std::string error() { return model->last_error(instance); }
  void expect_right(int64_t n, int64_t size, int64_t rounds, bool negates) {
    LevelsRun values(n, size, rounds, negates);
    const std::string what = "N = " + std::to_string(n) + ", s = " + std::to_string(size) + ", " +
                             std::to_string(rounds) + " rounds, negates: " + std::to_string(negates);
    ASSERT_EQ(run(values), ONNXC_OK) << what << ": " << error();
    EXPECT_EQ(values.y, values.expected_y) << what;
    EXPECT_EQ(values.z, values.expected_z) << what;
  }
  std::vector<int64_t> dims_of_last_run() {
    std::vector<int64_t> dims(2, -2);
    EXPECT_EQ(model->run_output_dims(instance, 0, &dims[0]), ONNXC_OK);
    EXPECT_EQ(model->run_output_dims(instance, 1, &dims[1]), ONNXC_OK);
    return dims;
  }

  LoadedModel model{"fake_levels.so"};
  onnxc_instance* instance = model.create(2, ONNXC_POISON);
};

TEST_F(Levels, SizesThatChangeFromRunToRun) {
  // Each of them grows, shrinks, stays and is 0 while the others stay or change.
  expect_right(4, 3, 2, false);
  expect_right(4, 3, 2, false);
  expect_right(4, 3, 2, true);
  expect_right(4, 9, 2, true);
  expect_right(4, 9, 0, false);
  expect_right(4, 9, 5, false);
  expect_right(4, 0, 5, false);
  expect_right(0, 0, 0, true);
  expect_right(70, 64, 1, true);
  expect_right(1, 64, 40, false);
  expect_right(1, 1, 1, false);
}

TEST_F(Levels, StepsRunUnderTheirConditionAndRoundByRound) {
  LevelsRun values(4, 3, 2, false);
  ASSERT_EQ(run(values), ONNXC_OK) << error();
  // The memory of an output is asked for as soon as its size is known: y's before the loop, z's after it.
  EXPECT_EQ(values.events, " 0 y3 1 3 4 5 4 5 z2 6 7");
  LevelsRun without_rounds(4, 3, 0, true);
  ASSERT_EQ(run(without_rounds), ONNXC_OK) << error();
  EXPECT_EQ(without_rounds.events, " 0 y3 1 2 3 z0 6 7");
}

TEST_F(Levels, MemoryFollowsTheSizesOfTheRound) {
  struct Seen {
    LoadedModel* model;
    std::vector<int64_t> sizes = {}, bytes = {};
    std::vector<float> w = {};
  } seen{&model};
  onnxc_run_options options = {};
  options.struct_size = sizeof options;
  options.hook_context = &seen;
  options.hook = [](void* context, onnxc_instance* running, int32_t step, int32_t when) -> int32_t {
    Seen& to = *static_cast<Seen*>(context);
    if (step != 5 || when != ONNXC_AFTER_STEP) return 0;
    int64_t size = 0;
    EXPECT_EQ((*to.model)->step_output_dims(running, 5, 0, &size), ONNXC_OK);
    to.sizes.push_back(size);
    to.bytes.push_back((*to.model)->working_bytes(running));
    to.w.resize(static_cast<size_t>(size));
    EXPECT_EQ((*to.model)->step_output_data(running, 5, 0, to.w.data(), size * 4), ONNXC_OK);
    return 0;
  };
  LevelsRun values(4, 15, 3, false);
  std::vector<float> y(15), z(3);
  onnxc_value outputs[] = {FakeRun::value(0, nullptr, y), FakeRun::value(0, nullptr, z)};
  ASSERT_EQ(model->run(instance, values.inputs, 2, outputs, 2, &options), ONNXC_OK) << error();
  EXPECT_THAT(seen.sizes, ElementsAre(15, 16, 17));
  EXPECT_EQ(seen.bytes[1], seen.bytes[0]);
  EXPECT_EQ(seen.bytes[2], seen.bytes[0] + 64);  // memory comes in lines of 16 elements
  EXPECT_THAT(seen.w, testing::Each(1));
  EXPECT_EQ(y, values.expected_y);
}

TEST_F(Levels, OutputDimsAreKnownAfterARun) {
  const int64_t x_dims[] = {4}, k_dims[] = {3};
  const int64_t* input_dims[] = {x_dims, k_dims};
  int64_t y_dim = 0, z_dim = 0;
  int64_t* output_dims[] = {&y_dim, &z_dim};
  ASSERT_EQ(model->output_dims(instance, input_dims, output_dims), ONNXC_OK) << error();
  EXPECT_EQ(y_dim, -1);
  EXPECT_EQ(z_dim, -1);
  EXPECT_EQ(model->run_output_dims(instance, 0, &y_dim), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "the dims of this output are known after a run");
  expect_right(4, 3, 2, false);
  EXPECT_THAT(dims_of_last_run(), ElementsAre(3, 2));
  expect_right(4, 5, 0, false);
  EXPECT_THAT(dims_of_last_run(), ElementsAre(5, 0));
  int64_t symbols[3] = {};
  ASSERT_EQ(model->symbol_values(instance, symbols), ONNXC_OK);
  EXPECT_THAT(symbols, ElementsAre(4, 5, 0));
}

TEST_F(Levels, DataThatBreaksARuleIsRefused) {
  LevelsRun values(4, 13, 2, false);
  EXPECT_EQ(run(values), ONNXC_INVALID_DATA);
  EXPECT_EQ(error(), "node 'take' (Slice): s must not be 13; this run has N = 4, s = 13, round = -1");
  expect_right(4, 3, 2, false);
  EXPECT_EQ(run(values), ONNXC_INVALID_DATA);
  expect_right(4, 3, 2, false);
}

TEST_F(Levels, DataThatMakesATensorTooLargeIsRefused) {
  LevelsRun values(4, int64_t{1} << 62, 2, false);
  EXPECT_EQ(run(values), ONNXC_INVALID_DATA);
  EXPECT_EQ(error(), "with this data, the size of a tensor does not fit in 63 bits");
  expect_right(4, 3, 2, false);
}

TEST_F(Levels, MemoryThatIsTooSmallForWhatTheRunFindsIsRefused) {
  LevelsRun values(4, 3, 2, false);
  std::vector<float> y(3), z(1);
  onnxc_value outputs[] = {FakeRun::value(0, nullptr, y), FakeRun::value(0, nullptr, z)};
  EXPECT_EQ(model->run(instance, values.inputs, 2, outputs, 2, nullptr), ONNXC_SHORT_BUFFER);
  EXPECT_THAT(error(), testing::HasSubstr("output 1 'z'"));
  z.resize(2);
  outputs[1] = FakeRun::value(0, nullptr, z);
  ASSERT_EQ(model->run(instance, values.inputs, 2, outputs, 2, nullptr), ONNXC_OK) << error();
  EXPECT_EQ(y, values.expected_y);
  EXPECT_EQ(z, values.expected_z);
}

}  // namespace
}  // namespace onnxc
