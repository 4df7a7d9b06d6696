#include "support/processes/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>
#include <thread>

#include "support/diagnostics.h"
#include "support/file_descriptor.h"
#include "support/process_end.h"
#include "support/text.h"

namespace onnxc {
namespace {

using Time = std::chrono::steady_clock::time_point;

constexpr size_t longest_capture = size_t{16} << 20;

struct Pipe {
  FileDescriptor read_end, write_end;
};

Pipe make_pipe() {
  int ends[2];
  user_check(pipe2(ends, O_CLOEXEC) == 0, "cannot make a pipe: {}", std::strerror(errno));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// The list of what to do between fork and exec, freed by itself.
class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Ended by a null. The added variables come first, and those that they replace are left out.
std::vector<char*> environment_with(const std::vector<std::string>& added) {
  std::vector<char*> result;
  for (const std::string& assignment : added) result.push_back(const_cast<char*>(assignment.c_str()));
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view name = std::string_view(*each).substr(0, std::string_view(*each).find('=') + 1);
    if (std::ranges::none_of(added, [&](const std::string& assignment) { return assignment.starts_with(name); }))
      result.push_back(*each);
  }
  result.push_back(nullptr);
  return result;
}

// The program has begun to run, and has not yet asked for much. Programs that it starts inherit the limits, and so end
// by themselves some time after the deadline.
void limit(pid_t process, const ProcessOptions& options) {
  const auto set = [&](__rlimit_resource resource, rlim_t value) {
    rlimit now{};
    if (prlimit(process, resource, nullptr, &now) != 0) return;  // it has ended
    now.rlim_cur = std::min({value, now.rlim_cur, now.rlim_max});
    prlimit(process, resource, &now, nullptr);
  };
  if (options.memory) set(RLIMIT_DATA, static_cast<rlim_t>(*options.memory));
  if (!options.deadline) return;
  const auto left = std::chrono::ceil<std::chrono::seconds>(*options.deadline - std::chrono::steady_clock::now());
  // All threads count, so that no program is ended before the deadline.
  const int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  set(RLIMIT_CPU, static_cast<rlim_t>((std::max<int64_t>(left.count(), 0) + 1) * cores));
}

pid_t start(const std::vector<std::string>& arguments, const ProcessOptions& options, int output, int errors) {
  FileActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(actions.get(), output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), errors, STDERR_FILENO);

  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const std::vector<char*> environment = environment_with(options.environment);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &signals_of_children());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t process = 0;
  const int error = posix_spawnp(&process, argv[0], actions.get(), &attributes, argv.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    const std::string hint = options.install_hint.empty() ? "" : "; " + options.install_hint;
    user_error("cannot run {}: {}{}", quote(arguments[0]), std::strerror(error), hint);
  }
  limit(process, options);
  return process;
}

// poll's argument: milliseconds, or -1 for no end.
int until(const std::optional<Time>& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, std::numeric_limits<int>::max()));
}

// Reads both ends until the writers have closed them; both at once, so that neither pipe fills up. False if the
// deadline comes first. Stops if one cannot be read.
bool drain(std::array<FileDescriptor, 2>& sources, const std::array<std::string*, 2>& captures,
           const std::optional<Time>& deadline, int& read_error) {
  std::array<char, 65536> buffer;
  while (sources[0].is_open() || sources[1].is_open()) {
    // poll skips negative descriptors: the closed ones.
    std::array<pollfd, 2> polled = {pollfd{sources[0].get(), POLLIN, 0}, pollfd{sources[1].get(), POLLIN, 0}};
    const int ready = poll(polled.data(), polled.size(), until(deadline));
    if (ready == 0) return false;
    if (ready < 0 && errno != EINTR) user_error("poll: {}", std::strerror(errno));
    if (ready < 0) continue;
    for (size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const ssize_t count = read(sources[i].get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        read_error = errno;
        return true;
      }
      if (count == 0) {
        sources[i].close();
        continue;
      }
      const size_t room = longest_capture - captures[i]->size();
      captures[i]->append(buffer.data(), std::min(room, static_cast<size_t>(count)));
    }
  }
  return true;
}

}  // namespace

std::string ProcessResult::describe() const {
  if (signal != 0) return fmt::format("signal {} ({})", signal, strsignal(signal));
  return fmt::format("exit code {}", exit_code);
}

ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  internal_check(!arguments.empty(), "a program to run");
  Pipe output = make_pipe(), errors = make_pipe();
  const pid_t process =
      start_with_process([&] { return start(arguments, options, output.write_end.get(), errors.write_end.get()); });
  output.write_end.close();
  errors.write_end.close();

  ProcessResult result;
  std::array<FileDescriptor, 2> sources = {std::move(output.read_end), std::move(errors.read_end)};
  int read_error = 0;
  result.timed_out = !drain(sources, {&result.output, &result.errors}, options.deadline, read_error);
  if (result.timed_out || read_error != 0) kill(process, SIGKILL);
  const int status = wait_with_process(process);
  user_check(read_error == 0, "cannot read what {} says: {}", quote(arguments[0]), std::strerror(read_error));
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

std::optional<std::filesystem::path> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::filesystem::path file = std::filesystem::path(rest.substr(0, end)) / name;
    std::error_code error;
    if (end > 0 && access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file, error)) return file;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

}  // namespace onnxc
