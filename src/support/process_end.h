// Cleans up when a signal ends the process: no temporary file stays, and no program of its own runs on.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

namespace onnxc {

// For main, before any thread is started. From then on SIGINT, SIGTERM and SIGHUP (unless they are ignored) first end
// the programs that this process runs and remove its temporary files, then end it as they would have. A file that
// another program shortens while it is mapped (SIGBUS) is an error that names it and ends in exit code 1; one that
// grows past the limit on sizes (SIGXFSZ) an error when it is written. `message_start` stands before such an error:
// "onnxc: error: 'model.onnx': ". Returns what the machine lacks for it, or "": without a thread such a signal ends the
// process at once.
[[nodiscard]] std::string tidy_up_on_signals(std::string message_start);

// Ends the process at that time as such a signal would, but with a message and exit code 1. For a command that has to
// stop wherever it is; `message` is complete. Returns what the machine lacks for it, or "".
[[nodiscard]] std::string end_at(std::chrono::steady_clock::time_point time, std::string message);

// A file or folder that goes when the process is ended; it lives as long as the object.
class EndsWithProcess {
 public:
  explicit EndsWithProcess(std::filesystem::path path);
  ~EndsWithProcess();
  EndsWithProcess(const EndsWithProcess&) = delete;
  EndsWithProcess& operator=(const EndsWithProcess&) = delete;

 private:
  std::filesystem::path path_;
};

// A program that this process started: `start` gives its number, and may throw.
pid_t start_with_process(const std::function<pid_t()>& start);
// Waits for it, and gives its status.
int wait_with_process(pid_t process);

// Mapped memory and the name of its file.
void note_mapping(const void* begin, size_t size, const std::string& name);
void forget_mapping(const void* begin);

// The signals that a program started by this process should not find blocked.
const sigset_t& signals_of_children();

}  // namespace onnxc
