// The driver's calls about itself, its devices and contexts, and its errors.
#include <cstring>

#include "cuda_stand_in/api_call.h"

namespace cuda_stand_in {
namespace {

void require_device_number(int device) {
  if (device < 0 || device >= device_count())
    throw gpu_streams::Refusal(
        gpu_streams::invalid_device,
        fmt::format("there is no device {}; CUDA_STAND_IN_DEVICES is {}", device, device_count()));
}

int attribute(int number) {
  switch (number) {
    case 16:
      return multiprocessors();
    case 75:
      return capability() / 10;
    case 76:
      return capability() % 10;
    default:
      throw gpu_streams::Refusal(gpu_streams::invalid_value, fmt::format("attribute {} is not known here", number));
  }
}

struct ErrorText {
  int code;
  const char* text;
};
// As driver 580 words them.
constexpr ErrorText error_texts[] = {
    {0, "no error"},
    {gpu_streams::invalid_value, "invalid argument"},
    {gpu_streams::out_of_memory, "out of memory"},
    {not_initialized, "initialization error"},
    {gpu_streams::no_device, "no CUDA-capable device is detected"},
    {gpu_streams::invalid_device, "invalid device ordinal"},
    {gpu_streams::invalid_image, "device kernel image is invalid"},
    {invalid_context, "invalid device context"},
    {no_binary_for_gpu, "no kernel image is available for execution on the device"},
    {invalid_ptx, "a PTX JIT compilation failed"},
    {unsupported_ptx_version, "the provided PTX was compiled with an unsupported toolchain."},
    {gpu_streams::invalid_handle, "invalid resource handle"},
    {gpu_streams::not_found, "named symbol not found"},
    {gpu_streams::not_ready, "device not ready"},
    {illegal_address, "an illegal memory access was encountered"},
    {context_is_destroyed, "context is destroyed"},
    {gpu_streams::launch_failure, "unspecified launch failure"},
    {gpu_streams::not_supported, "operation not supported"},
    {gpu_streams::capture_unsupported, "operation not permitted when stream is capturing"},
    {gpu_streams::capture_invalidated, "operation failed due to a previous error during capture"},
    {gpu_streams::capture_unmatched, "capture was not initiated in this stream"},
    {gpu_streams::capture_isolation, "dependency created on uncaptured work in another stream"},
    {gpu_streams::capture_implicit, "operation would make the legacy stream depend on a capturing blocking stream"},
    {gpu_streams::captured_event, "operation not permitted on an event last recorded in a capturing stream"},
    {gpu_streams::capture_wrong_thread, "attempt to terminate a thread-local capture sequence from another thread"},
    {gpu_streams::unknown_error, "unknown error"},
};

}  // namespace

const char* text_of(int code) {
  for (const ErrorText& row : error_texts)
    if (row.code == code) return row.text;
  return nullptr;
}

}  // namespace cuda_stand_in

using namespace cuda_stand_in;

extern "C" {

int cuInit(unsigned flags) {
  StandIn::instance().is_initialized = true;
  return call("cuInit", [&](StandIn&) {
    gpu_streams::require(flags == 0, gpu_streams::invalid_value, "the flags must be 0");
    gpu_streams::require(device_count() > 0, gpu_streams::no_device, "CUDA_STAND_IN_DEVICES is 0");
  });
}

int cuDriverGetVersion(int* version) {
  *version = driver_version();
  return 0;
}

int cuDeviceGetCount(int* count) {
  return call("cuDeviceGetCount", [&](StandIn&) { *count = device_count(); });
}

int cuDeviceGet(int* device, int ordinal) {
  return call("cuDeviceGet", [&](StandIn&) {
    require_device_number(ordinal);
    *device = ordinal;
  });
}

int cuDeviceGetName(char* name, int size, int device) {
  return call("cuDeviceGetName", [&](StandIn&) {
    require_device_number(device);
    std::snprintf(name, static_cast<size_t>(size), "NVIDIA stand-in");
  });
}

int cuDeviceGetAttribute(int* value, int number, int device) {
  return call("cuDeviceGetAttribute", [&](StandIn&) {
    require_device_number(device);
    *value = attribute(number);
  });
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  return call("cuDevicePrimaryCtxRetain", [&](StandIn& stand_in) {
    require_device_number(device);
    Context& primary = stand_in.primary(device);
    stand_in.retain(primary);
    *context = &primary;
  });
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  return call_to_give_back("cuDevicePrimaryCtxRelease_v2", [&](StandIn& stand_in) {
    require_device_number(device);
    Context& primary = stand_in.primary(device);
    gpu_streams::require(primary.users > 0, invalid_context, "the primary context has no user");
    if (--primary.users == 0) stand_in.destroy_context(&primary);
  });
}

int cuCtxCreate_v2(void** context, unsigned, int device) {
  return call("cuCtxCreate_v2", [&](StandIn& stand_in) {
    require_device_number(device);
    Context* created = stand_in.create_context(device);
    context_stack.push_back(created);
    *context = created;
  });
}

int cuCtxDestroy_v2(void* context) {
  return call_to_give_back("cuCtxDestroy_v2", [&](StandIn& stand_in) {
    if (!context_stack.empty() && context_stack.back() == context) context_stack.pop_back();
    stand_in.destroy_context(static_cast<Context*>(context));
  });
}

int cuCtxGetCurrent(void** context) {
  return call("cuCtxGetCurrent", [&](StandIn&) { *context = context_stack.empty() ? nullptr : context_stack.back(); });
}

int cuCtxSetCurrent(void* context) {
  return call("cuCtxSetCurrent", [&](StandIn& stand_in) {
    gpu_streams::require(context == nullptr || stand_in.has(static_cast<Context*>(context)), invalid_context,
                         "the context does not exist");
    if (!context_stack.empty()) context_stack.pop_back();
    if (context != nullptr) context_stack.push_back(static_cast<Context*>(context));
  });
}

int cuCtxGetDevice(int* device) {
  return call("cuCtxGetDevice", [&](StandIn& stand_in) { *device = stand_in.current().device; });
}

int cuGetErrorString(int code, const char** text) {
  *text = text_of(code);
  return *text != nullptr ? 0 : static_cast<int>(gpu_streams::invalid_value);
}

// For tests, which find these by name: see StandIn.
void cuda_stand_in_fail_at(int number) { StandIn::instance().fail_at(number); }
const char* cuda_stand_in_failed_call() { return StandIn::instance().failed_call().c_str(); }
size_t cuda_stand_in_alive() { return StandIn::instance().alive(); }
const char* cuda_stand_in_take_launches() {
  static std::string taken;
  taken = StandIn::instance().take_launches();
  return taken.c_str();
}

}  // extern "C"
