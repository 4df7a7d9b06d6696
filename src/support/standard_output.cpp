#include "support/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "support/diagnostics.h"

namespace onnxc {

void finish_standard_output() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  user_check(flushed && std::ferror(stdout) == 0, "cannot write to standard output: {}", std::strerror(errno));
}

}  // namespace onnxc
