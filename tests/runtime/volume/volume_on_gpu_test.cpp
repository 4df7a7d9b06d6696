// Runs over a volume on a GPU, in front of a double of libamdhip64.so that does at once what it is asked for: what
// calls there are, and what is left of them when one fails. The simulator's streams show what their order must be
// (tests/python/volumes/test_windows_on_gpu.py).
#include <gmock/gmock.h>

#include "runtime/gpu/fake_hip_library.h"
#include "runtime/loaded_model.h"
#include "runtime/volume/scan_volume.h"

namespace onnxc {
namespace {

using ::testing::HasSubstr;

constexpr int64_t depth = 7, height = 6, width = 14;

class VolumeOnGpu : public ::testing::Test, public ScanVolume {
 public:
  VolumeOnGpu() : ScanVolume({depth, height, width}, {4, 4, 8}) { volume.batch = 4; }  // of 6 windows in a slab

  onnxc_status create() { return create_on_device(model, instance, error); }
  onnxc_status run() {
    clear();
    const onnxc_status status = model->run_volume(instance, &volume, &result);
    error = model->last_error(instance);
    return status;
  }
  void destroy() {
    model->destroy(instance);
    instance = nullptr;
  }

  FakeHip hip;
  LoadedModel model{"fake_volume_model.so"};
  onnxc_instance* instance = nullptr;
  std::string error;
};

TEST_F(VolumeOnGpu, RunsInBatchesAndGivesEverythingBack) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  const int alive = hip.alive();
  for (int64_t batch : {0, 1, 4, 100})
    for (uint32_t mirrored : {0u, 5u}) {
      volume.batch = batch;
      volume.mirrored_axes = mirrored;
      ASSERT_EQ(run(), ONNXC_OK) << error;
      expect_values();
      EXPECT_EQ(result.windows, 3 * 2 * 3);
      EXPECT_EQ(result.runs, mirrored != 0 ? 4 * result.windows : result.windows);
    }
  EXPECT_EQ(hip.alive(), alive);
  destroy();
  EXPECT_EQ(hip.alive(), 0);
}

TEST_F(VolumeOnGpu, TellsOfEachCallThatFailsAndGivesEverythingBack) {
  volume.batch = 1;  // of more, fewer windows at once would be tried
  int call = 0, unheard = 0;
  for (;; ++call) {
    hip.reset(call);
    onnxc_status status = create();
    if (status == ONNXC_OK) status = run();
    const std::string failed = hip.failed_call();
    if (status == ONNXC_OK) expect_values();
    if (failed.empty()) break;
    if (status == ONNXC_OK) {
      ++unheard;
    } else {
      EXPECT_THAT(error, HasSubstr(failed));
    }
    if (failed == "hipMalloc" || failed == "hipHostMalloc") {
      EXPECT_EQ(status, ONNXC_OUT_OF_MEMORY);
    }
    if (instance != nullptr) {
      hip.reset(-1);
      ASSERT_EQ(run(), ONNXC_OK) << failed << ": " << error;
      expect_values();
    }
    destroy();
    EXPECT_EQ(hip.alive(), 0) << failed;
  }
  EXPECT_GE(call, 100);   // of the instance, of streams, events and memory, and of six runs
  EXPECT_EQ(unheard, 4);  // when all is done: the current device, and a wait for each of three streams
  destroy();
  EXPECT_EQ(hip.alive(), 0);
}

// Half as many windows are run at once when memory is short, and nobody is told.
TEST_F(VolumeOnGpu, TakesFewerWindowsIfMemoryIsShort) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  for (int call = 0, found = 0; found < 12; ++call) {
    hip.reset(call);
    const onnxc_status status = run();
    const std::string failed = hip.failed_call();
    if (failed != "hipMalloc" && failed != "hipHostMalloc") continue;
    ++found;
    ASSERT_EQ(status, ONNXC_OK) << error;
    expect_values();
    EXPECT_EQ(result.runs, 18);
  }
  destroy();
  EXPECT_EQ(hip.alive(), 0);
}

// The values that the progress function sees, and the place at which it stops the run.
struct Watcher {
  FakeHip& hip;
  std::vector<int64_t> told = {};
  std::vector<size_t> launches = {};
  int64_t stop_at = -1;

  static int32_t tell(void* context, int64_t done, int64_t) {
    Watcher& self = *static_cast<Watcher*>(context);
    EXPECT_EQ(self.hip.chosen_device(), 1);
    self.told.push_back(done);
    const std::string history = self.hip.history();
    size_t count = 0;
    for (size_t i = history.find("launch"); i != std::string::npos; i = history.find("launch", i + 1)) ++count;
    self.launches.push_back(count);
    return done == self.stop_at ? 1 : 0;
  }
};

TEST_F(VolumeOnGpu, ThreeMoreRunsAreUnderWayWhenOneIsTold) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  Watcher watcher{hip};
  hip.choose_device(1);  // the caller's own device, which callbacks find current
  volume.progress_context = &watcher;
  volume.progress = Watcher::tell;
  ASSERT_EQ(run(), ONNXC_OK) << error;
  EXPECT_EQ(hip.chosen_device(), 1);
  EXPECT_THAT(watcher.told, ::testing::ElementsAre(4, 6, 10, 12, 16, 18));
  // Three for each run, and one for each box that a run made final. Four runs are started when the first is told.
  EXPECT_THAT(watcher.launches, ::testing::ElementsAre(4 * 3 + 3, 5 * 3 + 4, 6 * 3 + 5, 24, 24, 24));
  watcher.stop_at = 10;
  EXPECT_EQ(run(), ONNXC_STOPPED);
  EXPECT_EQ(error, "stopped by the progress function");
  EXPECT_EQ(result.runs, 10);
  watcher.stop_at = -1;
  ASSERT_EQ(run(), ONNXC_OK) << error;
  expect_values();
  destroy();
  EXPECT_EQ(hip.alive(), 0);
}

TEST_F(VolumeOnGpu, ADeviceThatIsLostIsTold) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  volume.progress_context = &hip;
  volume.progress = [](void* given, int64_t done, int64_t) {
    if (done == 6) static_cast<FakeHip*>(given)->lose_device();
    return 0;
  };
  EXPECT_EQ(run(), ONNXC_UNSUPPORTED_DEVICE);
  EXPECT_THAT(error, HasSubstr("unspecified launch failure (HIP error 719)"));
  destroy();
  EXPECT_EQ(hip.alive(), 0);
}

TEST_F(VolumeOnGpu, AWindowThatKernelsCannotCountIsRefused) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  const int alive = hip.alive();
  dims = window = {1024, 1024, 1028};
  inputs[0].bytes = output.bytes = int64_t{1} << 40;  // which nobody reads
  EXPECT_EQ(run(), ONNXC_WRONG_DIMS);
  EXPECT_EQ(error, "a window is too large for the GPU's kernels, which count 1073741824 elements: take a smaller one");
  EXPECT_EQ(hip.alive(), alive);
  destroy();
}

TEST_F(VolumeOnGpu, AMemberOnTheCpuIsRefused) {
  hip.reset(-1);
  ASSERT_EQ(create(), ONNXC_OK) << error;
  onnxc_instance* on_cpu = model.create(1);
  const onnxc_volume_member member = {model.operator->(), on_cpu};
  volume.members = &member;
  volume.member_count = 1;
  EXPECT_EQ(run(), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(error, "member 0: onnxc_run_options.stream is set, and this instance runs on the CPU");
  model->destroy(on_cpu);
  destroy();
}

}  // namespace
}  // namespace onnxc
