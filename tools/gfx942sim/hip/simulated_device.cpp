#include "gfx942sim/hip/simulated_device.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "gfx942sim/reports/report.h"
#include "support/diagnostics.h"

namespace gfx942sim::hip {
namespace {

constexpr uint64_t largest_code_object = uint64_t{1} << 32;

// A module's image comes without its size: the ELF header tells where its parts end.
std::span<const std::byte> code_object_bytes(const void* image) {
  if (image == nullptr || std::memcmp(image, ELFMAG, SELFMAG) != 0)
    throw Refusal(hipErrorInvalidImage, "the image of a module is not an ELF file (bundles are not read)");
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  uint64_t size = header.e_shoff + uint64_t{header.e_shentsize} * header.e_shnum;
  if (header.e_shoff < largest_code_object) {
    const auto* sections = static_cast<const std::byte*>(image) + header.e_shoff;
    for (uint16_t i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section;
      std::memcpy(&section, sections + uint64_t{i} * header.e_shentsize, sizeof section);
      if (section.sh_type != SHT_NOBITS) size = std::max(size, section.sh_offset + section.sh_size);
    }
  }
  if (size > largest_code_object) throw Refusal(hipErrorInvalidImage, "the image of a module is not a whole ELF file");
  return {static_cast<const std::byte*>(image), size};
}

int threads_from_environment() {
  const char* text = std::getenv("GFX942SIM_THREADS");
  return text == nullptr ? 0 : std::atoi(text);
}

template <class Handles, class Handle>
bool is_known(const Handles& handles, Handle handle) {
  return handles.find(handle) != handles.end();
}

}  // namespace

std::string file_content(const char* path) {
  std::ifstream stream(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (bytes.size() < sizeof(Elf64_Ehdr)) throw Refusal(hipErrorFileNotFound, fmt::format("{} is no code object", path));
  return bytes;
}

// Never destroyed: a host may call HIP while it exits.
SimulatedDevice& SimulatedDevice::instance() {
  static auto* device = new SimulatedDevice;
  return *device;
}

SimulatedDevice::SimulatedDevice() { options_.threads = threads_from_environment(); }

void* SimulatedDevice::allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  const Allocation* allocation = memory_.allocate(bytes, "a device allocation");
  if (!allocation)
    throw Refusal(hipErrorOutOfMemory, fmt::format("{} bytes asked for, {} are free", bytes, free_bytes()));
  return reinterpret_cast<void*>(allocation->address);
}

void* SimulatedDevice::allocate_host(size_t bytes) {
  auto memory = std::make_unique<std::byte[]>(bytes);
  void* pointer = memory.get();
  memory_.adopt(pointer, bytes, "a host allocation");
  host_memory_[pointer] = std::move(memory);
  return pointer;
}

void SimulatedDevice::release(void* pointer) {
  if (pointer == nullptr) return;
  if (is_known(host_memory_, pointer) || !memory_.release(reinterpret_cast<uint64_t>(pointer)))
    throw Refusal(hipErrorInvalidValue, fmt::format("{} is not the start of a device allocation", pointer));
}

void SimulatedDevice::release_host(void* pointer) {
  if (pointer == nullptr) return;
  if (!is_known(host_memory_, pointer))
    throw Refusal(hipErrorInvalidValue, fmt::format("{} is not the start of a host allocation", pointer));
  memory_.release(reinterpret_cast<uint64_t>(pointer));
  host_memory_.erase(pointer);
}

std::byte* SimulatedDevice::device_bytes(const void* pointer, size_t bytes, const char* what) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const Allocation* allocation = memory_.find(address, bytes);
  if (!allocation)
    throw Refusal(hipErrorInvalidValue, fmt::format("{} of a copy or fill of {} bytes is not on the device: {}", what,
                                                    bytes, memory_.describe(address)));
  return allocation->bytes + (address - allocation->address);
}

void SimulatedDevice::copy(void* destination, const void* source, size_t bytes, hipMemcpyKind kind) {
  if (bytes == 0) return;
  auto is_device = [&](const void* pointer) { return memory_.find(reinterpret_cast<uint64_t>(pointer), 1) != nullptr; };
  const bool to_device = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice ||
                         (kind == hipMemcpyDefault && is_device(destination));
  const bool from_device = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice ||
                           (kind == hipMemcpyDefault && is_device(source));
  std::memmove(to_device ? device_bytes(destination, bytes, "the destination") : destination,
               from_device ? device_bytes(source, bytes, "the source") : source, bytes);
}

void SimulatedDevice::fill(void* destination, int value, size_t bytes) {
  if (bytes > 0) std::memset(device_bytes(destination, bytes, "the destination"), value, bytes);
}

Module* SimulatedDevice::load(const void* image) {
  auto module = std::make_unique<Module>();
  try {
    // GFX942SIM_CODE_OBJECT names a file that takes the place of every module: kernels that a test broke on purpose.
    const char* replacement = std::getenv("GFX942SIM_CODE_OBJECT");
    const std::string file = replacement ? file_content(replacement) : "";
    module->loaded = std::make_unique<LoadedModule>(memory_, code_object_bytes(replacement ? file.data() : image));
  } catch (const onnxc::UserError& error) {
    throw Refusal(hipErrorNoBinaryForGpu, error.what());
  }
  for (const Kernel& kernel : module->loaded->code_object().kernels)
    module->functions[kernel.name] = {module->loaded.get(), &kernel};
  Module* handle = module.get();
  modules_[handle] = std::move(module);
  return handle;
}

void SimulatedDevice::unload(Module* module) {
  if (modules_.erase(module) == 0) throw Refusal(hipErrorInvalidResourceHandle, "the module is not loaded");
}

Function* SimulatedDevice::function(Module* module, const char* name) {
  if (!is_known(modules_, module)) throw Refusal(hipErrorInvalidResourceHandle, "the module is not loaded");
  auto found = module->functions.find(name);
  if (found == module->functions.end())
    throw Refusal(hipErrorNotFound, fmt::format("the module has no kernel {}", name));
  return &found->second;
}

bool SimulatedDevice::is_loaded(const LoadedModule* module) const {
  return std::ranges::any_of(modules_, [&](const auto& entry) { return entry.first->loaded.get() == module; });
}

hipError_t SimulatedDevice::launch(const Function& function, const Launch& geometry,
                                   const std::vector<std::byte>& arguments) {
  // A graph may outlive the module that it was captured from.
  if (!is_loaded(function.module)) throw Refusal(hipErrorInvalidResourceHandle, "the kernel's module is not loaded");
  try {
    const Counts counts = dispatch(memory_, *function.module, geometry, arguments, options_);
    log_launch(to_json(geometry, counts));
    return hipSuccess;
  } catch (const SimulationFault& fault) {
    fmt::print(stderr, "{}", fault.what());
    return hipErrorLaunchFailure;
  } catch (const onnxc::UserError& error) {
    throw Refusal(hipErrorInvalidConfiguration, error.what());
  }
}

// GFX942SIM_LOG names a file to which every launch adds a line of JSON.
void SimulatedDevice::log_launch(const std::string& line) {
  if (const char* path = std::getenv("GFX942SIM_LOG")) std::ofstream(path, std::ios::app) << line << "\n";
  if (records_) recorded_ += line + "\n";
}

const char* SimulatedDevice::take_launches() {
  records_ = true;
  taken_ = std::exchange(recorded_, "");
  return taken_.c_str();
}

Stream* SimulatedDevice::stream_of(hipStream_t handle) {
  auto* stream = reinterpret_cast<Stream*>(handle);
  if (stream == nullptr) return nullptr;
  if (!is_known(streams, stream)) throw Refusal(hipErrorInvalidResourceHandle, "the stream does not exist");
  return stream;
}

void SimulatedDevice::refuse_while_capturing() {
  for (const auto& [stream, owner] : streams) {
    Capture* capture = stream->capture.get();
    if (capture == nullptr || capture->mode == hipStreamCaptureModeRelaxed) continue;
    if (capture->mode == hipStreamCaptureModeThreadLocal && capture->thread != std::this_thread::get_id()) continue;
    capture->is_invalid = true;
    throw Refusal(hipErrorStreamCaptureUnsupported, "not while a stream captures");
  }
}

void SimulatedDevice::refuse_while_capturing(Stream* stream) {
  if (stream == nullptr || !stream->capture) return;
  stream->capture->is_invalid = true;
  throw Refusal(hipErrorStreamCaptureUnsupported, "not for a stream that captures");
}

hipError_t SimulatedDevice::enqueue(hipStream_t handle, Work work) {
  Stream* stream = stream_of(handle);
  if (stream == nullptr) {
    // It waits for all streams but those that were made not to be waited for.
    for (const auto& [other, owner] : streams) {
      if (!other->capture || !other->waits_for_null_stream) continue;
      other->capture->is_invalid = true;
      throw Refusal(hipErrorStreamCaptureImplicit, "the null stream would wait for a stream that captures");
    }
  }
  if (stream == nullptr || !stream->capture) return work();
  if (stream->capture->is_invalid)
    throw Refusal(hipErrorStreamCaptureInvalidated, "the capture was spoilt by a call that no capture allows");
  stream->capture->graph->work.push_back(std::move(work));
  return hipSuccess;
}

Graph* SimulatedDevice::end_capture(hipStream_t handle) {
  Stream* stream = stream_of(handle);
  if (stream == nullptr || !stream->capture)
    throw Refusal(hipErrorStreamCaptureUnmatched, "the stream does not capture");
  if (stream->capture->mode != hipStreamCaptureModeRelaxed && stream->capture->thread != std::this_thread::get_id())
    throw Refusal(hipErrorStreamCaptureWrongThread, "another thread began this capture");
  const std::unique_ptr<Capture> capture = std::move(stream->capture);
  for (const auto& [event, owner] : events)
    if (event->captured_in == stream) event->captured_in = nullptr;
  if (capture->is_invalid)
    throw Refusal(hipErrorStreamCaptureInvalidated, "the capture was spoilt by a call that no capture allows");
  Graph* graph = capture->graph.get();
  graphs[graph] = std::move(capture->graph);
  return graph;
}

}  // namespace gfx942sim::hip
