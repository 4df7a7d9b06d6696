#include "gfx942sim/hip/simulated_device.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "gfx942sim/partition.h"
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

// GFX942SIM_ALIGNMENT: "natural"; without it the hardware's unaligned mode, in which any address will do.
bool needs_natural_alignment() {
  const char* text = std::getenv("GFX942SIM_ALIGNMENT");
  return text != nullptr && std::strcmp(text, "natural") == 0;
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

int device_count() {
  const char* text = std::getenv("GFX942SIM_DEVICES");
  return text == nullptr ? partition_from_environment().devices : std::clamp(std::atoi(text), 0, 64);
}

void require_device(int device) {
  if (device >= 0 && device < device_count()) return;
  throw Refusal(hipErrorInvalidDevice,
                fmt::format("there is no device {}; GFX942SIM_DEVICES is {}", device, device_count()));
}

std::string file_content(const char* path) {
  std::ifstream stream(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (bytes.size() < sizeof(Elf64_Ehdr))
    throw Refusal(hipErrorFileNotFound, fmt::format("{} is not a code object", path));
  return bytes;
}

// Never destroyed: a host may call HIP while it exits.
SimulatedDevice& SimulatedDevice::instance() {
  static auto* device = new SimulatedDevice;
  return *device;
}

SimulatedDevice::SimulatedDevice() {
  options_.threads = threads_from_environment();
  options_.races = races_from_environment();
}

void* SimulatedDevice::allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  const Allocation* allocation =
      bytes > free_bytes(current_device) ? nullptr : memory_.allocate(bytes, "a device allocation", current_device);
  if (!allocation)
    throw Refusal(hipErrorOutOfMemory,
                  fmt::format("{} bytes asked for, {} are free", bytes, free_bytes(current_device)));
  return reinterpret_cast<void*>(allocation->address);
}

size_t SimulatedDevice::free_bytes(int device) const {
  const Partition partition = partition_from_environment();
  const uint64_t used = memory_.used_bytes(
      [&](int other) { return other >= 0 && partition.domain_of(other) == partition.domain_of(device); });
  return partition.memory_bytes() - std::min(partition.memory_bytes(), used);
}

void* SimulatedDevice::allocate_host(size_t bytes) {
  auto memory = std::make_unique<std::byte[]>(bytes);
  void* pointer = memory.get();
  std::memset(pointer, 0xff, bytes);
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

std::byte* SimulatedDevice::device_bytes(const void* pointer, size_t bytes, const char* what) const {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const Allocation* allocation = memory_.find(address, bytes);
  if (!allocation)
    throw Refusal(hipErrorInvalidValue, fmt::format("{} of a copy or fill of {} bytes is not on the device: {}", what,
                                                    bytes, memory_.describe(address)));
  return allocation->bytes + (address - allocation->address);
}

bool SimulatedDevice::is_pinned(const void* pointer) const {
  const auto after = host_memory_.upper_bound(const_cast<void*>(pointer));
  if (after == host_memory_.begin()) return false;
  const Allocation* allocation = memory_.find(reinterpret_cast<uint64_t>(std::prev(after)->first), 1);
  return allocation != nullptr && allocation->contains(reinterpret_cast<uint64_t>(pointer), 1);
}

SimulatedDevice::Ends SimulatedDevice::ends_of_copy(const void* destination, const void* source,
                                                    hipMemcpyKind kind) const {
  auto is_device = [&](const void* pointer) { return memory_.find(reinterpret_cast<uint64_t>(pointer), 1) != nullptr; };
  return {.to_device = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice ||
                       (kind == hipMemcpyDefault && is_device(destination)),
          .from_device = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice ||
                         (kind == hipMemcpyDefault && is_device(source))};
}

void SimulatedDevice::check_copy(const void* destination, const void* source, size_t bytes, hipMemcpyKind kind) const {
  if (bytes == 0) return;
  const Ends ends = ends_of_copy(destination, source, kind);
  if (ends.to_device) device_bytes(destination, bytes, "the destination");
  if (ends.from_device) device_bytes(source, bytes, "the source");
}

void SimulatedDevice::copy(void* destination, const void* source, size_t bytes, hipMemcpyKind kind) const {
  if (bytes == 0) return;
  const Ends ends = ends_of_copy(destination, source, kind);
  std::memmove(ends.to_device ? device_bytes(destination, bytes, "the destination") : destination,
               ends.from_device ? device_bytes(source, bytes, "the source") : source, bytes);
}

void SimulatedDevice::fill(void* destination, int value, size_t bytes) const {
  if (bytes > 0) std::memset(device_bytes(destination, bytes, "the destination"), value, bytes);
}

Module* SimulatedDevice::load(const void* image) {
  auto module = std::make_unique<Module>();
  module->device = current_device;
  try {
    // GFX942SIM_CODE_OBJECT names a file that takes the place of every module: kernels that a test broke on purpose.
    const char* replacement = std::getenv("GFX942SIM_CODE_OBJECT");
    const std::string file = replacement ? file_content(replacement) : "";
    module->loaded = std::make_unique<LoadedModule>(memory_, code_object_bytes(replacement ? file.data() : image));
  } catch (const onnxc::UserError& error) {
    throw Refusal(hipErrorNoBinaryForGpu, error.what());
  }
  for (const Kernel& kernel : module->loaded->code_object().kernels)
    module->functions[kernel.name] = {module->loaded.get(), &kernel, current_device};
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
  Launch launch = geometry;
  launch.reachable_devices = uint64_t{1} << function.device | peers_[function.device];
  launch.needs_natural_alignment = needs_natural_alignment();
  try {
    const Counts counts = dispatch(memory_, *function.module, launch, arguments, options_);
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
  if (stream == nullptr) {
    Stream& found = null_streams_[current_device];
    found.device = current_device;
    found.is_null_stream = true;
    return &found;
  }
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

void SimulatedDevice::refuse_while_anything_captures(hipError_t code) {
  bool captures = false;
  for (const auto& [stream, owner] : streams) {
    if (!stream->capture) continue;
    captures = stream->capture->is_invalid = true;
  }
  if (captures) throw Refusal(code, "not while any stream captures, in whatever mode");
}

void SimulatedDevice::refuse_while_capturing(Stream* stream) {
  if (!stream->capture) return;
  stream->capture->is_invalid = true;
  throw Refusal(hipErrorStreamCaptureUnsupported, "not for a stream that captures");
}

// The null stream and the streams that were not made apart from it wait for each other.
std::vector<WorkNumber> SimulatedDevice::before_work_of(const Stream& stream) const {
  std::vector<WorkNumber> before = stream.before_next;
  auto add = [&](const Stream& other) {
    before.insert(before.end(), other.before_next.begin(), other.before_next.end());
  };
  if (stream.is_null_stream) {
    for (const auto& [other, owner] : streams)
      if (other->waits_for_null_stream && other->device == stream.device) add(*other);
  } else if (stream.waits_for_null_stream) {
    const auto found = null_streams_.find(stream.device);
    if (found != null_streams_.end()) add(found->second);
  }
  return before;
}

hipError_t SimulatedDevice::enqueue(hipStream_t handle, Work work) {
  Stream& stream = *stream_of(handle);
  for (const auto& [other, owner] : streams) {
    if (!stream.is_null_stream || other->device != stream.device) continue;
    if (!other->capture || !other->waits_for_null_stream) continue;
    other->capture->is_invalid = true;
    throw Refusal(hipErrorStreamCaptureImplicit, "the null stream would wait for a stream that captures");
  }
  if (!stream.capture) {
    stream.before_next = {pending.add(stream.device, &stream, before_work_of(stream), std::move(work))};
    return hipSuccess;
  }
  if (stream.capture->is_invalid)
    throw Refusal(hipErrorStreamCaptureInvalidated, "the capture was spoilt by a call that no capture allows");
  stream.capture->graph->work.push_back(std::move(work));
  return hipSuccess;
}

hipError_t SimulatedDevice::finish(hipStream_t handle) {
  const hipError_t result = enqueue(handle, [] { return hipSuccess; });
  return result == hipSuccess ? pending.finish(stream_of(handle)->before_next.back()) : result;
}

void SimulatedDevice::leave_to_null_stream(const Stream& stream) {
  Stream& heir = null_streams_[stream.device];
  heir.device = stream.device;
  heir.is_null_stream = true;
  heir.before_next.insert(heir.before_next.end(), stream.before_next.begin(), stream.before_next.end());
}

Graph* SimulatedDevice::end_capture(hipStream_t handle) {
  Stream* stream = stream_of(handle);
  if (!stream->capture) throw Refusal(hipErrorStreamCaptureUnmatched, "the stream does not capture");
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
