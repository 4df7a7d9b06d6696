// A gfx942 code object (ELF, code object version 4 or 5): its kernels, what the loader must place, and its source
// lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gfx942sim {

struct KernelArgument {
  uint32_t offset = 0;
  uint32_t size = 0;
  std::string kind;  // global_buffer, by_value, hidden_block_count_x, ...
};

// A kernel as its metadata and its 64-byte descriptor describe it.
struct Kernel {
  std::string name;
  uint64_t entry = 0;  // the address of its first instruction in the code object
  uint32_t lds_bytes = 0;
  uint32_t scratch_bytes = 0;  // of a lane
  bool dynamic_stack = false;
  uint32_t argument_bytes = 0;
  uint32_t max_threads = 1024;
  std::vector<KernelArgument> arguments;
  int vector_registers = 0;
  int accumulators = 0;
  uint32_t mode = 0;  // the initial MODE register
  // The values that the dispatcher puts into the first scalar registers, in the descriptor's bits.
  uint16_t properties = 0;
  uint16_t preload = 0;
  uint32_t resource2 = 0;
};

struct Segment {
  uint64_t address = 0;
  std::vector<std::byte> bytes;
  bool executable = false;
};

// A place where an address of the loaded code object must be written.
struct Relocation {
  uint64_t address = 0;
  uint64_t target = 0;
};

class CodeObject {
 public:
  // Throws UserError when the bytes are not a code object that gfx942 can load.
  static std::shared_ptr<const CodeObject> parse(std::span<const std::byte> bytes);
  virtual ~CodeObject() = default;

  // Null when there is no kernel of that name.
  const Kernel* find_kernel(const std::string& name) const;
  // FILE:LINE of an instruction, or nothing without debug information.
  virtual std::string source_line(uint64_t address) const = 0;

  std::vector<Kernel> kernels;
  std::vector<Segment> segments;
  std::vector<Relocation> relocations;
};

}  // namespace gfx942sim
