#include "onnxc_run/verify.h"

#include <algorithm>

#include "onnxc_run/reference.h"
#include "onnxc_run/reports/compare.h"
#include "onnxc_run/reports/json.h"
#include "onnxc_run/steps.h"
#include "support/count_text.h"
#include "support/diagnostics.h"
#include "support/hash.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc {
namespace {

// Relative to the largest magnitude of the tensor. Errors of rounding grow through a deep network, so a tensor may also
// be some times as far off as the worst before it, up to a percent; what a wrong kernel does is larger by orders.
constexpr double growth = 8, most_grown = 1e-2;
// The same if values between nodes are stored in 16 bits (--precision): the elements that are furthest off of X3D-S's
// last blocks are 0.2 of the largest with bfloat16, and the scores 0.02.
constexpr double most_grown_of_narrowed = 0.4;

Comparison compare_scaled(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance, double grown) {
  double relative = std::max(tolerance.relative, grown);
  // NaN and infinities that the model itself makes are right when both make them.
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
  Verification(const Reference& reference, const RunOptions& options) : reference_(reference), options_(options) {}

  // `place`: the sources of the nodes, or "".
  void check(const std::string& name, const Tensor& actual, const std::string& nodes, const std::string& place) {
    auto expected = reference_.tensors.find(name);
    if (expected == reference_.tensors.end()) return;
    ++compared_;
    const bool narrowed = is_narrowed(actual, expected->second);
    if (narrowed) narrow_ = actual.dtype();
    // After the first of them float32 is as far off.
    const bool is_behind = narrow_ && expected->second.dtype() == DType::float32;
    const Tolerance tolerance =
        tolerance_for(options_.tolerance, name, is_behind ? *narrow_ : expected->second.dtype());
    const double grown = std::min(growth * worst_, narrow_ ? most_grown_of_narrowed : most_grown);
    Comparison comparison = compare_scaled(narrowed ? widened(actual) : actual, expected->second, tolerance, grown);
    if (comparison.nan_in_both > 0 && with_nan_++ == 0) first_with_nan_ = name;
    if (is_behind) add_cost(name, actual.dtype(), comparison, nodes);
    if (comparison.equal) {
      // A difference within the absolute tolerance says nothing: such a tensor may be all rounding.
      if (comparison.largest_difference > tolerance.absolute) worst_ = std::max(worst_, comparison.scaled_difference());
      return;
    }
    if (different_++ == 0) first_ = {name, nodes, place};
    if (options_.json) {
      rows_.push_back(to_json(name, comparison));
      rows_.back()["nodes"] = nodes;
      rows_.back()["source"] = place;
    } else if (different_ <= most_printed) {
      fmt::print("{}\n    computed by {}{}\n", describe("tensor " + quote(name), comparison), nodes,
                 in_brackets(place));
    }
  }

  bool report() const {
    user_check(compared_ > 0, "--verify {}: it has no tensor of a name that {} has; is it the model that was compiled?",
               quote(options_.verify->string()), quote(options_.model.string()));
    bool passed = different_ == 0;
    if (!options_.json) print_costs();
    if (options_.json) {
      Json json = {{"passed", passed}, {"compared", compared_}, {"with", reference_.engine}, {"different", rows_}};
      json["with_nan"] = with_nan_;
      json["first_tensor"] = passed ? Json() : Json(first_.tensor);
      json["first_node"] = passed ? Json() : Json(first_.nodes);
      if (narrow_) json["costs"] = costs_;
      fmt::print("{}\n", json_text(json));
    } else if (passed) {
      fmt::print("PASSED: {} {} of {}; {}{}\n", compared_,
                 compared_ == 1 ? "tensor equals that" : "tensors equal those", printable(reference_.engine),
                 differences_text(), nan_text());
    } else {
      fmt::print("FAILED: {} of {} differ{} from those of {}; the first, {}, is computed by {}{}\n", different_,
                 counted(compared_, "tensor"), different_ == 1 ? "s" : "", printable(reference_.engine),
                 quote(first_.tensor), first_.nodes, in_brackets(first_.place));
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

  // The cost of --precision: if the error grows, --keep-float32 may help.
  void print_costs() const {
    if (!narrow_) return;
    fmt::print("error against float32 in parts of each tensor's largest magnitude, as the run goes on\n");
    for (const Json& cost : costs_)
      fmt::print("{:>9.2e}  {:<8}  {}\n", cost["error"].get<double>(), cost["dtype"].get<std::string>(),
                 printable(cost["nodes"].get<std::string>()));
  }

  std::string differences_text() const {
    if (worst_ == 0) return "no difference is above the absolute tolerance";
    return fmt::format(
        "the largest difference above the absolute tolerance is {:.3g} of its tensor's largest magnitude", worst_);
  }

  std::string nan_text() const {
    if (with_nan_ == 0) return "";
    return fmt::format("; {} hold{} NaN in both, the first is {}", with_nan_, with_nan_ == 1 ? "s" : "",
                       quote(first_with_nan_));
  }

  struct Computed {
    std::string tensor, nodes, place;
  };

  static std::string in_brackets(const std::string& place) { return place.empty() ? "" : " [" + place + "]"; }

  const Reference& reference_;
  const RunOptions& options_;
  int compared_ = 0, different_ = 0;
  double worst_ = 0;  // of the tensors that are equal: largest difference over largest magnitude
  int with_nan_ = 0;  // tensors that hold NaN in both
  std::string first_with_nan_;
  Computed first_;
  Json rows_ = Json::array();
  std::optional<DType> narrow_;  // the type of the tensors that --precision stores in 16 bits, once one was seen
  Json costs_ = Json::array();
};

// The hash of the ONNX file that an entry was compiled from.
std::string hash_of(const onnxc_api& api) {
  const Json information = Json::parse(api.information, nullptr, false);
  return information.is_object() ? information.value("model", "") : "";
}

// The options by which its inputs and outputs have become states.
std::vector<std::string> state_options(const onnxc_api& api) {
  std::vector<std::string> words;
  const Json information = Json::parse(api.information, nullptr, false);
  if (!information.is_object() || !information.contains("states")) return words;
  for (const auto& [input, output] : information["states"].items())
    words.insert(words.end(), {"--state", input + "=" + output.get<std::string>()});
  return words;
}

// Another model's tensors differ all over, which says nothing about the compile.
void check_is_the_model(const Session& session, const RunOptions& options) {
  const std::string compiled = hash_of(session.api());
  if (compiled.empty() || options.compares_anyway) return;
  const std::string given = sha256(map_file(*options.verify)->bytes());
  if (given == compiled) return;
  const std::string model = quote(options.model.string()), file = quote(options.verify->string());
  for (const onnxc_api* entry : session.library().entries())
    if (hash_of(*entry) == given)
      user_error("--verify {}: that is the entry {} of {}; give --entry {}", file, quote(entry->entry_name), model,
                 printable(entry->entry_name));
  user_error(
      "--verify {}: {} was compiled from another file (SHA-256 {}). Give that one, or compare all the same with "
      "--compare-anyway",
      file, model, printable(compiled));
}

}  // namespace

bool verify(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options) {
  check_is_the_model(session, options);
  const std::vector<std::string> states = state_options(session.api());
  if (!states.empty() && options.verify_with == "onnxruntime")
    user_error(
        "--verify-with onnxruntime: {} has states, which onnxruntime does not carry; leave it out to compare with -O0",
        quote(options.model.string()));
  session.reset_states();
  const Reference reference = options.verify_with == "onnxruntime"
                                  ? compute_by_onnxruntime(*options.verify, inputs, session)
                                  : compute_without_optimization(*options.verify, states, inputs, options.threads);
  Verification verification(reference, options);
  const std::vector<onnxc_step_info> steps = session.steps();
  session.run(inputs, [&](int32_t step, int32_t when) {
    if (when != ONNXC_AFTER_STEP) return;
    int32_t output = 0;
    for (const onnxc_value_info* described : session.step_outputs(step))
      verification.check(described->name, session.step_output(step, output++),
                         step_title(steps.at(static_cast<size_t>(step))), step_place(session, step));
  });
  return verification.report();
}

}  // namespace onnxc
