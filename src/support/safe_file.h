// All access to files: reading what the user names, reading what a model names (only within the model's folder), and
// output that appears whole or not at all, and never in place of an input.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "support/process_end.h"

namespace onnxc {

// The bytes of a regular file, mapped read-only. Whoever shares it keeps the bytes alive. Another program that shortens
// the file meanwhile ends this one with SIGBUS, which tidy_up_on_signals makes an error.
class MappedFile {
 public:
  MappedFile(const std::byte* data, size_t size) : bytes_(data, size) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  // Gives the memory of pages that were read back to the system; whoever reads them again reads the file again.
  void release_pages() const;

 private:
  std::span<const std::byte> bytes_;
};

// A file that the user names: symbolic links are followed. UserError naming it if it is missing or not regular.
std::shared_ptr<const MappedFile> map_file(const std::filesystem::path& path);

// Which files a command reads, so that none of its outputs replaces one: the one check for every input and output.
// Files are known by device and inode, so that other spellings and links are found.
class InputFiles {
 public:
  // `option`: how the user gave it, such as "MODEL" or "--input". A missing file is left to whoever reads it.
  void add(const std::string& option, const std::filesystem::path& file);
  // Each file of a folder, and of the folders in it.
  void add_folder(const std::string& option, const std::filesystem::path& folder);

  // UserError if the output is one of the files. To be called before anything is read or made.
  void check_output(std::string_view option, const std::filesystem::path& output) const;
  // The same for a folder of outputs: for each of its files whose name may be written.
  void check_outputs(std::string_view option, const std::filesystem::path& folder,
                     const std::function<bool(const std::string&)>& may_be_written) const;

 private:
  struct Input {
    std::string option;
    std::filesystem::path file;
  };
  std::map<std::pair<dev_t, ino_t>, Input> files_;
};

// UserError if the folder of the output does not exist, so that nobody learns it after the work.
void check_folder_of(std::string_view option, const std::filesystem::path& output);

struct ContainmentRules {
  // A file with several hard links may be another's file under a name that looks harmless (CVE-2026-34446), so it is
  // refused unless the user says that the folder is his own.
  bool allow_hard_links = false;
};

// A file that a model names, relative to `folder`: absolute names, "..", "." and empty components, backslashes, NUL
// bytes and symbolic links on the way are refused (UserError naming the file and the reason). The file is opened once
// and checked through its descriptor, so that it cannot be exchanged in between.
std::shared_ptr<const MappedFile> map_file_within(const std::filesystem::path& folder, std::string_view name,
                                                  const ContainmentRules& rules = {});

// Output that is seen only when it is complete: written beside the target under another name, renamed by `commit`, and
// removed if that never happens. A target that is there and no regular file (/dev/null, a folder) is refused; one that
// is a symbolic link is replaced, not followed. The file is locked (flock) while it is written.
class OutputFile {
 public:
  enum class Kind { data, executable };
  explicit OutputFile(std::filesystem::path target, Kind kind = Kind::data);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // The path for another program that writes the file.
  const std::filesystem::path& temporary_path() const { return temporary_; }
  // Appends. UserError that names the target and the reason (such as no space left on the device).
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  // Waits until the disk has what was written, by whomever, so that a loss of power cannot leave a name without it.
  void sync();
  void commit();

 private:
  std::filesystem::path target_, temporary_;
  int descriptor_ = -1;
  bool committed_ = false;
  std::optional<EndsWithProcess> ends_;
};

// Removes the files under other names that an OutputFile left in this folder because its process was killed: those that
// nobody has locked. Files that cannot be read or removed stay.
void remove_abandoned_outputs(const std::filesystem::path& folder);

// A whole file at once, through OutputFile.
void write_file(const std::filesystem::path& target, std::string_view contents);

// Makes a folder and its parents if they are missing.
void make_folder(const std::filesystem::path& path);

namespace internal {

enum class ContainmentMethod { openat2, walk };  // the kernel's own containment (Linux 5.6), or step by step
// As map_file_within, by one method only: for its tests. `walk` needs nothing of the kernel.
std::shared_ptr<const MappedFile> map_file_within(const std::filesystem::path& folder, std::string_view name,
                                                  const ContainmentRules& rules, ContainmentMethod method);
// Writes all bytes to a descriptor; `name` is how an error calls it.
void write_all(int descriptor, std::span<const std::byte> bytes, const std::string& name);

}  // namespace internal
}  // namespace onnxc
