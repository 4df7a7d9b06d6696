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
  // Writes 16 bytes: the first `real` are read, the others are zeros.
  void copy(void* to, const void* from, size_t real);
  // The copies since the last group become a group.
  void end_group();
  // At most `left` groups are still to come.
  void wait(size_t left);
  // fence.proxy.async: the matrix unit sees those that were waited for.
  void show() { are_shown_ = are_ordered_ = true; }
  // After a barrier others count on them.
  void reach_barrier() { are_ordered_ = are_shown_; }
  bool are_ordered() const { return are_ordered_; }
  void clear();

 private:
  struct Copy {
    void* to;
    const void* from;
    size_t real;
  };
  std::vector<Copy> open_;
  std::deque<std::vector<Copy>> groups_;
  bool are_shown_ = true, are_ordered_ = true;
};

}  // namespace onnxc::host_blocks
