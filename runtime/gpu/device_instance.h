// One executor of the model on a GPU: its plan, its memory there and its stream.
#pragma once

#include <optional>

#include "base/memory_plan.h"
#include "gpu/backend.h"
#include "gpu/captured_graphs.h"
#include "gpu/copies/host_staging.h"
#include "gpu/device_module.h"
#include "gpu/library/current_device.h"

namespace onnxc::runtime {

class DeviceInstance {
 public:
  static DeviceInstance* create(const DeviceOptions& options, onnxc_status& status, ErrorText& error);
  static void destroy(DeviceInstance* instance);

  onnxc_status plan(int32_t level, const int64_t* symbols, ErrorText& error);
  int64_t working_bytes() const;
  int64_t captured_graphs() const { return graphs_.count(); }
  const DeviceModule& module() const { return *module_; }
  onnxc_status run(const DeviceRun& run, ErrorText& error);
  onnxc_status read_buffer(int32_t buffer, Array<char>& bytes, ErrorText& error);

 private:
  explicit DeviceInstance(DeviceModule* module) : module_(module), program_(module->program()) {}
  ~DeviceInstance();

  void give_back(const GpuLibrary& gpu);
  onnxc_status set_up(const DeviceOptions& options, ErrorText& error);
  onnxc_status make_streams(ErrorText& error);
  onnxc_status reserve(int32_t level, int64_t bytes, ErrorText& error);
  onnxc_status place_apart(int32_t level, const DeviceRun& run, ErrorText& error);
  void free_apart(int32_t level);
  onnxc_status place_buffers(int32_t level, const DeviceRun& run, ErrorText& error);
  onnxc_status place(int32_t level, const DeviceRun& run, ErrorText& error);
  onnxc_status copy_inputs(const DeviceRun& run, GpuStream stream, ErrorText& error);
  onnxc_status read_for_host(const StepDescription& step, ErrorText& error);
  onnxc_status run_step(int32_t step, const DeviceRun& run, ErrorText& error);
  onnxc_status launch(int32_t step, const DeviceRun& run, ErrorText& error);
  onnxc_status launch_steps(const DeviceRun& run, ErrorText& error);
  onnxc_status capture(const DeviceRun& run, const CapturedGraphs::Entry*& captured, ErrorText& error);
  onnxc_status replay(const DeviceRun& run, ErrorText& error);
  onnxc_status copy_outputs(const DeviceRun& run, GpuStream stream, ErrorText& error);
  onnxc_status wait_for_earlier_work(GpuStream stream, ErrorText& error);
  onnxc_status end_run(const DeviceRun& run, GpuStream stream, ErrorText& error);
  static onnxc_status refuse_capture(ErrorText& error, const char* reason);
  onnxc_status check_stream(GpuStream stream, ErrorText& error);
  onnxc_status check_places(const DeviceRun& run, ErrorText& error);
  onnxc_status check_capture(const DeviceRun& run, ErrorText& error);
  onnxc_status run_on_device(const DeviceRun& run, ErrorText& error);
  // Calls a function of the caller's, with the caller's own current device.
  template <class Function>
  onnxc_status call_back(Function function, ErrorText& error);

  static void launch(const DeviceFrame& frame, const DeviceLaunch& launch);

  DeviceModule* const module_;
  const DeviceProgram& program_;
  bool poison_ = false;
  bool host_decides_ = false;
  bool captures_graphs_ = false;
  GpuStream own_stream_ = nullptr;
  std::optional<HostStaging> staging_;  // from the set-up on

  // This event follows the last run that was enqueued and that nobody has waited for.
  GpuEvent run_end_ = nullptr;
  bool may_be_running_ = false;
  bool weights_have_arrived_ = false;  // for all work after the runs so far

  const int64_t* symbols_ = nullptr;  // of the caller, for as long as the plan holds
  Array<int64_t> buffer_bytes_;
  Array<PlannedBuffer> plan_;  // of the temporaries, in their order
  Array<int32_t> plan_workspace_;
  Array<int64_t> offsets_;  // of all buffers; of temporaries, from the start of their level's memory
  // The memory of what is laid out at one level (ModelDescription::level_count).
  struct Level {
    int64_t planned_bytes;
    char* arena;
    int64_t arena_bytes;
  };
  Array<Level> levels_;
  Array<void*> buffers_;
  Array<void*> apart_;  // memory of single buffers, if they do not share the arena

  // Values on which the host decides are copied there, and seen in a frame of its own.
  Frame host_frame_ = {};
  Array<void*> host_buffers_;
  Array<char> read_;

  // The state of the run that is being launched.
  GpuStream stream_ = nullptr;
  bool is_being_captured_ = false;  // by the caller
  CurrentDevice* current_ = nullptr;
  GpuResult launched_;
  int64_t launch_count_ = 0;

  CapturedGraphs graphs_;
};

}  // namespace onnxc::runtime
