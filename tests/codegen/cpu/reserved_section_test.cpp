#include "codegen/cpu/reserved_section.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/diagnostics.h"
#include "support/temporary_folder.h"

namespace onnxc {
namespace {

constexpr uint64_t large_section = 0x10000000, page = 4096;
const std::string code = "code at an address of its own";

// What lld makes of one section of reserved_assembly and some code: the headers and the reserved addresses in one
// segment, the code in the next.
struct Linked {
  Elf64_Ehdr header{};
  Elf64_Phdr segments[2]{};
  Elf64_Shdr sections[3]{};

  explicit Linked(uint64_t reserved) {
    const uint64_t headers_end = sizeof header + sizeof segments;
    header.e_phoff = sizeof header;
    header.e_phnum = std::size(segments);
    header.e_shoff = headers_end + code.size();
    header.e_shnum = std::size(sections);
    segments[0].p_type = segments[1].p_type = PT_LOAD;
    segments[0].p_filesz = headers_end;
    segments[0].p_memsz = page + reserved;
    segments[1].p_offset = sections[2].sh_offset = headers_end;
    segments[1].p_vaddr = sections[2].sh_addr = (page + reserved + page - 1) / page * page + headers_end;
    segments[1].p_filesz = sections[2].sh_size = code.size();
    sections[1].sh_type = SHT_NOBITS;
    sections[1].sh_flags = SHF_ALLOC | large_section;
    sections[1].sh_addr = sections[1].sh_offset = page;
    sections[1].sh_size = reserved;
    sections[2].sh_type = SHT_PROGBITS;
  }

  std::string text() const {
    const auto raw = [](const auto& value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
    return raw(header) + raw(segments) + code + raw(sections);
  }
};

WeightBytes weights_of(const std::string& bytes) {
  Tensor tensor = Tensor::zeros(DType::uint8, {static_cast<int64_t>(bytes.size())});
  std::memcpy(tensor.mutable_bytes(), bytes.data(), bytes.size());
  WeightBytes weights;
  weights.append(std::move(tensor));
  return weights;
}

std::string written(const Linked& linked, const WeightBytes& weights) {
  const TemporaryFolder folder("reserved");
  const std::string text = linked.text();
  OutputFile file(folder.path() / "out");
  write_with_reserved(std::as_bytes(std::span(text)), weights, file);
  file.commit();
  std::ifstream stream(folder.path() / "out", std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Small ones, whole pages, and one byte more.
TEST(ReservedSection, WhatIsBehindTheHeadersMovesByWholePages) {
  for (const size_t size : {size_t{1}, size_t{4096 - 64}, size_t{4096}, size_t{3 * 4096 + 1}}) {
    const std::string bytes(size, 'w');
    const WeightBytes weights = weights_of(bytes);
    const auto reserved = static_cast<uint64_t>(weights.size());
    const std::string file = written(Linked(reserved), weights);
    Linked found(reserved);
    std::memcpy(&found.header, file.data(), sizeof found.header);
    std::memcpy(found.segments, file.data() + found.header.e_phoff, sizeof found.segments);
    std::memcpy(found.sections, file.data() + found.header.e_shoff, sizeof found.sections);
    EXPECT_EQ(file.size(), found.header.e_shoff + sizeof found.sections);

    EXPECT_EQ(found.segments[0].p_filesz, page + reserved);
    EXPECT_EQ(found.segments[0].p_memsz, found.segments[0].p_filesz);
    EXPECT_EQ(found.sections[1].sh_type, Elf64_Word{SHT_PROGBITS});
    EXPECT_EQ(found.sections[1].sh_offset, found.sections[1].sh_addr);
    EXPECT_EQ(file.substr(found.sections[1].sh_offset, size), bytes);

    const Elf64_Phdr& moved = found.segments[1];
    EXPECT_GE(moved.p_offset, page + reserved);
    EXPECT_EQ(moved.p_offset % page, moved.p_vaddr % page);
    EXPECT_EQ(found.sections[2].sh_offset, moved.p_offset);
    EXPECT_EQ(file.substr(moved.p_offset, code.size()), code);
  }
}

TEST(ReservedSection, AnotherOrderOfTheFileIsNotWritten) {
  const WeightBytes weights = weights_of("weights");
  const auto reserved = static_cast<uint64_t>(weights.size());
  EXPECT_THROW(written(Linked(reserved + 1), weights), InternalError);
  Linked two_of_them(reserved);
  two_of_them.sections[2] = two_of_them.sections[1];
  EXPECT_THROW(written(two_of_them, weights), InternalError);
  Linked without(reserved);
  without.sections[1].sh_type = SHT_PROGBITS;
  EXPECT_THROW(written(without, weights), InternalError);
  Linked code_in_the_first_segment(reserved);
  code_in_the_first_segment.segments[0].p_filesz += code.size();
  EXPECT_THROW(written(code_in_the_first_segment, weights), InternalError);
  Linked cut_off(reserved);
  cut_off.header.e_shnum = 100;
  EXPECT_THROW(written(cut_off, weights), InternalError);
}

}  // namespace
}  // namespace onnxc
