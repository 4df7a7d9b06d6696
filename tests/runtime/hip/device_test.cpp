// The runtime of a GPU in front of a double of libamdhip64.so.
#include <gmock/gmock.h>

#include <cstdlib>

#include "runtime/loaded_model.h"

namespace onnxc {
namespace {

class FakeHip {
 public:
  FakeHip() {
    const std::string file = ONNXC_TEST_FILES "/fake_hip.so";
    setenv("ONNXC_HIP_LIBRARY", file.c_str(), 1);
    library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
  }
  ~FakeHip() { dlclose(library_); }
  FakeHip(const FakeHip&) = delete;
  FakeHip& operator=(const FakeHip&) = delete;

  // Fails the call of that number from now on; -1: none.
  void reset(int call_that_fails, const char* gpu = "gfx942:sramecc+:xnack-") {
    symbol<void (*)(int, const char*)>("fake_hip_reset")(call_that_fails, gpu);
  }
  // As a failing call of the caller's own does.
  void leave_an_error_behind() {
    reset(0);
    symbol<int (*)(int)>("hipSetDevice")(0);
    reset(-1);
  }
  int alive() { return symbol<int (*)()>("fake_hip_alive")(); }
  std::string failed_call() { return symbol<const char* (*)()>("fake_hip_failed_call")(); }

 private:
  template <class Function>
  Function symbol(const char* name) {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }
  void* library_;
};

class Device : public ::testing::Test {
 protected:
  onnxc_status create(int device_index = 0) {
    onnxc_options options = {};
    options.struct_size = sizeof options;
    options.device = ONNXC_HIP;
    options.device_index = device_index;
    char text[ONNXC_ERROR_SIZE] = "";
    const onnxc_status status = model->create(&options, &instance, text, sizeof text);
    error = text;
    return status;
  }

  onnxc_status run(int64_t rows, const onnxc_run_options* options = nullptr) {
    const int64_t x_dims[] = {rows, 4}, k_dims[] = {4};
    std::vector<float> x(static_cast<size_t>(rows) * 4), k = {10, 20, 30, 40};
    y.assign(x.size(), -1);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8;
    expected.clear();
    for (size_t i = 0; i < x.size(); ++i) expected.push_back(x[i] * static_cast<float>(i % 4 + 1) + k[i % 4]);
    const onnxc_value inputs[] = {FakeRun::value(2, x_dims, x), FakeRun::value(1, k_dims, k)};
    const onnxc_value output = FakeRun::value(0, nullptr, y);
    const onnxc_status status = model->run(instance, inputs, 2, &output, 1, options);
    error = model->last_error(instance);
    return status;
  }

  void destroy() {
    model->destroy(instance);
    instance = nullptr;
  }

  FakeHip hip;
  LoadedModel model{"fake_device_model.so"};
  onnxc_instance* instance = nullptr;
  std::string error;
  std::vector<float> y, expected;
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

TEST_F(Device, TellsOfEachCallThatFailsAndGivesEverythingBack) {
  int failures = 0;
  for (int call = 0;; ++call) {
    ASSERT_LT(call, 100);
    hip.reset(call);
    onnxc_status status = create();
    if (status == ONNXC_OK) status = run(5);
    const std::string failed = hip.failed_call();
    if (failed.empty()) {
      ASSERT_EQ(status, ONNXC_OK) << error;
      destroy();
      break;
    }
    ++failures;
    EXPECT_NE(status, ONNXC_OK) << failed;
    EXPECT_THAT(error, testing::HasSubstr(failed));
    if (failed != "hipGetDeviceCount" && failed != "hipInit") {
      EXPECT_THAT(error, testing::HasSubstr("out of memory (HIP error 2)"));
    }
    // A run that failed leaves the instance usable.
    if (instance != nullptr) {
      hip.reset(-1);
      EXPECT_EQ(run(5), ONNXC_OK) << failed << ": " << error;
      EXPECT_EQ(y, expected);
    }
    destroy();
    EXPECT_EQ(hip.alive(), 0) << failed;
  }
  // Of init, the module, its functions, memory, copies, launches and the stream.
  EXPECT_GE(failures, 15);
}

TEST_F(Device, AnErrorThatTheCallerLeftBehindIsNotOfItsLaunches) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  hip.leave_an_error_behind();
  EXPECT_EQ(run(5), ONNXC_OK) << error;
  EXPECT_EQ(y, expected);
  destroy();
}

// Reads what each step has written, as a hook; stops the run where that fails.
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
  ASSERT_EQ(create(), ONNXC_OK) << error;
  StepReader reader{*model.operator->(), {}, {}, {}};
  const onnxc_run_options options = reader.options();
  ASSERT_EQ(run(5, &options), ONNXC_OK) << error;
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
  EXPECT_EQ(failures, 4);  // a copy and a wait for each of two steps
}

TEST_F(Device, SharesCodeAndWeightsAmongInstances) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  onnxc_instance* first = instance;
  const int alive = hip.alive();
  ASSERT_EQ(create(), ONNXC_OK) << error;
  EXPECT_EQ(hip.alive(), alive + 1);  // its stream
  destroy();
  model->destroy(first);
  EXPECT_EQ(hip.alive(), 0);
}

TEST_F(Device, RefusesAnotherArchitecture) {
  hip.reset(-1, "gfx90a:sramecc+");
  EXPECT_EQ(create(), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_EQ(
      error,
      "this model was compiled for gfx942, and GPU 0 is gfx90a:sramecc+; compile it with --gpu-arch, or run it on "
      "the CPU");
}

TEST_F(Device, RefusesAGpuThatIsNotThere) {
  hip.reset(-1);
  EXPECT_EQ(create(3), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_EQ(error, "there is no GPU 3: HIP sees 1; run the model on the CPU, or choose another device_index");
}

TEST(DeviceLibrary, SaysWhatIsMissing) {
  setenv("ONNXC_HIP_LIBRARY", "/nonexistent/libamdhip64.so", 1);
  LoadedModel model("fake_device_model.so");
  onnxc_options options = {};
  options.struct_size = sizeof options;
  options.device = ONNXC_HIP;
  onnxc_instance* instance = nullptr;
  char error[ONNXC_ERROR_SIZE] = "";
  EXPECT_EQ(model->create(&options, &instance, error, sizeof error), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_THAT(error, testing::StartsWith("ONNXC_HIP_LIBRARY: /nonexistent/libamdhip64.so: cannot open"));
}

}  // namespace
}  // namespace onnxc
