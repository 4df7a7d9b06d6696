// The way of a model through the compiler.
#pragma once

#include <optional>
#include <string_view>

#include "pipeline/messages.h"
#include "pipeline/options.h"
#include "pipeline/outcome.h"

namespace onnxc {

struct CompileRequest {
  Options options;
  // The model's bytes, if it is in memory; then options.model is its name in messages, and the folder of that name
  // holds its external data.
  std::optional<std::string_view> model_bytes = {};
  MessageSink messages = ignore_message;
};

// Compiles as the options say. Prints nothing and throws nothing; if it fails, no output file is left. May be called by
// several threads at once.
Outcome compile(const CompileRequest& request);

}  // namespace onnxc
