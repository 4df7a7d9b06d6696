#include "onnxc_run/inputs.h"

#include <spdlog/spdlog.h>

#include <Eigen/Core>
#include <algorithm>
#include <optional>

#include "ir/dtype_visit.h"
#include "ir/expr/parser.h"
#include "onnxc_run/files/tensor_files.h"
#include "onnxc_run/reports/json.h"
#include "support/count_text.h"
#include "support/list_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): small, and the same everywhere, as std::uniform_real_distribution is not.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)

 private:
  uint64_t state_;
};

// Float32 rounded to the nearest value of another floating type: numpy has no bfloat16 to write into a file.
Tensor rounded_to(const Tensor& tensor, DType dtype) {
  Tensor result = Tensor::zeros(dtype, tensor.dims());
  const auto* from = reinterpret_cast<const float*>(tensor.bytes().data());
  const auto copy = [&]<class T>(T* to) {
    for (int64_t i = 0; i < tensor.size(); ++i) to[i] = static_cast<T>(from[i]);
  };
  if (dtype == DType::bfloat16) copy(reinterpret_cast<Eigen::bfloat16*>(result.mutable_bytes()));
  if (dtype == DType::float16) copy(reinterpret_cast<Eigen::half*>(result.mutable_bytes()));
  if (dtype == DType::float64) copy(reinterpret_cast<double*>(result.mutable_bytes()));
  return result;
}

bool takes_float32(DType dtype) {
  return dtype == DType::bfloat16 || dtype == DType::float16 || dtype == DType::float64;
}

// The value of a file, of the input's type.
Tensor read_input(const onnxc_value_info& info, const std::filesystem::path& file) {
  Tensor tensor = read_tensor(file);
  const DType dtype = dtype_of(info);
  return tensor.dtype() == DType::float32 && takes_float32(dtype) ? rounded_to(tensor, dtype) : tensor;
}

void check_fit(const onnxc_value_info& info, const Tensor& tensor, const std::string& file) {
  DType dtype = dtype_of(info);
  user_check(tensor.dtype() == dtype, "{} holds {}, and input {} is {}: convert it first", quote(file),
             onnxc::info(tensor.dtype()).name, quote(info.name), onnxc::info(dtype).name);
  user_check(static_cast<int32_t>(tensor.dims().size()) == info.rank, "{} has rank {}, and input {} has rank {}",
             quote(file), tensor.dims().size(), quote(info.name), info.rank);
}

std::vector<std::string> names(int32_t count, const onnxc_value_info* (*info)(int32_t)) {
  std::vector<std::string> result;
  for (int32_t i = 0; i < count; ++i) result.emplace_back(info(i)->name);
  return result;
}

// Symbols as --dim and as the dims of --shapes give them.
std::map<std::string, int64_t> known_symbols(const ModelLibrary& library, const RunOptions& options) {
  const onnxc_api& api = library.api();
  std::map<std::string, int64_t> symbols = options.dims;
  for (const auto& [name, dims] : options.shapes) {
    const onnxc_value_info& info = *api.input(library.find_input(name));
    if (static_cast<int32_t>(dims.size()) != info.rank)
      throw UsageError(fmt::format("--shapes: input {} has rank {}, and {} given", quote(name), info.rank,
                                   counted_are(dims.size(), "dim")));
    for (size_t axis = 0; axis < dims.size(); ++axis) symbols.emplace(info.dims[axis], dims[axis]);
  }
  return symbols;
}

// "16*n or 16*n + 15" is 16; 1 if a rule says no multiple.
int64_t multiple_of_rule(const std::string& legal) {
  const size_t star = legal.find("*n");
  if (star == std::string::npos || star == 0 || star > 9) return 1;
  const std::string digits = legal.substr(0, star);
  return digits.find_first_not_of("0123456789") == std::string::npos ? std::max<int64_t>(1, std::stoll(digits)) : 1;
}

// Sizes for the symbols that nobody gave one: a batch of 1, and around 64 what the model's rules allow.
void invent_sizes(const onnxc_api& api, std::map<std::string, int64_t>& symbols) {
  constexpr int64_t usual = 64;
  std::map<std::string, int64_t> multiples;
  const Json information = Json::parse(api.information, nullptr, false);
  if (information.is_object() && information.contains("rules"))
    for (const Json& rule : information["rules"]) {
      const std::string text = rule.is_string() ? rule.get<std::string>() : "";
      const size_t equals = text.find(" = ");
      if (equals != std::string::npos) multiples[text.substr(0, equals)] = multiple_of_rule(text.substr(equals + 3));
    }
  std::string invented;
  for (int32_t input = 0; input < api.input_count; ++input)
    for (int32_t axis = 0; axis < api.input(input)->rank; ++axis) {
      const std::string name = api.input(input)->dims[axis];
      const bool is_symbol = name.find_first_of(" *+-/()0123456789") != 0 && name.find_first_of(" *+/(") > name.size();
      if (!is_symbol || symbols.contains(name)) continue;
      const auto found = multiples.find(name);
      const int64_t multiple = found != multiples.end() ? found->second : 1;
      symbols[name] = axis == 0 ? multiple : multiple * std::max<int64_t>(1, usual / multiple);
      invented += fmt::format("{}{} = {}", invented.empty() ? "" : ", ", printable(name), symbols[name]);
    }
  if (!invented.empty()) spdlog::info("random inputs with {} (--dim chooses)", invented);
}

// The symbols in the dims of the inputs.
std::vector<std::string> dim_names(const onnxc_api& api) {
  std::vector<std::string> found;
  for (int32_t input = 0; input < api.input_count; ++input)
    for (int32_t axis = 0; axis < api.input(input)->rank; ++axis)
      parse_expr(api.input(input)->dims[axis], [&](std::string_view name) -> Expr {
        if (std::ranges::find(found, name) == found.end()) found.emplace_back(name);
        return Symbol::dim(std::string(name));
      });
  return found;
}

// The names that --dim may have: with --info those of all entries that it shows.
std::vector<std::string> asked_dim_names(const ModelLibrary& library, const RunOptions& options) {
  std::vector<std::string> found = dim_names(library.api());
  if (!options.information || options.entry) return found;
  for (const onnxc_api* entry : library.entries())
    for (const std::string& name : dim_names(*entry))
      if (std::ranges::find(found, name) == found.end()) found.push_back(name);
  return found;
}

void check_name(const char* option, const char* kind, const std::string& name, const std::vector<std::string>& known) {
  if (std::ranges::find(known, name) != known.end()) return;
  const std::string nearest = nearest_word(name, known);
  std::vector<std::string> quoted;
  std::ranges::transform(known, std::back_inserter(quoted), [](const std::string& each) { return quote(each); });
  throw UsageError(fmt::format("{}: the model has no {} {}; {}{}", option, kind, quote(name),
                               nearest.empty() ? "" : fmt::format("did you mean {}? ", quote(nearest)),
                               known.empty() ? "it has none" : "it has " + list_text(quoted)));
}

bool may_invent(const RunOptions& options) {
  return options.random_seed || options.benchmark_runs || options.profile || !options.trace_events.empty() ||
         !options.shapes.empty();
}

}  // namespace

std::vector<std::string> input_names(const onnxc_api& api) { return names(api.input_count, api.input); }
std::vector<std::string> output_names(const onnxc_api& api) { return names(api.output_count, api.output); }

std::pair<size_t, std::filesystem::path> split_assignment(const std::string& option, const std::string& text,
                                                          const std::vector<std::string>& names) {
  std::optional<size_t> best;
  for (size_t i = 0; i < names.size(); ++i)
    if (text.starts_with(names[i] + "=") && (!best || names[i].size() > names[*best].size())) best = i;
  if (best) return {*best, text.substr(names[*best].size() + 1)};
  if (names.size() == 1 && std::filesystem::exists(text)) return {0, text};
  std::vector<std::string> known;
  for (const std::string& name : names) known.push_back(quote(name));
  throw UsageError(
      fmt::format("{} {}: expected NAME=FILE with one of the names {}", option, printable(text), list_text(known)));
}

std::vector<int64_t> evaluate_dims(const onnxc_value_info& info, const std::map<std::string, int64_t>& symbols) {
  std::vector<int64_t> dims;
  for (int32_t axis = 0; axis < info.rank; ++axis) {
    Expr dim = parse_expr(info.dims[axis], [&](std::string_view name) -> Expr {
      auto found = symbols.find(std::string(name));
      if (found != symbols.end()) return found->second;
      throw UsageError(fmt::format("dim {} of {} is {}: give it a size with --dim {}=SIZE, or all dims with --shapes",
                                   axis, quote(info.name), printable(info.dims[axis]), printable(name)));
    });
    dims.push_back(dim.evaluate({}));
  }
  return dims;
}

Tensor random_tensor(DType dtype, const std::vector<int64_t>& dims, uint64_t seed) {
  Tensor tensor = Tensor::zeros(dtype, dims);
  Random random(seed);
  // Each is exact as a double, so that the loop for a type is there once.
  const auto number = [&] {
    if (is_floating(dtype)) return 2 * random.unit() - 1;
    return static_cast<double>(dtype == DType::boolean ? random.next() & 1 : random.next() % 10);
  };
  with_type(dtype, [&]<class T>() {
    T* to = reinterpret_cast<T*>(tensor.mutable_bytes());
    for (int64_t i = 0; i < tensor.size(); ++i) to[i] = static_cast<T>(number());
  });
  return tensor;
}

void check_names(const ModelLibrary& library, const RunOptions& options) {
  const onnxc_api& api = library.api();
  const std::vector<std::string> outputs = output_names(api);
  const std::vector<std::string> dims = asked_dim_names(library, options);
  for (const auto& [name, size] : options.dims) check_name("--dim", "dim", name, dims);
  for (const auto* by_name : {&options.tolerance.relative_by_name, &options.tolerance.absolute_by_name})
    for (const auto& [name, value] : *by_name)
      check_name(by_name == &options.tolerance.relative_by_name ? "--rtol" : "--atol", "output", name, outputs);
}

std::vector<Tensor> gather_inputs(const ModelLibrary& library, const RunOptions& options) {
  const onnxc_api& api = library.api();
  std::vector<std::string> names = input_names(api);
  std::vector<std::optional<Tensor>> values(names.size());
  for (const std::string& text : options.inputs) {
    auto [index, file] = split_assignment("--input", text, names);
    if (values[index]) throw UsageError(fmt::format("--input gives {} twice", quote(names[index])));
    values[index] = read_input(*api.input(static_cast<int32_t>(index)), file);
    check_fit(*api.input(static_cast<int32_t>(index)), *values[index], file.string());
  }
  std::map<std::string, int64_t> symbols = known_symbols(library, options);
  if (may_invent(options) && std::ranges::any_of(values, [](const auto& value) { return !value; }))
    invent_sizes(api, symbols);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < names.size(); ++i) {
    const onnxc_value_info& info = *api.input(static_cast<int32_t>(i));
    if (!values[i]) {
      if (!may_invent(options))
        throw UsageError(fmt::format("input {} has no value: give --input {}=FILE.npy, or --random SEED",
                                     quote(names[i]), printable(names[i])));
      auto shape = options.shapes.find(names[i]);
      std::vector<int64_t> dims = shape != options.shapes.end() ? shape->second : evaluate_dims(info, symbols);
      values[i] = random_tensor(dtype_of(info), dims, options.random_seed.value_or(0) + i);
    }
    inputs.push_back(std::move(*values[i]));
  }
  return inputs;
}

}  // namespace onnxc
