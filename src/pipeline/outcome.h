// Errors as values: how a piece of work ended, and whose fault it was.
#pragma once

#include <functional>
#include <string>

namespace onnxc {

// The numbers are the exit codes of the command and the statuses of onnxc_compiler.h.
enum class Fault { none = 0, user = 1, usage = 2, compiler = 3 };

struct Outcome {
  Fault fault = Fault::none;
  std::string message;  // "error: ..." or "internal error: ...", fit for a terminal; empty if there is no fault

  bool succeeded() const { return fault == Fault::none; }
};

// Runs the work. An exception becomes an outcome: UserError, UsageError and InternalError by whose fault they are, no
// memory and a failing standard stream as the machine's.
Outcome outcome_of(const std::function<void()>& work);

}  // namespace onnxc
