// HIP's calls about modules, their functions and launches.
#include <cstring>

#include "gfx942sim/hip/api_call.h"

namespace gfx942sim::hip {
namespace {

// The kernel-argument segment as the host gives it: packed, or argument by argument.
std::vector<std::byte> gather_arguments(const Kernel& kernel, void** parameters, void** extra) {
  std::vector<std::byte> segment;
  if (extra != nullptr) {
    const void* buffer = nullptr;
    size_t size = 0;
    for (void** entry = extra; *entry != HIP_LAUNCH_PARAM_END; entry += 2) {
      if (entry[0] == HIP_LAUNCH_PARAM_BUFFER_POINTER)
        buffer = entry[1];
      else if (entry[0] == HIP_LAUNCH_PARAM_BUFFER_SIZE)
        size = *static_cast<size_t*>(entry[1]);
      else
        throw Refusal(hipErrorInvalidValue, "the launch's extra parameters are not a packed buffer");
    }
    require(buffer != nullptr || size == 0, hipErrorInvalidValue, "the launch's extra parameters lack the buffer");
    const auto* bytes = static_cast<const std::byte*>(buffer);
    segment.assign(bytes, bytes + size);
    return segment;
  }
  size_t next = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.kind.starts_with("hidden_")) continue;
    require(parameters != nullptr && parameters[next] != nullptr, hipErrorInvalidValue, "the launch lacks an argument");
    segment.resize(std::max<size_t>(segment.size(), argument.offset + argument.size));
    std::memcpy(segment.data() + argument.offset, parameters[next++], argument.size);
  }
  return segment;
}

}  // namespace
}  // namespace gfx942sim::hip

using namespace gfx942sim;
using namespace gfx942sim::hip;

extern "C" {

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return call("hipModuleLoadData", [&](SimulatedDevice& device) {
    device.streams.refuse_while_capturing();
    *module = reinterpret_cast<hipModule_t>(device.load(image));
  });
}

hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned int, hipJitOption*, void**) {
  return hipModuleLoadData(module, image);
}

hipError_t hipModuleLoad(hipModule_t* module, const char* file) {
  return call("hipModuleLoad", [&](SimulatedDevice& device) {
    const std::string bytes = file_content(file);
    *module = reinterpret_cast<hipModule_t>(device.load(bytes.data()));
  });
}

hipError_t hipModuleUnload(hipModule_t module) {
  return call("hipModuleUnload", [&](SimulatedDevice& device) {
    device.streams.refuse_while_capturing();
    device.unload(reinterpret_cast<Module*>(module));
  });
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  return call("hipModuleGetFunction", [&](SimulatedDevice& device) {
    *function = reinterpret_cast<hipFunction_t>(device.function(reinterpret_cast<Module*>(module), name));
  });
}

hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int) { return hipSuccess; }

hipError_t hipModuleLaunchKernel(hipFunction_t handle, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                 unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                 unsigned int dynamic_lds, hipStream_t stream, void** parameters, void** extra) {
  return call("hipModuleLaunchKernel", [&](SimulatedDevice& device) {
    require(handle != nullptr, hipErrorInvalidResourceHandle, "the function is null");
    const Function function = *reinterpret_cast<Function*>(handle);
    const Launch launch{function.kernel, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_lds};
    require(device.streams.stream(stream, current_device).device == function.device, hipErrorInvalidResourceHandle,
            "the stream is of another device than the kernel's module");
    require(function.device == current_device, hipErrorInvalidDevice,
            "the stream is of another device than this thread's current one");
    // Arguments are read when the launch is enqueued, as HIP does.
    std::vector<std::byte> bytes = gather_arguments(*function.kernel, parameters, extra);
    try {
      check_launch(launch, bytes.size());
    } catch (const onnxc::UserError& error) {
      throw Refusal(hipErrorInvalidConfiguration, error.what());
    }
    return device.enqueue(
        stream, [=, &device, arguments = std::move(bytes)] { return device.launch(function, launch, arguments); });
  });
}

}  // extern "C"
