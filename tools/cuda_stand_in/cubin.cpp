// Nothing tells the size of the image, so offsets are taken as they are: what is read was made by ptxas.
#include "cuda_stand_in/cubin.h"

#include <elf.h>

#include <cstring>
#include <span>

#include "cuda_stand_in/errors.h"

namespace cuda_stand_in {
namespace {

using gpu_streams::Refusal;

constexpr uint16_t machine_of_cuda = 190;
// Attributes of a kernel in its section .nv.info.NAME: a byte of form, a byte of kind, and a value of 16 bits or the
// size of what follows.
constexpr uint8_t followed_by_bytes = 4;
constexpr uint8_t most_threads = 0x05, parameter_bytes = 0x19, cuda_version = 0x37;
constexpr std::string_view info_prefix = ".nv.info", code_prefix = ".text.";

template <class Value>
Value read(const char* from) {
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

struct Attribute {
  uint8_t kind;
  uint16_t value;
  const char* bytes;  // that follow, if any do
};

// Takes the first attribute off the section's content.
Attribute take_attribute(std::span<const char>& content) {
  const Attribute attribute{read<uint8_t>(content.data() + 1), read<uint16_t>(content.data() + 2), content.data() + 4};
  const size_t follows = read<uint8_t>(content.data()) == followed_by_bytes ? attribute.value : 0;
  if (content.size() < 4 + follows) throw Refusal(gpu_streams::invalid_image, "an attribute of the cubin is cut");
  content = content.subspan(4 + follows);
  return attribute;
}

void read_attributes(std::span<const char> content, PtxModule& module, PtxKernel* kernel) {
  while (content.size() >= 4) {
    const Attribute attribute = take_attribute(content);
    if (attribute.kind == cuda_version) module.version = read<int32_t>(attribute.bytes);
    if (kernel == nullptr) continue;
    if (attribute.kind == parameter_bytes) kernel->parameters = {{0, attribute.value}};
    if (attribute.kind == most_threads) kernel->most_threads = read<uint32_t>(attribute.bytes);
  }
}

}  // namespace

bool is_cubin(const char* image) { return std::memcmp(image, ELFMAG, SELFMAG) == 0; }

PtxModule read_cubin(const char* image) {
  const auto header = read<Elf64_Ehdr>(image);
  if (header.e_machine != machine_of_cuda || header.e_shnum == 0)
    throw Refusal(gpu_streams::invalid_image, "the ELF file is not a cubin");
  PtxModule module;
  // The ABI of CUDA 13 has the architecture in the second byte, those before it in the first.
  module.target =
      static_cast<int>(header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 & 0xff : header.e_flags & 0xff);
  module.is_cubin = true;
  const auto section = [&](size_t i) { return read<Elf64_Shdr>(image + header.e_shoff + i * header.e_shentsize); };
  const char* const names = image + section(header.e_shstrndx).sh_offset;
  for (size_t i = 0; i < header.e_shnum; ++i)
    if (const std::string_view name = names + section(i).sh_name; name.starts_with(code_prefix))
      module.kernels.try_emplace(std::string(name.substr(code_prefix.size())));
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr at = section(i);
    const std::string_view name = names + at.sh_name;
    if (!name.starts_with(info_prefix)) continue;
    const auto kernel = name == info_prefix ? module.kernels.end()
                                            : module.kernels.find(std::string(name.substr(info_prefix.size() + 1)));
    read_attributes({image + at.sh_offset, at.sh_size}, module,
                    kernel != module.kernels.end() ? &kernel->second : nullptr);
  }
  return module;
}

}  // namespace cuda_stand_in
