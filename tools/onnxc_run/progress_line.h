// A line on a terminal that tells how far something is; elsewhere nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace onnxc {

class ProgressLine {
 public:
  // `noun`: what is counted, "window". `tells_time`: whether each of them takes about as long.
  ProgressLine(std::string name, std::string noun, bool tells_time);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // At most five times a second.
  void tell(int64_t done, int64_t all);

 private:
  using Clock = std::chrono::steady_clock;

  std::string name_, noun_;
  bool tells_time_, is_terminal_, is_shown_ = false;
  Clock::time_point start_ = Clock::now(), told_;
};

}  // namespace onnxc
