// Work that was enqueued and has not happened yet. HIP and CUDA promise an order between some pieces of it, and nothing
// of the others: those happen in the order that shows what a program left to chance.
//
// A variable of the environment says which: "late" (the default): only work that somebody waits for happens; or
// "early": all work that may happen before does. Among several streams the youngest comes first, and then they take
// turns, piece by piece.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

namespace gpu_streams {

using Work = std::function<int()>;  // gives an error code
using WorkNumber = uint64_t;        // counts up; 0: none

class PendingWork {
 public:
  // `variable`: GFX942SIM_STREAMS, or the like.
  explicit PendingWork(const char* variable) : variable_(variable) {}

  // Whether work that nobody waits for happens before what somebody does.
  bool runs_early() const;
  // Adds work of a stream, which must not happen before some other; work of one stream is added in its order.
  WorkNumber add(int device, const void* stream, std::vector<WorkNumber> after, Work work);
  bool is_pending(WorkNumber number) const { return pending_.contains(number); }

  // Returns when the work, or all of the device, has happened: the error of what failed. With it, all else that the
  // device was to do is dropped.
  int finish(WorkNumber number);
  int finish_device(int device);
  void drop(int device);

 private:
  struct Piece {
    int device;
    const void* stream;
    std::vector<WorkNumber> after;
    Work work;
  };
  // The work and all that must happen before it. Numbers ascend along the order that is promised.
  std::set<WorkNumber> with_what_is_before(WorkNumber number) const;
  int run(WorkNumber number);
  int run_in_order(const std::set<WorkNumber>& numbers);
  // All of them that do not wait for others.
  int run_in_turns(const std::set<WorkNumber>& numbers);

  const char* variable_;
  std::map<WorkNumber, Piece> pending_;
  WorkNumber last_ = 0;
};

}  // namespace gpu_streams
