// Shared memory lies in a section of its own (include/kernels/hip/nvidia/attributes.h). The section's name is not an
// identifier of C, so that the address sanitizer guards each variable in it. No symbol tells where such a section
// begins: the file's own table of sections does.
#include <dlfcn.h>
#include <elf.h>

#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#include "block.h"

namespace onnxc::host_blocks {
namespace {

constexpr std::string_view section_name = ".block_memory";

struct Region {
  char* begin = nullptr;
  size_t bytes = 0;
};

template <class T>
std::vector<T> read(std::ifstream& file, uint64_t offset, size_t count) {
  std::vector<T> result(count);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(result.data()), static_cast<std::streamsize>(count * sizeof(T)));
  if (!file) fail("the file of the kernels cannot be read");
  return result;
}

Region find_region() {
  Dl_info library;
  if (dladdr(reinterpret_cast<const void*>(&poison_block_memory), &library) == 0) fail("the kernels are in no file");
  std::ifstream file(library.dli_fname, std::ios::binary);
  const Elf64_Ehdr header = read<Elf64_Ehdr>(file, 0, 1)[0];
  const auto sections = read<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
  const Elf64_Shdr& names = sections[header.e_shstrndx];
  const auto text = read<char>(file, names.sh_offset, names.sh_size);
  for (const Elf64_Shdr& section : sections)
    if (text.data() + section.sh_name == section_name)
      return {static_cast<char*>(library.dli_fbase) + section.sh_addr, section.sh_size};
  return {};
}

const Region& block_memory() {
  static const Region region = find_region();
  return region;
}

}  // namespace

// Not instrumented: between the variables are those of the sanitizer.
__attribute__((no_sanitize("address"))) void poison_block_memory() {
  const Region& region = block_memory();
  volatile uint64_t* const words = reinterpret_cast<uint64_t*>(region.begin);
  for (size_t i = 0; i < region.bytes / sizeof(uint64_t); ++i) words[i] = ~uint64_t{0};
}

uint32_t block_memory_address(const void* place) {
  const auto offset = static_cast<const char*>(place) - block_memory().begin;
  if (offset < 0 || static_cast<size_t>(offset) >= block_memory().bytes) fail("an address outside of shared memory");
  return static_cast<uint32_t>(offset);
}

void* block_memory_place(uint32_t address) { return block_memory().begin + address; }

}  // namespace onnxc::host_blocks
