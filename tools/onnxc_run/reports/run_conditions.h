// Under which conditions figures were measured: without them two figures cannot be compared.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "onnxc_run/session.h"

namespace onnxc {

struct RunConditions {
  std::map<std::string, std::vector<int64_t>> inputs;  // the dims of each, by name
  int threads = 0;
  std::string precision;  // of --precision, such as "float32"

  bool operator==(const RunConditions&) const = default;
  // "x 1x1x64x64x64, t 1"
  std::string inputs_text() const;
  // "x 1x1x64x64x64; 2 threads; bfloat16"
  std::string text() const;
};

RunConditions conditions_of(const Session& session, const std::vector<Tensor>& inputs);

// Adds the fields "inputs", "threads" and "precision".
void add_conditions(nlohmann::ordered_json& json, const RunConditions& conditions);
// Reads them; Json::exception if they are missing.
RunConditions read_conditions(const nlohmann::ordered_json& json);

}  // namespace onnxc
