// The options of a command, each written once: its names, the place of its value, its help, and what it needs beside
// it.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command/command_words.h"

namespace onnxc {

class OptionTable;

// An option of the table. The calls on it say what it takes.
class OptionRow {
 public:
  OptionRow(OptionTable& table, CLI::Option* option) : table_(table), option_(option) {}

  // How --help writes the value: "FILE".
  OptionRow& word(const std::string& text);
  OptionRow& one_of(std::vector<std::string> words);
  OptionRow& between(int64_t least, int64_t most);
  OptionRow& checked_by(const CLI::Validator& validator);
  OptionRow& changed_by(const CLI::Validator& validator);
  OptionRow& shows_default();
  // Given once for each value, or once with several values and commas between them.
  OptionRow& repeated();
  OptionRow& with_commas();
  // The value may be left out, and is then this one. A number that follows is the value if the option takes one.
  OptionRow& without_value(const std::string& value, bool takes_number = false);
  // It has an effect only with one of these beside it, or with none of these (OptionEffect).
  OptionRow& with(std::vector<std::string_view> conditions);
  OptionRow& without(std::vector<std::string_view> conditions);

 private:
  std::string name() const;

  OptionTable& table_;
  CLI::Option* option_;
};

class OptionTable {
 public:
  explicit OptionTable(CLI::App& app) : app_(app) {}

  // The heading in --help of the options that follow, and a condition of all of them.
  void group(const std::string& heading, std::vector<std::string_view> with = {});

  template <class Value>
  OptionRow option(const std::string& names, Value& value, const std::string& help) {
    return add(app_.add_option(names, value, help));
  }
  template <class Value>
  OptionRow flag(const std::string& names, Value& value, const std::string& help) {
    return add(app_.add_flag(names, value, help));
  }

  // As parse_words of command_words.h.
  void parse(std::span<const std::string> words) { parse_words(app_, words, optional_values_); }
  void check_effects() const { onnxc::check_effects(app_, effects_); }

 private:
  friend class OptionRow;
  OptionRow add(CLI::Option* option);

  CLI::App& app_;
  std::string heading_;
  std::vector<std::string_view> with_;
  std::vector<OptionalValue> optional_values_;
  std::vector<OptionEffect> effects_;
};

}  // namespace onnxc
