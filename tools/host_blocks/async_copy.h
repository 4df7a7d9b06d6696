// cp.async on the host: a copy to shared memory is made when its group is waited for, and not before, so that a kernel
// which does not wait reads what was there. PTX ISA, "Non-bulk copy: cp.async, cp.async.commit_group,
// cp.async.wait_group".
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace onnxc::host_blocks {

// Those of one thread.
class AsyncCopies {
 public:
  // 16 bytes, of which the first `real` are read and the others are zeros.
  void copy(void* to, const void* from, size_t real);
  // What was copied since the last group is a group.
  void end_group();
  // At most `left` groups are still to come.
  void wait(size_t left);
  void clear();

 private:
  struct Copy {
    void* to;
    const void* from;
    size_t real;
  };
  std::vector<Copy> open_;
  std::deque<std::vector<Copy>> groups_;
};

}  // namespace onnxc::host_blocks
