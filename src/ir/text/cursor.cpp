#include "ir/text/cursor.h"

#include <algorithm>
#include <charconv>

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

int nesting_change(char c) {
  if (c == '(' || c == '[' || c == '{') return 1;
  return c == ')' || c == ']' || c == '}' ? -1 : 0;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

void TextCursor::skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

std::string_view TextCursor::take_characters(size_t count) {
  std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

bool TextCursor::at_end() {
  skip_spaces();
  return rest_.empty();
}

char TextCursor::peek() { return at_end() ? '\0' : rest_.front(); }

bool TextCursor::take(std::string_view text) {
  skip_spaces();
  if (!rest_.starts_with(text)) return false;
  const bool is_word = is_name_character(text.back());
  if (is_word && rest_.size() > text.size() && is_name_character(rest_[text.size()])) return false;
  rest_.remove_prefix(text.size());
  return true;
}

void TextCursor::expect(std::string_view text) {
  if (!take(text)) fail(fmt::format("'{}'", text));
}

std::string_view TextCursor::word() {
  skip_spaces();
  size_t count = std::min(rest_.find(' '), rest_.size());
  if (count == 0) fail("a word");
  return take_characters(count);
}

std::string_view TextCursor::name() {
  skip_spaces();
  const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_name_character);
  if (end == rest_.begin()) fail("a name");
  return take_characters(static_cast<size_t>(end - rest_.begin()));
}

int64_t TextCursor::integer() {
  skip_spaces();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc()) fail("an integer");
  take_characters(static_cast<size_t>(end - rest_.data()));
  return value;
}

int TextCursor::buffer_id() {
  skip_spaces();
  if (rest_.size() < 2 || rest_[0] != 'b' || rest_[1] < '0' || rest_[1] > '9') fail("a buffer such as b0");
  take_characters(1);
  return static_cast<int>(integer());
}

std::string_view TextCursor::bracketed(char open, char close) {
  expect(std::string_view(&open, 1));
  int depth = 1;
  for (size_t i = 0; i < rest_.size(); ++i) {
    depth += nesting_change(rest_[i]);
    if (depth > 0) continue;
    if (rest_[i] != close) break;
    std::string_view inside = take_characters(i);
    take_characters(1);
    return inside;
  }
  fail(fmt::format("'{}'", close));
}

std::string_view TextCursor::until(std::string_view separator) {
  skip_spaces();
  int depth = 0;
  for (size_t i = 0; i < rest_.size(); ++i) {
    if (depth == 0 && rest_.substr(i).starts_with(separator)) return trimmed(take_characters(i));
    depth += nesting_change(rest_[i]);
  }
  return trimmed(take_characters(rest_.size()));
}

std::string TextCursor::quoted() {
  expect("\"");
  std::string text;
  while (!rest_.empty() && rest_.front() != '"') {
    char c = take_characters(1)[0];
    if (c == '\\' && !rest_.empty()) {
      const bool is_octal = rest_.size() >= 3 && rest_[0] >= '0' && rest_[0] <= '3';
      std::string_view escaped = take_characters(is_octal ? 3 : 1);
      int code = escaped[0];
      if (is_octal) std::from_chars(escaped.data(), escaped.data() + escaped.size(), code, 8);
      c = static_cast<char>(code);
    }
    text += c;
  }
  expect("\"");
  return text;
}

void TextCursor::fail(std::string_view expected) const {
  user_error("line {}: {} is expected at {}", line_number_, expected, quote(rest_));
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  TextCursor cursor(text, 0);
  while (!cursor.at_end()) {
    parts.push_back(cursor.until(","));
    if (!cursor.take(",")) break;
  }
  return parts;
}

}  // namespace onnxc
