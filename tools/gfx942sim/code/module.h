// A code object placed in the device's memory, ready to run.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "gfx942sim/code/code_object.h"
#include "gfx942sim/code/decoder.h"
#include "gfx942sim/memory.h"

namespace gfx942sim {

class LoadedModule {
 public:
  LoadedModule(DeviceMemory& memory, std::span<const std::byte> code_object);
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  const CodeObject& code_object() const { return *code_object_; }
  const Program& program() const { return *program_; }
  // A device address within the module as an address of its ELF file, and back.
  uint64_t to_file_address(uint64_t address) const { return address - base_; }
  uint64_t to_device_address(uint64_t file_address) const { return file_address + base_; }

 private:
  DeviceMemory& memory_;
  std::shared_ptr<const CodeObject> code_object_;
  uint64_t base_ = 0;
  std::optional<Program> program_;
};

}  // namespace gfx942sim
