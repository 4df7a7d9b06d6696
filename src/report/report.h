// The data of --report on a compile, as it becomes known: tables at once, one JSON object at the end (docs/report.md),
// or a page in a file.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/hip/kernel_report.h"
#include "ir/graph.h"
#include "ir/program/program.h"
#include "passes/lowering/choose_kernels.h"

namespace onnxc {

class Page;

// How it is asked for.
struct ReportRequest {
  std::optional<std::string> file;  // nothing: no report; "": on standard output; else the page's file
  bool as_json = false;             // on standard output
};

class Report {
 public:
  // `show` gets each text for standard output. The nodes are those of the graph as it was imported.
  Report(const ReportRequest& request, std::string title, std::vector<Origin> nodes,
         std::function<void(std::string_view)> show);
  ~Report();

  // Once shapes are inferred.
  void add_graph(const Graph& graph);
  // For the graph that is lowered.
  void add_offers(const Target& target, const Graph& graph, const KernelChoices& choices);
  void add_cpu(const Program& program);
  // `code` says what model.so holds for it: "cuda sm_80".
  void add_gpu(const std::string& architecture, const std::string& code, const Program& program);
  // Without resources if nothing was compiled, only planned.
  void add_kernels(const std::vector<DeviceKernel>& kernels, const std::map<std::string, KernelResources>& resources);
  // Shows the JSON, or writes the page.
  void finish();

 private:
  enum class Form { none, tables, json, page };

  Form form_;
  std::filesystem::path file_;
  std::vector<Origin> nodes_;
  // Pointers: their headers are large.
  std::unique_ptr<nlohmann::ordered_json> json_, cpu_offers_, gpu_offers_;
  std::unique_ptr<Page> page_;
  std::function<void(std::string_view)> show_;
};

}  // namespace onnxc
