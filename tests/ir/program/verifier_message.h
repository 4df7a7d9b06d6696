// For tests of what the verifier refuses.
#pragma once

#include <string>

#include "ir/program/program.h"
#include "support/diagnostics.h"

namespace onnxc {

// The verifier's message; empty if it finds nothing.
inline std::string verifier_message(const Program& program) {
  try {
    verify(program);
  } catch (const InternalError& error) {
    return error.what();
  }
  return {};
}

}  // namespace onnxc
