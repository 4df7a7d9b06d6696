#include "support/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {

TemporaryFolder::TemporaryFolder(std::string_view purpose) {
  const char* parent = std::getenv("TMPDIR");
  if (parent == nullptr || *parent == '\0') parent = "/tmp";
  std::string name = (std::filesystem::path(parent) / fmt::format("onnxc-{}-XXXXXX", purpose)).string();
  user_check(mkdtemp(name.data()) != nullptr, "cannot make a temporary folder in {}: {}; set TMPDIR to another folder",
             quote(parent), std::strerror(errno));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // what cannot be removed is left to the system's own clearing of temporary files
  if (!kept_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace onnxc
