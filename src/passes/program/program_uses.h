// The steps that read and write each buffer of a program, and so which step may move to which place: kept while a pass
// edits it, so that no pass walks the program for every question it asks.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "ir/program/program.h"

namespace onnxc {

class ProgramUses {
 public:
  explicit ProgramUses(Program& program);

  // The steps, in order, that read or write this very buffer (not one that shares its memory).
  const std::set<size_t>& readers(BufferId id) const { return readers_[static_cast<size_t>(id)]; }
  const std::set<size_t>& writers(BufferId id) const { return writers_[static_cast<size_t>(id)]; }
  // The steps that read or write the storage, under whatever name.
  const std::set<size_t>& storage_readers(BufferId storage) const {
    return storage_readers_[static_cast<size_t>(storage)];
  }
  const std::set<size_t>& storage_writers(BufferId storage) const {
    return storage_writers_[static_cast<size_t>(storage)];
  }

  // Whether one of the steps from `first` on that stand in front of `end` writes, or reads, memory of the buffer, under
  // whatever name.
  bool is_written_between(BufferId id, size_t first, size_t end) const;
  bool is_read_between(BufferId id, size_t first, size_t end) const;
  // Whether the step would compute at the place of `to`, a later one, what it computes at its own: both are in the same
  // loop, and all that it reads is still the same. (A state of a loop is not, once the next round's is written.) In a
  // program that draws random numbers no loop lies between them, since these depend on the rounds before.
  bool may_move(size_t step, size_t to) const;

  // Whether other buffers are views or aliases of this one.
  bool has_views(BufferId id) const { return !children_[static_cast<size_t>(id)].empty(); }
  const std::vector<BufferId>& views(BufferId id) const { return children_[static_cast<size_t>(id)]; }

  // A step was changed, removed, a buffer was made a view or alias of another, or buffers were added.
  void refresh(size_t step);
  void remove(size_t step);
  // The reader computes what the producer did, and reads in its place what that reads.
  void take_over(size_t producer, size_t reader);
  void refresh_storage(BufferId changed);
  void take_new_buffers();

  bool is_removed(size_t step) const { return removed_[step]; }
  // Drops the removed steps from the program; the indices of steps are no longer valid then.
  void sweep();

 private:
  void enter(size_t step, std::vector<BufferId> reads);
  void leave(size_t step);
  void collect_views();

  struct StepUse {
    std::vector<BufferId> reads, writes, read_storages, written_storages;
  };
  Program& program_;
  std::vector<StepUse> uses_;
  std::vector<bool> removed_;
  std::vector<std::set<size_t>> readers_, writers_, storage_readers_, storage_writers_;
  std::vector<std::vector<BufferId>> children_;
  const std::vector<std::optional<size_t>> loops_;
  std::vector<size_t> passes_;  // in a program that draws: how many loops begin and end in front of each step
};

}  // namespace onnxc
