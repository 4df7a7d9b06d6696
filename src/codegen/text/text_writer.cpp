#include "codegen/text/text_writer.h"

namespace onnxc {

void TextWriter::line(std::string_view text) {
  if (!text.empty()) text_.append(2 * static_cast<size_t>(indentation_), ' ');
  text_ += text;
  text_ += '\n';
}

void TextWriter::array(std::string_view type, std::string_view name, const std::vector<std::string>& items) {
  if (items.empty()) {
    line(fmt::format("static const {}* const {} = nullptr;", type, name));
  } else {
    const Scope list = scope(fmt::format("static const {} {}[] =", type, name), ";");
    for (const std::string& item : items) line(item + ",");
  }
  line("");
}

}  // namespace onnxc
