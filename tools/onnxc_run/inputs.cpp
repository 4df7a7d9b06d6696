#include "onnxc_run/inputs.h"

#include <Eigen/Core>
#include <optional>

#include "ir/expr/parser.h"
#include "onnxc_run/files/tensor_files.h"
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

template <class T, class Generate>
void fill(Tensor& tensor, Generate generate) {
  T* to = reinterpret_cast<T*>(tensor.mutable_bytes());
  for (int64_t i = 0; i < tensor.size(); ++i) to[i] = static_cast<T>(generate());
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
      throw UsageError(
          fmt::format("--shapes: input {} has rank {}, and {} dims are given", quote(name), info.rank, dims.size()));
    for (size_t axis = 0; axis < dims.size(); ++axis) symbols.emplace(info.dims[axis], dims[axis]);
  }
  return symbols;
}

bool may_invent(const RunOptions& options) {
  return options.random_seed || options.benchmark_runs || options.profile || !options.shapes.empty();
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
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + quote(name);
  throw UsageError(fmt::format("{} {}: expected NAME=FILE with one of the names {}", option, printable(text), known));
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
  auto real = [&] { return 2 * random.unit() - 1; };
  auto integer = [&] { return random.next() % 10; };
  switch (dtype) {
    case DType::float32:
      fill<float>(tensor, real);
      break;
    case DType::float64:
      fill<double>(tensor, real);
      break;
    case DType::float16:
      fill<Eigen::half>(tensor, real);
      break;
    case DType::bfloat16:
      fill<Eigen::bfloat16>(tensor, real);
      break;
    case DType::boolean:
      fill<uint8_t>(tensor, [&] { return random.next() & 1; });
      break;
    default:
      switch (info(dtype).size) {
        case 1:
          fill<uint8_t>(tensor, integer);
          break;
        case 2:
          fill<uint16_t>(tensor, integer);
          break;
        case 4:
          fill<uint32_t>(tensor, integer);
          break;
        default:
          fill<uint64_t>(tensor, integer);
          break;
      }
  }
  return tensor;
}

std::vector<Tensor> gather_inputs(const ModelLibrary& library, const RunOptions& options) {
  const onnxc_api& api = library.api();
  std::vector<std::string> names = input_names(api);
  std::vector<std::optional<Tensor>> values(names.size());
  for (const std::string& text : options.inputs) {
    auto [index, file] = split_assignment("--input", text, names);
    if (values[index]) throw UsageError(fmt::format("--input gives {} twice", quote(names[index])));
    values[index] = read_tensor(file);
    check_fit(*api.input(static_cast<int32_t>(index)), *values[index], file.string());
  }
  std::map<std::string, int64_t> symbols = known_symbols(library, options);
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
