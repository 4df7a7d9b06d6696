#include "support/input_files.h"

#include <sys/stat.h>

#include <system_error>

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {

namespace fs = std::filesystem;

void InputFiles::add(const std::string& option, const fs::path& file) {
  struct stat status;
  if (stat(file.c_str(), &status) == 0) files_.try_emplace({status.st_dev, status.st_ino}, Input{option, file});
}

void InputFiles::add_folder(const std::string& option, const fs::path& folder) {
  constexpr auto skipping = fs::directory_options::skip_permission_denied;
  std::error_code error;
  for (fs::recursive_directory_iterator each(folder, skipping, error), end; !error && each != end;
       each.increment(error))
    if (!each->is_directory()) add(option, each->path());
}

void InputFiles::check_output(std::string_view option, const fs::path& output) const {
  struct stat status;
  if (stat(output.c_str(), &status) != 0) return;
  const auto found = files_.find({status.st_dev, status.st_ino});
  if (found == files_.end()) return;
  const auto& [input, file] = found->second;
  user_error("{} {} is the same file as {} {}, which is an input and would be lost; give the output another name",
             option, quote(output.string()), input, quote(file.string()));
}

void InputFiles::check_outputs(std::string_view option, const fs::path& folder,
                               const std::function<bool(const std::string&)>& may_be_written) const {
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error))
    if (may_be_written(each->path().filename().string())) check_output(option, each->path());
}

}  // namespace onnxc
