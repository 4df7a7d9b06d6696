// The text of --help, in lines that fit the terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace onnxc {

// Breaks lines of more than `columns` characters between words. The rest of an option's line goes on in the column of
// its description; that of another line, at its indent. A word that is longer than a line stays whole.
std::string wrapped(std::string_view help, size_t columns);

// Wraps at the terminal's width; standard output that is not a terminal gets each line whole.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

}  // namespace onnxc
