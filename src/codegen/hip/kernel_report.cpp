#include "codegen/hip/kernel_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "support/text.h"

namespace onnxc {
namespace {

using nlohmann::ordered_json;

// A step for which the host waits.
struct HostRead {
  size_t step;
  std::vector<Origin> nodes;
  std::string tensor;
  Expr bytes;
};

std::vector<HostRead> host_reads(const Program& program) {
  std::vector<HostRead> found;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const std::optional<BufferId> read = read_by_host(program.steps[i]);
    if (!read) continue;
    const Buffer& buffer = program.buffer(program.storage(*read));
    const Expr bytes = buffer.layout.element_count(buffer.shape) * element_size(buffer.dtype);
    found.push_back({i, program.steps[i].origins, buffer.name, bytes});
  }
  return found;
}

// "... remark:     VGPRs: 56 [-Rpass...]" gives 56.
int64_t number_behind(std::string_view line, std::string_view label) {
  const size_t start = line.find(label) + label.size();
  int64_t value = 0;
  std::from_chars(line.data() + start, line.data() + line.size(), value);
  return value;
}

std::optional<Expected> expected_of(const DeviceKernel& kernel) {
  return kernel.figures ? kernel.figures->expected : std::nullopt;
}

}  // namespace

std::map<std::string, KernelResources> parse_resources(const std::string& remarks) {
  std::map<std::string, KernelResources> resources;
  KernelResources* current = nullptr;
  std::string_view rest = remarks;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find("kernel-resource-usage") == std::string_view::npos) continue;
    auto has = [&](std::string_view label) { return line.find(label) != std::string_view::npos; };
    if (constexpr std::string_view label = "Function Name: "; has(label)) {
      const std::string_view name = line.substr(line.find(label) + label.size());
      current = &resources[std::string(name.substr(0, name.find(' ')))];
    }
    if (current == nullptr) continue;
    if (has(" VGPRs: ")) current->vector_registers = number_behind(line, " VGPRs: ");
    if (has(" AGPRs: ")) current->accumulation_registers = number_behind(line, " AGPRs: ");
    if (has(" SGPRs: ")) current->scalar_registers = number_behind(line, " SGPRs: ");
    for (const std::string_view label : {"VGPRs Spill: ", "SGPRs Spill: "})
      if (has(label)) current->spilled_registers += number_behind(line, label);
    if (has("ScratchSize [bytes/lane]: ")) current->scratch_bytes = number_behind(line, "ScratchSize [bytes/lane]: ");
    if (has("LDS Size [bytes/block]: ")) current->lds_bytes = number_behind(line, "LDS Size [bytes/block]: ");
    if (has("Occupancy [waves/SIMD]: ")) current->waves = number_behind(line, "Occupancy [waves/SIMD]: ");
  }
  return resources;
}

std::string kernels_table(const std::vector<DeviceKernel>& kernels,
                          const std::map<std::string, KernelResources>& resources) {
  constexpr size_t longest = 56;
  std::vector<std::array<std::string, 9>> rows = {
      {"kernel", "steps", "LDS", "registers", "spilled", "waves", "us", "bound", "what"}};
  for (const DeviceKernel& kernel : kernels) {
    const auto found = resources.find(kernel.name);
    const KernelResources* made = found != resources.end() ? &found->second : nullptr;
    const std::string lds = made != nullptr  ? std::to_string(made->lds_bytes)
                            : kernel.figures ? std::to_string(kernel.figures->lds_bytes)
                                             : "-";
    // Both kinds are of one file.
    const std::string registers =
        made != nullptr ? std::to_string(made->vector_registers + made->accumulation_registers) : "-";
    const std::optional<Expected> expected = expected_of(kernel);
    rows.push_back({kernel.name, std::to_string(kernel.steps.size()), lds, registers,
                    made != nullptr ? std::to_string(made->spilled_registers + made->scratch_bytes) : "-",
                    made != nullptr  ? std::to_string(made->waves)
                    : kernel.figures ? std::to_string(kernel.figures->waves)
                                     : "-",
                    expected ? fmt::format("{:.1f}", expected->microseconds) : "-", expected ? expected->bound : "-",
                    printable(kernel.description, longest)});
  }
  std::array<size_t, 9> widths{};
  for (const auto& row : rows)
    for (size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  std::string text = "\nOn the GPU; microseconds are what the model of cost expects of a launch, not measured:\n";
  for (const auto& row : rows)
    text += fmt::format("{:<{}}  {:>{}}  {:>{}}  {:>{}}  {:>{}}  {:>{}}  {:>{}}  {:<{}}  {}\n", row[0], widths[0],
                        row[1], widths[1], row[2], widths[2], row[3], widths[3], row[4], widths[4], row[5], widths[5],
                        row[6], widths[6], row[7], widths[7], row[8]);
  return text;
}

ordered_json kernels_json(const std::vector<DeviceKernel>& kernels,
                          const std::map<std::string, KernelResources>& resources) {
  ordered_json list = ordered_json::array();
  for (const DeviceKernel& kernel : kernels) {
    const auto found = resources.find(kernel.name);
    auto made = [&](int64_t KernelResources::* member) {
      return found != resources.end() ? ordered_json(found->second.*member) : ordered_json(nullptr);
    };
    auto planned = [&](auto KernelFigures::* member) {
      return kernel.figures ? ordered_json(*kernel.figures.*member) : ordered_json(nullptr);
    };
    const std::optional<Expected> expected = expected_of(kernel);
    list.push_back({{"name", kernel.name},
                    {"description", kernel.description},
                    {"steps", kernel.steps},
                    {"lds_bytes", made(&KernelResources::lds_bytes)},
                    {"planned_lds_bytes", planned(&KernelFigures::lds_bytes)},
                    {"vector_registers", made(&KernelResources::vector_registers)},
                    {"accumulation_registers", made(&KernelResources::accumulation_registers)},
                    {"scalar_registers", made(&KernelResources::scalar_registers)},
                    {"spilled_registers", made(&KernelResources::spilled_registers)},
                    {"scratch_bytes", made(&KernelResources::scratch_bytes)},
                    {"waves", made(&KernelResources::waves)},
                    {"modelled_us", expected ? ordered_json(expected->microseconds) : ordered_json(nullptr)},
                    {"bound", expected ? ordered_json(expected->bound) : ordered_json(nullptr)}});
  }
  return list;
}

std::string host_reads_table(const Program& program) {
  std::string text;
  for (const HostRead& read : host_reads(program)) {
    std::string nodes;
    for (const Origin& origin : read.nodes)
      nodes += fmt::format("{}{} {}", nodes.empty() ? "" : ", ", printable(origin.type), quote(origin.name));
    text += fmt::format("step {} waits for {} bytes of {}, for {}\n", read.step, read.bytes.to_string(),
                        quote(read.tensor), nodes);
  }
  return text.empty() ? text : "\nSizes and conditions that the host reads from the GPU:\n" + text;
}

ordered_json host_reads_json(const Program& program) {
  ordered_json list = ordered_json::array();
  for (const HostRead& read : host_reads(program)) {
    ordered_json nodes = ordered_json::array();
    for (const Origin& origin : read.nodes) nodes.push_back({{"name", origin.name}, {"op_type", origin.type}});
    const std::optional<int64_t> bytes = read.bytes.constant();
    list.push_back({{"step", read.step},
                    {"nodes", nodes},
                    {"tensor", read.tensor},
                    {"bytes", bytes ? ordered_json(*bytes) : ordered_json(read.bytes.to_string())}});
  }
  return list;
}

}  // namespace onnxc
