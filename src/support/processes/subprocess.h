// Running another program: a list of arguments, never a shell.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace onnxc {

struct ProcessResult {
  int exit_code = 0;       // of a program that ended by itself
  int signal = 0;          // what killed it, or 0
  bool timed_out = false;  // it was ended at the deadline
  std::string output;
  std::string errors;
  bool succeeded() const { return exit_code == 0 && signal == 0; }
  // "exit code 1", "signal 9 (Killed)".
  std::string describe() const;
};

struct ProcessOptions {
  // Said when the program is missing: "install it with: apt-get install clang-19".
  std::string install_hint = {};
  // "NAME=value", on top of this process's own.
  std::vector<std::string> environment = {};
  // When it is ended, if it still runs.
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
  // The bytes that it and programs that it starts may each write to (RLIMIT_DATA).
  std::optional<int64_t> memory = {};
};

// Runs arguments[0], found in PATH unless it holds a '/', and waits. Its input is empty; its output and errors are
// captured, the first 16 MiB of each. May be called from many threads at once. UserError if it cannot be started,
// naming the program and the hint.
ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

// The place of a program of this name on the PATH; nothing if there is none.
std::optional<std::filesystem::path> find_program(const std::string& name);

}  // namespace onnxc
