#include "support/parallel.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace onnxc {
namespace {

TEST(ParallelFor, CallsEachNumberOnce) {
  for (const int64_t count : {0, 1, 2, 100})
    for (const int threads : {0, 1, 3, 200}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      parallel_for(count, [&](int64_t i) { ++calls.at(static_cast<size_t>(i)); }, threads);
      for (const std::atomic<int>& each : calls) EXPECT_EQ(each, 1) << count << " on " << threads;
    }
}

TEST(StartThreads, NumbersThemFromOneOn) {
  std::array<std::atomic<int>, 6> calls{};
  {
    const std::vector<std::jthread> threads = start_threads(5, [&](int64_t i) { ++calls.at(static_cast<size_t>(i)); });
  }
  EXPECT_EQ(calls[0], 0);
  for (size_t i = 1; i < calls.size(); ++i) EXPECT_EQ(calls[i], 1) << i;
  EXPECT_TRUE(start_threads(0, [](int64_t) {}).empty());
  EXPECT_TRUE(start_threads(-1, [](int64_t) {}).empty());
}

TEST(ParallelFor, ThrowsWhatTheFirstNumberThrewAndCallsTheRest) {
  std::atomic<int> calls = 0;
  std::string caught;
  const auto work = [&](int64_t i) {
    ++calls;
    if (i % 3 == 2) throw std::runtime_error(std::to_string(i));
  };
  try {
    parallel_for(20, work, 4);
  } catch (const std::runtime_error& error) {
    caught = error.what();
  }
  EXPECT_EQ(caught, "2");
  EXPECT_EQ(calls, 20);
}

}  // namespace
}  // namespace onnxc
