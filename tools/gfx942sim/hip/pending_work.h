// Work that was enqueued and has not happened yet. HIP promises an order between some pieces of it, and nothing of the
// others: those happen in the order that shows what a program left to chance.
//
// GFX942SIM_STREAMS says which: "late" (the default): only work that somebody waits for happens; or "early": all work
// that may happen before does. Among several streams the youngest comes first, and then they take turns, piece by
// piece.
#pragma once

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

namespace gfx942sim::hip {

using Work = std::function<hipError_t()>;
using WorkNumber = uint64_t;  // counts up; 0: none

// Whether work that nobody waits for happens before what somebody does.
bool streams_run_early();

class PendingWork {
 public:
  // Adds work of a stream, which must not happen before some other; work of one stream is added in its order.
  WorkNumber add(int device, const void* stream, std::vector<WorkNumber> after, Work work);
  bool is_pending(WorkNumber number) const { return pending_.contains(number); }

  // Returns when the work, or all of the device, has happened: the error of what failed. With it, all else that the
  // device was to do is dropped.
  hipError_t finish(WorkNumber number);
  hipError_t finish_device(int device);

 private:
  struct Piece {
    int device;
    const void* stream;
    std::vector<WorkNumber> after;
    Work work;
  };
  // The work and all that must happen before it. Numbers ascend along the order that HIP promises.
  std::set<WorkNumber> with_what_is_before(WorkNumber number) const;
  hipError_t run(WorkNumber number);
  hipError_t run_in_order(const std::set<WorkNumber>& numbers);
  // All of them that do not wait for others.
  hipError_t run_in_turns(const std::set<WorkNumber>& numbers);
  void drop(int device);

  std::map<WorkNumber, Piece> pending_;
  WorkNumber last_ = 0;
};

}  // namespace gfx942sim::hip
