#include "pipeline/result_text.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "pipeline/graph_files.h"
#include "support/list_text.h"
#include "support/text.h"
#include "toolchain/library_needs.h"

namespace onnxc {
namespace {

std::string names_of(std::span<const CpuMachine> machines, const char* separator) {
  std::vector<std::string> names;
  for (const CpuMachine& machine : machines) names.push_back(machine.march);
  return fmt::format("{}", fmt::join(names, separator));
}

std::vector<std::string> entry_names(const Options& options) {
  std::vector<std::string> names;
  for (const GraphFile& file : graph_files(options)) names.push_back(printable(file.entry));
  return names;
}

}  // namespace

std::string describe(const Options& options, std::span<const CpuMachine> machines) {
  std::string text =
      fmt::format("--target {} --march {} -O{}", options.target, names_of(machines, ","), options.optimization);
  if (options.gpus != Options().gpus) text += fmt::format(" --gpu-arch {}", fmt::join(options.gpus, ","));
  if (options.gpu_code != Options().gpu_code) text += " --gpu-code " + options.gpu_code;
  if (options.fp32 != "ieee") text += " --fp32 " + options.fp32;
  if (options.weights != Options().weights) text += " --weights " + options.weights;
  if (options.precision != "float32") text += " --precision " + options.precision;
  for (const std::string& pattern : options.keep_float32) text += " --keep-float32 " + pattern;
  for (const auto& [name, bounds] : options.dims)
    text += fmt::format(" --dim {}={}..{}", name, bounds.minimum, bounds.maximum);
  for (const std::string& output : options.outputs) text += " --outputs " + output;
  for (const StateNames& state : options.states) text += fmt::format(" --state {}={}", state.input, state.output);
  for (const std::string& pass : options.skipped_passes) text += " --skip-pass " + pass;
  return text;
}

std::string result_line(const Options& options, const std::vector<const Program*>& programs,
                        std::span<const CpuMachine> machines) {
  std::error_code error;
  const double megabytes = static_cast<double>(std::filesystem::file_size(options.output, error)) / 1e6;
  const std::string glibc = needs_of(options.output).glibc;
  std::string line =
      fmt::format("wrote {}: {:.1f} MB, {}{} {}{}, glibc {} or newer", quote(options.output.string()), megabytes,
                  options.for_gpu() ? fmt::format("GPU {}, ", fmt::join(options.gpus, " and ")) : "",
                  options.for_cpu() ? "cpu" : "host code for cpu", names_of(machines, " and "),
                  options.marches == Options().marches ? " (this machine's; --march chooses)" : "",
                  glibc.empty() ? "2.2.5" : glibc);
  if (programs.size() > 1) line += fmt::format("; entries {}", list_text(entry_names(options)));
  std::map<std::string, std::set<std::string>> symbols_of_rule;  // one entry for D, H and W alike
  for (const Program* program : programs)
    for (const SizeRule& rule : program->size_rules)
      symbols_of_rule[printable(rule.legal)].insert(printable(rule.symbol.name()));
  for (const auto& [legal, symbols] : symbols_of_rule)
    line += fmt::format("; {} = {}", fmt::join(symbols, ", "), legal);
  return line;
}

}  // namespace onnxc
