#include "onnxc_run/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "support/count_text.h"
#include "support/standard_output.h"

namespace onnxc {

ProgressLine::ProgressLine(std::string name, std::string noun, bool tells_time)
    : name_(std::move(name)),
      noun_(std::move(noun)),
      tells_time_(tells_time),
      is_terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (is_shown_) write_error("\r\033[K");
}

void ProgressLine::tell(int64_t done, int64_t all) {
  const Clock::time_point now = Clock::now();
  if (!is_terminal_ || (is_shown_ && done < all && now - told_ < std::chrono::milliseconds(200))) return;
  told_ = now;
  std::string line = fmt::format("\r\033[K{}: {} of {}, {}%", name_, done, counted(all, noun_), 100 * done / all);
  if (tells_time_) {
    const double passed = std::chrono::duration<double>(now - start_).count();
    const auto left = static_cast<int64_t>(passed / static_cast<double>(done) * static_cast<double>(all - done));
    line += fmt::format(", {}:{:02} left", left / 60, left % 60);
  }
  write_error(line);
  is_shown_ = true;
}

}  // namespace onnxc
