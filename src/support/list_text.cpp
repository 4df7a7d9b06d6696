#include "support/list_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace onnxc {

namespace {

// Insertions, deletions and replacements that make one word the other.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

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

std::string nearest_word(std::string_view word, std::span<const std::string> known) {
  std::string nearest;
  size_t least = word.size() / 3 + 2;  // more than a third of it is another word
  for (const std::string& each : known) {
    // A word that is only begun, or has an end too many, is nearer than its letters say.
    const bool is_begun = word.size() > 3 && (each.starts_with(word) || word.starts_with(each));
    const size_t steps = is_begun ? 1 : distance(word, each);
    if (steps < least) {
      least = steps;
      nearest = each;
    }
  }
  return nearest;
}

}  // namespace onnxc
