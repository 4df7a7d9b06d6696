// An error in a variable of the environment. It counts as one in the command line, whose words the variable stands for.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "support/diagnostics.h"

namespace onnxc {

class EnvironmentError : public UsageError {
 public:
  // `fault` follows the variable's name: " is 'x'; ..." or ": ...".
  EnvironmentError(std::string_view variable, std::string_view fault)
      : UsageError(fmt::format("{}{}{}", start, variable, fault)) {}

  // Whether a message, which another process may have written, is that of such an error.
  static bool is_told_by(std::string_view message) { return message.starts_with(start); }

 private:
  static constexpr std::string_view start = "the environment variable ";
};

}  // namespace onnxc
