#include "onnxc_run/reports/trace.h"

#include <cmath>
#include <limits>

#include "onnxc_run/files/tensor_files.h"
#include "onnxc_run/reports/json.h"
#include "onnxc_run/steps.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc {
namespace {

std::string row_text(const std::string& name, const Tensor& tensor, const TensorSummary& summary,
                     const std::string& nodes) {
  std::string type = fmt::format("{} {}", info(tensor.dtype()).name, fmt::join(tensor.dims(), "x"));
  const std::string range = summary.range ? fmt::format("{:>11.4g} {:>11.4g} {:>11.4g}", summary.range->minimum,
                                                        summary.range->maximum, summary.range->mean)
                                          : fmt::format("{:>11} {:>11} {:>11}", "-", "-", "-");
  return fmt::format("{:<32} {:<28} {} {:>6} {:>6}  {}\n", name, type, range, summary.nan, summary.infinite, nodes);
}

}  // namespace

TensorSummary summarize_tensor(const Tensor& tensor) {
  TensorSummary summary;
  int64_t finite = 0;
  double sum = 0, minimum = std::numeric_limits<double>::infinity(), maximum = -minimum;
  for (double value : tensor.as_double()) {
    if (std::isnan(value)) {
      ++summary.nan;
    } else if (std::isinf(value)) {
      ++summary.infinite;
    } else {
      ++finite;
      sum += value;
      minimum = std::min(minimum, value);
      maximum = std::max(maximum, value);
    }
  }
  if (finite > 0) summary.range = {minimum, maximum, sum / static_cast<double>(finite)};
  return summary;
}

std::vector<Tensor> trace(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options) {
  TensorFolder folder(*options.trace);
  Json rows = Json::array();
  if (!options.json)
    fmt::print("{:<32} {:<28} {:>11} {:>11} {:>11} {:>6} {:>6}  {}\n", "tensor", "type", "min", "max", "mean", "NaN",
               "Inf", "nodes");
  const std::vector<onnxc_step_info> steps = session.steps();
  std::vector<Tensor> outputs = session.run(inputs, [&](int32_t step, int32_t when) {
    if (when != ONNXC_AFTER_STEP) return;
    const onnxc_step_info& step_info = steps.at(static_cast<size_t>(step));
    int32_t output = 0;
    for (const onnxc_value_info* described : session.step_outputs(step)) {
      Tensor tensor = session.step_output(step, output++);
      const char* name = described->name;
      TensorSummary summary = summarize_tensor(tensor);
      const std::optional<TensorSummary::Range>& range = summary.range;
      std::filesystem::path file = folder.write(name, tensor);
      rows.push_back({{"name", name},
                      {"file", file.filename().string()},
                      {"dtype", info(tensor.dtype()).name},
                      {"dims", tensor.dims()},
                      {"min", range ? Json(range->minimum) : Json()},
                      {"max", range ? Json(range->maximum) : Json()},
                      {"mean", range ? Json(range->mean) : Json()},
                      {"nan", summary.nan},
                      {"inf", summary.infinite},
                      {"step", step_info.name},
                      {"nodes", step_nodes(step_info)}});
      if (!options.json) fmt::print("{}", row_text(printable(name), tensor, summary, step_title(step_info)));
    }
  });
  std::string json = json_text(Json{{"version", 1}, {"tensors", rows}}, 2) + "\n";
  write_file(folder.path() / trace_table, json);
  if (options.json) fmt::print("{}", json);
  return outputs;
}

}  // namespace onnxc
