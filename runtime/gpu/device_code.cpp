#include "gpu/device_code.h"

#include <stdio.h>
#include <string.h>

#include <algorithm>

#include "gpu/library/ptx_parts.h"
#include "gpu/program_choice.h"
#include "threads/thread_count.h"
#include "threads/thread_pool.h"

namespace onnxc::runtime {
namespace {

// Some two kernels of a product, or ten of loops: a tenth of a second of the driver's compiler.
constexpr size_t module_bytes = size_t{64} << 10;

constexpr GpuResult no_memory = {gpu_out_of_memory, "the model's code"};

struct Outcome {
  GpuResult result;
  char log[512];
};

}  // namespace

struct DeviceCode::Loading {
  const void* text(int64_t part) const {
    return parts.count() > 0 ? parts.text(static_cast<int32_t>(part)) : static_cast<const void*>(program.code_object);
  }
  int32_t part_of(const char* kernel) const { return parts.count() > 0 ? parts.part_of(kernel) : 0; }

  const GpuLibrary& gpu;
  const GpuDevice& device;
  const DeviceProgram& program;
  PtxParts parts = {};
  GpuModule* modules = nullptr;
  Array<Outcome> outcomes = {};
};

GpuResult DeviceCode::load(const GpuLibrary& gpu, const GpuDevice& device, const DeviceProgram& program) {
  failed_part_[0] = log_[0] = '\0';
  lacks_shared_memory_ = false;
  Loading loading{.gpu = gpu, .device = device, .program = program};
  const bool is_ptx = gpu.vendor == GpuVendor::nvidia && !is_cubin(program);
  if (is_ptx && !loading.parts.cut(reinterpret_cast<const char*>(program.code_object), module_bytes)) return no_memory;
  const int64_t count = is_ptx ? loading.parts.count() : 1;
  if (!modules_.allocate(count) || !loading.outcomes.allocate(count) || !kernels_.allocate(program.kernel_count))
    return no_memory;
  loading.modules = modules_.data();
  const GpuResult result = load_parts(loading);
  return result.is_ok() ? find_kernels(loading) : result;
}

GpuResult DeviceCode::load_parts(Loading& loading) {
  const auto body = [](const void* context, int64_t begin, int64_t end, int) {
    auto& shared = *static_cast<Loading*>(const_cast<void*>(context));
    CallersDevice callers;
    bool has_changed = false;
    const GpuResult entered = shared.gpu.enter(shared.device, callers, has_changed);
    for (int64_t i = begin; i < end; ++i) {
      auto& [result, log] = shared.outcomes[i];
      result = entered;
      if (entered.is_ok()) result = shared.gpu.load_module(&shared.modules[i], shared.text(i), log, sizeof log);
    }
    if (has_changed) ignore(shared.gpu.leave(callers));
  };
  const int64_t count = modules_.size();
  ThreadPool threads;
  threads.set_threads(static_cast<int>(std::min<int64_t>(count, default_thread_count())));
  threads.run(count, threads.threads(), body, &loading);
  for (int64_t i = 0; i < count; ++i) {
    const Outcome& outcome = loading.outcomes[i];
    if (outcome.result.is_ok()) continue;
    if (count > 1)
      snprintf(failed_part_, sizeof failed_part_, "of module %d of %d", static_cast<int>(i + 1),
               static_cast<int>(count));
    memcpy(log_, outcome.log, sizeof log_);
    return outcome.result;
  }
  return {};
}

GpuResult DeviceCode::find_kernels(const Loading& loading) {
  const DeviceProgram& program = loading.program;
  for (int32_t i = 0; i < program.kernel_count; ++i) {
    GpuResult result =
        loading.gpu.find_kernel(&kernels_[i], modules_[loading.part_of(program.kernels[i])], program.kernels[i]);
    if (!result.is_ok()) snprintf(failed_part_, sizeof failed_part_, "of '%s'", program.kernels[i]);
    if (result.is_ok()) result = allow_shared_bytes(loading, i);
    if (!result.is_ok()) return result;
  }
  return {};
}

GpuResult DeviceCode::allow_shared_bytes(const Loading& loading, int32_t kernel) {
  const uint32_t bytes = loading.program.shared_bytes_of(kernel);
  if (bytes == 0 || loading.gpu.allow_shared_bytes == nullptr) return {};
  const GpuResult result = loading.gpu.allow_shared_bytes(kernels_[kernel], bytes);
  lacks_shared_memory_ = !result.is_ok();
  if (lacks_shared_memory_)
    snprintf(failed_part_, sizeof failed_part_, "of %u bytes of shared memory for '%.60s'", bytes,
             loading.program.kernels[kernel]);
  return result;
}

void DeviceCode::unload(const GpuLibrary& gpu) {
  for (GpuModule module : modules_)
    if (module != nullptr) ignore(gpu.unload_module(module));
  modules_.release();
}

}  // namespace onnxc::runtime
