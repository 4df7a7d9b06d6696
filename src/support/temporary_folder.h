// A private folder for the files of one compile.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "support/process_end.h"

namespace onnxc {

// Made with mode 0700 under $TMPDIR (or /tmp) and removed with all it holds when the object dies.
class TemporaryFolder {
 public:
  // `purpose` is ours and becomes part of the name: "onnxc-PURPOSE-XXXXXX". UserError if it cannot be made.
  explicit TemporaryFolder(std::string_view purpose);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Leaves the folder where it is.
  void keep() {
    kept_ = true;
    ends_.reset();
  }

 private:
  std::filesystem::path path_;
  bool kept_ = false;
  std::optional<EndsWithProcess> ends_;
};

}  // namespace onnxc
