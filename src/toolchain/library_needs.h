// The versions and libraries that a shared object asks of the machine that loads it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace onnxc {

struct LibraryNeeds {
  std::string glibc;  // the newest version of a symbol that it takes from the C library: "2.28"; or empty
  std::vector<std::string> libraries;  // that the loader opens with it, in the file's order
};

// Reads the ELF file's tables (System V ABI, chapters 4 and 5; for versions: Linux Standard Base, symbol versioning).
// UserError if it is not a 64-bit shared object or is cut short.
LibraryNeeds needs_of(const std::filesystem::path& shared_object);

}  // namespace onnxc
