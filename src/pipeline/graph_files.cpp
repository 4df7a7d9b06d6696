#include "pipeline/graph_files.h"

#include <fmt/format.h>

#include <map>

#include "support/count_text.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

void check_options(const Options& options) {
  const std::string given = counted(options.more_models.size() + 1, "MODEL");
  const auto refuse = [&](bool is_given, const std::string& option) {
    if (is_given) throw UsageError(fmt::format("{} is for one graph, and {} are given; give one", option, given));
  };
  refuse(options.emit == Emit::ir, "--emit ir");
  refuse(options.dump_shapes.has_value(), "--dump-shapes");
  refuse(options.dump_ir.has_value(), "--dump-ir");
  refuse(options.run_pass.has_value(), "--run-pass");
  refuse(!options.outputs.empty(), "--outputs");
  refuse(options.report && options.json, "--report as JSON");
  refuse(options.report && !options.report->empty(), "--report=FILE");
  refuse(options.report && options.for_gpu(), "--report on a GPU");
  if (options.output.empty()) throw UsageError(fmt::format("{} become one file: give -o FILE", given));
}

}  // namespace

std::vector<GraphFile> graph_files(const Options& options) {
  if (options.more_models.empty()) return {{options.model, lone_entry}};
  check_options(options);
  std::vector<std::filesystem::path> paths{options.model};
  paths.insert(paths.end(), options.more_models.begin(), options.more_models.end());
  std::vector<GraphFile> files;
  std::map<std::string, std::filesystem::path> known;
  for (const std::filesystem::path& path : paths) {
    const std::string entry = path.stem().string();
    const auto [other, is_new] = known.emplace(entry, path);
    if (!is_new && other->second == path)
      throw UsageError(fmt::format("MODEL {} is given twice", quote(path.string())));
    if (!is_new)
      throw UsageError(
          fmt::format("MODELs {} and {} would both be the entry {}, which is named after the file; rename "
                      "one of them",
                      quote(other->second.string()), quote(path.string()), quote(entry)));
    files.push_back({path, entry});
  }
  return files;
}

}  // namespace onnxc
