#include "support/list_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace onnxc {

namespace {

template <class Entry>
std::string text_of(std::span<const Entry> entries, std::string_view separator) {
  const size_t shown = std::min(entries.size(), most_listed);
  std::string text = fmt::format("{}", fmt::join(entries.first(shown), separator));
  if (shown < entries.size()) text += fmt::format("{}and {} more", separator, entries.size() - shown);
  return text;
}

}  // namespace

std::string list_text(std::span<const std::string> entries, std::string_view separator) {
  return text_of(entries, separator);
}

std::string list_text(std::span<const int64_t> numbers) { return text_of(numbers, ", "); }

}  // namespace onnxc
