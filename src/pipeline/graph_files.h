// The graphs of a compile, each an entry of the model.so.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/options.h"

namespace onnxc {

struct GraphFile {
  std::filesystem::path path;
  std::string entry;  // its name: the file's, without folder and ending; of a lone graph lone_entry
};

// A model.so of one graph does not depend on the name of its file.
inline constexpr const char* lone_entry = "model";

// In the order of the command line. UsageError if two have one name, or an option is for one graph only.
std::vector<GraphFile> graph_files(const Options& options);

}  // namespace onnxc
