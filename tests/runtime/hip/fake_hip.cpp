// A double of libamdhip64.so: one GPU whose memory is the host's and whose kernels are functions below. It counts what
// is alive and fails the call that it is told to.
#include <stdlib.h>
#include <string.h>

#include <cstdint>
#include <map>
#include <string>

namespace {

constexpr int out_of_memory = 2, invalid_value = 1, no_such_kernel = 500;

struct Row {  // the arguments of both kernels of fake_device_model
  int64_t points, point_stride;
  const float *left, *right;
  float* result;
};

int calls = 0, fail_at = -1, alive = 0, last_error = 0;
std::string architecture = "gfx942:sramecc+:xnack-";
std::string failed_call;

// 0, or the error that this call is to fail with.
int enter(const char* name) {
  if (calls++ != fail_at) return 0;
  failed_call = name;
  return last_error = out_of_memory;
}

void multiply(const Row& row) {
  for (int64_t i = 0; i < row.points; ++i) row.result[i] = row.left[i] * row.right[i % 4];
}
void add(const Row& row) {
  for (int64_t i = 0; i < row.points; ++i) row.result[i] = row.left[i] + row.right[i % 4];
}
const std::map<std::string, void (*)(const Row&)> kernels = {{"multiply", multiply}, {"add", add}};

}  // namespace

extern "C" {

// For the test.
void fake_hip_reset(int call_that_fails, const char* gpu) {
  calls = 0;
  fail_at = call_that_fails;
  architecture = gpu;
  failed_call.clear();
}
int fake_hip_alive() { return alive; }
const char* fake_hip_failed_call() { return failed_call.c_str(); }

int hipInit(unsigned) { return enter("hipInit"); }
int hipGetDeviceCount(int* count) {
  *count = 1;
  return enter("hipGetDeviceCount");
}
int hipSetDevice(int device) {
  const int error = enter("hipSetDevice");
  return error != 0 ? error : (device == 0 ? 0 : invalid_value);
}
int hipGetDevicePropertiesR0600(void* properties, int) {
  memset(properties, 0, 1472);
  strcpy(static_cast<char*>(properties), "gfx is a name like any other");
  strcpy(static_cast<char*>(properties) + 1160, architecture.c_str());
  return 0;
}
int hipModuleLoadData(void** module, const void* code) {
  if (const int error = enter("hipModuleLoadData")) return error;
  if (strcmp(static_cast<const char*>(code), "code") != 0) return invalid_value;
  *module = &alive;
  ++alive;
  return 0;
}
int hipModuleUnload(void*) {
  --alive;
  return 0;
}
int hipModuleGetFunction(void** function, void*, const char* name) {
  if (const int error = enter("hipModuleGetFunction")) return error;
  const auto found = kernels.find(name);
  if (found == kernels.end()) return no_such_kernel;
  *function = reinterpret_cast<void*>(found->second);
  return 0;
}
int hipModuleLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                          unsigned, void*, void**, void** extra) {
  if (const int error = enter("hipModuleLaunchKernel")) return error;
  const Row& row = *static_cast<const Row*>(extra[1]);
  if (*static_cast<size_t*>(extra[3]) != sizeof(Row)) return invalid_value;
  if (row.point_stride != static_cast<int64_t>(blocks) * threads) return invalid_value;
  reinterpret_cast<void (*)(const Row&)>(function)(row);
  return 0;
}
int hipMalloc(void** pointer, size_t bytes) {
  if (const int error = enter("hipMalloc")) return error;
  *pointer = aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++alive;
  return 0;
}
int hipFree(void* pointer) {
  free(pointer);
  --alive;
  return 0;
}
int hipMemcpyAsync(void* to, const void* from, size_t bytes, int, void*) {
  if (const int error = enter("hipMemcpyAsync")) return error;
  memcpy(to, from, bytes);
  return 0;
}
int hipMemsetAsync(void* to, int value, size_t bytes, void*) {
  if (const int error = enter("hipMemsetAsync")) return error;
  memset(to, value, bytes);
  return 0;
}
int hipStreamCreateWithFlags(void** stream, unsigned) {
  if (const int error = enter("hipStreamCreateWithFlags")) return error;
  *stream = &calls;
  ++alive;
  return 0;
}
int hipStreamSynchronize(void*) { return enter("hipStreamSynchronize"); }
int hipStreamDestroy(void*) {
  --alive;
  return 0;
}
int hipGetLastError() {
  const int error = last_error;
  last_error = 0;
  return error;
}
const char* hipGetErrorString(int error) { return error == out_of_memory ? "out of memory" : "another error"; }
}
