// The command line of onnxc, as words of a shell or of a program that holds the compiler as a library.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "pipeline/options.h"

namespace onnxc {

struct CommandLine {
  Options options;
  int verbosity = 0;
  bool quiet = false;
};

// For main. Prints --help and --version, and returns the exit code if the command ends with them; every mistake is a
// UsageError.
std::optional<int> parse_command_line(int argc, const char* const* argv, CommandLine& command);

// For a library: the words after the command's name. Prints nothing; every mistake is a UsageError.
CommandLine parse_command_line(std::span<const std::string> words);

}  // namespace onnxc
