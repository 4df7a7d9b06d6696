// JSON as onnxc-run prints it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace onnxc {

using Json = nlohmann::ordered_json;

// The text, with invalid UTF-8 in names replaced; `indent` below 0 is one line.
inline std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace onnxc
