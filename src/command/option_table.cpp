#include "command/option_table.h"

#include <utility>

namespace onnxc {

OptionRow& OptionRow::word(const std::string& text) {
  option_->option_text(text);
  return *this;
}

OptionRow& OptionRow::one_of(std::vector<std::string> words) { return checked_by(onnxc::one_of(std::move(words))); }

OptionRow& OptionRow::between(int64_t least, int64_t most) { return checked_by(CLI::Range(least, most)); }

OptionRow& OptionRow::checked_by(const CLI::Validator& validator) {
  option_->check(validator);
  return *this;
}

OptionRow& OptionRow::changed_by(const CLI::Validator& validator) {
  option_->transform(validator);
  return *this;
}

OptionRow& OptionRow::shows_default() {
  option_->capture_default_str();
  return *this;
}

OptionRow& OptionRow::repeated() {
  option_->allow_extra_args(false);
  return *this;
}

OptionRow& OptionRow::with_commas() {
  option_->delimiter(',');
  return repeated();
}

OptionRow& OptionRow::without_value(const std::string& value, bool takes_number) {
  option_->expected(0, 1)->default_str(value);
  table_.optional_values_.push_back({name(), value, takes_number});
  return *this;
}

OptionRow& OptionRow::with(std::vector<std::string_view> conditions) {
  table_.effects_.push_back({.option = name(), .with = std::move(conditions)});
  return *this;
}

OptionRow& OptionRow::without(std::vector<std::string_view> conditions) {
  table_.effects_.push_back({.option = name(), .without = std::move(conditions)});
  return *this;
}

// "--output" of "-o,--output", or "MODEL".
std::string OptionRow::name() const { return option_->get_name(); }

void OptionTable::group(const std::string& heading, std::vector<std::string_view> with) {
  heading_ = heading;
  with_ = std::move(with);
}

OptionRow OptionTable::add(CLI::Option* option) {
  if (!heading_.empty()) option->group(heading_);
  OptionRow row(*this, option);
  if (!with_.empty()) row.with(with_);
  return row;
}

}  // namespace onnxc
