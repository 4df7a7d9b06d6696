#include "onnxc_run/verify.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>

#include "frontend/import.h"
#include "onnxc_run/reports/compare.h"
#include "onnxc_run/steps.h"
#include "support/subprocess.h"
#include "support/temporary_folder.h"
#include "support/text.h"

namespace onnxc {
namespace {

std::string find_onnxc() {
  std::error_code error;
  std::filesystem::path beside = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "onnxc";
  return !error && std::filesystem::exists(beside) ? beside.string() : "onnxc";
}

void compile_reference(const std::filesystem::path& model, const std::filesystem::path& output) {
  ProcessOptions options;
  options.install_hint = "put the folder of onnxc into PATH";
  ProcessResult result = run_process(
      {find_onnxc(), std::filesystem::absolute(model).string(), "-O0", "-q", "-o", output.string()}, options);
  user_check(result.succeeded(), "onnxc -O0 cannot compile {} ({}):\n{}", quote(model.string()), result.describe(),
             printable_message(result.errors));
}

// The names of the model's own tensors. What an operator's definition keeps between its loops is named after its node,
// and need not mean the same in two compiles: a group normalisation found in the graph keeps other sums than the nodes
// that it was written with.
std::set<std::string> names_of_model(const std::filesystem::path& model) {
  std::set<std::string> names;
  const ImportedModel imported = import_model(model);
  for (const auto& value : imported.graph->values()) names.insert(value->name);
  return names;
}

// Every tensor that a run materialises, by its ONNX name.
std::map<std::string, Tensor> collect(Session& session, const std::vector<Tensor>& inputs) {
  const onnxc_api& api = session.api();
  std::map<std::string, Tensor> tensors;
  std::vector<Tensor> outputs = session.run(inputs, [&](int32_t step, int32_t when) {
    if (when != ONNXC_AFTER_STEP) return;
    int32_t output = 0;
    for (const onnxc_value_info* described : session.step_outputs(step))
      tensors.insert_or_assign(described->name, session.step_output(step, output++));
  });
  for (int32_t i = 0; i < api.output_count; ++i)
    tensors.insert_or_assign(api.output(i)->name, outputs[static_cast<size_t>(i)]);
  return tensors;
}

// Relative to the largest magnitude of the tensor. Errors of rounding grow through a deep network, so a tensor may also
// be some times as far off as the worst before it, up to a percent; what a wrong kernel does is larger by orders.
constexpr double growth = 8, most_grown = 1e-2;

Comparison compare_scaled(const Tensor& actual, const Tensor& expected, const std::string& name,
                          const Tolerance& tolerance, double worst_before) {
  double relative = std::max(tolerance.relative, std::min(growth * worst_before, most_grown));
  // NaN and infinities that the model itself makes are right when both compiles make them.
  return compare(actual, expected, by_magnitude(expected, {.relative = relative, .absolute = tolerance.absolute}),
                 true);
}

// All that comes after a wrong tensor differs, so that more would tell nothing.
constexpr int most_printed = 10;

class Verification {
 public:
  Verification(const std::map<std::string, Tensor>& reference, const RunOptions& options)
      : reference_(reference), options_(options) {}

  void check(const std::string& name, const Tensor& actual, const std::string& nodes) {
    auto expected = reference_.find(name);
    if (expected == reference_.end()) return;
    ++compared_;
    const Tolerance tolerance = tolerance_for(options_.tolerance, name, expected->second.dtype());
    Comparison comparison = compare_scaled(actual, expected->second, name, tolerance, worst_);
    if (comparison.equal) {
      // What the absolute tolerance allows says nothing: such a tensor may be all rounding.
      if (comparison.largest_difference > tolerance.absolute)
        worst_ = std::max(worst_, comparison.largest_difference / comparison.largest_magnitude);
      return;
    }
    if (different_++ == 0) first_ = nodes;
    if (options_.json) {
      rows_.push_back(to_json(name, comparison));
      rows_.back()["nodes"] = nodes;
    } else if (different_ <= most_printed) {
      fmt::print("{}\n    computed by {}\n", describe("tensor " + quote(name), comparison), nodes);
    }
  }

  bool report() const {
    bool passed = different_ == 0;
    if (options_.json) {
      Json json = {{"passed", passed}, {"compared", compared_}, {"different", rows_}};
      json["first_node"] = passed ? Json() : Json(first_);
      fmt::print("{}\n", json_text(json));
    } else if (passed) {
      fmt::print(
          "PASSED: {} tensors equal those of -O0 (largest difference over largest magnitude {:.3g}, of those above the "
          "absolute tolerance)\n",
          compared_, worst_);
    } else {
      fmt::print("FAILED: {} of {} tensors differ from those of -O0; the first is computed by {}\n", different_,
                 compared_, first_);
    }
    return passed;
  }

 private:
  const std::map<std::string, Tensor>& reference_;
  const RunOptions& options_;
  int compared_ = 0, different_ = 0;
  double worst_ = 0;  // of the tensors that are equal: largest difference over largest magnitude
  std::string first_;
  Json rows_ = Json::array();
};

}  // namespace

bool verify(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options) {
  TemporaryFolder folder("verify");
  std::filesystem::path reference_file = folder.path() / "reference.so";
  spdlog::info("compiling {} at -O0", quote(options.verify->string()));
  compile_reference(*options.verify, reference_file);
  ModelLibrary library(reference_file);
  Session reference(library, options.threads, "cpu");
  std::map<std::string, Tensor> tensors = collect(reference, inputs);
  const std::set<std::string> names = names_of_model(*options.verify);
  std::erase_if(tensors, [&](const auto& tensor) { return !names.contains(tensor.first); });

  Verification verification(tensors, options);
  const std::vector<onnxc_step_info> steps = session.steps();
  session.run(inputs, [&](int32_t step, int32_t when) {
    if (when != ONNXC_AFTER_STEP) return;
    int32_t output = 0;
    for (const onnxc_value_info* described : session.step_outputs(step))
      verification.check(described->name, session.step_output(step, output++),
                         step_title(steps.at(static_cast<size_t>(step))));
  });
  return verification.report();
}

}  // namespace onnxc
