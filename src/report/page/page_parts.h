// The style and the script of every page, as they stand in it.
#pragma once

#include <string_view>

namespace onnxc {

extern const std::string_view page_style;
// Plain JavaScript without a library. Text gets into the page only by textContent.
extern const std::string_view page_script;

}  // namespace onnxc
