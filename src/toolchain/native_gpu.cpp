#include "toolchain/native_gpu.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "machine/gpu_machines.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// A driver's library, which stays open.
class Library {
 public:
  Library(const char* variable, std::initializer_list<const char*> names) {
    if (const char* chosen = std::getenv(variable); chosen != nullptr && *chosen != '\0') {
      handle_ = dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
      return;
    }
    for (const char* name : names)
      if (handle_ == nullptr) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }

  // Whether the function is there and gives 0, as both drivers do.
  template <class... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    auto* const function = handle_ != nullptr ? reinterpret_cast<int (*)(Arguments...)>(dlsym(handle_, name)) : nullptr;
    return function != nullptr && function(arguments...) == 0;
  }

 private:
  void* handle_ = nullptr;
};

struct Found {
  std::string name;  // for people
  const machine::GpuMachine* row;
};

std::optional<Found> nvidias(bool as_cubin) {
  const Library cuda("ONNXC_CUDA_LIBRARY", {"libcuda.so.1"});
  int device = 0, units = 0, major = 0, minor = 0;
  // Numbers of CUdevice_attribute.
  const bool is_there = cuda.call("cuInit", 0u) && cuda.call("cuDeviceGet", &device, 0) &&
                        cuda.call("cuDeviceGetAttribute", &units, 16, device) &&
                        cuda.call("cuDeviceGetAttribute", &major, 75, device) &&
                        cuda.call("cuDeviceGetAttribute", &minor, 76, device);
  if (!is_there) return std::nullopt;
  return Found{fmt::format("NVIDIA's of compute capability {}.{}", major, minor),
               machine::nearest_nvidia(10 * major + minor, units, as_cubin)};
}

std::optional<Found> amds() {
  const Library hip("ONNXC_HIP_LIBRARY",
                    {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"});
  int units = 0;
  std::array<char, 4096> properties{};
  constexpr int multiprocessors = 63;  // of hipDeviceAttribute_t
  const bool is_there = hip.call("hipDeviceGetAttribute", &units, multiprocessors, 0) &&
                        (hip.call("hipGetDevicePropertiesR0600", static_cast<void*>(properties.data()), 0) ||
                         hip.call("hipGetDeviceProperties", static_cast<void*>(properties.data()), 0));
  if (!is_there) return std::nullopt;
  // The architecture's name is the only text after the device's own that begins so.
  for (size_t i = 256; i + 64 < properties.size(); i += 4) {
    if (std::memcmp(&properties[i], "gfx", 3) != 0) continue;
    const std::string name(&properties[i], strnlen(&properties[i], 63));
    return Found{name, machine::nearest_amd(std::string_view(name).substr(0, name.find(':')), units)};
  }
  return std::nullopt;
}

// "8.x, 9.x"
std::string known_generations() {
  std::set<int> majors;
  for (const machine::GpuMachine& gpu : machine::gpu_machines)
    if (gpu.vendor == machine::Vendor::nvidia) majors.insert(gpu.compute_capability / 10);
  std::string text;
  for (const int major : majors) text += fmt::format("{}{}.x", text.empty() ? "" : ", ", major);
  return text;
}

}  // namespace

const machine::GpuMachine& native_gpu(bool as_cubin) {
  std::optional<Found> found = nvidias(as_cubin);
  if (as_cubin && found && found->row == nullptr && nvidias(false)->row != nullptr)
    throw UserError(
        fmt::format("--gpu-arch native: the GPU is {}, and --gpu-code cubin makes code for {} only; leave "
                    "--gpu-code out, so that the driver compiles PTX for it",
                    found->name, known_generations()));
  if (!found) found = amds();
  user_check(found.has_value(),
             "--gpu-arch native: neither NVIDIA's driver (libcuda.so.1) nor AMD's library (libamdhip64) finds a GPU; "
             "name one, such as --gpu-arch sm_80");
  user_check(found->row != nullptr, "--gpu-arch native: the GPU is {}, which onnxc does not compile for", found->name);
  return *found->row;
}

}  // namespace onnxc
