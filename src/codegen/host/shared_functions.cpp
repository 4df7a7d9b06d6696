#include "codegen/host/shared_functions.h"

#include <fmt/format.h>

namespace onnxc {

std::string SharedFunctions::share(TextWriter& writer, const std::string& result, const std::string& stem,
                                   const std::string& parameters, const std::string& body) {
  const auto [known, is_new] =
      names_.emplace(fmt::format("{} {}", stem, body), fmt::format("{}{}", stem, names_.size()));
  if (is_new) {
    auto scope = writer.scope(fmt::format("static {} {}({})", result, known->second, parameters));
    writer.append(body);
  }
  return known->second;
}

}  // namespace onnxc
