#include "support/safe_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "support/diagnostics.h"
#include "support/file_descriptor.h"
#include "support/text.h"

namespace onnxc {
namespace {

// Start and end of the names under which output is written.
constexpr std::string_view temporary_start = ".onnxc-", temporary_end = ".tmp";

std::string reason(int error) {
  if (error == ELOOP) return "a symbolic link is on the way";
  return std::strerror(error);
}

// `name` is how errors call the file.
std::shared_ptr<const MappedFile> map_descriptor(const FileDescriptor& file, const std::string& name,
                                                 bool allow_hard_links) {
  struct stat status;
  user_check(fstat(file.get(), &status) == 0, "cannot read {}: {}", name, std::strerror(errno));
  user_check(!S_ISDIR(status.st_mode), "cannot read {}: it is a folder", name);
  user_check(S_ISREG(status.st_mode), "cannot read {}: it is not a regular file", name);
  user_check(allow_hard_links || status.st_nlink <= 1,
             "cannot read {}: it has {} hard links, so it may be a file of another folder; copy it", name,
             status.st_nlink);
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return std::make_shared<const MappedFile>(nullptr, 0);  // nothing to map
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  user_check(data != MAP_FAILED, "cannot map {} ({} bytes): {}", name, size, std::strerror(errno));
  note_mapping(data, size, name);
  return std::make_shared<const MappedFile>(static_cast<const std::byte*>(data), size);
}

// O_NONBLOCK: opening a named pipe must not wait for a writer. It means nothing for regular files.
constexpr int read_flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

// The components of a relative name, or nothing when one of them may lead out of a folder.
std::optional<std::vector<std::string>> safe_components(std::string_view name) {
  if (name.empty() || name.find('\0') != std::string_view::npos || name.find('\\') != std::string_view::npos)
    return std::nullopt;
  std::vector<std::string> components;
  while (true) {
    const size_t slash = name.find('/');
    const std::string_view component = name.substr(0, slash);
    if (component == "..") return std::nullopt;
    if (component.empty()) return std::nullopt;  // absolute, or a doubled or closing slash
    if (component != ".") components.emplace_back(component);
    if (slash == std::string_view::npos) break;
    name.remove_prefix(slash + 1);
  }
  if (components.empty()) return std::nullopt;
  return components;
}

FileDescriptor open_by_kernel(int folder, const std::vector<std::string>& components) {
  std::string name;
  for (const std::string& component : components) name += (name.empty() ? "" : "/") + component;
  open_how how{};
  how.flags = read_flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return FileDescriptor(static_cast<int>(syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how)));
}

FileDescriptor open_step_by_step(int folder, const std::vector<std::string>& components) {
  FileDescriptor parent;
  int at = folder;
  for (size_t i = 0; i + 1 < components.size(); ++i) {
    FileDescriptor next(openat(at, components[i].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.is_open()) {
      // A link to a folder is "not a directory" to O_DIRECTORY | O_NOFOLLOW: give the reason that openat2 gives.
      struct stat status;
      if (fstatat(at, components[i].c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode))
        errno = ELOOP;
      return {};
    }
    parent = std::move(next);
    at = parent.get();
  }
  return FileDescriptor(openat(at, components.back().c_str(), read_flags | O_NOFOLLOW));
}

bool kernel_has_openat2() {
  // The call itself says so, by EFAULT or EINVAL; a sandbox may forbid it with EPERM.
  static const bool has = syscall(SYS_openat2, -1, nullptr, nullptr, 0) < 0 && errno != ENOSYS && errno != EPERM;
  return has;
}

}  // namespace

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  forget_mapping(bytes_.data());
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::release_pages() const {
  if (!bytes_.empty()) madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

void InputFiles::add(const std::string& option, const std::filesystem::path& file) {
  struct stat status;
  if (stat(file.c_str(), &status) == 0) files_.try_emplace({status.st_dev, status.st_ino}, Input{option, file});
}

void InputFiles::add_folder(const std::string& option, const std::filesystem::path& folder) {
  constexpr auto skipping = std::filesystem::directory_options::skip_permission_denied;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator each(folder, skipping, error), end; !error && each != end;
       each.increment(error))
    if (!each->is_directory()) add(option, each->path());
}

void InputFiles::check_output(std::string_view option, const std::filesystem::path& output) const {
  struct stat status;
  if (stat(output.c_str(), &status) != 0) return;
  const auto found = files_.find({status.st_dev, status.st_ino});
  if (found == files_.end()) return;
  const auto& [input, file] = found->second;
  user_error("{} {} is the same file as {} {}, which is an input and would be lost; give the output another name",
             option, quote(output.string()), input, quote(file.string()));
}

void check_folder_of(std::string_view option, const std::filesystem::path& output) {
  const std::filesystem::path folder = output.parent_path();
  std::error_code error;
  user_check(folder.empty() || std::filesystem::is_directory(folder, error),
             "{} {}: there is no folder {}; make it first", option, quote(output.string()), quote(folder.string()));
}

void InputFiles::check_outputs(std::string_view option, const std::filesystem::path& folder,
                               const std::function<bool(const std::string&)>& may_be_written) const {
  std::error_code error;
  for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end; each.increment(error))
    if (may_be_written(each->path().filename().string())) check_output(option, each->path());
}

std::shared_ptr<const MappedFile> map_file(const std::filesystem::path& path) {
  const std::string name = quote(path.string());
  FileDescriptor file(open(path.c_str(), read_flags));
  user_check(file.is_open(), "cannot open {}: {}", name, std::strerror(errno));
  return map_descriptor(file, name, true);
}

std::shared_ptr<const MappedFile> map_file_within(const std::filesystem::path& folder, std::string_view name,
                                                  const ContainmentRules& rules) {
  using internal::ContainmentMethod;
  return internal::map_file_within(folder, name, rules,
                                   kernel_has_openat2() ? ContainmentMethod::openat2 : ContainmentMethod::walk);
}

std::shared_ptr<const MappedFile> internal::map_file_within(const std::filesystem::path& folder, std::string_view name,
                                                            const ContainmentRules& rules, ContainmentMethod method) {
  const std::optional<std::vector<std::string>> components = safe_components(name);
  user_check(components.has_value(),
             "the file name {} is refused: it must be relative, without '..', empty parts, backslashes or NUL",
             quote(name));
  const std::filesystem::path where = folder.empty() ? "." : folder;
  FileDescriptor root(open(where.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  user_check(root.is_open(), "cannot open the folder {}: {}", quote(where.string()), std::strerror(errno));
  FileDescriptor file = method == ContainmentMethod::openat2 ? open_by_kernel(root.get(), *components)
                                                             : open_step_by_step(root.get(), *components);
  user_check(file.is_open(), "cannot open {} in the folder {}: {}", quote(name), quote(where.string()), reason(errno));
  return map_descriptor(file, quote(name), rules.allow_hard_links);
}

void internal::write_all(int descriptor, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    user_check(count > 0, "cannot write {}: {}", name, count == 0 ? "nothing was written" : std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

OutputFile::OutputFile(std::filesystem::path target, Kind kind) : target_(std::move(target)) {
  const std::string name = quote(target_.string());
  user_check(target_.has_filename(), "cannot write {}: it names no file", name);
  struct stat status;
  if (lstat(target_.c_str(), &status) == 0) {
    user_check(!S_ISDIR(status.st_mode), "cannot write {}: it is a folder", name);
    user_check(S_ISREG(status.st_mode) || S_ISLNK(status.st_mode), "cannot write {}: it is not a regular file", name);
  }
  const mode_t mode = kind == Kind::executable ? 0777 : 0666;  // less what the user's umask takes away
  // A name that nobody has: O_EXCL says so, and the next number is tried. A short name, as the target's may already be
  // as long as the file system allows.
  for (int number = 0; descriptor_ < 0; ++number) {
    temporary_ = target_.parent_path() / fmt::format("{}{}-{}{}", temporary_start, getpid(), number, temporary_end);
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    user_check(descriptor_ >= 0 || errno == EEXIST, "cannot write {}: {}", name, std::strerror(errno));
    // If a file system has no locks, nobody takes the file for abandoned either.
    if (descriptor_ < 0 || flock(descriptor_, LOCK_EX) != 0) continue;
    // Before the lock another process may have taken the file for an abandoned one.
    if (fstat(descriptor_, &status) == 0 && status.st_nlink == 0) close(std::exchange(descriptor_, -1));
  }
  ends_.emplace(temporary_);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!committed_) unlink(temporary_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  internal::write_all(descriptor_, bytes, quote(target_.string()));
}

void OutputFile::sync() {
  // EINVAL: a file system that has no such call.
  user_check(fsync(descriptor_) == 0 || errno == EINVAL, "cannot write {}: {}", quote(target_.string()),
             std::strerror(errno));
}

void OutputFile::commit() {
  const std::string name = quote(target_.string());
  const FileDescriptor lock(dup(descriptor_));  // which lasts until the file has its name
  // Some file systems report a full disk only here.
  user_check(close(std::exchange(descriptor_, -1)) == 0, "cannot write {}: {}", name, std::strerror(errno));
  user_check(rename(temporary_.c_str(), target_.c_str()) == 0, "cannot write {}: {}", name, std::strerror(errno));
  committed_ = true;
  ends_.reset();
}

void remove_abandoned_outputs(const std::filesystem::path& folder) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, failure)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(temporary_start) || !name.ends_with(temporary_end)) continue;
    const FileDescriptor file(open(entry.path().c_str(), read_flags | O_NOFOLLOW));
    struct stat status;
    if (!file.is_open() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) unlink(entry.path().c_str());
  }
}

void write_file(const std::filesystem::path& target, std::string_view contents) {
  OutputFile file(target);
  file.write(contents);
  file.commit();
}

void make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  user_check(!error && std::filesystem::is_directory(path), "cannot make the folder {}: {}", quote(path.string()),
             error ? error.message() : "a file is there");
}

}  // namespace onnxc
