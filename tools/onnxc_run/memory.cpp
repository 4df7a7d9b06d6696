#include "onnxc_run/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "onnxc_run/inputs.h"
#include "onnxc_run/reports/json.h"
#include "support/checked.h"

namespace onnxc {
namespace {

int64_t bytes_of(const std::vector<Tensor>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), int64_t{0}, [](int64_t sum, const Tensor& tensor) {
    return sum + static_cast<int64_t>(tensor.bytes().size());
  });
}

// Nothing for a value whose dims only a run knows.
int64_t bytes_of(const onnxc_value_info& info, const std::vector<int64_t>& dims) {
  if (std::ranges::find(dims, -1) != dims.end()) return 0;
  return checked_multiply(checked_product(dims), element_size(dtype_of(info)));
}

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

MemoryUse memory_use(const Session& session, int64_t bytes_of_values, int64_t bytes_of_states) {
  const onnxc_api& api = session.api();
  return {api.weights_bytes, api.working_bytes(session.instance()), api.least_working_bytes(session.instance()),
          bytes_of_values, bytes_of_states};
}

// Those of a session that has run.
int64_t bytes_of_states(const Session& session) {
  const onnxc_api& api = session.api();
  int64_t bytes = 0;
  for (int32_t i = 0; i < state_count(api); ++i) {
    std::vector<int64_t> dims(static_cast<size_t>(api.state(i)->rank));
    if (api.state_dims(session.instance(), i, dims.data()) == ONNXC_OK)
      bytes = checked_add(bytes, bytes_of(*api.state(i), dims));
  }
  return bytes;
}

}  // namespace

MemoryUse memory_use(const Session& session, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  return memory_use(session, bytes_of(inputs) + bytes_of(outputs), bytes_of_states(session));
}

bool is_for_gpu_alone(const onnxc_api& api) {
  return std::string_view(api.target).find("cpu ") == std::string_view::npos;
}

std::optional<MemoryUse> memory_use(const ModelLibrary& library, const RunOptions& options) {
  if (!options.device.is_gpu && is_for_gpu_alone(library.api())) return std::nullopt;
  const onnxc_api& api = library.api();
  std::vector<std::vector<int64_t>> inputs;
  int64_t bytes = 0, states = 0;
  try {
    for (int32_t i = 0; i < api.input_count; ++i) {
      inputs.push_back(evaluate_dims(*api.input(i), options.dims));
      bytes = checked_add(bytes, bytes_of(*api.input(i), inputs.back()));
    }
    for (int32_t i = 0; i < state_count(api); ++i)
      states = checked_add(states, bytes_of(*api.state(i), evaluate_dims(*api.state(i), options.dims)));
  } catch (const UsageError&) {
    return std::nullopt;
  }
  Session session(library, options.threads, options.device);
  const std::vector<std::vector<int64_t>> outputs = session.output_dims(inputs);
  for (int32_t i = 0; i < api.output_count; ++i)
    bytes = checked_add(bytes, bytes_of(*api.output(i), outputs[static_cast<size_t>(i)]));
  return memory_use(session, bytes, states);
}

int64_t process_peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return 1024 * std::stoll(line.substr(6));
  return 0;
}

Json memory_json(const MemoryUse& use) {
  return {{"weights", use.weights},
          {"working", use.working},
          {"least_working", use.least_working},
          {"inputs_and_outputs", use.values},
          {"states", use.states}};
}

std::string memory_text(const MemoryUse& use) {
  return fmt::format(
      "memory: {:.1f} MiB of weights, {:.1f} MiB of working memory (least possible {:.1f}), {:.1f} MiB of "
      "inputs and outputs{}",
      mebibytes(use.weights), mebibytes(use.working), mebibytes(use.least_working), mebibytes(use.values),
      use.states > 0 ? fmt::format(", {:.1f} MiB of states", mebibytes(use.states)) : "");
}

}  // namespace onnxc
