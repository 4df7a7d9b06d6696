#include "ir/source_place.h"

#include "support/text.h"

namespace onnxc {

std::string SourcePlace::describe() const {
  if (module.empty()) return printable(line);
  return line.empty() ? "module " + printable(module) : printable(line) + " in " + printable(module);
}

}  // namespace onnxc
