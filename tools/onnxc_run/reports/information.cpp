#include "onnxc_run/reports/information.h"

#include <algorithm>
#include <cstddef>

#include "onnxc_run/memory.h"
#include "onnxc_run/reports/json.h"
#include "onnxc_run/steps.h"
#include "support/count_text.h"
#include "support/text.h"
#include "toolchain/library_needs.h"

namespace onnxc {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos && text.size() < 19;
}

// The Open Inference Protocol's names: float32 is FP32, bfloat16 BF16, int64 INT64.
std::string datatype(DType dtype) {
  std::string name(info(dtype).name);
  if (dtype == DType::bfloat16) return "BF16";
  if (name.starts_with("float")) return "FP" + name.substr(5);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c); });
  return name;
}

Json to_json(const onnxc_value_info& value) {
  Json shape = Json::array(), dims = Json::array();
  for (int32_t axis = 0; axis < value.rank; ++axis) {
    bool number = is_number(value.dims[axis]);
    shape.push_back(number ? std::stoll(value.dims[axis]) : -1);
    dims.push_back(number ? Json(std::stoll(value.dims[axis])) : Json(value.dims[axis]));
  }
  DType dtype = dtype_of(value);
  return {{"name", value.name},
          {"datatype", datatype(dtype)},
          {"shape", shape},
          {"dtype", info(dtype).name},
          {"dims", dims}};
}

std::string to_text(const char* role, const onnxc_value_info& value) {
  std::string dims;
  for (int32_t axis = 0; axis < value.rank; ++axis) dims += (axis > 0 ? ", " : "") + printable(value.dims[axis]);
  return fmt::format("  {:<7} {:<24} {} [{}]\n", role, printable(value.name), info(dtype_of(value)).name, dims);
}

// Null if the machine runs no CPU code of the model, or the model is older than the question.
const char* march_here(const onnxc_api& api) {
  return api.table_size > offsetof(onnxc_api, cpu_march) ? api.cpu_march() : nullptr;
}

bool has_entries(const ModelLibrary& library) { return library.entries().size() > 1; }

Json names_of(const std::vector<const onnxc_api*>& entries) {
  Json names = Json::array();
  for (const onnxc_api* entry : entries) names.push_back(entry->entry_name);
  return names;
}

void print_json(const ModelLibrary& library, const RunOptions& options) {
  const onnxc_api& api = library.api();
  Json inputs = Json::array(), outputs = Json::array(), steps = Json::array(), states = Json::array();
  for (int32_t i = 0; i < api.input_count; ++i) inputs.push_back(to_json(*api.input(i)));
  for (int32_t i = 0; i < api.output_count; ++i) outputs.push_back(to_json(*api.output(i)));
  for (int32_t i = 0; i < state_count(api); ++i) states.push_back(to_json(*api.state(i)));
  for (int32_t i = 0; i < api.step_count; ++i)
    steps.push_back({{"name", api.step_name(i)}, {"nodes", step_nodes(cpu_step(api, i))}});
  const std::optional<MemoryUse> memory = memory_use(library, options);
  Json json = {{"name", options.model.stem().string()},
               {"platform", "onnxc"},
               {"entry", has_entries(library) ? Json(api.entry_name) : Json()},
               {"entries", has_entries(library) ? names_of(library.entries()) : Json::array()},
               {"inputs", inputs},
               {"outputs", outputs},
               {"states", states},
               {"target", api.target},
               {"march_here", march_here(api) != nullptr ? Json(march_here(api)) : Json()},
               {"onnxc_version", api.onnxc_version},
               {"abi_version", api.abi_version},
               {"weights_bytes", api.weights_bytes},
               {"glibc", needs_of(library.path()).glibc},
               {"memory", memory ? memory_json(*memory) : Json()},
               {"model", Json::parse(api.information, nullptr, false)},
               {"steps", steps}};
  fmt::print("{}\n", json_text(json, 2));
}

void print_entry(const ModelLibrary& library, const RunOptions& options) {
  const onnxc_api& api = library.api();
  const std::string entry = has_entries(library) ? fmt::format(", entry {}", quote(api.entry_name)) : "";
  const std::string shared = has_entries(library) ? fmt::format(" of {}", counted(api.entry_count, "graph")) : "";
  fmt::print("{}{}: onnxc {}, {}, {:.1f} MiB of weights{}, {}\n", printable(options.model.string()), entry,
             api.onnxc_version, api.target, static_cast<double>(api.weights_bytes) / (1 << 20), shared,
             counted(api.step_count, "step"));
  for (int32_t i = 0; i < api.input_count; ++i) fmt::print("{}", to_text("input", *api.input(i)));
  for (int32_t i = 0; i < api.output_count; ++i) fmt::print("{}", to_text("output", *api.output(i)));
  for (int32_t i = 0; i < state_count(api); ++i) fmt::print("{}", to_text("state", *api.state(i)));
  if (const std::optional<MemoryUse> memory = memory_use(library, options))
    fmt::print("  {}\n", memory_text(*memory));
  else if (is_for_gpu_alone(api))
    fmt::print("  memory: known where the GPU is; give --device gpu\n");
  else
    fmt::print("  memory: depends on the dims; give each symbol a size with --dim\n");
  const LibraryNeeds needs = needs_of(library.path());
  fmt::print("  needs: glibc {} or newer ({}), a CPU of its target\n", needs.glibc.empty() ? "2.2.5" : needs.glibc,
             printable(fmt::format("{}", fmt::join(needs.libraries, ", "))));
  if (march_here(api) != nullptr) fmt::print("  runs here: the code for {}\n", printable(march_here(api)));
  Json information = Json::parse(api.information, nullptr, false);
  if (!information.is_object()) return;
  for (const auto& [key, value] : information.items())
    fmt::print("  {}: {}\n", printable(key), printable(value.is_string() ? value.get<std::string>() : value.dump()));
}

}  // namespace

void print_information(ModelLibrary& library, const RunOptions& options) {
  if (options.json) return print_json(library, options);
  if (options.entry) return print_entry(library, options);
  for (const onnxc_api* entry : library.entries()) {
    library.select(*entry);
    print_entry(library, options);
  }
}

}  // namespace onnxc
