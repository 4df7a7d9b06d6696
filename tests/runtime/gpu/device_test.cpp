// The runtime of a GPU in front of a double of libamdhip64.so.
#include <gmock/gmock.h>

#include <map>

#include "runtime/gpu/device_model_test.h"
#include "runtime/gpu/fake_hip_library.h"
#include "runtime/levels_run.h"

namespace onnxc {
namespace {

class Device : public DeviceModelTest<FakeHip> {
 protected:
  Device() : DeviceModelTest("fake_device_model.so") {}

  // Each call of create and of two runs of other sizes fails once: it is named, and everything given back.
  int expect_failures_to_be_told(uint32_t flags);

  FakeHip& hip = library;
};

TEST_F(Device, RunsWithDimsThatChangeAndGivesEverythingBack) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  for (int64_t rows : {3, 700, 1, 0, 64}) {
    ASSERT_EQ(run(rows), ONNXC_OK) << error;
    EXPECT_EQ(y, expected) << rows << " rows";
  }
  EXPECT_GT(hip.alive(), 0);
  destroy();
  EXPECT_EQ(hip.alive(), 0);
}

int Device::expect_failures_to_be_told(uint32_t flags) {
  constexpr int64_t staged = 5000;  // large enough for pinned memory
  for (int call = 0;; ++call) {
    hip.reset(call);
    onnxc_status status = create(flags);
    if (status == ONNXC_OK) status = run(5);
    if (status == ONNXC_OK) status = run(staged);
    const std::string failed = hip.failed_call();
    if (failed.empty()) {
      EXPECT_EQ(status, ONNXC_OK) << error;
      destroy();
      EXPECT_EQ(hip.alive(), 0);
      return call;
    }
    EXPECT_NE(status, ONNXC_OK) << failed;
    EXPECT_THAT(error, testing::HasSubstr(failed));
    if (failed != "hipGetDeviceCount" && failed != "hipInit") {
      EXPECT_THAT(error, testing::HasSubstr("out of memory (HIP error 2)"));
    }
    if (failed == "hipMalloc") {
      EXPECT_EQ(status, ONNXC_OUT_OF_MEMORY);
    }
    // A run that failed leaves the instance usable.
    if (instance != nullptr) {
      hip.reset(-1);
      expect_right(5);
      expect_right(staged);
    }
    destroy();
    EXPECT_EQ(hip.alive(), 0) << failed;
  }
}

TEST_F(Device, TellsOfEachCallThatFailsAndGivesEverythingBack) {
  // Failures of init, the module, its functions, memory, copies, launches and the streams, those of copies among them.
  EXPECT_GE(expect_failures_to_be_told(0), 45);
}

TEST_F(Device, TellsOfEachCallThatFailsWithGraphs) {
  // And of beginning and ending a capture, making its graph and launching it, twice.
  EXPECT_GE(expect_failures_to_be_told(ONNXC_HIP_GRAPH), 45 + 8);
}

TEST_F(Device, ReplaysAGraphWhileDimsAndPointersStay) {
  hip.reset(-1);
  ASSERT_EQ(create(ONNXC_HIP_GRAPH), ONNXC_OK) << error;
  EXPECT_EQ(model->captured_graphs(instance), 0);
  for (float first : {-8.0F, 3.0F, 5.0F}) {
    expect_right(64, nullptr, first);
    EXPECT_EQ(model->captured_graphs(instance), 1);
  }
  expect_right(7);
  EXPECT_EQ(model->captured_graphs(instance), 2);
  expect_right(64, nullptr, 9);  // the graph of before
  EXPECT_EQ(model->captured_graphs(instance), 2);
  std::vector<float> other(64 * 4), another(64 * 4);
  for (auto* x : {&other, &another, &other, &another}) {
    ASSERT_EQ(run_in(*x, ONNXC_HIP, 64), ONNXC_OK) << error;
    EXPECT_EQ(y, expected);
  }
  EXPECT_EQ(model->captured_graphs(instance), 4);
  // More than are kept: the arena stays, and the oldest have to go.
  const int alive = hip.alive();
  for (int round = 0; round < 2; ++round)
    for (int64_t rows = 10; rows < 30; ++rows) expect_right(rows);
  EXPECT_EQ(model->captured_graphs(instance), 4 + 40);
  EXPECT_EQ(hip.alive(), alive + 8 - 4);
  destroy();
  EXPECT_EQ(hip.alive(), 0);
}

TEST_F(Device, AGraphOfNoLaunchIsNone) {
  hip.reset(-1);
  ASSERT_EQ(create(ONNXC_HIP_GRAPH), ONNXC_OK) << error;
  for (int64_t rows : {3, 0, 0, 3, 0}) expect_right(rows);
  EXPECT_EQ(model->captured_graphs(instance), 2);
  destroy();
}

TEST_F(Device, GraphsAreAskedForAndForAGpu) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  expect_right(5);
  EXPECT_EQ(model->captured_graphs(instance), 0);
  destroy();
  onnxc_options options = {};
  options.struct_size = sizeof options;
  options.flags = ONNXC_HIP_GRAPH;
  char text[ONNXC_ERROR_SIZE] = "";
  EXPECT_EQ(model->create(&options, &instance, text, sizeof text), ONNXC_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "a graph is asked for, and the model is to run on the CPU");
  EXPECT_EQ(model->captured_graphs(nullptr), 0);
}

TEST_F(Device, ADeviceThatIsLostIsTold) {
  for (uint32_t flags : {uint32_t{0}, uint32_t{ONNXC_HIP_GRAPH}}) {
    hip.reset(-1);
    ASSERT_EQ(create(flags), ONNXC_OK) << error;
    expect_right(5);
    hip.lose_device();
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(run(5), ONNXC_UNSUPPORTED_DEVICE);
      EXPECT_EQ(error, "hipMemcpyAsync of an input: unspecified launch failure (HIP error 719)");
    }
    destroy();
    EXPECT_EQ(hip.alive(), 0);
  }
}

TEST_F(Device, AnErrorThatTheCallerLeftBehindIsNotOfItsLaunches) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  hip.leave_an_error_behind();
  EXPECT_EQ(run(5), ONNXC_OK) << error;
  EXPECT_EQ(y, expected);
  destroy();
}

// Reads what each step has written, as a hook; stops the run if that fails.
struct StepReader {
  const onnxc_api& api;
  std::vector<std::string> names;
  std::vector<std::vector<float>> tensors;
  std::string error;

  static int32_t read(void* context, onnxc_instance* instance, int32_t step, int32_t when) {
    auto& self = *static_cast<StepReader*>(context);
    const onnxc_api& api = self.api;
    if (when != ONNXC_AFTER_STEP) return 0;
    EXPECT_EQ(api.instance_step_output_count(instance, step), 1);
    EXPECT_EQ(api.instance_step_output(instance, step, 1), nullptr);
    self.names.emplace_back(api.instance_step_output(instance, step, 0)->name);
    int64_t dims[2] = {};
    EXPECT_EQ(api.step_output_dims(instance, step, 0, dims), ONNXC_OK);
    std::vector<float>& tensor = self.tensors.emplace_back(static_cast<size_t>(dims[0] * dims[1]));
    const auto bytes = static_cast<int64_t>(tensor.size() * sizeof(float));
    if (api.step_output_data(instance, step, 0, tensor.data(), bytes) == ONNXC_OK) return 0;
    self.error = api.last_error(instance);
    return 1;
  }

  onnxc_run_options options() {
    onnxc_run_options options = {};
    options.struct_size = sizeof options;
    options.hook = read;
    options.hook_context = this;
    return options;
  }
};

TEST_F(Device, AHookReadsWhatEachStepHasWritten) {
  hip.reset(-1);
  ASSERT_EQ(create(ONNXC_HIP_GRAPH), ONNXC_OK) << error;  // which a hook leaves aside
  StepReader reader{*model.operator->(), {}, {}, {}};
  const onnxc_run_options options = reader.options();
  ASSERT_EQ(run(5, &options), ONNXC_OK) << error;
  EXPECT_EQ(model->captured_graphs(instance), 0);
  EXPECT_THAT(reader.names, testing::ElementsAre("t", "y"));
  std::vector<float> t = expected;
  for (size_t i = 0; i < t.size(); ++i) t[i] -= static_cast<float>(10 * (i % 4 + 1));
  EXPECT_THAT(reader.tensors, testing::ElementsAre(t, expected));
  EXPECT_EQ(model->step_output_data(instance, 0, 0, t.data(), 80), ONNXC_INVALID_ARGUMENT);
  EXPECT_STREQ(model->last_error(instance), "a step's outputs can be read only from the hook after that step");
  destroy();
}

TEST_F(Device, TellsOfACallThatFailsWhileAHookReads) {
  int failures = 0;
  for (int call = 0;; ++call) {
    ASSERT_LT(call, 100);
    hip.reset(-1);
    ASSERT_EQ(create(), ONNXC_OK) << error;
    hip.reset(call);
    StepReader reader{*model.operator->(), {}, {}, {}};
    const onnxc_run_options options = reader.options();
    const onnxc_status status = run(5, &options);
    const std::string failed = hip.failed_call();
    if (status == ONNXC_STOPPED) {
      ++failures;
      EXPECT_THAT(reader.error, testing::HasSubstr(failed));
    }
    destroy();
    if (failed.empty()) break;
  }
  EXPECT_EQ(failures, 6);  // the current device, a copy and a wait for each of two steps
}

TEST_F(Device, SharesCodeAndWeightsAmongInstances) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  onnxc_instance* first = instance;
  const int alive = hip.alive();
  ASSERT_EQ(create(), ONNXC_OK) << error;
  EXPECT_EQ(hip.alive(), alive + 2);  // its stream and its event
  destroy();
  model->destroy(first);
  EXPECT_EQ(hip.alive(), 0);
}

TEST_F(Device, SharesWeightsAmongEntries) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  onnxc_instance* first = instance;
  const int alive = hip.alive();
  onnxc_options options = {};
  options.struct_size = sizeof options;
  options.device = ONNXC_GPU;
  ASSERT_EQ(model->entry(1)->create(&options, &instance, nullptr, 0), ONNXC_OK);
  EXPECT_EQ(hip.alive(), alive + 3);  // its stream, its event and its code
  model->destroy(first);
  expect_right(5);
  destroy();
  EXPECT_EQ(hip.alive(), 0);
}

TEST_F(Device, RunsInTheStreamThatItIsGivenAndWaitsThereForTheWeights) {
  hip.reset(-1);
  int callers = 0;
  std::vector<float> x(12);
  auto history_of = [&](int32_t x_device, const onnxc_run_options* options) {
    hip.reset(-1);
    EXPECT_EQ(run_in(x, x_device, 3, options), ONNXC_OK) << error;
    EXPECT_EQ(y, expected);
    return hip.history();
  };
  const onnxc_run_options named = in_stream(&callers), own = in_stream(nullptr, ONNXC_OWN_STREAM);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  EXPECT_EQ(history_of(ONNXC_HIP, nullptr),
            "null waits; wait for null; launch in null; launch in null; wait for null; ");
  EXPECT_EQ(history_of(ONNXC_HIP, &own), "launch in own; launch in own; wait for own; ");
  EXPECT_EQ(history_of(ONNXC_HIP, &named), "launch in callers; launch in callers; wait for callers; ");
  // Nothing to put in order with the caller's work.
  EXPECT_EQ(history_of(ONNXC_CPU, nullptr), "wait for own; launch in own; launch in own; wait for own; ");
  destroy();
}

// The simulator's streams show the order of waiting (tests/codegen/hip/test_beside_a_caller.py).
TEST_F(Device, LargeTensorsOfTheHostPassInPiecesAndInStreamsOfTheirOwn) {
  hip.reset(-1);
  int callers = 0;
  const onnxc_run_options named = in_stream(&callers);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  constexpr int64_t piece_rows = (4 << 20) / 16;
  for (const int64_t rows : {int64_t{4095}, int64_t{4096}, 5 * piece_rows, 2 * piece_rows + 1}) {
    hip.reset(-1);
    ASSERT_EQ(run(rows, &named), ONNXC_OK) << error;
    EXPECT_EQ(y, expected) << rows;
    EXPECT_THAT(hip.history(), ::testing::HasSubstr("launch in callers; launch in callers; "));
  }
  EXPECT_EQ(hip.copies(),
            "4194304 in own; 4194304 in own; 16 in own; 16 in callers; 4194304 in own; 4194304 in own; 16 in own; ");
  ASSERT_EQ(run(4096 - 1, &named), ONNXC_OK) << error;
  EXPECT_THAT(hip.copies(), ::testing::EndsWith("65520 in callers; 16 in callers; 65520 in callers; "));
  destroy();
  EXPECT_EQ(hip.alive(), 0);
}

TEST_F(Device, ARunInAnotherStreamWaitsForTheRunBefore) {
  hip.reset(-1);
  int callers = 0;
  ASSERT_EQ(create(), ONNXC_OK) << error;
  // All on the device, so that nothing makes the run wait.
  const int64_t x_dims[] = {3, 4}, k_dims[] = {4};
  std::vector<float> x(12, 1), k(4, 2);
  y.assign(12, 0);
  onnxc_value inputs[] = {FakeRun::value(2, x_dims, x), FakeRun::value(1, k_dims, k)};
  onnxc_value output = FakeRun::value(0, nullptr, y);
  for (onnxc_value* value : {inputs, inputs + 1, &output}) value->device = ONNXC_HIP;
  auto history_of = [&](const onnxc_run_options& options) {
    hip.reset(-1);
    EXPECT_EQ(model->run(instance, inputs, 2, &output, 1, &options), ONNXC_OK) << model->last_error(instance);
    return hip.history();
  };
  history_of(in_stream(nullptr));  // memory and weights
  EXPECT_EQ(history_of(in_stream(&callers)), "launch in callers; launch in callers; end in callers; ");
  EXPECT_EQ(history_of(in_stream(nullptr, ONNXC_ENQUEUE)), "null waits; launch in null; launch in null; end in null; ");
  EXPECT_EQ(history_of(in_stream(nullptr, ONNXC_OWN_STREAM)),
            "own waits; launch in own; launch in own; wait for own; ");
  EXPECT_EQ(history_of(in_stream(&callers)), "launch in callers; launch in callers; end in callers; ");
  destroy();
  EXPECT_EQ(hip.alive(), 0);
}

// Values that all lie on the GPU, `offset` floats after an address that is aligned to 16 bytes.
struct ValuesOnGpu {
  explicit ValuesOnGpu(int64_t rows, size_t offset = 0) : rows(rows) {
    const auto size = static_cast<size_t>(rows) * 4;
    for (std::vector<float>* memory : {&x, &k, &y}) memory->assign(size + 4 + offset, -1);
    for (size_t i = 0; i < size; ++i) x[offset + i] = static_cast<float>(i);
    for (size_t i = 0; i < 4; ++i) k[offset + i] = static_cast<float>(10 * i);
    for (size_t i = 0; i < size; ++i)
      expected.push_back(static_cast<float>(i) * static_cast<float>(i % 4 + 1) + k[offset + i % 4]);
    inputs[0] = FakeRun::value(2, x_dims, x);
    inputs[1] = FakeRun::value(1, k_dims, k);
    output = FakeRun::value(0, nullptr, y);
    for (onnxc_value* value : {inputs, inputs + 1, &output}) {
      value->device = ONNXC_HIP;
      value->data = static_cast<float*>(value->data) + offset;
      value->bytes -= static_cast<int64_t>(offset * sizeof(float));
    }
  }
  std::vector<float> result() const {
    const auto* first = static_cast<const float*>(output.data);
    return {first, first + rows * 4};
  }

  int64_t rows, x_dims[2] = {rows, 4}, k_dims[1] = {4};
  std::vector<float> x, k, y, expected;
  onnxc_value inputs[2], output;
};

TEST_F(Device, TensorsOfTheGpuThatAreNotAlignedToSixteenBytesAreCopied) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  for (size_t offset = 0; offset < 5; ++offset) {
    hip.reset(-1);
    ValuesOnGpu values(3, offset);
    ASSERT_EQ(model->run(instance, values.inputs, 2, &values.output, 1, nullptr), ONNXC_OK)
        << model->last_error(instance);
    EXPECT_EQ(values.result(), values.expected) << offset;
    EXPECT_EQ(hip.copies(), offset % 4 == 0 ? "" : "48 in null; 16 in null; 48 in null; ") << offset;
  }
  destroy();
}

TEST_F(Device, ARunInACaptureOfTheCallersIsPartOfIt) {
  int callers = 0;
  const onnxc_run_options named = in_stream(&callers);
  for (const uint32_t flags : {uint32_t{0}, uint32_t{ONNXC_HIP_GRAPH}}) {
    hip.reset(-1);
    ASSERT_EQ(create(flags), ONNXC_OK) << error;
    // Whether the instance has a graph for these pointers or not.
    for (const bool has_graph : {true, false}) {
      ValuesOnGpu before(5), values(5);
      ValuesOnGpu& known = has_graph ? values : before;
      ASSERT_EQ(model->run(instance, known.inputs, 2, &known.output, 1, &named), ONNXC_OK);
      const int64_t graphs = model->captured_graphs(instance);
      values.y.assign(values.y.size(), -1);
      ASSERT_EQ(hip.begin_capture(&callers), 0);
      EXPECT_EQ(model->run(instance, values.inputs, 2, &values.output, 1, &named), ONNXC_OK)
          << model->last_error(instance);
      EXPECT_EQ(values.result(), std::vector<float>(20, -1));
      EXPECT_EQ(hip.end_and_replay_capture(&callers), 0);
      EXPECT_EQ(values.result(), values.expected);
      EXPECT_EQ(model->captured_graphs(instance), graphs);
    }
    destroy();
    EXPECT_EQ(hip.alive(), 0);
  }
}

TEST_F(Device, WhatACaptureCannotHoldIsRefusedBeforeItIsSpoilt) {
  hip.reset(-1);
  int callers = 0;
  onnxc_run_options plain = in_stream(&callers), hooked = plain;
  hooked.hook = [](void*, onnxc_instance*, int32_t, int32_t) -> int32_t { return 0; };
  ValuesOnGpu known(5), larger(500), on_host(5), to_host(5);
  on_host.inputs[1].device = ONNXC_CPU;
  to_host.output.device = ONNXC_CPU;
  const struct {
    ValuesOnGpu& values;
    const onnxc_run_options& options;
    const char* reason;
  } cases[] = {{known, hooked, "the stream is being captured, and a run with a hook waits after each step"},
               {larger, plain,
                "the stream is being captured, and this run needs more working memory than those before: run the "
                "model with these dims once before the capture"},
               {on_host, plain,
                "input 1 'k': the stream is being captured, and this is host memory, for whose copy a run waits: "
                "give it memory of the GPU"},
               {to_host, plain,
                "output 0 'y': the stream is being captured, and this is host memory, for whose copy a run "
                "waits: give it memory of the GPU"}};
  ASSERT_EQ(create(ONNXC_HIP_GRAPH), ONNXC_OK) << error;
  ASSERT_EQ(model->run(instance, known.inputs, 2, &known.output, 1, &plain), ONNXC_OK);
  ASSERT_EQ(hip.begin_capture(&callers), 0);
  for (const auto& [values, options, reason] : cases) {
    EXPECT_EQ(model->run(instance, values.inputs, 2, &values.output, 1, &options), ONNXC_INVALID_ARGUMENT);
    EXPECT_STREQ(model->last_error(instance), reason);
  }
  EXPECT_EQ(model->run(instance, known.inputs, 2, &known.output, 1, &plain), ONNXC_OK) << model->last_error(instance);
  EXPECT_EQ(hip.end_and_replay_capture(&callers), 0);
  destroy();
  ASSERT_EQ(create(ONNXC_POISON), ONNXC_OK) << error;
  ASSERT_EQ(hip.begin_capture(&callers), 0);
  EXPECT_EQ(model->run(instance, known.inputs, 2, &known.output, 1, &plain), ONNXC_INVALID_ARGUMENT);
  EXPECT_STREQ(model->last_error(instance),
               "the stream is being captured, and ONNXC_POISON gives each run memory of its own");
  EXPECT_NE(hip.end_and_replay_capture(&callers), 901);
  destroy();
  EXPECT_EQ(hip.alive(), 0);
}

TEST_F(Device, RefusesStreamsThatContradictEachOther) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  int callers = 0;
  const onnxc_run_options named = in_stream(&callers, ONNXC_OWN_STREAM),
                          enqueued = in_stream(nullptr, ONNXC_OWN_STREAM | ONNXC_ENQUEUE);
  EXPECT_EQ(run(3, &named), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(error,
            "onnxc_run_options.flags has ONNXC_OWN_STREAM, beside a stream: a run in the instance's own stream is "
            "waited for");
  EXPECT_EQ(run(3, &enqueued), ONNXC_INVALID_ARGUMENT);
  EXPECT_THAT(error, testing::HasSubstr("beside ONNXC_ENQUEUE"));
  destroy();
  ASSERT_EQ(model->create(nullptr, &instance, nullptr, 0), ONNXC_OK);
  const onnxc_run_options own = in_stream(nullptr, ONNXC_OWN_STREAM);
  EXPECT_EQ(run(3, &own), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(error, "onnxc_run_options.flags is of streams, and this instance runs on the CPU");
  destroy();
}

TEST_F(Device, LeavesTheCallersDeviceAsItWas) {
  for (int callers : {0, 1}) {
    hip.reset(-1);
    hip.choose_device(callers);
    ASSERT_EQ(create(0, 1), ONNXC_OK) << error;
    EXPECT_EQ(hip.used_devices(), 1 << 1);
    EXPECT_EQ(hip.chosen_device(), callers);
    // In a hook it is the caller's as well, who may choose another.
    struct Seen {
      FakeHip& hip;
      std::vector<int> devices;
    } seen{hip, {}};
    onnxc_run_options options = {};
    options.struct_size = sizeof options;
    options.hook_context = &seen;
    options.hook = [](void* context, onnxc_instance*, int32_t step, int32_t when) -> int32_t {
      auto& [fake, devices] = *static_cast<Seen*>(context);
      devices.push_back(fake.chosen_device());
      if (step == 1 && when == ONNXC_BEFORE_STEP) fake.choose_device(0);
      return 0;
    };
    ASSERT_EQ(run(5, &options), ONNXC_OK) << error;
    EXPECT_EQ(y, expected);
    EXPECT_THAT(seen.devices, testing::ElementsAre(callers, callers, callers, 0));
    EXPECT_EQ(hip.chosen_device(), 0);
    hip.choose_device(callers);
    destroy();
    EXPECT_EQ(hip.chosen_device(), callers);
    EXPECT_EQ(hip.alive(), 0);
  }
  hip.choose_device(0);
}

TEST_F(Device, EachGpuHasItsOwnCodeAndWeights) {
  hip.reset(-1);
  ASSERT_EQ(create(0, 0), ONNXC_OK) << error;
  onnxc_instance* first = instance;
  const int alive = hip.alive();
  ASSERT_EQ(create(0, 1), ONNXC_OK) << error;
  EXPECT_EQ(hip.used_devices(), 0b11);
  EXPECT_EQ(hip.alive(), 2 * alive);
  expect_right(5);
  std::swap(first, instance);
  expect_right(5);
  destroy();
  instance = first;
  expect_right(6);
  destroy();
  EXPECT_EQ(hip.alive(), 0);
}

TEST_F(Device, RefusesAnotherArchitecture) {
  hip.reset(-1, "gfx90a:sramecc+");
  EXPECT_EQ(create(), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_EQ(
      error,
      "this model was compiled for 'hip gfx1100, hip gfx950, hip gfx942, cpu x86-64', and GPU 0 is gfx90a:sramecc+; "
      "compile it with --gpu-arch gfx90a; the model also runs on the CPU");
}

TEST_F(Device, TakesTheCodeOfItsArchitecture) {
  for (const char* gpu : {"gfx950:sramecc+:xnack-", "gfx942:sramecc+:xnack-", "gfx942", "gfx1100"}) {
    hip.reset(-1, gpu);
    ASSERT_EQ(create(), ONNXC_OK) << error;
    destroy();
  }
}

// The double of HIP refuses the code of another card.
TEST_F(Device, TakesTheProgramOfTheNearestCard) {
  for (const int compute_units : {304, 228, 80, 38, 20}) {
    hip.reset(-1, "gfx942:sramecc+:xnack-", compute_units);
    ASSERT_EQ(create(), ONNXC_OK) << compute_units << ": " << error;
    destroy();
  }
}

TEST_F(Device, RefusesAGpuThatIsNotThere) {
  hip.reset(-1);
  EXPECT_EQ(create(0, 3), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_EQ(error, "there is no GPU 3: HIP sees 2; choose another number; the model also runs on the CPU");
}

// Sizes that a run binds, an If and a loop, in which the host decides by what it reads from the GPU.
class DeviceLevels : public ::testing::Test {
 protected:
  onnxc_status run(LevelsRun& values) {
    const onnxc_status status = values.run(model.operator->(), instance, false);
    error = model->last_error(instance);
    return status;
  }

  FakeHip hip;
  LoadedModel model{"fake_levels.so"};
  onnxc_instance* instance = nullptr;
  std::string error;
};

TEST_F(DeviceLevels, RunAsOnTheCpu) {
  // A graph cannot hold what the host decides.
  for (uint32_t flags : {uint32_t{0}, uint32_t{ONNXC_HIP_GRAPH}, uint32_t{ONNXC_POISON}}) {
    hip.reset(-1);
    ASSERT_EQ(create_on_device(model, instance, error, flags), ONNXC_OK) << error;
    for (int64_t size : {3, 200, 0, 4})
      for (int64_t rounds : {0, 1, 4})
        for (bool negates : {false, true}) {
          LevelsRun values(5, size, rounds, negates);
          ASSERT_EQ(run(values), ONNXC_OK) << error;
          EXPECT_EQ(values.y, values.expected_y) << size << " " << rounds << " " << negates;
          EXPECT_EQ(values.z, values.expected_z) << size << " " << rounds << " " << negates;
        }
    EXPECT_EQ(model->captured_graphs(instance), 0);
    model->destroy(instance);
    EXPECT_EQ(hip.alive(), 0);
  }
}

TEST_F(DeviceLevels, AreRefusedInACapture) {
  hip.reset(-1);
  ASSERT_EQ(create_on_device(model, instance, error), ONNXC_OK) << error;
  int callers = 0;
  onnxc_run_options options = {};
  options.struct_size = sizeof options;
  options.stream = &callers;
  LevelsRun values(5, 3, 2, true);
  std::vector<float> y(3), z(2);
  const onnxc_value outputs[] = {FakeRun::value(0, nullptr, y), FakeRun::value(0, nullptr, z)};
  ASSERT_EQ(hip.begin_capture(&callers), 0);
  EXPECT_EQ(model->run(instance, values.inputs, 2, outputs, 2, &options), ONNXC_INVALID_ARGUMENT);
  EXPECT_STREQ(model->last_error(instance),
               "the stream is being captured, and the host decides what this model computes next: it must run outside "
               "of a capture");
  EXPECT_NE(hip.end_and_replay_capture(&callers), 901);
  model->destroy(instance);
  EXPECT_EQ(hip.alive(), 0);
}

TEST_F(DeviceLevels, EachCallThatFailsIsTold) {
  std::map<std::string, int> failures;
  for (int call = 0;; ++call) {
    ASSERT_LT(call, 200);
    hip.reset(-1);
    ASSERT_EQ(create_on_device(model, instance, error), ONNXC_OK) << error;
    hip.reset(call);
    LevelsRun values(5, 3, 2, true);
    const onnxc_status status = run(values);
    const std::string failed = hip.failed_call();
    if (failed.empty()) {
      EXPECT_EQ(status, ONNXC_OK) << error;
    } else {
      ++failures[failed];
      EXPECT_EQ(status, ONNXC_OUT_OF_MEMORY) << failed;
      EXPECT_THAT(error, testing::AllOf(testing::HasSubstr(failed), testing::HasSubstr("(HIP error 2)")));
      LevelsRun again(5, 3, 2, true);
      ASSERT_EQ(run(again), ONNXC_OK) << failed << ": " << error;
      EXPECT_EQ(again.y, again.expected_y);
      EXPECT_EQ(again.z, again.expected_z);
    }
    model->destroy(instance);
    EXPECT_EQ(hip.alive(), 0) << failed;
    if (failed.empty()) break;
  }
  // Memory of four levels; x and k copied, k read for the size, for the If, and twice for a round, once to end; y and
  // z.
  EXPECT_EQ(failures["hipMalloc"], 4);
  EXPECT_EQ(failures["hipMemcpyAsync"], 2 + 1 + 1 + 2 * 2 + 1 + 2);
  EXPECT_EQ(failures["hipModuleLaunchKernel"], 3 + 2 * 2 + 2);
}

TEST_F(DeviceLevels, ADeviceThatIsLostInALoopIsTold) {
  hip.reset(-1);
  ASSERT_EQ(create_on_device(model, instance, error), ONNXC_OK) << error;
  LevelsRun values(5, 3, 2, true);
  onnxc_run_options options = {};
  options.struct_size = sizeof options;
  options.hook_context = &hip;
  options.hook = [](void* context, onnxc_instance*, int32_t step, int32_t when) -> int32_t {
    if (step == 5 && when == ONNXC_BEFORE_STEP) static_cast<FakeHip*>(context)->lose_device();
    return 0;
  };
  std::vector<float> y(3), z(2);
  const onnxc_value outputs[] = {FakeRun::value(0, nullptr, y), FakeRun::value(0, nullptr, z)};
  EXPECT_EQ(model->run(instance, values.inputs, 2, outputs, 2, &options), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_STREQ(model->last_error(instance),
               "hipModuleLaunchKernel of step 5 'loops grow': unspecified launch failure (HIP error 719)");
  model->destroy(instance);
  EXPECT_EQ(hip.alive(), 0);
}

TEST(DeviceLibrary, SaysWhatIsMissing) {
  setenv("ONNXC_HIP_LIBRARY", "/nonexistent/libamdhip64.so", 1);
  LoadedModel model("fake_device_model.so");
  onnxc_instance* instance = nullptr;
  std::string error;
  EXPECT_EQ(create_on_device(model, instance, error), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_THAT(error, testing::StartsWith("ONNXC_HIP_LIBRARY: /nonexistent/libamdhip64.so: cannot open"));
}

}  // namespace
}  // namespace onnxc
