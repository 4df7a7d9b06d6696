// What --report shows of a compile, as it becomes known: tables at once, or one JSON object at the end
// (docs/report.md).
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/hip/kernel_report.h"
#include "ir/graph.h"
#include "ir/program/program.h"

namespace onnxc {

class Report {
 public:
  // Without `shows` nothing is shown; else `show` gets each text. The nodes are those of the graph as it was imported.
  Report(bool shows, bool as_json, std::vector<Origin> nodes, std::function<void(std::string_view)> show);

  void add_cpu(const Program& program);
  void add_gpu(const std::string& architecture, const Program& program);
  // Without resources, where nothing was compiled, only what was planned.
  void add_kernels(const std::vector<DeviceKernel>& kernels, const std::map<std::string, KernelResources>& resources);
  // Shows the JSON.
  void finish();

 private:
  bool shows_, as_json_;
  std::vector<Origin> nodes_;
  nlohmann::ordered_json json_;
  std::function<void(std::string_view)> show_;
};

}  // namespace onnxc
