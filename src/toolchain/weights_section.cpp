#include "toolchain/weights_section.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "support/diagnostics.h"
#include "toolchain/build_commands.h"

namespace onnxc {
namespace {

constexpr const char* note_name = ".note.onnxc";
constexpr uint64_t page = 4096;

uint64_t whole_pages(uint64_t size) { return (size + page - 1) / page * page; }

// At least a page, so that each symbol has an address of its own.
uint64_t reserved(const WeightBytes& bytes) {
  return whole_pages(static_cast<uint64_t>(std::max<int64_t>(bytes.size(), 1)));
}

// The tables of an ELF file, in its bytes.
class ElfFile {
 public:
  explicit ElfFile(std::string& bytes) : bytes_(bytes) {
    internal_check(bytes.starts_with(ELFMAG) && header().e_ident[EI_CLASS] == ELFCLASS64, "an ELF file of 64 bits");
  }

  Elf64_Ehdr& header() { return table<Elf64_Ehdr>(0, 1).front(); }
  std::span<Elf64_Shdr> sections() { return table<Elf64_Shdr>(header().e_shoff, header().e_shnum); }
  std::span<Elf64_Phdr> segments() { return table<Elf64_Phdr>(header().e_phoff, header().e_phnum); }

  Elf64_Shdr& section(std::string_view name) {
    const Elf64_Shdr& names = sections()[header().e_shstrndx];
    const auto found = std::ranges::find_if(
        sections(), [&](const Elf64_Shdr& each) { return bytes_.c_str() + names.sh_offset + each.sh_name == name; });
    internal_check(found != sections().end(), "a section that was linked");
    return *found;
  }

  // The one of that type that the section is in.
  Elf64_Phdr& segment_with(const Elf64_Shdr& section, uint32_t type) {
    const auto found = std::ranges::find_if(segments(), [&](const Elf64_Phdr& each) {
      return each.p_type == type && each.p_vaddr <= section.sh_addr &&
             section.sh_addr + section.sh_size <= each.p_vaddr + each.p_memsz;
    });
    internal_check(found != segments().end(), "a segment of each section that was linked");
    return *found;
  }

 private:
  template <typename T>
  std::span<T> table(uint64_t offset, size_t count) {
    internal_check(offset % alignof(T) == 0 && offset + count * sizeof(T) <= bytes_.size(), "whole tables of ELF");
    return {reinterpret_cast<T*>(bytes_.data() + offset), count};
  }

  std::string& bytes_;
};

// A segment of its own, which is only read. Segments that are loaded must stand in the order of their addresses: a note
// comes after all of them. It may hold others' notes too, such as a build id, which are found by their sections then.
void add_segment(ElfFile& file, const Elf64_Shdr& weights) {
  Elf64_Phdr& memory = file.segment_with(weights, PT_LOAD);
  internal_check(memory.p_vaddr + memory.p_memsz == weights.sh_addr + weights.sh_size,
                 "a linker that puts a large section last in its segment");
  memory.p_memsz = weights.sh_addr - memory.p_vaddr;
  internal_check(memory.p_filesz <= memory.p_memsz, "a section without contents after those with contents");
  file.segment_with(file.section(note_name), PT_NOTE) = {.p_type = PT_LOAD,
                                                         .p_flags = PF_R,
                                                         .p_offset = weights.sh_offset,
                                                         .p_vaddr = weights.sh_addr,
                                                         .p_paddr = weights.sh_addr,
                                                         .p_filesz = weights.sh_size,
                                                         .p_memsz = weights.sh_size,
                                                         .p_align = page};
}

}  // namespace

void WeightsSection::add(std::string symbol, const WeightBytes& bytes) {
  blocks_.push_back({std::move(symbol), &bytes});
}

std::string WeightsSection::assembly() const {
  std::string text = fmt::format(".section {}, \"awlR\", @nobits\n.balign {}\n", weights_section, page);
  for (const Block& block : blocks_)
    text += fmt::format(".globl {0}\n.hidden {0}\n{0}:\n.zero {1}\n", block.symbol, reserved(*block.bytes));
  // A note (ELF, figure 2-3): lengths of the name and of the contents, a type, the name.
  return text +
         fmt::format(".section {}, \"aR\", @note\n.balign 4\n.long 6, 0, 1\n.asciz \"onnxc\"\n.balign 4\n", note_name) +
         ".section .note.GNU-stack, \"\", @progbits\n";
}

void WeightsSection::write(std::string linked, OutputFile& file) const {
  ElfFile elf(linked);
  Elf64_Shdr& weights = elf.section(weights_section);
  uint64_t size = 0;
  for (const Block& block : blocks_) size += reserved(*block.bytes);
  internal_check(weights.sh_type == SHT_NOBITS && weights.sh_size == size && weights.sh_addr % page == 0,
                 "the section as it was assembled");
  weights.sh_type = SHT_PROGBITS;
  weights.sh_flags &= ~static_cast<uint64_t>(SHF_WRITE);
  weights.sh_offset = whole_pages(linked.size());
  if (elf.header().e_type == ET_DYN) add_segment(elf, weights);
  linked.resize(weights.sh_offset);
  file.write(linked);
  for (const Block& block : blocks_) {
    block.bytes->write(file);
    file.write(std::string(reserved(*block.bytes) - static_cast<uint64_t>(block.bytes->size()), '\0'));
  }
}

}  // namespace onnxc
