#include "onnxc_run/slow_notice.h"

#include <gtest/gtest.h>

#include <atomic>

namespace onnxc {
namespace {

using std::chrono::milliseconds;

TEST(SlowNotice, TellsOnceOfWhatTakesLong) {
  std::atomic<int> told = 0;
  {
    const SlowNotice notice(milliseconds(1), [&] { ++told; });
    while (told == 0) std::this_thread::yield();
  }
  EXPECT_EQ(told, 1);
}

TEST(SlowNotice, SaysNothingOfWhatIsDone) {
  std::atomic<int> told = 0;
  {
    const SlowNotice notice(std::chrono::hours(1), [&] { ++told; });
  }
  EXPECT_EQ(told, 0);
}

}  // namespace
}  // namespace onnxc
