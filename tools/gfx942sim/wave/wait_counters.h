// The counters of outstanding memory operations that s_waitcnt waits for.
//
// Vector memory operations (vmcnt) and LDS operations complete in the order of their issue. Scalar loads complete in
// any order, and so do FLAT instructions with respect to LDS: only lgkmcnt(0) tells that they are done.
#pragma once

#include <cstdint>

namespace gfx942sim {

enum class Queue : uint8_t { vector_memory, lds, unordered };

class WaitCounters {
 public:
  // The number of a new operation; the first is 1.
  uint32_t issue(Queue queue) { return ++line(queue).issued; }
  bool is_complete(Queue queue, uint32_t number) const { return number <= line(queue).completed; }

  void wait_vmcnt(uint32_t outstanding) { line(Queue::vector_memory).leave(outstanding); }
  void wait_lgkmcnt(uint32_t outstanding) {
    line(Queue::lds).leave(outstanding);
    if (outstanding == 0) line(Queue::unordered).leave(0);
  }

 private:
  struct Line {
    uint32_t issued = 0;
    uint32_t completed = 0;
    void leave(uint32_t outstanding) {
      if (issued > outstanding && issued - outstanding > completed) completed = issued - outstanding;
    }
  };
  Line& line(Queue queue) { return lines_[static_cast<int>(queue)]; }
  const Line& line(Queue queue) const { return lines_[static_cast<int>(queue)]; }

  Line lines_[3];
};

}  // namespace gfx942sim
