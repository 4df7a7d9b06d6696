// Making an instance, its plan and its memory.
#include "gpu/device_instance.h"

#include <stdlib.h>

#include <new>

#include "gpu/callers_value.h"

namespace onnxc::runtime {
namespace {

constexpr int64_t device_alignment = 256;  // of the library's memory; covers a cache line and every element type

int64_t aligned(int64_t bytes) { return (bytes + device_alignment - 1) / device_alignment * device_alignment; }

// Whether a run's launches depend on what the host reads in between.
bool host_decides(const DeviceProgram& program) {
  for (int32_t i = 0; i < program.step_count; ++i) {
    const StepDescription& step = program.steps[i];
    if (step.kind != StepKind::work || step.bind != nullptr || step.condition != nullptr) return true;
  }
  return false;
}

}  // namespace

DeviceInstance* DeviceInstance::create(const DeviceOptions& options, onnxc_status& status, ErrorText& error) {
  DeviceModule* const module = DeviceModule::acquire(options.model, options.device_index, status, error);
  if (module == nullptr) return nullptr;
  void* memory = malloc(sizeof(DeviceInstance));
  if (memory == nullptr) {
    DeviceModule::release(module);
    error.append("no memory for an instance");
    status = ONNXC_OUT_OF_MEMORY;
    return nullptr;
  }
  auto* instance = new (memory) DeviceInstance(module);
  status = instance->set_up(options, error);
  if (status == ONNXC_OK) return instance;
  destroy(instance);
  return nullptr;
}

void DeviceInstance::destroy(DeviceInstance* instance) {
  instance->~DeviceInstance();
  free(instance);
}

DeviceInstance::~DeviceInstance() {
  const GpuLibrary& gpu = module_->gpu();
  {
    ErrorText unheard;
    CurrentDevice current(gpu, module_->device());
    current.enter(unheard);  // also of a device that is lost all is given back
    give_back(gpu);
  }
  DeviceModule::release(module_);
}

void DeviceInstance::give_back(const GpuLibrary& gpu) {
  if (may_be_running_) ignore(gpu.wait_for_event(run_end_));
  if (run_end_ != nullptr) ignore(gpu.destroy_event(run_end_));
  if (own_stream_ != nullptr) {
    ignore(gpu.wait_for_stream(own_stream_));
    ignore(gpu.destroy_stream(own_stream_));
  }
  if (staging_) staging_->destroy();
  graphs_.destroy(gpu);
  for (int32_t level = 0; level < levels_.size(); ++level) {
    if (levels_[level].arena != nullptr) ignore(gpu.free(levels_[level].arena));
    free_apart(level);
  }
}

onnxc_status DeviceInstance::set_up(const DeviceOptions& options, ErrorText& error) {
  poison_ = options.poison;
  host_decides_ = host_decides(program_);
  captures_graphs_ = options.captures_graphs && !host_decides_;
  staging_.emplace(module_->gpu());
  if (const onnxc_status status = make_streams(error); status != ONNXC_OK) return status;
  const int64_t temporaries = count_temporaries(program_.buffers, program_.buffer_count);
  if (buffers_.allocate(program_.buffer_count) && (!poison_ || apart_.allocate(program_.buffer_count)) &&
      buffer_bytes_.allocate(program_.buffer_count) && plan_.allocate(temporaries) &&
      plan_workspace_.allocate(2 * temporaries) && offsets_.allocate(program_.buffer_count) &&
      levels_.allocate(program_.level_count) && host_buffers_.allocate(program_.buffer_count)) {
    host_frame_.buffers = host_buffers_.data();
    return ONNXC_OK;
  }
  error.append("no memory for an instance");
  return ONNXC_OUT_OF_MEMORY;
}

onnxc_status DeviceInstance::make_streams(ErrorText& error) {
  const GpuLibrary& gpu = module_->gpu();
  CurrentDevice current(gpu, module_->device());
  if (const onnxc_status status = current.enter(error); status != ONNXC_OK) return status;
  GpuResult result = gpu.create_stream(&own_stream_, gpu_stream_non_blocking);
  if (!succeeded(gpu, result, "", error)) return status_of(result);
  result = gpu.create_event(&run_end_, gpu_event_without_time);
  return succeeded(gpu, result, "", error) ? ONNXC_OK : status_of(result);
}

onnxc_status DeviceInstance::plan(int32_t level, const int64_t* symbols, ErrorText& error) {
  symbols_ = host_frame_.symbols = symbols;
  int64_t scratch_bytes = 0;
  const bool fits = program_.sizes(level, symbols, buffer_bytes_.data(), &scratch_bytes) == 0;
  auto is_planned = [&](int32_t i) {
    return program_.buffers[i].kind == BufferKind::temporary && program_.buffers[i].level == level;
  };
  int32_t count = 0;
  for (int32_t i = 0; i < program_.buffer_count; ++i) {
    const BufferDescription& buffer = program_.buffers[i];
    // Each ends at the beginning of the next.
    if (is_planned(i)) plan_[count++] = {aligned(buffer_bytes_[i]), buffer.first_step, buffer.last_step, 0};
  }
  int64_t& planned = levels_[level].planned_bytes;
  planned = fits ? plan_memory(plan_.data(), count, plan_workspace_.data()) : -1;
  if (planned >= 0) {
    count = 0;
    for (int32_t i = 0; i < program_.buffer_count; ++i)
      if (is_planned(i)) offsets_[i] = plan_[count++].offset;
    return ONNXC_OK;
  }
  planned = 0;
  error.append("%s, the size of a tensor does not fit in 63 bits",
               level == 0 ? "with these dims of the inputs" : "with this data");
  return level == 0 ? ONNXC_WRONG_DIMS : ONNXC_INVALID_DATA;
}

int64_t DeviceInstance::working_bytes() const {
  int64_t bytes = 0;
  for (int32_t level = 0; level < levels_.size(); ++level) bytes += levels_[level].planned_bytes;
  return bytes;
}

onnxc_status DeviceInstance::reserve(int32_t level, int64_t bytes, ErrorText& error) {
  Level& laid_out = levels_[level];
  if (bytes <= laid_out.arena_bytes) return ONNXC_OK;
  if (is_being_captured_)
    return refuse_capture(
        error,
        "this run needs more working memory than those before: run the model with these dims once before the capture");
  const GpuLibrary& gpu = module_->gpu();
  GpuResult result = gpu.wait_for_stream(stream_);  // the run before may still use it
  if (!succeeded(gpu, result, "", error)) return status_of(result);
  if (laid_out.arena != nullptr) ignore(gpu.free(laid_out.arena));
  laid_out.arena = nullptr;
  laid_out.arena_bytes = 0;
  void* memory = nullptr;
  result = gpu.allocate(&memory, static_cast<size_t>(bytes));
  if (!succeeded(gpu, result, "of working memory", error)) return status_of(result);
  laid_out.arena = static_cast<char*>(memory);
  laid_out.arena_bytes = bytes;
  return ONNXC_OK;
}

void DeviceInstance::free_apart(int32_t level) {
  for (int64_t i = 0; i < apart_.size(); ++i) {
    if (program_.buffers[i].level != level) continue;
    if (apart_[i] != nullptr) ignore(module_->gpu().free(apart_[i]));
    apart_[i] = nullptr;
  }
}

// While memory is poisoned, each temporary and each copy of a caller's value is an allocation of its own, so that a
// simulator or a checker of addresses sees an access that leaves its buffer.
onnxc_status DeviceInstance::place_apart(int32_t level, const DeviceRun& run, ErrorText& error) {
  if (is_being_captured_) return refuse_capture(error, "ONNXC_POISON gives each run memory of its own");
  const GpuLibrary& gpu = module_->gpu();
  GpuResult result = gpu.wait_for_stream(stream_);  // the run before may still use them
  if (!succeeded(gpu, result, "", error)) return status_of(result);
  free_apart(level);
  for (int32_t i = 0; i < program_.buffer_count; ++i) {
    const BufferDescription& buffer = program_.buffers[i];
    if (buffer.level != level) continue;
    if (buffer.kind == BufferKind::constant) {
      buffers_[i] = module_->weights() + buffer.offset;
    } else if (buffer.kind == BufferKind::temporary || CallersValue(run, buffer).is_copied()) {
      buffers_[i] = nullptr;
      if (buffer_bytes_[i] == 0) continue;
      const auto bytes = static_cast<size_t>(buffer_bytes_[i]);
      result = gpu.allocate(&apart_[i], bytes);
      if (!succeeded(gpu, result, "of a buffer", error)) return status_of(result);
      buffers_[i] = apart_[i];
      result = gpu.fill(apart_[i], 0xff, bytes, stream_);
      if (!succeeded(gpu, result, "", error)) return status_of(result);
    } else {
      buffers_[i] = CallersValue(run, buffer).data;
    }
  }
  return ONNXC_OK;
}

// Temporaries if the plan has them, then a place for each input and output that is copied.
onnxc_status DeviceInstance::place_buffers(int32_t level, const DeviceRun& run, ErrorText& error) {
  const Level& laid_out = levels_[level];
  int64_t bytes = laid_out.planned_bytes;
  for (int32_t i = 0; i < program_.buffer_count; ++i)
    if (program_.buffers[i].level == level && CallersValue(run, program_.buffers[i]).is_copied())
      bytes += aligned(buffer_bytes_[i]);
  const onnxc_status status = reserve(level, bytes, error);
  if (status != ONNXC_OK) return status;

  int64_t staged = laid_out.planned_bytes;
  for (int32_t i = 0; i < program_.buffer_count; ++i) {
    const BufferDescription& buffer = program_.buffers[i];
    if (buffer.level != level) continue;
    if (buffer.kind == BufferKind::constant) {
      buffers_[i] = module_->weights() + buffer.offset;
    } else if (buffer.kind == BufferKind::temporary) {
      buffers_[i] = laid_out.arena + offsets_[i];
    } else if (CallersValue(run, buffer).is_copied()) {
      buffers_[i] = laid_out.arena + staged;
      staged += aligned(buffer_bytes_[i]);
    } else {
      buffers_[i] = CallersValue(run, buffer).data;
    }
  }
  return ONNXC_OK;
}

onnxc_status DeviceInstance::place(int32_t level, const DeviceRun& run, ErrorText& error) {
  return poison_ ? place_apart(level, run, error) : place_buffers(level, run, error);
}

}  // namespace onnxc::runtime
