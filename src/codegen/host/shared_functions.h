// Small functions of generated code; equal ones are written once.
#pragma once

#include <map>
#include <string>

#include "codegen/text/text_writer.h"

namespace onnxc {

class SharedFunctions {
 public:
  // Returns the name, which begins with `stem`, of a function with this signature. `body` is lines at one indentation
  // more than the writer's.
  std::string share(TextWriter& writer, const std::string& result, const std::string& stem,
                    const std::string& parameters, const std::string& body);

 private:
  std::map<std::string, std::string> names_;  // by text
};

}  // namespace onnxc
