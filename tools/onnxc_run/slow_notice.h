// Tells of something that takes long, while it goes on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace onnxc {

class SlowNotice {
 public:
  // Calls `tell` from another thread, once, unless this object is gone before the time is up.
  SlowNotice(std::chrono::milliseconds time, std::function<void()> tell);
  ~SlowNotice();
  SlowNotice(const SlowNotice&) = delete;
  SlowNotice& operator=(const SlowNotice&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace onnxc
