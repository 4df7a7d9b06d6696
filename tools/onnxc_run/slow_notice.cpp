#include "onnxc_run/slow_notice.h"

#include <system_error>
#include <utility>

namespace onnxc {

SlowNotice::SlowNotice(std::chrono::milliseconds time, std::function<void()> tell) {
  try {
    thread_ = std::thread([this, time, tell = std::move(tell)] {
      // A wait by the steady clock needs glibc 2.30, and the wheel runs with older ones.
      const auto end = std::chrono::system_clock::now() + time;
      std::unique_lock lock(mutex_);
      if (!ended_.wait_until(lock, end, [&] { return has_ended_; })) tell();
    });
  } catch (const std::system_error&) {  // no thread is to be had: nothing is told
  }
}

SlowNotice::~SlowNotice() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_one();
  if (thread_.joinable()) thread_.join();
}

}  // namespace onnxc
