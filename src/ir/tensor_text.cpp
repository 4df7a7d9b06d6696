#include "ir/tensor_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace onnxc {

std::string print_elements(const Tensor& tensor) {
  constexpr int64_t most = 16;
  if (tensor.size() > most) return "";
  if (!is_floating(tensor.dtype())) return fmt::format(" = {{{}}}", fmt::join(tensor.as_int64(), ", "));
  return fmt::format(" = {{{}}}", fmt::join(tensor.as_double(), ", "));
}

}  // namespace onnxc
