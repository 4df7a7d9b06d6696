// Making an instance, its plan and its memory.
#include "gpu/device_instance.h"

#include <stdlib.h>

#include <new>

#include "gpu/callers_value.h"

namespace onnxc::runtime {
namespace {

constexpr int64_t device_alignment = 256;  // of hipMalloc's memory; covers a cache line and every element type

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
  DeviceModule* const module = DeviceModule::acquire(options.device_index, status, error);
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
  const HipLibrary& hip = module_->hip();
  {
    ErrorText unheard;
    CurrentDevice current(hip, module_->device());
    current.enter(unheard);  // also of a device that is lost all is given back
    give_back(hip);
  }
  DeviceModule::release(module_);
}

void DeviceInstance::give_back(const HipLibrary& hip) {
  if (may_be_running_) ignore(hip.event_synchronize(run_end_));
  if (run_end_ != nullptr) ignore(hip.event_destroy(run_end_));
  if (own_stream_ != nullptr) {
    ignore(hip.stream_synchronize(own_stream_));
    ignore(hip.stream_destroy(own_stream_));
  }
  if (staging_) staging_->destroy();
  graphs_.destroy(hip);
  for (int32_t level = 0; level < levels_.size(); ++level) {
    if (levels_[level].arena != nullptr) ignore(hip.free(levels_[level].arena));
    free_apart(level);
  }
}

onnxc_status DeviceInstance::set_up(const DeviceOptions& options, ErrorText& error) {
  poison_ = options.poison;
  host_decides_ = host_decides(program_);
  captures_graphs_ = options.captures_graphs && !host_decides_;
  staging_.emplace(module_->hip());
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
  const HipLibrary& hip = module_->hip();
  CurrentDevice current(hip, module_->device());
  if (const onnxc_status status = current.enter(error); status != ONNXC_OK) return status;
  hipError_t result = hip.stream_create(&own_stream_, hipStreamNonBlocking);
  if (!succeeded(hip, result, "hipStreamCreateWithFlags", error)) return status_of(result);
  result = hip.event_create(&run_end_, hipEventDisableTiming);
  return succeeded(hip, result, "hipEventCreateWithFlags", error) ? ONNXC_OK : status_of(result);
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
  const HipLibrary& hip = module_->hip();
  hipError_t result = hip.stream_synchronize(stream_);  // the run before may still use it
  if (!succeeded(hip, result, "hipStreamSynchronize", error)) return status_of(result);
  if (laid_out.arena != nullptr) ignore(hip.free(laid_out.arena));
  laid_out.arena = nullptr;
  laid_out.arena_bytes = 0;
  void* memory = nullptr;
  result = hip.malloc(&memory, static_cast<size_t>(bytes));
  if (!succeeded(hip, result, "hipMalloc of working memory", error)) return status_of(result);
  laid_out.arena = static_cast<char*>(memory);
  laid_out.arena_bytes = bytes;
  return ONNXC_OK;
}

void DeviceInstance::free_apart(int32_t level) {
  for (int64_t i = 0; i < apart_.size(); ++i) {
    if (program_.buffers[i].level != level) continue;
    if (apart_[i] != nullptr) ignore(module_->hip().free(apart_[i]));
    apart_[i] = nullptr;
  }
}

// While memory is poisoned, each temporary and each copy of a caller's value is an allocation of its own, so that a
// simulator or a checker of addresses sees an access that leaves its buffer.
onnxc_status DeviceInstance::place_apart(int32_t level, const DeviceRun& run, ErrorText& error) {
  if (is_being_captured_) return refuse_capture(error, "ONNXC_POISON gives each run memory of its own");
  const HipLibrary& hip = module_->hip();
  hipError_t result = hip.stream_synchronize(stream_);  // the run before may still use them
  if (!succeeded(hip, result, "hipStreamSynchronize", error)) return status_of(result);
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
      result = hip.malloc(&apart_[i], bytes);
      if (!succeeded(hip, result, "hipMalloc of a buffer", error)) return status_of(result);
      buffers_[i] = apart_[i];
      result = hip.memset_async(apart_[i], 0xff, bytes, stream_);
      if (!succeeded(hip, result, "hipMemsetAsync", error)) return status_of(result);
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
