#include "support/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace onnxc {

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
    std::vector<std::jthread> others;
    const int64_t most = threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
    for (int64_t i = 1; i < std::min(most, count); ++i) others.emplace_back(take);
    take();
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace onnxc
