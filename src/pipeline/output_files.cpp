#include "pipeline/output_files.h"

#include <string>
#include <vector>

#include "pipeline/programs.h"
#include "toolchain/toolchain.h"

namespace onnxc {
namespace {

std::vector<std::string> suffixes_of_sources(const Options& options) {
  std::vector<std::string> suffixes(std::begin(source_suffixes), std::end(source_suffixes));
  if (!options.for_gpu()) return suffixes;
  const std::vector<machine::GpuMachine> gpus = gpus_of(options);
  for (size_t i = 0; i < gpus.size() * (1 + options.more_models.size()); ++i) {
    const machine::GpuMachine& gpu = gpus[i % gpus.size()];
    suffixes.push_back(device_suffixes(gpu, i, options.makes_cubin(gpu), i / gpus.size()).source);
    if (i < gpus.size()) suffixes.push_back(device_weights_suffix(i));
  }
  return suffixes;
}

}  // namespace

OutputFiles::OutputFiles(const CompileRequest& request) : options_(request.options) {
  if (!request.model_bytes) inputs_.add("MODEL", options_.model);
  for (const std::filesystem::path& model : options_.more_models) inputs_.add("MODEL", model);
  if (!options_.against.empty()) inputs_.add("--against", options_.against);
  check();
}

void OutputFiles::check_beside(const ImportedModel& model, const char* role) {
  for (const std::filesystem::path& file : model.external_files) inputs_.add(role, file);
  check();
}

void OutputFiles::check() const {
  if (options_.dump_shapes && !options_.dump_shapes->empty()) check("--dump-shapes", *options_.dump_shapes);
  if (options_.report && !options_.report->empty()) check("--report", *options_.report);
  if (options_.output.empty()) return;
  check("-o", options_.output);
  if (options_.emit != Emit::source) return;
  for (const std::string& suffix : suffixes_of_sources(options_))
    inputs_.check_output("-o", options_.output.string() + suffix);
}

void OutputFiles::check(const char* option, const std::filesystem::path& output) const {
  inputs_.check_output(option, output);
  check_folder_of(option, output);
}

}  // namespace onnxc
