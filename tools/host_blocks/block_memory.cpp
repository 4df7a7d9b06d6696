// Shared memory lies in a section of its own (include/kernels/hip/nvidia/attributes.h). The section's name is not an
// identifier of C, so that the address sanitizer guards each variable in it. No symbol tells where such a section
// begins: the file's own table of sections does. The memory that a launch asks for is an array beside it.
#include <dlfcn.h>
#include <elf.h>

#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif

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

// The most that a launch asks for: a block of Hopper has 227 KiB. Addresses of descriptors have 18 bits.
constexpr size_t most_launch_bytes = 227 * 1024;
constexpr uint32_t declared_begin = 1u << 18;
alignas(1024) char launch_bytes[most_launch_bytes];
size_t asked_bytes = 0;

#if __has_feature(address_sanitizer)
void guard_launch_memory() {
  __asan_unpoison_memory_region(launch_bytes, asked_bytes);
  __asan_poison_memory_region(launch_bytes + asked_bytes, most_launch_bytes - asked_bytes);
}
#else
void guard_launch_memory() {}
#endif

}  // namespace

void ask_for_memory(uint32_t bytes) {
  if (bytes > most_launch_bytes) fail("a launch asks for %u bytes of shared memory", bytes);
  asked_bytes = bytes;
  guard_launch_memory();
}
char* launch_memory() { return launch_bytes; }

// Not instrumented: between the variables are those of the sanitizer.
__attribute__((no_sanitize("address"))) void poison_block_memory() {
  const Region& region = block_memory();
  volatile uint64_t* const words = reinterpret_cast<uint64_t*>(region.begin);
  for (size_t i = 0; i < region.bytes / sizeof(uint64_t); ++i) words[i] = ~uint64_t{0};
  std::memset(launch_bytes, 0xff, asked_bytes);
}

uint32_t block_memory_address(const void* place) {
  const auto* const byte = static_cast<const char*>(place);
  if (byte >= launch_bytes && byte < launch_bytes + asked_bytes) return static_cast<uint32_t>(byte - launch_bytes);
  const auto offset = byte - block_memory().begin;
  if (offset < 0 || static_cast<size_t>(offset) >= block_memory().bytes) fail("an address outside of shared memory");
  return declared_begin + static_cast<uint32_t>(offset);
}

void* block_memory_place(uint32_t address) {
  if (address >= declared_begin) return block_memory().begin + (address - declared_begin);
  if (address >= asked_bytes) fail("an address outside of the shared memory that the launch asked for");
  return launch_bytes + address;
}

}  // namespace onnxc::host_blocks
