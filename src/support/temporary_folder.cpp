#include "support/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {

TemporaryFolder::TemporaryFolder(std::string_view purpose) {
  const char* parent = std::getenv("TMPDIR");
  if (parent == nullptr || *parent == '\0') parent = "/tmp";
  // Compilers read their arguments by lines, and a name that begins with '-' would be an option.
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(parent, error);
  user_check(!error && folder.string().find('\n') == std::string::npos,
             "the temporary folder {} has a name that compilers do not take; set TMPDIR to another folder",
             quote(parent));
  std::string name = (folder / fmt::format("onnxc-{}-XXXXXX", purpose)).string();
  user_check(mkdtemp(name.data()) != nullptr, "cannot make a temporary folder in {}: {}; set TMPDIR to another folder",
             quote(parent), std::strerror(errno));
  path_ = name;
  ends_.emplace(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // what cannot be removed is left to the system's own clearing of temporary files
  if (kept_) return;
  // A second time if it did not work at once: the machine may have been short of something for a moment.
  if (std::filesystem::remove_all(path_, ignored); ignored) std::filesystem::remove_all(path_, ignored);
}

}  // namespace onnxc
