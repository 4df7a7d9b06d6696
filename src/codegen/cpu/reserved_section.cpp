#include "codegen/cpu/reserved_section.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

constexpr uint64_t page = 4096;
constexpr uint64_t large_section = 0x10000000;  // SHF_X86_64_LARGE

template <class Row>
std::vector<Row> rows(std::span<const std::byte> file, uint64_t offset, size_t count) {
  internal_check(offset <= file.size() && count * sizeof(Row) <= file.size() - offset, "a whole file from the linker");
  std::vector<Row> result(count);
  std::memcpy(result.data(), file.data() + offset, count * sizeof(Row));
  return result;
}

void write_zeros(OutputFile& file, uint64_t count) { file.write(std::vector<std::byte>(count)); }

}  // namespace

std::string reserved_assembly(const std::string& symbol, int64_t size) {
  return fmt::format(
      ".section .lrodata, \"al\", @nobits\n"
      ".balign {2}\n"
      ".globl {0}\n"
      ".hidden {0}\n"
      "{0}:\n"
      ".zero {1}\n"
      ".section .note.GNU-stack, \"\", @progbits\n",
      symbol, size, page);
}

// lld puts large constants first, behind the headers and in one segment with them. Their bytes go there, and what was
// behind the headers moves by whole pages.
void write_with_reserved(std::span<const std::byte> linked, const WeightBytes& bytes, OutputFile& file) {
  std::vector<Elf64_Ehdr> header = rows<Elf64_Ehdr>(linked, 0, 1);
  std::vector<Elf64_Phdr> segments = rows<Elf64_Phdr>(linked, header[0].e_phoff, header[0].e_phnum);
  std::vector<Elf64_Shdr> sections = rows<Elf64_Shdr>(linked, header[0].e_shoff, header[0].e_shnum);
  const uint64_t headers_end = sizeof(Elf64_Ehdr) + segments.size() * sizeof(Elf64_Phdr);
  const auto is_reserved = [](const Elf64_Shdr& section) {
    return section.sh_type == SHT_NOBITS && (section.sh_flags & large_section) != 0;
  };
  const auto reserved = std::ranges::find_if(sections, is_reserved);
  internal_check(reserved != sections.end() && std::ranges::count_if(sections, is_reserved) == 1,
                 "one section that is reserved");
  const uint64_t begin = reserved->sh_addr, end = begin + reserved->sh_size;
  internal_check(header[0].e_phoff == sizeof(Elf64_Ehdr) && begin >= headers_end &&
                     reserved->sh_size == static_cast<uint64_t>(bytes.size()),
                 "a section behind the headers, as large as its bytes");

  const uint64_t shift = (end - headers_end + page - 1) / page * page;
  bool is_loaded = false;
  for (Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && segment.p_offset == 0) {
      internal_check(segment.p_vaddr == 0 && segment.p_filesz == headers_end && segment.p_memsz == end,
                     "the headers and the reserved section in one segment, alone");
      segment.p_filesz = end;
      is_loaded = true;
    } else if (segment.p_offset >= headers_end) {
      segment.p_offset += shift;
    }
  }
  internal_check(is_loaded, "a segment for the headers and the reserved section");
  for (Elf64_Shdr& section : sections)
    if (&section == &*reserved) {
      section.sh_type = SHT_PROGBITS;
      section.sh_offset = begin;
    } else if (section.sh_offset >= headers_end) {
      section.sh_offset += shift;
    }
  const uint64_t table = header[0].e_shoff;
  const uint64_t table_size = sections.size() * sizeof(Elf64_Shdr);
  internal_check(table >= headers_end, "the table of sections behind the headers");
  header[0].e_shoff += shift;

  file.write(std::as_bytes(std::span(header)));
  file.write(std::as_bytes(std::span(segments)));
  write_zeros(file, begin - headers_end);
  bytes.write(file);
  write_zeros(file, headers_end + shift - end);
  file.write(linked.subspan(headers_end, table - headers_end));
  file.write(std::as_bytes(std::span(sections)));
  file.write(linked.subspan(table + table_size));
}

}  // namespace onnxc
