// The memory that a model needs, and that this process held.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "onnxc_run/options.h"
#include "onnxc_run/session.h"

namespace onnxc {

// All in bytes.
struct MemoryUse {
  int64_t weights;
  int64_t working;        // planned for tensors between steps and for scratch
  int64_t least_working;  // no plan needs less
  int64_t values;         // inputs and outputs
  int64_t states;
};

// For the dims that the session is bound to.
MemoryUse memory_use(const Session& session, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);

bool is_for_gpu_alone(const onnxc_api& api);

// Without running, and without memory for a tensor; nothing when the dims of the inputs have symbols that `options`
// gives no size, or when only a GPU runs the model and `options` names the CPU.
std::optional<MemoryUse> memory_use(const ModelLibrary& library, const RunOptions& options);

// The most memory that this process has held so far, in bytes; 0 if the system does not tell.
int64_t process_peak_bytes();

nlohmann::ordered_json memory_json(const MemoryUse& use);
std::string memory_text(const MemoryUse& use);

}  // namespace onnxc
