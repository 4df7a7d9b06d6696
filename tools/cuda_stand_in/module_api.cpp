// The driver's calls about modules, their kernels and launches.
#include <cstring>

#include "cuda_stand_in/api_call.h"

namespace cuda_stand_in {
namespace {

// Most that a block may ask for beyond 48 KiB, by compute capability.
uint32_t most_shared_bytes() {
  const int version = capability();
  const uint32_t kilobytes = version == 80 || version == 87 ? 163 : version < 90 || version >= 120 ? 99 : 227;
  return kilobytes * 1024;
}

}  // namespace
}  // namespace cuda_stand_in

using namespace cuda_stand_in;

extern "C" {

int cuModuleLoadDataEx(void** module, const void* image, unsigned count, const int* options, void** values) {
  char* log = nullptr;
  size_t log_size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 5) log = static_cast<char*>(values[i]);
    if (options[i] == 6) log_size = reinterpret_cast<size_t>(values[i]);
  }
  std::string text;
  const int result = call("cuModuleLoadDataEx", [&](StandIn& stand_in) {
    stand_in.streams.refuse_while_capturing();
    *module = stand_in.load(static_cast<const char*>(image), text);
  });
  if (log != nullptr && log_size > 0) std::snprintf(log, log_size, "%s", text.c_str());
  return result;
}

int cuModuleUnload(void* module) {
  return call_to_give_back("cuModuleUnload", [&](StandIn& stand_in) {
    stand_in.streams.refuse_while_capturing();
    stand_in.unload(module);
  });
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  return call("cuModuleGetFunction", [&](StandIn& stand_in) { *function = stand_in.function(module, name); });
}

int cuFuncSetAttribute(void* function, int attribute, int value) {
  return call("cuFuncSetAttribute", [&](StandIn& stand_in) {
    gpu_streams::require(attribute == 8, gpu_streams::invalid_value, "only dynamic shared memory can be set here");
    gpu_streams::require(value >= 0 && static_cast<uint32_t>(value) <= most_shared_bytes(), gpu_streams::invalid_value,
                         "a block has not so much shared memory");
    stand_in.known(function).most_dynamic_shared_bytes = static_cast<uint32_t>(value);
  });
}

int cuLaunchKernel(void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                   unsigned threads_y, unsigned threads_z, unsigned shared_bytes, void* stream, void** parameters,
                   void** extra) {
  return call("cuLaunchKernel", [&](StandIn& stand_in) {
    gpu_streams::require(blocks_y == 1 && blocks_z == 1 && threads_y == 1 && threads_z == 1, gpu_streams::not_supported,
                         "only launches along one axis run here");
    return stand_in.launch(function, blocks_x, threads_x, shared_bytes, stream, parameters, extra);
  });
}

}  // extern "C"
