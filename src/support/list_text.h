// Lists in messages: a few entries say what is meant, and a count how many there are. A model may have a million. And
// of a list the word that was probably meant.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace onnxc {

inline constexpr size_t most_listed = 10;

// "a, b, c" or "a, b, and 7 more": at most `most_listed` entries, and the number of those that are not shown.
std::string list_text(std::span<const std::string> entries, std::string_view separator = ", ");
std::string list_text(std::span<const int64_t> numbers);

// The known word that is nearest to `word` by edit distance (Levenshtein 1966); empty if none is near.
std::string nearest_word(std::string_view word, std::span<const std::string> known);

}  // namespace onnxc
