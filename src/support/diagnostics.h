// Errors by whose fault they are, so that each ends in its own exit code (design: 0 done, 1 the user's model, input or
// machine, 2 the command line, 3 a bug of ours, 4 a comparison failed).
#pragma once

#include <fmt/format.h>

#include <source_location>
#include <stdexcept>
#include <string>

namespace onnxc {

// The model, the input or the machine is at fault. The text names the file, node, input or dim, what was expected and
// found, and what to do.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The command line is at fault.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A bug of ours: an invariant of the compiler does not hold.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

template <class... Arguments>
[[noreturn]] void user_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw UserError(fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
void user_check(bool condition, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (!condition) throw UserError(fmt::format(format, std::forward<Arguments>(arguments)...));
}

[[noreturn]] inline void internal_error(const std::string& message,
                                        std::source_location where = std::source_location::current()) {
  throw InternalError(fmt::format("{}:{}: {}", where.file_name(), where.line(), message));
}

inline void internal_check(bool condition, const char* message,
                           std::source_location where = std::source_location::current()) {
  if (!condition) internal_error(message, where);
}

}  // namespace onnxc
