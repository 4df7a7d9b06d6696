// A run on a GPU: copies, launches or a graph of them, and what waits for it.
#include <stdio.h>

#include "base/step_walk.h"
#include "gpu/callers_value.h"
#include "gpu/device_instance.h"
#include "gpu/device_states.h"

namespace onnxc::runtime {
namespace {

// "input 0 'x': ", before what is wrong with it.
void name_value(const ModelDescription& model, const BufferDescription& buffer, ErrorText& error) {
  const bool is_input = buffer.kind == BufferKind::input;
  error.append("%s %d ", is_input ? "input" : "output", buffer.index);
  error.append_name((is_input ? model.inputs : model.outputs)[buffer.index].name);
  error.append(": ");
}

}  // namespace

onnxc_status DeviceInstance::copy_inputs(const DeviceRun& run, GpuStream stream, ErrorText& error) {
  const GpuLibrary& gpu = module_->gpu();
  for (int32_t i = 0; i < program_.buffer_count; ++i) {
    const CallersValue value(run, program_.buffers[i]);
    const int64_t bytes = buffer_bytes_[i];
    if (!value.is_copied() || program_.buffers[i].kind != BufferKind::input || bytes == 0) continue;
    if (value.is_on_host && bytes >= HostStaging::smallest) {
      const onnxc_status status = staging_->send(buffers_[i], value.data, bytes, stream, error);
      if (status != ONNXC_OK) return status;
      continue;
    }
    const GpuResult result = gpu.copy(buffers_[i], value.data, static_cast<size_t>(bytes),
                                      value.is_on_host ? GpuCopy::to_device : GpuCopy::on_device, stream);
    if (!succeeded(gpu, result, "of an input", error)) return status_of(result);
  }
  return ONNXC_OK;
}

onnxc_status DeviceInstance::copy_outputs(const DeviceRun& run, GpuStream stream, ErrorText& error) {
  const GpuLibrary& gpu = module_->gpu();
  for (int32_t i = 0; i < program_.buffer_count; ++i) {
    const CallersValue value(run, program_.buffers[i]);
    const int64_t bytes = buffer_bytes_[i];
    if (!value.is_copied() || program_.buffers[i].kind != BufferKind::output || bytes == 0) continue;
    if (value.is_on_host && bytes >= HostStaging::smallest) {
      const onnxc_status status = staging_->fetch(value.data, buffers_[i], bytes, stream, error);
      if (status != ONNXC_OK) return status;
      continue;
    }
    const GpuResult result = gpu.copy(value.data, buffers_[i], static_cast<size_t>(bytes),
                                      value.is_on_host ? GpuCopy::to_host : GpuCopy::on_device, stream);
    if (!succeeded(gpu, result, "of an output", error)) return status_of(result);
  }
  return ONNXC_OK;
}

// Host memory is complete when this returns; device memory when the stream gets there.
onnxc_status DeviceInstance::end_run(const DeviceRun& run, GpuStream stream, ErrorText& error) {
  const GpuLibrary& gpu = module_->gpu();
  bool waits = run.waits;
  for (int32_t i = 0; i < program_.buffer_count; ++i) waits |= CallersValue(run, program_.buffers[i]).is_on_host;
  if (waits) {
    const GpuResult result = gpu.wait_for_stream(stream);
    return succeeded(gpu, result, "", error) ? ONNXC_OK : status_of(result);
  }
  if (is_being_captured_) return ONNXC_OK;
  const GpuResult result = gpu.record(run_end_, stream);
  may_be_running_ = result.is_ok();
  if (!succeeded(gpu, result, "", error)) return status_of(result);
  return run.states != nullptr ? run.states->end_run(stream, error) : ONNXC_OK;
}

// The weights may still be on their way up, and a run before, which uses the same memory, may run in another stream.
onnxc_status DeviceInstance::wait_for_earlier_work(GpuStream stream, ErrorText& error) {
  const GpuLibrary& gpu = module_->gpu();
  const GpuEvent events[] = {weights_have_arrived_ ? nullptr : module_->weights_arrival(),
                             may_be_running_ ? run_end_ : nullptr};
  for (const GpuEvent event : events) {
    if (event == nullptr) continue;
    // A capture cannot wait for what is not in it.
    const GpuResult result = is_being_captured_ ? gpu.wait_for_event(event) : gpu.stream_waits_for(stream, event, 0);
    if (!succeeded(gpu, result, "", error)) return status_of(result);
  }
  weights_have_arrived_ = true;
  may_be_running_ = false;
  return ONNXC_OK;
}

template <class Function>
onnxc_status DeviceInstance::call_back(Function function, ErrorText& error) {
  current_->leave();
  const onnxc_status status = function();
  const onnxc_status entered = current_->enter(error);
  return status == ONNXC_OK ? entered : status;
}

void DeviceInstance::launch(const DeviceFrame& frame, const DeviceLaunch& launch) {
  auto* self = static_cast<DeviceInstance*>(frame.instance);
  if (!self->launched_.is_ok()) return;
  const GpuLibrary& gpu = self->module_->gpu();
  // HIP counts threads in 32 bits, and some versions of it cut off the rest without a word.
  if (launch.blocks > static_cast<int64_t>(UINT32_MAX / launch.threads)) {
    self->launched_ = {gpu_invalid_value, "a launch of more threads than 32 bits count"};
    return;
  }
  self->launched_ = gpu.launch({.kernel = self->module_->kernel(launch.kernel),
                                .blocks = static_cast<uint32_t>(launch.blocks),
                                .threads = launch.threads,
                                .shared_bytes = self->program_.shared_bytes_of(launch.kernel),
                                .arguments = launch.arguments,
                                .arguments_size = launch.arguments_size},
                               self->stream_);
  ++self->launch_count_;
}

// Brings the values on which the host decides to the host, when the kernels before the step are done.
onnxc_status DeviceInstance::read_for_host(const StepDescription& step, ErrorText& error) {
  if (step.read < 0) return ONNXC_OK;
  const onnxc_status status = read_buffer(step.read, read_, error);
  host_buffers_[step.read] = read_.data();
  return status;
}

onnxc_status DeviceInstance::launch(int32_t step, const DeviceRun& run, ErrorText& error) {
  const GpuLibrary& gpu = module_->gpu();
  const DeviceFrame frame{buffers_.data(), symbols_, launch, this};
  launched_ = {};
  program_.steps[step].launch(frame);
  // A hook sees a step that is done, with its own time.
  if (run.hook != nullptr && launched_.is_ok()) launched_ = gpu.wait_for_stream(stream_);
  if (launched_.is_ok()) return ONNXC_OK;
  char call[256];
  snprintf(call, sizeof call, "of step %d '%s'", step, program_.steps[step].name);
  succeeded(gpu, launched_, call, error);
  return status_of(launched_);
}

onnxc_status DeviceInstance::run_step(int32_t step, const DeviceRun& run, ErrorText& error) {
  auto call_hook = [&](int32_t when) {
    if (run.hook == nullptr) return onnxc_status{ONNXC_OK};
    return call_back([&] { return run.hook(run.context, step, when) != 0 ? ONNXC_STOPPED : ONNXC_OK; }, error);
  };
  const StepDescription& description = program_.steps[step];
  onnxc_status status = call_hook(ONNXC_BEFORE_STEP);
  if (status != ONNXC_OK) return status;
  if (description.bind != nullptr) {
    const int32_t level = level_of_step(program_.steps, step);
    status = read_for_host(description, error);
    if (status == ONNXC_OK)
      status = call_back([&] { return run.enter_level(run.context, description, level, host_frame_); }, error);
    if (status == ONNXC_OK) status = place(level, run, error);
  } else {
    status = launch(step, run, error);
  }
  return status == ONNXC_OK ? call_hook(ONNXC_AFTER_STEP) : status;
}

onnxc_status DeviceInstance::launch_steps(const DeviceRun& run, ErrorText& error) {
  struct Walk {
    DeviceInstance& self;
    const DeviceRun& run_;
    ErrorText& error;
    void begin_round(int32_t step, bool is_first) {
      const StepDescription* steps = self.program_.steps;
      run_.begin_round(run_.context, level_of_step(steps, step), steps[step].round, is_first);
    }
    onnxc_status holds(int32_t step, bool& result) {
      const StepDescription& description = self.program_.steps[step];
      const onnxc_status status = self.read_for_host(description, error);
      if (status == ONNXC_OK) result = description.condition(self.host_frame_);
      return status;
    }
    onnxc_status run(int32_t step) { return self.run_step(step, run_, error); }
  };
  return walk_steps(program_.steps, program_.step_count, Walk{*this, run, error});
}

// In a stream of ours: the caller's goes on as it is, and other threads may do meanwhile what no capture allows.
onnxc_status DeviceInstance::capture(const DeviceRun& run, const CapturedGraphs::Entry*& captured, ErrorText& error) {
  const GpuLibrary& gpu = module_->gpu();
  GpuResult result = gpu.wait_for_stream(stream_);  // the graph of a run before may have to go
  if (!succeeded(gpu, result, "", error)) return status_of(result);
  result = gpu.begin_capture(own_stream_, gpu_capture_of_this_thread);
  if (!succeeded(gpu, result, "", error)) return status_of(result);
  const GpuStream callers = stream_;
  stream_ = own_stream_;
  launch_count_ = 0;
  onnxc_status status = launch_steps(run, error);
  stream_ = callers;
  GpuGraph graph = nullptr;
  result = gpu.end_capture(own_stream_, &graph);  // also after a launch that failed
  if (status == ONNXC_OK && !succeeded(gpu, result, "", error)) status = status_of(result);
  if (status == ONNXC_OK) {
    const LaunchKey key{buffers_.data(), buffers_.size(), symbols_, module_->model().symbol_count};
    status = graphs_.add(gpu, key, launch_count_ > 0 ? graph : nullptr, captured, error);
  }
  if (graph != nullptr) ignore(gpu.destroy_graph(graph));
  return status;
}

// The launches of this run in one call, captured first if they have other arguments than before.
onnxc_status DeviceInstance::replay(const DeviceRun& run, ErrorText& error) {
  const CapturedGraphs::Entry* captured =
      graphs_.find({buffers_.data(), buffers_.size(), symbols_, module_->model().symbol_count});
  if (captured == nullptr) {
    const onnxc_status status = capture(run, captured, error);
    if (status != ONNXC_OK) return status;
  }
  if (captured->executable == nullptr) return ONNXC_OK;
  const GpuLibrary& gpu = module_->gpu();
  const GpuResult result = gpu.launch_graph(captured->executable, stream_);
  return succeeded(gpu, result, "", error) ? ONNXC_OK : status_of(result);
}

onnxc_status DeviceInstance::run(const DeviceRun& run, ErrorText& error) {
  CurrentDevice current(module_->gpu(), module_->device());
  const onnxc_status status = current.enter(error);
  if (status != ONNXC_OK) return status;
  current_ = &current;
  return run_on_device(run, error);
}

onnxc_status DeviceInstance::refuse_capture(ErrorText& error, const char* reason) {
  error.append("the stream is being captured, and %s", reason);
  return ONNXC_INVALID_ARGUMENT;
}

// NVIDIA's driver would take such a stream for a handle of ours.
onnxc_status DeviceInstance::check_stream(GpuStream stream, ErrorText& error) {
  const GpuLibrary& gpu = module_->gpu();
  if (gpu.is_foreign == nullptr || !gpu.is_foreign(module_->device(), stream)) return ONNXC_OK;
  error.append(
      "the stream is of another GPU or context: this instance runs in the primary context of GPU %d, as PyTorch does",
      module_->device().index);
  return ONNXC_INVALID_ARGUMENT;
}

// Kernels that read memory which their GPU does not reach end the process's use of NVIDIA's driver.
onnxc_status DeviceInstance::check_places(const DeviceRun& run, ErrorText& error) {
  const GpuLibrary& gpu = module_->gpu();
  if (gpu.locate == nullptr) return ONNXC_OK;
  for (int32_t i = 0; i < program_.buffer_count; ++i) {
    const BufferDescription& buffer = program_.buffers[i];
    const CallersValue value(run, buffer);
    if (value.data == nullptr || value.is_on_host || buffer_bytes_[i] == 0) continue;
    const GpuPlace place = gpu.locate(value.data);
    const int device = module_->device().index;
    if (place.kind == GpuPlace::Kind::reached || (place.kind == GpuPlace::Kind::device && place.device == device))
      continue;
    name_value(module_->model(), buffer, error);
    if (place.kind == GpuPlace::Kind::device)
      error.append("its memory is of GPU %d, and this instance runs on GPU %d: copy it there", place.device, device);
    else
      error.append("its memory is not the GPU's: the device of host memory is ONNXC_CPU");
    return ONNXC_INVALID_ARGUMENT;
  }
  return ONNXC_OK;
}

// A capture holds launches and copies on the GPU. Whatever waits for the stream would spoil it, so that such a run is
// refused before it does anything.
onnxc_status DeviceInstance::check_capture(const DeviceRun& run, ErrorText& error) {
  if (!is_being_captured_) return ONNXC_OK;
  if (run.hook != nullptr) return refuse_capture(error, "a run with a hook waits after each step");
  if (host_decides_)
    return refuse_capture(error, "the host decides what this model computes next: it must run outside of a capture");
  for (int32_t i = 0; i < program_.buffer_count; ++i) {
    const BufferDescription& buffer = program_.buffers[i];
    if (!CallersValue(run, buffer).is_on_host) continue;
    name_value(module_->model(), buffer, error);
    return refuse_capture(error, "this is host memory, for whose copy a run waits: give it memory of the GPU");
  }
  return ONNXC_OK;
}

onnxc_status DeviceInstance::run_on_device(const DeviceRun& run, ErrorText& error) {
  const GpuLibrary& gpu = module_->gpu();
  gpu.forget_error();  // what a call before ours left behind is not an error of a launch
  const auto stream = run.has_own_stream ? own_stream_ : static_cast<GpuStream>(run.stream);
  stream_ = stream;
  int32_t capture_status = gpu_captures_nothing;
  if (run.stream != nullptr) {
    if (const onnxc_status status = check_stream(stream, error); status != ONNXC_OK) return status;
    const GpuResult result = gpu.stream_is_capturing(stream, &capture_status);
    if (!succeeded(gpu, result, "", error)) return status_of(result);
  }
  is_being_captured_ = capture_status != gpu_captures_nothing;
  onnxc_status status = check_places(run, error);
  if (status == ONNXC_OK) status = check_capture(run, error);
  if (status == ONNXC_OK) status = wait_for_earlier_work(stream, error);
  if (status == ONNXC_OK && run.states != nullptr) status = run.states->begin_run(stream, is_being_captured_, error);
  if (status == ONNXC_OK) status = place(0, run, error);
  if (status == ONNXC_OK) status = copy_inputs(run, stream, error);
  // A hook is called between the launches. A graph is not launched into a capture, which takes the kernels.
  const bool replays = captures_graphs_ && run.hook == nullptr && !is_being_captured_;
  if (status == ONNXC_OK) status = replays ? replay(run, error) : launch_steps(run, error);
  if (status == ONNXC_OK) status = copy_outputs(run, stream, error);
  if (status == ONNXC_OK) status = end_run(run, stream, error);
  if (status == ONNXC_OK || is_being_captured_) return status;
  staging_->wait();  // nothing of a run that failed is left running
  ignore(gpu.wait_for_stream(stream));
  return status;
}

onnxc_status DeviceInstance::read_buffer(int32_t buffer, Array<char>& bytes, ErrorText& error) {
  if (!bytes.allocate(buffer_bytes_[buffer])) {
    error.append("no memory for a step's output");
    return ONNXC_OUT_OF_MEMORY;
  }
  if (bytes.size() == 0) return ONNXC_OK;
  const GpuLibrary& gpu = module_->gpu();
  CurrentDevice current(gpu, module_->device());
  if (const onnxc_status status = current.enter(error); status != ONNXC_OK) return status;
  GpuResult result =
      gpu.copy(bytes.data(), buffers_[buffer], static_cast<size_t>(bytes.size()), GpuCopy::to_host, stream_);
  if (!succeeded(gpu, result, "of a step's output", error)) return status_of(result);
  result = gpu.wait_for_stream(stream_);
  return succeeded(gpu, result, "", error) ? ONNXC_OK : status_of(result);
}

}  // namespace onnxc::runtime
