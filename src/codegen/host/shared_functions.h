// Small functions of generated code: equal ones are written once.
#pragma once

#include <map>
#include <string>

#include "codegen/text/text_writer.h"

namespace onnxc {

class SharedFunctions {
 public:
  // The name, which begins with `stem`, of a function of this signature. `body` is lines at the writer's indentation
  // and one more.
  std::string share(TextWriter& writer, const std::string& result, const std::string& stem,
                    const std::string& parameters, const std::string& body);

 private:
  std::map<std::string, std::string> names_;  // by text
};

}  // namespace onnxc
