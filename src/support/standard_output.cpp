#include "support/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "support/diagnostics.h"

namespace onnxc {

void keep_standard_streams() noexcept {
  // For reading only: writes fail, as they do when the streams are closed.
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (fcntl(stream, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDONLY));
}

void write_error(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count = write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<size_t>(count));
  }
}

void print(std::string_view text) {
  errno = 0;
  const bool is_whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  user_check(is_whole, "cannot write to standard output: {}", std::strerror(errno));
}

void finish_standard_output() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  user_check(flushed && std::ferror(stdout) == 0, "cannot write to standard output: {}", std::strerror(errno));
}

}  // namespace onnxc
