#include "support/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <utility>

namespace onnxc {

std::vector<std::jthread> start_threads(int64_t count, const std::function<void(int64_t)>& work) {
  std::vector<std::jthread> threads;
  try {
    for (int64_t number = 1; number <= count; ++number) threads.emplace_back(work, number);
  } catch (const std::system_error&) {  // a limit on processes: the others do the work
  }
  return threads;
}

std::string start_detached(std::function<void()> work) {
  try {
    std::thread(std::move(work)).detach();
    return {};
  } catch (const std::system_error& error) {
    return error.code().message();
  }
}

void parallel_for(int64_t count, const std::function<void(int64_t)>& work, int threads) {
  std::vector<std::exception_ptr> failures(static_cast<size_t>(count));
  std::atomic<int64_t> next{0};
  const auto take = [&] {
    for (int64_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        failures[static_cast<size_t>(i)] = std::current_exception();
      }
    }
  };
  {
    const int64_t most = threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
    const std::vector<std::jthread> others = start_threads(std::min(most, count) - 1, [&](int64_t) { take(); });
    take();
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace onnxc
