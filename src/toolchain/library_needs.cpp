#include "toolchain/library_needs.h"

#include <elf.h>

#include <cstring>
#include <string_view>

#include "support/diagnostics.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc {
namespace {

// Every read is checked against the file's size.
class ElfFile {
 public:
  explicit ElfFile(const std::filesystem::path& path)
      : name_(quote(path.string())), file_(map_file(path)), text_(file_->text()) {
    user_check(text_.starts_with(ELFMAG) && text_.size() > EI_CLASS && text_[EI_CLASS] == ELFCLASS64,
               "{} is not a 64-bit shared object", name_);
    const auto header = read<Elf64_Ehdr>(0);
    for (uint64_t i = 0; i < header.e_shnum; ++i)
      sections_.push_back(read<Elf64_Shdr>(header.e_shoff + i * header.e_shentsize));
  }

  template <class T>
  T read(uint64_t offset) const {
    check(offset <= text_.size() && sizeof(T) <= text_.size() - offset);
    T value;
    std::memcpy(&value, text_.data() + offset, sizeof value);
    return value;
  }

  // The string at an offset of the string table that belongs to a section.
  std::string string_of(const Elf64_Shdr& section, uint64_t offset) const {
    check(section.sh_link < sections_.size());
    const Elf64_Shdr& strings = sections_[section.sh_link];
    check(strings.sh_offset <= text_.size() && strings.sh_size <= text_.size() - strings.sh_offset &&
          offset < strings.sh_size);
    const std::string_view rest = text_.substr(strings.sh_offset + offset, strings.sh_size - offset);
    return std::string(rest.substr(0, rest.find('\0')));
  }

  void check(bool holds) const { user_check(holds, "{} is not a whole shared object", name_); }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }

 private:
  std::string name_;
  std::shared_ptr<const MappedFile> file_;
  std::string_view text_;
  std::vector<Elf64_Shdr> sections_;
};

void read_libraries(const ElfFile& file, const Elf64_Shdr& section, LibraryNeeds& needs) {
  for (uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Dyn)) {
    const auto entry = file.read<Elf64_Dyn>(section.sh_offset + at);
    if (entry.d_tag == DT_NULL) return;
    if (entry.d_tag == DT_NEEDED) needs.libraries.push_back(file.string_of(section, entry.d_un.d_val));
  }
}

// 2.3.4 < 2.4 < 2.17
bool is_newer(std::string_view version, std::string_view than) {
  const auto numbers = [](std::string_view text) {
    std::vector<int> result(1);
    for (const char c : text) {
      if (c == '.') result.push_back(0);
      if (c >= '0' && c <= '9' && result.back() < 10'000) result.back() = 10 * result.back() + (c - '0');
    }
    return result;
  };
  return numbers(version) > numbers(than);
}

// A chain of libraries, each with a chain of versions.
void read_versions(const ElfFile& file, const Elf64_Shdr& section, LibraryNeeds& needs) {
  constexpr std::string_view prefix = "GLIBC_2.";
  uint64_t library_at = section.sh_offset;
  for (uint64_t i = 0; i < section.sh_info; ++i) {
    const auto library = file.read<Elf64_Verneed>(library_at);
    uint64_t version_at = library_at + library.vn_aux;
    for (int j = 0; j < library.vn_cnt; ++j) {
      const auto version = file.read<Elf64_Vernaux>(version_at);
      const std::string name = file.string_of(section, version.vna_name);
      if (name.starts_with(prefix) && is_newer(name.substr(6), needs.glibc)) needs.glibc = name.substr(6);
      version_at += version.vna_next;
    }
    library_at += library.vn_next;
  }
}

}  // namespace

LibraryNeeds needs_of(const std::filesystem::path& shared_object) {
  const ElfFile file(shared_object);
  LibraryNeeds needs;
  for (const Elf64_Shdr& section : file.sections()) {
    if (section.sh_type == SHT_DYNAMIC) read_libraries(file, section, needs);
    if (section.sh_type == SHT_GNU_verneed) read_versions(file, section, needs);
  }
  return needs;
}

}  // namespace onnxc
