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
// The same where values between nodes are stored in 16 bits (--precision): the elements that are furthest off of
// X3D-S's last blocks are 0.2 of the largest with bfloat16, and the scores 0.02.
constexpr double most_grown_of_narrowed = 0.4;

Comparison compare_scaled(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance, double grown) {
  double relative = std::max(tolerance.relative, grown);
  // NaN and infinities that the model itself makes are right when both compiles make them.
  return compare(actual, expected, by_magnitude(expected, {.relative = relative, .absolute = tolerance.absolute}),
                 true);
}

// Whether --precision stores the tensor in fewer bits than the reference does.
bool is_narrowed(const Tensor& actual, const Tensor& expected) {
  return actual.dtype() != expected.dtype() && is_half(actual.dtype()) && expected.dtype() == DType::float32;
}

Tensor widened(const Tensor& tensor) {
  const std::vector<double> values = tensor.as_double();
  return Tensor::of(DType::float32, tensor.dims(), std::vector<float>(values.begin(), values.end()));
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
    const bool narrowed = is_narrowed(actual, expected->second);
    if (narrowed) narrow_ = actual.dtype();
    // Behind the first of them float32 is as far off.
    const bool is_behind = narrow_ && expected->second.dtype() == DType::float32;
    const Tolerance tolerance =
        tolerance_for(options_.tolerance, name, is_behind ? *narrow_ : expected->second.dtype());
    const double grown = std::min(growth * worst_, narrow_ ? most_grown_of_narrowed : most_grown);
    Comparison comparison = compare_scaled(narrowed ? widened(actual) : actual, expected->second, tolerance, grown);
    if (is_behind) add_cost(name, actual.dtype(), comparison, nodes);
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
    if (!options_.json) print_costs();
    if (options_.json) {
      Json json = {{"passed", passed}, {"compared", compared_}, {"different", rows_}};
      json["first_node"] = passed ? Json() : Json(first_);
      if (narrow_) json["costs"] = costs_;
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
  void add_cost(const std::string& name, DType dtype, const Comparison& comparison, const std::string& nodes) {
    const double largest = comparison.largest_magnitude;
    costs_.push_back({{"name", name},
                      {"nodes", nodes},
                      {"dtype", info(dtype).name},
                      {"error", largest > 0 ? comparison.largest_difference / largest : 0.0}});
  }

  // What --precision costs: where the error grows, --keep-float32 may help.
  void print_costs() const {
    if (!narrow_) return;
    fmt::print("error against float32 in parts of each tensor's largest magnitude, as the run goes on\n");
    for (const Json& cost : costs_)
      fmt::print("{:>9.2e}  {:<8}  {}\n", cost["error"].get<double>(), cost["dtype"].get<std::string>(),
                 printable(cost["nodes"].get<std::string>()));
  }

  const std::map<std::string, Tensor>& reference_;
  const RunOptions& options_;
  int compared_ = 0, different_ = 0;
  double worst_ = 0;  // of the tensors that are equal: largest difference over largest magnitude
  std::string first_;
  Json rows_ = Json::array();
  std::optional<DType> narrow_;  // the type of the tensors that --precision stores in 16 bits, once one was seen
  Json costs_ = Json::array();
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
