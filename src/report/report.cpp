#include "report/report.h"

#include <fmt/format.h>

#include <utility>

#include "report/nodes.h"

namespace onnxc {

using nlohmann::ordered_json;

Report::Report(bool shows, bool as_json, std::vector<Origin> nodes, std::function<void(std::string_view)> show)
    : shows_(shows),
      as_json_(as_json),
      nodes_(std::move(nodes)),
      json_{{"format", "onnxc-report"}, {"version", 1}},
      show_(std::move(show)) {}

void Report::add_cpu(const Program& program) {
  if (!shows_) return;
  if (as_json_)
    json_["nodes"] = nodes_json(nodes_, program);
  else
    show_(nodes_table(nodes_, program));
}

void Report::add_gpu(const std::string& architecture, const Program& program) {
  if (!shows_) return;
  if (as_json_)
    json_["gpu"] = {{"architecture", architecture},
                    {"nodes", nodes_json(nodes_, program)},
                    {"host_reads", host_reads_json(program)}};
  else
    show_(fmt::format("\nOn the GPU:\n{}{}", nodes_table(nodes_, program), host_reads_table(program)));
}

void Report::add_kernels(const std::vector<DeviceKernel>& kernels,
                         const std::map<std::string, KernelResources>& resources) {
  if (!shows_) return;
  if (as_json_)
    json_["gpu"]["kernels"] = kernels_json(kernels, resources);
  else
    show_(kernels_table(kernels, resources));
}

void Report::finish() {
  if (shows_ && as_json_) show_(json_.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace onnxc
