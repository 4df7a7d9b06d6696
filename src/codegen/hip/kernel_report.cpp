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

// ", 64 bytes smem" gives 64; 0 without such words.
int64_t number_before(std::string_view line, std::string_view label) {
  const size_t end = line.find(label);
  if (end == std::string_view::npos) return 0;
  size_t start = end;
  while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9') --start;
  int64_t value = 0;
  std::from_chars(line.data() + start, line.data() + end, value);
  return value;
}

bool has(std::string_view line, std::string_view label) { return line.find(label) != std::string_view::npos; }

using Resources = std::map<std::string, KernelResources>;

// A line of clang's. Returns the kernel that the lines after it are of.
KernelResources* read_remark(std::string_view line, Resources& resources, KernelResources* current) {
  if (constexpr std::string_view label = "Function Name: "; has(line, label)) {
    const std::string_view name = line.substr(line.find(label) + label.size());
    current = &resources[std::string(name.substr(0, name.find(' ')))];
  }
  if (current == nullptr) return nullptr;
  const auto read = [&](std::string_view label, int64_t& value) {
    if (has(line, label)) value = number_behind(line, label);
  };
  read(" VGPRs: ", current->vector_registers);
  read(" AGPRs: ", current->accumulation_registers);
  read(" SGPRs: ", current->scalar_registers);
  for (const std::string_view label : {"VGPRs Spill: ", "SGPRs Spill: "})
    if (has(line, label)) current->spilled_registers += number_behind(line, label);
  read("ScratchSize [bytes/lane]: ", current->scratch_bytes);
  read("LDS Size [bytes/block]: ", current->lds_bytes);
  if (constexpr std::string_view label = "Occupancy [waves/SIMD]: "; has(line, label))
    current->waves = number_behind(line, label);
  return current;
}

// The same for a line of ptxas, which counts spills in bytes: a register has 4.
KernelResources* read_ptxas(std::string_view line, Resources& resources, KernelResources* current) {
  if (constexpr std::string_view label = "Compiling entry function '"; has(line, label)) {
    const std::string_view name = line.substr(line.find(label) + label.size());
    return &resources[std::string(name.substr(0, name.find('\'')))];
  }
  if (current == nullptr) return nullptr;
  if (has(line, " bytes stack frame")) {
    current->scratch_bytes = number_before(line, " bytes stack frame");
    current->spilled_registers = number_before(line, " bytes spill stores") / 4;
  }
  if (has(line, " registers")) {
    current->vector_registers = number_before(line, " registers");
    current->lds_bytes = number_before(line, " bytes smem");
  }
  return current;
}

std::optional<Expected> expected_of(const DeviceKernel& kernel) {
  return kernel.figures ? kernel.figures->expected : std::nullopt;
}

}  // namespace

std::map<std::string, KernelResources> parse_resources(const std::string& said) {
  Resources resources;
  KernelResources *of_clang = nullptr, *of_ptxas = nullptr;
  std::string_view rest = said;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (has(line, "kernel-resource-usage"))
      of_clang = read_remark(line, resources, of_clang);
    else
      of_ptxas = read_ptxas(line, resources, of_ptxas);
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
                    made != nullptr && made->waves ? std::to_string(*made->waves)
                    : kernel.figures               ? std::to_string(kernel.figures->waves)
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
    const ordered_json waves =
        found != resources.end() && found->second.waves ? ordered_json(*found->second.waves) : ordered_json(nullptr);
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
                    {"waves", waves},
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
