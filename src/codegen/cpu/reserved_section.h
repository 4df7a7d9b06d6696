// The weights' way into a shared object: the linker reserves addresses for them, and they are written into the file
// that it made. Through the assembler and the linker they would be copied five times, which for some hundred megabytes
// takes as long as compiling all code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "codegen/weights.h"
#include "support/safe_file.h"

namespace onnxc {

// Assembly of a section without bytes in the file: `size` bytes are at `symbol`.
std::string reserved_assembly(const std::string& symbol, int64_t size);

// Writes the shared object that the linker would have made, had the only section of reserved_assembly in it held these
// bytes. `linked` is what it made without.
void write_with_reserved(std::span<const std::byte> linked, const WeightBytes& bytes, OutputFile& file);

}  // namespace onnxc
