#include "report/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "report/nodes.h"
#include "report/page/page.h"
#include "report/report_page.h"
#include "support/safe_file.h"

namespace onnxc {

using nlohmann::ordered_json;

Report::Report(const ReportRequest& request, std::string title, std::vector<Origin> nodes,
               std::function<void(std::string_view)> show)
    : form_(!request.file            ? Form::none
            : !request.file->empty() ? Form::page
            : request.as_json        ? Form::json
                                     : Form::tables),
      file_(request.file.value_or("")),
      nodes_(std::move(nodes)),
      json_(std::make_unique<ordered_json>(ordered_json{{"format", "onnxc-report"}, {"version", 1}})),
      cpu_offers_(std::make_unique<ordered_json>()),
      gpu_offers_(std::make_unique<ordered_json>()),
      page_(std::make_unique<Page>(std::move(title))),
      show_(std::move(show)) {}

Report::~Report() = default;

void Report::add_graph(const Graph& graph) {
  if (form_ == Form::page) onnxc::add_graph(*page_, graph);
}

void Report::add_offers(const Target& target, const Graph& graph, const KernelChoices& choices) {
  if (form_ != Form::json && form_ != Form::page) return;
  ordered_json& offers = std::holds_alternative<machine::GpuMachine>(target.machine) ? *gpu_offers_ : *cpu_offers_;
  offers = offers_json(graph, choices);
  onnxc::add_offers(*page_, target.name, choices.cost_unit, offers);
}

void Report::add_cpu(const Program& program) {
  if (form_ == Form::none) return;
  if (form_ == Form::tables) return show_(nodes_table(nodes_, program));
  (*json_)["nodes"] = nodes_json(nodes_, program);
  (*json_)["steps"] = steps_json(nodes_, program);
  (*json_)["offers"] = *cpu_offers_;
  add_nodes(*page_, "the CPU", (*json_)["nodes"], (*json_)["steps"]);
}

void Report::add_gpu(const std::string& architecture, const std::string& code, const Program& program) {
  if (form_ == Form::none) return;
  if (form_ == Form::tables)
    return show_(
        fmt::format("\nOn the GPU, as {}:\n{}{}", code, nodes_table(nodes_, program), host_reads_table(program)));
  (*json_)["gpu"] = {
      {"architecture", architecture},         {"code", code},           {"nodes", nodes_json(nodes_, program)},
      {"steps", steps_json(nodes_, program)}, {"offers", *gpu_offers_}, {"host_reads", host_reads_json(program)}};
  add_nodes(*page_, fmt::format("{} ({})", architecture, code), (*json_)["gpu"]["nodes"], (*json_)["gpu"]["steps"]);
}

void Report::add_kernels(const std::vector<DeviceKernel>& kernels,
                         const std::map<std::string, KernelResources>& resources) {
  if (form_ == Form::none) return;
  if (form_ == Form::tables) return show_(kernels_table(kernels, resources));
  (*json_)["gpu"]["kernels"] = kernels_json(kernels, resources);
  onnxc::add_kernels(*page_, (*json_)["gpu"]["kernels"]);
}

void Report::finish() {
  if (form_ == Form::json) show_(json_->dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n");
  if (form_ == Form::page) write_file(file_, page_->text());
}

}  // namespace onnxc
