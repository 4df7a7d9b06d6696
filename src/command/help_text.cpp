#include "command/help_text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace onnxc {
namespace {

// The column in which a line's continuation begins.
size_t indent_of(std::string_view line) {
  const size_t first = std::min(line.find_first_not_of(' '), line.size());
  if (first == line.size() || line[first] != '-') return first;
  const size_t gap = line.find("  ", first);
  return gap == std::string_view::npos ? first : line.find_first_not_of(' ', gap);
}

std::string wrapped_line(std::string_view line, size_t columns) {
  if (line.size() <= columns) return std::string(line);
  const size_t indent = indent_of(line);
  std::string result(line.substr(0, indent));
  size_t column = indent;
  for (line.remove_prefix(indent); !line.empty();) {
    const size_t size = std::min(line.find(' '), line.size());
    const bool is_first = column == indent;
    if (!is_first && column + 1 + size > columns) {
      result.append("\n").append(indent, ' ');
      column = indent;
    } else if (!is_first) {
      result.append(" ");
      ++column;
    }
    result.append(line.substr(0, size));
    column += size;
    line.remove_prefix(std::min(size + 1, line.size()));
  }
  return result;
}

// 0 if standard output is not a terminal.
size_t terminal_columns() {
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

std::string wrapped(std::string_view help, size_t columns) {
  std::string result;
  while (!help.empty()) {
    const size_t end = std::min(help.find('\n'), help.size());
    result.append(wrapped_line(help.substr(0, end), columns));
    if (end < help.size()) result.append("\n");
    help.remove_prefix(std::min(end + 1, help.size()));
  }
  return result;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  const std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
  const size_t columns = terminal_columns();
  return columns == 0 ? help : wrapped(help, columns);
}

}  // namespace onnxc
