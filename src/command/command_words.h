// The shared part of both commands for the words of a command line beyond CLI11: options may stand before or after the
// model, and a word that is almost an option gets a suggestion.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onnxc {

// An option whose value may be left out. Then the next word is not its value, unless it is a number and the option
// takes one ("--bench 100").
struct OptionalValue {
  std::string option;  // "--bench"
  std::string default_value;
  bool takes_number = false;
};

// An option that has an effect only beside others. Its condition is an option ("--volume"), or one with a value, given
// or by default ("--preset=monai"; of a list, such as "--target=hip", the value is one of its words), or one with any
// file ("--profile=FILE").
struct OptionEffect {
  std::string option;
  std::vector<std::string_view> with = {};     // one of these; empty: whatever is given
  std::vector<std::string_view> without = {};  // none of these
};

// UsageError for the first option that was given and has no effect.
void check_effects(const CLI::App& app, std::span<const OptionEffect> effects);

// The value of an option that takes one of these words.
CLI::Validator one_of(std::vector<std::string> words);

// Parses the words after the command's name. Throws UsageError for a mistake in them, and names the nearest option for
// a word that is not one; throws CLI::Success for --help and --version, as CLI11 does.
void parse_words(CLI::App& app, std::span<const std::string> words, std::span<const OptionalValue> optional_values);

}  // namespace onnxc
