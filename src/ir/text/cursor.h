// A position in one line of the textual IR, for its parsers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onnxc {

class TextCursor {
 public:
  TextCursor(std::string_view line, size_t line_number) : rest_(line), line_number_(line_number) {}

  // All skip the spaces in front.
  bool at_end();
  // Consumes `text` when it comes next; a word only when it also ends there.
  bool take(std::string_view text);
  void expect(std::string_view text);
  // Letters, digits, '_', '.', '/' and anything else before a space, bracket, comma or operator.
  std::string_view word();
  std::string_view name();  // letters, digits and '_'
  int64_t integer();
  // "b12"
  int buffer_id();
  // The text between the bracket `open`, which comes next, and the bracket that closes it.
  std::string_view bracketed(char open, char close);
  // Text up to `separator` outside brackets, or to the end; the separator is not consumed.
  std::string_view until(std::string_view separator);
  // A string in double quotes as c_string_literal writes it.
  std::string quoted();

  std::string_view rest() const { return rest_; }
  char peek();
  size_t line_number() const { return line_number_; }
  // UserError with the line number and the text found here.
  [[noreturn]] void fail(std::string_view expected) const;

 private:
  void skip_spaces();
  std::string_view take_characters(size_t count);

  std::string_view rest_;
  size_t line_number_;
};

// The parts of a text at the commas outside brackets; none for an empty text.
std::vector<std::string_view> split_at_commas(std::string_view text);

}  // namespace onnxc
