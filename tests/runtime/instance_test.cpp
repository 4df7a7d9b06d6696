// Runs of an instance, as a host application makes them.
#include <cmath>
#include <cstdint>
#include <functional>

#include "runtime/instance_fixture.h"

namespace onnxc {
namespace {

TEST_F(Instance, RunsWithDimsThatChange) {
  EXPECT_EQ(model->threads(instance), 2);
  for (int64_t n : {3, 3, 1, 1000, 0, 64, 70'000, 2, 1000}) expect_right(n);
}

TEST_F(Instance, GivesOutputDimsBeforeARun) {
  int64_t x[2] = {5, 4}, k[1] = {4}, y[2] = {}, z[1] = {};
  const int64_t* input_dims[] = {x, k};
  int64_t* output_dims[] = {y, z};
  int64_t symbol = 0;
  EXPECT_EQ(model->symbol_values(instance, &symbol), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(model->working_bytes(instance), 0);
  EXPECT_EQ(model->least_working_bytes(instance), 0);
  ASSERT_EQ(model->output_dims(instance, input_dims, output_dims), ONNXC_OK) << error();
  EXPECT_EQ(y[0], 5);
  EXPECT_EQ(y[1], 4);
  EXPECT_EQ(z[0], 5);
  ASSERT_EQ(model->symbol_values(instance, &symbol), ONNXC_OK);
  EXPECT_EQ(symbol, 5);
  // Two temporaries of 5 rows of 32 bytes, rounded up to 64, and 64 bytes of scratch a thread.
  EXPECT_EQ(model->working_bytes(instance), 2 * 192 + 2 * 64);
  EXPECT_EQ(model->least_working_bytes(instance), 2 * 192 + 2 * 64);
  EXPECT_EQ(model->step_operations(instance, 0), 20);
  EXPECT_EQ(model->step_operations(instance, 1), 0);
  EXPECT_EQ(model->instance_step_traffic(instance, 0), 176);
  EXPECT_EQ(model->instance_step_traffic(instance, 1), 0);
  EXPECT_EQ(model->instance_step_traffic(instance, 2), 0);

  x[1] = 3;
  EXPECT_EQ(model->output_dims(instance, input_dims, output_dims), ONNXC_WRONG_DIMS);
  EXPECT_EQ(error(), "input 'x': dim 1 must be 4; the inputs are 'x' 5x3, 'k?' 4");
  input_dims[0] = nullptr;
  EXPECT_EQ(model->output_dims(instance, input_dims, output_dims), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(model->output_dims(instance, nullptr, output_dims), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(model->output_dims(instance, input_dims, nullptr), ONNXC_INVALID_ARGUMENT);
}

// Each way to hand in something wrong: what is broken, the status and the text.
struct Wrong {
  const char* name;
  std::function<void(FakeRun&)> spoil;
  onnxc_status status;
  const char* text;
};

std::vector<Wrong> wrong_values() {
  static int64_t negative[2] = {-1, 4}, huge[2] = {int64_t{1} << 60, 4}, other[2] = {4, 4}, wide[2] = {3, 5};
  static int64_t large[2] = {int64_t{1} << 44, 4};
  return {
      {"dtype", [](FakeRun& v) { v.values[0].dtype = ONNXC_INT64; }, ONNXC_WRONG_DTYPE,
       "input 0 'x': expected the dtype float32, found int64"},
      {"unknown_dtype", [](FakeRun& v) { v.values[1].dtype = 99; }, ONNXC_WRONG_DTYPE,
       "input 1 'k?': expected the dtype float32, found the unknown dtype 99"},
      {"kind", [](FakeRun& v) { v.values[0].kind = ONNXC_SEQUENCE; }, ONNXC_WRONG_KIND,
       "input 0 'x': expected a tensor (kind 0), found kind 1"},
      {"device", [](FakeRun& v) { v.values[2].device = ONNXC_HIP; }, ONNXC_UNSUPPORTED_DEVICE,
       "output 0 'y': its data is on a GPU, and the model is to run on the CPU"},
      {"extension", [](FakeRun& v) { v.values[2].extension = &v; }, ONNXC_INVALID_ARGUMENT,
       "output 0 'y': extension is not null: zero the onnxc_value before setting its fields"},
      {"rank", [](FakeRun& v) { v.values[0].rank = 1; }, ONNXC_WRONG_RANK,
       "input 0 'x': expected rank 2 (N, 4), found rank 1"},
      {"negative_rank", [](FakeRun& v) { v.values[1].rank = -1; }, ONNXC_WRONG_RANK,
       "input 1 'k?': expected rank 1 (4), found rank -1"},
      {"null_dims", [](FakeRun& v) { v.values[0].dims = nullptr; }, ONNXC_INVALID_ARGUMENT,
       "input 0 'x': dims is null"},
      {"negative_dim", [](FakeRun& v) { v.values[0].dims = negative; }, ONNXC_WRONG_DIMS,
       "input 0 'x': dim 0 is -1; dims range from 0 to 2^47"},
      {"huge_dim", [](FakeRun& v) { v.values[0].dims = huge; }, ONNXC_WRONG_DIMS,
       "input 0 'x': dim 0 is 1152921504606846976; dims range from 0 to 2^47"},
      {"rule", [](FakeRun& v) { v.values[0].dims = wide, v.x.resize(15), v.values[0] = v.value(2, wide, v.x); },
       ONNXC_WRONG_DIMS, "input 'x': dim 1 must be 4; the inputs are 'x' 3x5, 'k?' 4"},
      {"short_input", [](FakeRun& v) { v.values[0].bytes = 47; }, ONNXC_SHORT_BUFFER,
       "input 0 'x': dims 3x4 need 48 bytes, and data has 47"},
      {"short_output", [](FakeRun& v) { v.values[3].bytes = 11; }, ONNXC_SHORT_BUFFER,
       "output 1 'z': dims 3 need 12 bytes, and data has 11"},
      {"negative_bytes", [](FakeRun& v) { v.values[3].bytes = -1; }, ONNXC_SHORT_BUFFER,
       "output 1 'z': dims 3 need 12 bytes, and data has -1"},
      {"null_input", [](FakeRun& v) { v.values[1].data = nullptr; }, ONNXC_INVALID_ARGUMENT,
       "input 1 'k?': data is null"},
      {"null_output", [](FakeRun& v) { v.values[2].data = nullptr; }, ONNXC_INVALID_ARGUMENT,
       "output 0 'y': data is null"},
      {"misaligned", [](FakeRun& v) { v.values[1].data = reinterpret_cast<char*>(v.k.data()) + 1; },
       ONNXC_INVALID_ARGUMENT,
       "input 1 'k?': data lies 1 byte past a multiple of 4, and a float32 needs one: copy the tensor to aligned "
       "memory"},
      {"output_dims", [](FakeRun& v) { v.values[2].rank = 2, v.values[2].dims = other; }, ONNXC_WRONG_DIMS,
       "output 0 'y': dims is 4x4, and with these inputs the model gives 3x4"},
      {"overlap", [](FakeRun& v) { v.values[2].data = v.x.data() + 11; }, ONNXC_INVALID_ARGUMENT,
       "output 0 'y': its memory overlaps that of 'x'"},
      {"outputs_overlap", [](FakeRun& v) { v.values[3].data = v.y.data(); }, ONNXC_INVALID_ARGUMENT,
       "output 1 'z': its memory overlaps that of 'y'"},
      {"no_memory",
       [](FakeRun& v) {
         v.values[0].dims = large;
         for (int i : {0, 2, 3}) v.values[i].bytes = INT64_MAX;
         v.values[2].data = reinterpret_cast<void*>(uintptr_t{1} << 55);  // a claim: never touched
         v.values[3].data = reinterpret_cast<void*>(uintptr_t{1} << 60);
       },
       ONNXC_OUT_OF_MEMORY, "no 1125899906842752 bytes of working memory"},
  };
}

TEST_F(Instance, RefusesWrongValuesAndStaysUsable) {
  for (const Wrong& wrong : wrong_values()) {
    SCOPED_TRACE(wrong.name);
    FakeRun values(3);
    wrong.spoil(values);
    EXPECT_EQ(run(values), wrong.status);
    EXPECT_EQ(error(), wrong.text);
    for (float element : values.y) EXPECT_EQ(element, -1);
    expect_right(3);
    EXPECT_EQ(error(), "");
  }
}

TEST_F(Instance, RefusesWrongCountsAndNulls) {
  FakeRun v(3);
  EXPECT_EQ(model->run(instance, v.values, 1, v.values + 2, 2, nullptr), ONNXC_WRONG_COUNT);
  EXPECT_EQ(error(), "the model has 2 inputs, and 1 were given");
  EXPECT_EQ(model->run(instance, v.values, 2, v.values + 2, 3, nullptr), ONNXC_WRONG_COUNT);
  EXPECT_EQ(model->run(instance, nullptr, 2, v.values + 2, 2, nullptr), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "inputs is null");
  EXPECT_EQ(model->run(instance, v.values, 2, nullptr, 2, nullptr), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(model->run(nullptr, v.values, 2, v.values + 2, 2, nullptr), ONNXC_INVALID_ARGUMENT);
  EXPECT_STREQ(model->last_error(nullptr), "the instance is null");
  model->destroy(nullptr);
}

TEST_F(Instance, ReportsElementsThatAStepRefuses) {
  FakeRun values(3);
  values.k[0] = -1;
  EXPECT_EQ(run(values), ONNXC_INVALID_DATA);
  EXPECT_EQ(error(), "node 'add': an element of input 'k' is negative");
  expect_right(3);
}

TEST_F(Instance, PassesNotANumberThrough) {
  FakeRun values(2);
  values.x[1] = NAN;
  values.x[4] = INFINITY;
  ASSERT_EQ(run(values), ONNXC_OK);
  EXPECT_TRUE(std::isnan(values.y[1]));
  EXPECT_TRUE(std::isnan(values.z[0]));
  EXPECT_EQ(values.y[4], INFINITY);
}

TEST_F(Instance, AsksForOutputMemory) {
  struct Allocated {
    std::vector<float> memory[2];
    std::vector<int64_t> dims[2];
    bool refuses = false;
  } allocated;
  onnxc_run_options options = {};
  options.struct_size = sizeof options;
  options.allocate_context = &allocated;
  options.allocate_output = [](void* context, int32_t output, onnxc_dtype dtype, int32_t rank, const int64_t* dims,
                               int64_t bytes) -> void* {
    Allocated& to = *static_cast<Allocated*>(context);
    if (to.refuses || dtype != ONNXC_FLOAT32) return nullptr;
    to.dims[output].assign(dims, dims + rank);
    to.memory[output].resize(static_cast<size_t>(bytes) / 4);
    return to.memory[output].data();
  };
  FakeRun values(7);
  values.values[2].data = values.values[3].data = nullptr;
  ASSERT_EQ(run(values, &options), ONNXC_OK) << error();
  EXPECT_EQ(allocated.dims[0], (std::vector<int64_t>{7, 4}));
  EXPECT_EQ(allocated.dims[1], (std::vector<int64_t>{7}));
  values.y = allocated.memory[0];
  values.z = allocated.memory[1];
  EXPECT_TRUE(values.right());

  allocated.refuses = true;
  EXPECT_EQ(run(values, &options), ONNXC_OUT_OF_MEMORY);
  EXPECT_EQ(error(), "output 0 'y': allocate_output gave no memory for 112 bytes");
}

TEST_F(Instance, ChecksOptions) {
  FakeRun values(3);
  onnxc_run_options options = {};
  EXPECT_EQ(run(values, &options), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "onnxc_run_options.struct_size is 0: set it to sizeof(onnxc_run_options)");
  options.struct_size = sizeof options;
  options.stream = &options;
  EXPECT_EQ(run(values, &options), ONNXC_INVALID_ARGUMENT);
  options.stream = nullptr;
  options.flags = 8;
  EXPECT_EQ(run(values, &options), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "onnxc_run_options.flags has unknown bits: 0x8");

  struct Newer {
    onnxc_run_options known = {};
    uint64_t unknown = 0;
  } newer;
  newer.known.struct_size = sizeof newer;
  EXPECT_EQ(run(values, &newer.known), ONNXC_OK);
  newer.unknown = 1;
  EXPECT_EQ(run(values, &newer.known), ONNXC_INVALID_ARGUMENT);
}

TEST_F(Instance, AllocatesNothingInASecondRun) {
  LoadedModel faults("fake_model_faults.so");
  onnxc_instance* other = faults.create(2);
  FakeRun values(100);
  ASSERT_EQ(values.run(faults.operator->(), other), ONNXC_OK);
  auto& left = *faults.symbol<std::atomic<int>*>("allocations_left");
  left = 0;
  EXPECT_EQ(values.run(faults.operator->(), other), ONNXC_OK);
  left = -1;
  EXPECT_TRUE(values.right());
  faults->destroy(other);
}

TEST_F(Instance, ResultsDoNotDependOnThreads) {
  FakeRun one(777);
  for (float& x : one.x) x = x * 0.1f + 0.013f;
  onnxc_instance* single = model.create(1);
  ASSERT_EQ(one.run(model.operator->(), single), ONNXC_OK);
  for (int threads : {2, 3, 8}) {
    onnxc_instance* many = model.create(threads);
    FakeRun values(777);
    values.x = one.x;
    values.values[0] = values.value(2, values.x_dims, values.x);
    ASSERT_EQ(values.run(model.operator->(), many), ONNXC_OK);
    EXPECT_EQ(values.y, one.y);
    EXPECT_EQ(values.z, one.z);
    model->destroy(many);
  }
  model->destroy(single);
}

TEST_F(Instance, SecondCallAtOnceIsBusy) {
  struct Inside {
    LoadedModel* model;
    onnxc_status status = ONNXC_OK;
  } inside{&model};
  onnxc_run_options options = {};
  options.struct_size = sizeof options;
  options.hook_context = &inside;
  options.hook = [](void* context, onnxc_instance* running, int32_t, int32_t) -> int32_t {
    Inside& to = *static_cast<Inside*>(context);
    FakeRun second(2);
    to.status = second.run(to.model->operator->(), running);
    return 0;
  };
  FakeRun values(3);
  EXPECT_EQ(run(values, &options), ONNXC_OK);
  EXPECT_TRUE(values.right());
  EXPECT_EQ(inside.status, ONNXC_BUSY);
  EXPECT_STREQ(model->status_text(inside.status), "the instance is in another call");
}

TEST_F(Instance, HooksSeeWhatStepsWrite) {
  struct Seen {
    LoadedModel* model;
    std::string events = {};
    std::vector<float> t = std::vector<float>(12);
    onnxc_status early = ONNXC_OK, other_step = ONNXC_OK, short_buffer = ONNXC_OK;
    int64_t dims[2] = {};
    int32_t stop_at = -1;
  } seen{&model};
  onnxc_run_options options = {};
  options.struct_size = sizeof options;
  options.hook_context = &seen;
  options.hook = [](void* context, onnxc_instance* running, int32_t step, int32_t when) -> int32_t {
    Seen& to = *static_cast<Seen*>(context);
    const LoadedModel& model = *to.model;
    to.events += (when == ONNXC_BEFORE_STEP ? "<" : ">") + std::to_string(step);
    if (step == 0 && when == ONNXC_BEFORE_STEP) to.early = model->step_output_data(running, 0, 0, to.t.data(), 48);
    if (step == 0 && when == ONNXC_AFTER_STEP) {
      to.other_step = model->step_output_data(running, 1, 0, to.t.data(), 48);
      to.short_buffer = model->step_output_data(running, 0, 0, to.t.data(), 47);
      EXPECT_EQ(model->step_output_dims(running, 0, 0, to.dims), ONNXC_OK);
      EXPECT_EQ(model->step_output_data(running, 0, 0, to.t.data(), 48), ONNXC_OK);
    }
    return step == to.stop_at ? 1 : 0;
  };
  FakeRun values(3);
  ASSERT_EQ(run(values, &options), ONNXC_OK) << error();
  EXPECT_EQ(seen.events, "<0>0<1>1");
  EXPECT_EQ(seen.early, ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(seen.other_step, ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(seen.short_buffer, ONNXC_SHORT_BUFFER);
  EXPECT_EQ(seen.dims[0], 3);
  EXPECT_EQ(seen.dims[1], 4);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(seen.t[i], values.x[i] * static_cast<float>(i % 4 + 1));

  seen.stop_at = 1;
  EXPECT_EQ(run(values, &options), ONNXC_STOPPED);
  EXPECT_EQ(error(), "stopped by the hook");
  EXPECT_EQ(model->step_output_data(instance, 1, 0, seen.t.data(), 48), ONNXC_INVALID_ARGUMENT);
  expect_right(3);
}

TEST_F(Instance, UsesTheThreadsOfItsHost) {
  std::atomic<int> calls = 0;
  onnxc_options options = {};
  options.struct_size = sizeof options;
  options.threads = 2;
  options.parallel_for_context = &calls;
  options.parallel_for = [](void* context, int64_t tasks, onnxc_parallel_body body, void* body_context) {
    ++*static_cast<std::atomic<int>*>(context);
    std::thread other([=] { body(body_context, 0, tasks / 3); });
    body(body_context, tasks / 3, tasks);
    other.join();
  };
  onnxc_instance* hosted = nullptr;
  ASSERT_EQ(model->create(&options, &hosted, nullptr, 0), ONNXC_OK);
  FakeRun values(100);
  EXPECT_EQ(values.run(model.operator->(), hosted), ONNXC_OK);
  EXPECT_TRUE(values.right());
  EXPECT_EQ(calls, 2);
  model->destroy(hosted);

  options.parallel_for = [](void*, int64_t, onnxc_parallel_body, void*) {};
  ASSERT_EQ(model->create(&options, &hosted, nullptr, 0), ONNXC_OK);
  EXPECT_EQ(values.run(model.operator->(), hosted), ONNXC_INVALID_DATA);
  EXPECT_STREQ(model->last_error(hosted), "the host's parallel_for did not run each task once");
  model->destroy(hosted);
}

TEST_F(Instance, PoisonFillsOutputsAndMemory) {
  onnxc_instance* poisoned = model.create(2, ONNXC_POISON);
  FakeRun values(3);
  struct Seen {
    float* y;
    bool poisoned = false;
  } seen{values.y.data()};
  onnxc_run_options options = {};
  options.struct_size = sizeof options;
  options.hook_context = &seen;
  options.hook = [](void* context, onnxc_instance*, int32_t step, int32_t when) -> int32_t {
    Seen& to = *static_cast<Seen*>(context);
    if (step == 0 && when == ONNXC_BEFORE_STEP) to.poisoned = std::isnan(to.y[0]) && std::isnan(to.y[11]);
    return 0;
  };
  ASSERT_EQ(values.run(model.operator->(), poisoned, &options), ONNXC_OK);
  EXPECT_TRUE(seen.poisoned);
  EXPECT_TRUE(values.right());
  model->destroy(poisoned);
}

}  // namespace
}  // namespace onnxc
