// The files that a compile writes. It reads none of them.
#pragma once

#include "frontend/import.h"
#include "pipeline/compile.h"
#include "support/safe_file.h"

namespace onnxc {

class OutputFiles {
 public:
  // Knows the files that the request names. UserError if an output is one of them, or its folder does not exist.
  explicit OutputFiles(const CompileRequest& request);
  // The same for the files that a model names. `role`: "external data of MODEL".
  void check_beside(const ImportedModel& model, const char* role);

 private:
  void check() const;
  void check(const char* option, const std::filesystem::path& output) const;

  const Options& options_;
  InputFiles inputs_;
};

}  // namespace onnxc
