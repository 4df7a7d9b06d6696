#include "command/command_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "command/help_text.h"
#include "support/diagnostics.h"
#include "support/list_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<std::string> with_default_values(std::span<const std::string> words,
                                             std::span<const OptionalValue> optional_values) {
  std::vector<std::string> result(words.begin(), words.end());
  for (size_t i = 0; i < result.size() && result[i] != "--"; ++i) {
    const auto found = std::ranges::find(optional_values, result[i], &OptionalValue::option);
    if (found == optional_values.end()) continue;
    if (found->takes_number && i + 1 < result.size() && is_number(result[i + 1])) continue;
    result[i] += fmt::format("={}", found->default_value);
  }
  return result;
}

// "--report r.html": the value of such an option is not the next word, which would be taken for the model.
void check_joined_values(std::span<const std::string> words, std::span<const OptionalValue> optional_values) {
  for (size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i) {
    const auto found = std::ranges::find(optional_values, words[i], &OptionalValue::option);
    const std::string& next = words[i + 1];
    if (found == optional_values.end() || next.starts_with("-") || (found->takes_number && is_number(next))) continue;
    std::error_code error;
    const bool is_model = next.ends_with(".onnx") || next.ends_with(".so") || std::filesystem::exists(next, error);
    if (!is_model)
      throw UsageError(
          fmt::format("{0} {1}: a value of {0} is joined to it by '=': {0}={1}", words[i], printable(next)));
  }
}

[[noreturn]] void refuse(const CLI::App& app, const std::vector<std::string>& remaining) {
  const auto option = std::ranges::find_if(remaining, [](const std::string& word) { return word.starts_with("-"); });
  if (option == remaining.end())
    throw UsageError(fmt::format("{} is one word too many; an option that begins with a dash is expected",
                                 quote(remaining.front())));
  std::vector<std::string> known;
  for (const CLI::Option* each : app.get_options())
    for (const std::string& name : each->get_lnames()) known.push_back("--" + name);
  const std::string nearest = nearest_word(option->substr(0, option->find('=')), known);
  throw UsageError(fmt::format("there is no option {}{}", quote(*option),
                               nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

// CLI11 says "--output: At Most 1 required but received 2".
[[noreturn]] void refuse_count(const std::string& message) {
  const std::string option = message.substr(0, message.find(':'));
  const bool is_repeated = message.find("At Most 1 required") != std::string::npos;
  throw UsageError(is_repeated ? option + " is given more than once; give it once" : message);
}

// The value that was given, or by default.
std::string value_of(const CLI::Option& option) {
  return option.count() > 0 ? option.results().back() : option.get_default_str();
}

bool holds(const CLI::App& app, std::string_view condition) {
  const size_t equals = condition.find('=');
  const CLI::Option& option = *app.get_option(std::string(condition.substr(0, equals)));
  if (equals == std::string_view::npos) return option.count() > 0;
  if (condition.ends_with("=FILE")) return option.count() > 0 && value_of(option) != "-";
  const std::string values = "," + value_of(option) + ",";
  return values.find(fmt::format(",{},", condition.substr(equals + 1))) != std::string::npos;
}

// "--preset monai" of "--preset=monai"; a file is joined to its option.
std::string shown(std::string_view condition) {
  std::string text(condition);
  if (!condition.ends_with("=FILE")) std::ranges::replace(text, '=', ' ');
  return text;
}

std::string joined(const std::vector<std::string_view>& conditions) {
  std::vector<std::string> texts;
  std::ranges::transform(conditions, std::back_inserter(texts), shown);
  if (texts.size() == 1) return texts.front();
  return fmt::format("{} or {}", fmt::join(texts.begin(), texts.end() - 1, ", "), texts.back());
}

}  // namespace

void check_effects(const CLI::App& app, std::span<const OptionEffect> effects) {
  const auto is_true = [&](std::string_view condition) { return holds(app, condition); };
  for (const OptionEffect& effect : effects) {
    if (!holds(app, effect.option)) continue;
    if (!effect.with.empty() && std::ranges::none_of(effect.with, is_true))
      throw UsageError(fmt::format("{} has an effect only with {}; give that as well, or leave out {}", effect.option,
                                   joined(effect.with), effect.option));
    const auto found = std::ranges::find_if(effect.without, is_true);
    if (found != effect.without.end())
      throw UsageError(fmt::format("{} has no effect with {}; leave out one of them", effect.option, shown(*found)));
  }
}

CLI::Validator one_of(std::vector<std::string> words) {
  const auto fault = [words = std::move(words)](const std::string& word) {
    const bool is_known = std::ranges::find(words, word) != words.end();
    return is_known ? "" : fmt::format("must be one of: {}; found {}", fmt::join(words, " "), quote(word));
  };
  return {fault, ""};
}

void parse_words(CLI::App& app, std::span<const std::string> words, std::span<const OptionalValue> optional_values) {
  check_joined_values(words, optional_values);
  std::vector<std::string> given = with_default_values(words, optional_values);
  std::ranges::reverse(given);  // CLI11 takes the last word first
  app.allow_extras();
  app.formatter(std::make_shared<HelpFormatter>());
  try {
    app.parse(std::move(given));
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ArgumentMismatch& error) {
    refuse_count(error.what());
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  std::vector<std::string> remaining = app.remaining();
  std::erase(remaining, "--");  // which CLI11 keeps
  if (!remaining.empty()) refuse(app, remaining);
}

}  // namespace onnxc
