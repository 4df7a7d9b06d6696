// Kernels for the simulator's tests: from assembly or from HIP source, by clang, and runs of them on vectors.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "gfx942sim/dispatch.h"

namespace gfx942sim {

struct AssemblyKernel {
  std::string name;
  std::string body;  // without s_endpgm; s[0:1] holds the arguments' address, s2 the work group, v0 the work item
  uint32_t lds_bytes = 0;
  uint32_t argument_bytes = 16;
};

// A code object with these kernels: 64 vector registers and 64 accumulators each.
std::vector<std::byte> assemble(const std::vector<AssemblyKernel>& kernels);

// The assembler's message for each text by itself, or nothing if it takes it.
std::vector<std::string> assembler_errors(const std::vector<std::string>& lines);

// A code object from HIP source without headers; __global__, __shared__ and __device__ are defined.
std::vector<std::byte> compile_hip(const std::string& source, const std::vector<std::string>& options = {"-O3"});

// A device with one code object.
class Device {
 public:
  explicit Device(const std::vector<std::byte>& code_object) : module_(memory_, code_object) {}

  template <class T>
  uint64_t upload(const std::vector<T>& values, const std::string& label = "buffer") {
    const Allocation* allocation = memory_.allocate(values.size() * sizeof(T), label);
    std::memcpy(allocation->bytes, values.data(), allocation->size);
    return allocation->address;
  }
  template <class T>
  uint64_t reserve(size_t count, const std::string& label = "buffer") {
    return memory_.allocate(count * sizeof(T), label)->address;
  }
  template <class T>
  std::vector<T> download(uint64_t address, size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), memory_.find(address, count * sizeof(T))->bytes, count * sizeof(T));
    return values;
  }

  template <class... Arguments>
  Counts run(const std::string& kernel, uint32_t grid, uint32_t block, Arguments... arguments) {
    std::vector<std::byte> packed;
    (pack(packed, arguments), ...);
    Launch launch{.kernel = module_.code_object().find_kernel(kernel), .grid = {grid, 1, 1}, .block = {block, 1, 1}};
    if (!launch.kernel) throw std::runtime_error("no kernel " + kernel);
    return dispatch(memory_, module_, launch, packed, options);
  }

  // The report of the fault that the kernel must end in; an empty one when it does not.
  template <class... Arguments>
  FaultReport fault(const std::string& kernel, uint32_t grid, uint32_t block, Arguments... arguments) {
    try {
      run(kernel, grid, block, arguments...);
    } catch (const SimulationFault& found) {
      return found.report;
    }
    return {};
  }

  DispatchOptions options{.threads = 2, .instruction_limit = 1000000};

  DeviceMemory& memory() { return memory_; }
  const LoadedModule& module() const { return module_; }

 private:
  template <class T>
  static void pack(std::vector<std::byte>& packed, T value) {
    const size_t offset = (packed.size() + sizeof value - 1) / sizeof value * sizeof value;
    packed.resize(offset + sizeof value);
    std::memcpy(packed.data() + offset, &value, sizeof value);
  }

  DeviceMemory memory_;
  LoadedModule module_;
};

}  // namespace gfx942sim
