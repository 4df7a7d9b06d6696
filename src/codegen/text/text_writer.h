// The text of generated source: lines at the right indentation, and braces that always close.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace onnxc {

class TextWriter {
 public:
  explicit TextWriter(int indentation = 0) : indentation_(indentation) {}

  // One line, indented; an empty text gives an empty line without spaces.
  void line(std::string_view text);
  // Appends text as it is: lines that were written before, at their own indentation.
  void append(std::string_view lines) { text_ += lines; }

  // Indents while it lives; the constructor of a scope writes its first line, the destructor the last.
  class [[nodiscard]] Scope {
   public:
    Scope(TextWriter& writer, std::string closing) : writer_(writer), closing_(std::move(closing)) {
      ++writer_.indentation_;
    }
    ~Scope() {
      --writer_.indentation_;
      writer_.line(closing_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    TextWriter& writer_;
    std::string closing_;
  };

  // "opening {" ... "}" + what follows the brace.
  Scope scope(std::string_view opening, std::string_view after_brace = "") {
    line(opening.empty() ? std::string("{") : fmt::format("{} {{", opening));
    return {*this, fmt::format("}}{}", after_brace)};
  }

  // A static array of C++; if there is nothing to hold, a null pointer of its name.
  void array(std::string_view type, std::string_view name, const std::vector<std::string>& items);

  int indentation() const { return indentation_; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  int indentation_;
};

}  // namespace onnxc
