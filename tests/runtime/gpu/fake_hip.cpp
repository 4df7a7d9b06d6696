// A double of libamdhip64.so: two GPUs whose memory is the host's and whose kernels are functions below. It counts what
// is alive and fails the call that it is told to.
#include <stdlib.h>
#include <string.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/gpu/fake_kernels.h"

namespace {

constexpr int invalid_value = 1, out_of_memory = 2, illegal_state = 401, no_such_kernel = 500, launch_failure = 719,
              not_while_capturing = 900, capture_spoilt = 901;
constexpr int multiprocessor_count = 63;  // hipDeviceAttributeMultiprocessorCount

int calls = 0, fail_at = -1, alive = 0, last_error = 0;
bool is_lost = false;
constexpr int devices = 2;
thread_local int current_device = 0;
int used_devices = 0;
std::string history, copies;
int own_streams = 0;

std::string name_of(const void* stream) {
  return stream == nullptr ? "null" : stream == &own_streams ? "own" : "callers";
}
std::string architecture = "gfx942:sramecc+:xnack-";
int compute_units = 304;
std::string failed_call;

using Kernel = const onnxc::FakeKernel*;
struct Graph {
  std::vector<std::pair<Kernel, std::vector<char>>> launches;
};
Graph* captured = nullptr;  // while a stream captures
const void* captured_in = nullptr;
bool is_spoilt = false;

// 0, or the error that this call is to fail with.
int enter(const char* name) {
  if (is_lost) return last_error = launch_failure;
  if (calls++ != fail_at) return 0;
  failed_call = name;
  return last_error = out_of_memory;
}

// For a call that a capture does not allow.
int enter_outside(const char* name) {
  if (captured != nullptr) {
    is_spoilt = true;
    return last_error = not_while_capturing;
  }
  return enter(name);
}

}  // namespace

extern "C" {

// For the test.
void fake_hip_reset(int call_that_fails, const char* gpu, int units) {
  calls = 0;
  fail_at = call_that_fails;
  architecture = gpu;
  compute_units = units;
  failed_call.clear();
  used_devices = 0;
  history.clear();
  copies.clear();
  is_lost = false;
}
// A device of the caller's own choice, on this thread.
void fake_hip_choose_device(int device) { current_device = device; }
int fake_hip_chosen_device() { return current_device; }
// Which devices memory and modules were asked for on, a bit each, since the reset.
int fake_hip_used_devices() { return used_devices; }
// The streams that kernels were launched in and events were waited for in, one after the other.
const char* fake_hip_history() { return history.c_str(); }
// The streams in which memory was copied, and how much.
const char* fake_hip_copies() { return copies.c_str(); }
// Every call fails from now on.
void fake_hip_lose_device() { is_lost = true; }
int fake_hip_alive() { return alive + (captured != nullptr ? 1 : 0); }
const char* fake_hip_failed_call() { return failed_call.c_str(); }

int hipInit(unsigned) { return enter("hipInit"); }
int hipGetDeviceCount(int* count_of_devices) {
  *count_of_devices = devices;
  return enter("hipGetDeviceCount");
}
int hipSetDevice(int device) {
  if (const int error = enter("hipSetDevice")) return error;
  if (device < 0 || device >= devices) return invalid_value;
  current_device = device;
  return 0;
}
int hipDeviceGetAttribute(int* value, int attribute, int) {
  if (attribute != multiprocessor_count) return invalid_value;
  *value = compute_units;
  return 0;
}
int hipGetDevicePropertiesR0600(void* properties, int) {
  memset(properties, 0, 1472);
  strcpy(static_cast<char*>(properties), "gfx is a name like any other");
  strcpy(static_cast<char*>(properties) + 1160, architecture.c_str());
  return 0;
}
int hipGetDevice(int* device) {
  *device = current_device;
  return is_lost ? 0 : enter("hipGetDevice");  // which the device is not asked for
}
int hipModuleLoadData(void** module, const void* code) {
  if (const int error = enter_outside("hipModuleLoadData")) return error;
  const char* own_code = architecture.starts_with("gfx950")    ? "newer code"
                         : architecture.starts_with("gfx1100") ? "narrow code"
                         : compute_units < 100                 ? "code of a part"
                                                               : "code";
  if (strcmp(static_cast<const char*>(code), own_code) != 0) return invalid_value;
  *module = &alive;
  used_devices |= 1 << current_device;
  ++alive;
  return 0;
}
int hipModuleUnload(void*) {
  --alive;
  return is_lost ? launch_failure : 0;
}
int hipModuleGetFunction(void** function, void*, const char* name) {
  if (const int error = enter("hipModuleGetFunction")) return error;
  const Kernel found = onnxc::find_fake_kernel(name);
  if (found == nullptr) return no_such_kernel;
  *function = const_cast<onnxc::FakeKernel*>(found);
  return 0;
}
int hipModuleLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                          unsigned, void* stream, void**, void** extra) {
  if (const int error = enter("hipModuleLaunchKernel")) return error;
  history += "launch in " + name_of(stream) + "; ";
  const auto kernel = static_cast<Kernel>(function);
  const void* arguments = extra[1];
  const size_t size = *static_cast<size_t*>(extra[3]);
  if (size != kernel->arguments_size || !kernel->is_right(arguments, int64_t{blocks} * threads)) return invalid_value;
  if (captured != nullptr) {
    const char* bytes = static_cast<const char*>(arguments);
    captured->launches.emplace_back(kernel, std::vector<char>(bytes, bytes + size));
  } else {
    kernel->run(arguments);
  }
  return 0;
}
int hipMalloc(void** pointer, size_t bytes) {
  if (const int error = enter_outside("hipMalloc")) return error;
  *pointer = aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++alive;
  return 0;
}
int hipFree(void* pointer) {
  free(pointer);
  --alive;
  return is_lost ? launch_failure : 0;
}
int hipHostMalloc(void** pointer, size_t bytes, unsigned) {
  if (const int error = enter_outside("hipHostMalloc")) return error;
  *pointer = aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++alive;
  return 0;
}
int hipHostFree(void* pointer) { return hipFree(pointer); }
int hipMemcpyAsync(void* to, const void* from, size_t bytes, int, void* stream) {
  if (const int error = enter_outside("hipMemcpyAsync")) return error;
  copies += std::to_string(bytes) + " in " + name_of(stream) + "; ";
  memcpy(to, from, bytes);
  return 0;
}
int hipMemsetAsync(void* to, int value, size_t bytes, void*) {
  if (const int error = enter_outside("hipMemsetAsync")) return error;
  memset(to, value, bytes);
  return 0;
}
int hipStreamCreateWithFlags(void** stream, unsigned) {
  if (const int error = enter_outside("hipStreamCreateWithFlags")) return error;
  *stream = &own_streams;
  ++alive;
  return 0;
}
int hipStreamSynchronize(void* stream) {
  history += "wait for " + name_of(stream) + "; ";
  return enter_outside("hipStreamSynchronize");
}
int hipStreamDestroy(void*) {
  --alive;
  return is_lost ? launch_failure : 0;
}
int hipStreamWaitEvent(void* stream, void*, unsigned) {
  history += name_of(stream) + " waits; ";
  return enter("hipStreamWaitEvent");
}
int hipStreamIsCapturing(void* stream, int* status) {
  *status = captured == nullptr || stream != captured_in ? 0 : is_spoilt ? 2 : 1;
  return enter("hipStreamIsCapturing");
}
int hipEventCreateWithFlags(void** event, unsigned) {
  if (const int error = enter("hipEventCreateWithFlags")) return error;
  *event = &alive;
  ++alive;
  return 0;
}
int hipEventRecord(void*, void* stream) {
  history += "end in " + name_of(stream) + "; ";
  return enter("hipEventRecord");
}
int hipEventSynchronize(void*) { return enter("hipEventSynchronize"); }
int hipEventDestroy(void*) {
  --alive;
  return is_lost ? launch_failure : 0;
}
int hipStreamBeginCapture(void* stream, int mode) {
  if (const int error = enter_outside("hipStreamBeginCapture")) return error;
  if (stream == nullptr || mode != 1) return invalid_value;
  captured = new Graph;
  captured_in = stream;
  is_spoilt = false;
  return 0;
}
int hipStreamEndCapture(void*, Graph** graph) {
  if (captured == nullptr) return illegal_state;
  *graph = std::exchange(captured, nullptr);
  const int error = is_spoilt ? last_error = capture_spoilt : enter("hipStreamEndCapture");
  if (error == 0) ++alive;
  if (error != 0) delete std::exchange(*graph, nullptr);
  return error;
}
int hipGraphInstantiateWithFlags(Graph** executable, const Graph* graph, unsigned long long) {
  if (const int error = enter("hipGraphInstantiateWithFlags")) return error;
  if (graph->launches.empty()) return invalid_value;
  *executable = new Graph(*graph);
  ++alive;
  return 0;
}
int hipGraphLaunch(const Graph* executable, void*) {
  if (const int error = enter_outside("hipGraphLaunch")) return error;
  for (const auto& [kernel, arguments] : executable->launches) kernel->run(arguments.data());
  return 0;
}
int hipGraphDestroy(Graph* graph) {
  delete graph;
  --alive;
  return 0;
}
int hipGraphExecDestroy(Graph* executable) {
  delete executable;
  --alive;
  return is_lost ? launch_failure : 0;
}
int hipGetLastError() { return std::exchange(last_error, 0); }
const char* hipGetErrorString(int error) {
  return error == out_of_memory    ? "out of memory"
         : error == launch_failure ? "unspecified launch failure"
                                   : "another error";
}
}
