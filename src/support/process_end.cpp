#include "support/process_end.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>

#include "support/diagnostics.h"
#include "support/parallel.h"
#include "support/standard_output.h"

namespace onnxc {
namespace {

struct Mapping {
  size_t size;
  std::string name;
};

struct Remains {
  std::mutex mutex;
  std::set<std::filesystem::path> paths;
  std::set<pid_t> processes;
  std::map<const std::byte*, Mapping> mappings;
  std::string message_start;
  sigset_t mask_before{};
};

// Never destroyed: the thread that waits for signals outlives main.
Remains& remains() {
  static Remains* const the_one = std::make_unique<Remains>().release();
  return *the_one;
}

bool has_ended(pid_t process) {
  siginfo_t information{};
  return waitid(P_PID, static_cast<id_t>(process), &information, WEXITED | WNOWAIT | WNOHANG) != 0 ||
         information.si_pid != 0;
}

// Each may first remove what it has made itself.
void end_processes(const std::set<pid_t>& processes) {
  for (pid_t process : processes) kill(process, SIGTERM);
  constexpr auto pause = std::chrono::milliseconds(5), most = std::chrono::milliseconds(2000);
  for (auto waited = pause; waited < most && !std::ranges::all_of(processes, has_ended); waited += pause)
    std::this_thread::sleep_for(pause);
  for (pid_t process : processes) kill(process, SIGKILL);
}

// The lock stays taken: nothing may start or be made any more.
void remove_remains() {
  Remains& all = remains();
  all.mutex.lock();
  end_processes(all.processes);
  // A program that was ended a moment ago may still have made a file.
  constexpr int tries = 3;
  for (const std::filesystem::path& path : all.paths) {
    std::error_code error;
    for (int i = 0; i < tries && (i == 0 || error); ++i) std::filesystem::remove_all(path, error);
  }
}

void wait_for_signal(const sigset_t& signals) {
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) continue;
  remove_remains();
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  kill(getpid(), signal);
  while (true) pause();
}

// The fault is where mapped memory is read, so that no lock is held there and calls are as safe as from that place.
void on_bus_error(int, siginfo_t* information, void*) {
  Remains& all = remains();
  std::string name, start;
  {
    const std::scoped_lock lock(all.mutex);
    start = all.message_start;
    const auto* address = static_cast<const std::byte*>(information->si_addr);
    const auto after = all.mappings.upper_bound(address);
    if (after != all.mappings.begin()) {
      const auto& [begin, mapping] = *std::prev(after);
      if (address < begin + mapping.size) name = mapping.name;
    }
  }
  if (name.empty()) {
    std::signal(SIGBUS, SIG_DFL);
    raise(SIGBUS);  // when this function returns
    return;
  }
  // The model itself has been named already.
  write_error(start + (start.ends_with(name + ": ") ? "it" : name) + " became shorter while it was read\n");
  remove_remains();
  _exit(1);
}

}  // namespace

std::string tidy_up_on_signals(std::string message_start) {
  remains().message_start = std::move(message_start);
  sigset_t ending;
  sigemptyset(&ending);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before{};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaddset(&ending, signal);
  }
  pthread_sigmask(SIG_BLOCK, &ending, &remains().mask_before);
  const std::string failure = start_detached([ending] { wait_for_signal(ending); });
  if (!failure.empty()) pthread_sigmask(SIG_SETMASK, &remains().mask_before, nullptr);

  struct sigaction bus{};
  bus.sa_sigaction = on_bus_error;
  bus.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &bus, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
  if (failure.empty()) return {};
  return fmt::format("no thread can be made ({}): a signal such as Ctrl-C leaves temporary files", failure);
}

std::string end_at(std::chrono::steady_clock::time_point time, std::string message) {
  const std::string failure = start_detached([time, message = std::move(message)] {
    std::this_thread::sleep_until(time);
    write_error(message);
    remove_remains();
    _exit(1);
  });
  if (failure.empty()) return {};
  return fmt::format("no thread can be made ({}): the limit on time counts between stages only", failure);
}

EndsWithProcess::EndsWithProcess(std::filesystem::path path) : path_(std::move(path)) {
  const std::scoped_lock lock(remains().mutex);
  remains().paths.insert(path_);
}

EndsWithProcess::~EndsWithProcess() {
  const std::scoped_lock lock(remains().mutex);
  remains().paths.erase(path_);
}

pid_t start_with_process(const std::function<pid_t()>& start) {
  const std::scoped_lock lock(remains().mutex);
  const pid_t process = start();
  remains().processes.insert(process);
  return process;
}

int wait_with_process(pid_t process) {
  siginfo_t ignored{};
  // Its number stays its own until it is taken off the list.
  while (waitid(P_PID, static_cast<id_t>(process), &ignored, WEXITED | WNOWAIT) < 0)
    internal_check(errno == EINTR, "a process of ours can be waited for");
  const std::scoped_lock lock(remains().mutex);
  remains().processes.erase(process);
  int status = 0;
  while (waitpid(process, &status, 0) < 0) internal_check(errno == EINTR, "a process of ours can be waited for");
  return status;
}

void note_mapping(const void* begin, size_t size, const std::string& name) {
  const std::scoped_lock lock(remains().mutex);
  remains().mappings[static_cast<const std::byte*>(begin)] = {size, name};
}

void forget_mapping(const void* begin) {
  const std::scoped_lock lock(remains().mutex);
  remains().mappings.erase(static_cast<const std::byte*>(begin));
}

const sigset_t& signals_of_children() { return remains().mask_before; }

}  // namespace onnxc
