// Tests of program passes as text: a program before, and what the pass makes of it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "expected_text.h"
#include "ir/program/parser.h"
#include "ir/program/program.h"

namespace onnxc {

// The text of `before` after the pass; both programs are verified.
inline std::string after(std::string_view before, const std::function<void(Program&)>& pass) {
  Program program = parse_program(before);
  verify(program);
  pass(program);
  verify(program);
  return to_string(program);
}

// Only the steps: the part of a program's text after its list of outputs.
inline std::string steps_of(const std::string& text) {
  const size_t outputs = text.find("\noutputs ");
  return text.substr(text.find('\n', outputs + 1) + 1);
}

}  // namespace onnxc
