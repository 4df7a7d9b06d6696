#include "support/text.h"

#include <fmt/format.h>

#include "support/hash.h"

namespace onnxc {
namespace {

// Not <cctype>: those functions depend on the locale.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_printable_ascii(char c) { return c >= ' ' && c <= '~'; }
unsigned byte_of(char c) { return static_cast<unsigned char>(c); }

struct CodePoint {
  uint32_t value;
  size_t length;  // bytes; 0 if the text is not UTF-8
};

// The code point at the start of the text; overlong forms, surrogates and values past U+10FFFF are invalid.
CodePoint decode_utf8(std::string_view text) {
  constexpr CodePoint invalid{0, 0};
  const unsigned first = byte_of(text[0]);
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return invalid;
  uint32_t value = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const unsigned next = byte_of(text[i]);
    if ((next & 0xc0) != 0x80) return invalid;
    value = value << 6 | (next & 0x3f);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return invalid;
  return {value, length};
}

// Control characters, and those that change the direction or the visibility of the text around them.
bool is_harmful(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

std::string escape_for_reading(std::string_view text, size_t max_length, std::string_view kept) {
  std::string result;
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    const size_t length = point.length == 0 ? 1 : point.length;
    std::string next(text.substr(0, length));
    if (kept.find(text[0]) == std::string_view::npos && (point.length == 0 || is_harmful(point.value))) {
      next.clear();
      for (char c : text.substr(0, length)) next += fmt::format("\\x{:02x}", byte_of(c));
    }
    if (next.size() > max_length - result.size()) return result + "...";
    result += next;
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace

std::string identifier(std::string_view prefix, int64_t index, std::string_view hint) {
  constexpr size_t longest_hint = 40;
  std::string result = fmt::format("{}{}", prefix, index);
  // One underscore between words and none at the end: two in a row are reserved in C++.
  std::string words;
  for (char c : hint.substr(0, longest_hint)) {
    if (is_letter(c) || is_digit(c)) {
      words += c;
    } else if (!words.empty() && words.back() != '_') {
      words += '_';
    }
  }
  while (!words.empty() && words.back() == '_') words.pop_back();
  return words.empty() ? result : result + "_" + words;
}

std::string c_string_literal(std::string_view bytes) {
  std::string result = "\"";
  for (char c : bytes) {
    if (c == '"' || c == '\\' || c == '?') {  // '?': no trigraphs
      result += '\\';
      result += c;
    } else if (is_printable_ascii(c)) {
      result += c;
    } else {
      result += fmt::format("\\{:03o}", byte_of(c));  // three digits: a digit that follows is not swallowed
    }
  }
  return result + '"';
}

std::string comment_text(std::string_view text) {
  constexpr size_t longest = 60;
  constexpr std::string_view more = "...";
  std::string result;
  size_t end_of_cut = 0;  // the longest whole characters that leave room for "..."
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool may_end_comment = c == '*' && (i + 1 == text.size() || text[i + 1] == '/');
    const bool is_plain = is_printable_ascii(c) && c != '\\' && c != '?' && c != '%' && !may_end_comment;
    result += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte_of(c));
    if (result.size() <= longest - more.size()) end_of_cut = result.size();
    if (result.size() > longest) return result.substr(0, end_of_cut).append(more);
  }
  return result;
}

std::string printable(std::string_view text, size_t max_length) { return escape_for_reading(text, max_length, ""); }

std::string quote(std::string_view text) { return "'" + printable(text) + "'"; }

std::string printable_message(std::string_view text) {
  constexpr size_t longest = 16384;
  return escape_for_reading(text, longest, "\n\t");
}

std::string safe_file_name(std::string_view name) {
  constexpr size_t longest = 100;
  std::string result;
  for (char c : name) result += is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-' ? c : '_';
  if (result.size() > longest) result = fmt::format("{}-{:016x}", result.substr(0, longest - 17), fnv1a(name));
  return result;
}

}  // namespace onnxc
