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

}  // namespace gfx942sim::hip
