// Who reads and writes each buffer of a program, kept while a pass edits it, so that no pass walks the program for
// every question it asks.
#pragma once

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
  // The steps that write the storage, under whatever name.
  const std::set<size_t>& storage_writers(BufferId storage) const {
    return storage_writers_[static_cast<size_t>(storage)];
  }

  // Whether other buffers are views or aliases of this one.
  bool has_views(BufferId id) const { return !children_[static_cast<size_t>(id)].empty(); }
  const std::vector<BufferId>& views(BufferId id) const { return children_[static_cast<size_t>(id)]; }

  // A step was changed, removed, or a buffer was made a view or alias of another.
  void refresh(size_t step);
  void remove(size_t step);
  void refresh_storage(BufferId changed);

  bool is_removed(size_t step) const { return removed_[step]; }
  // Drops the removed steps from the program; the indices of steps are no longer valid then.
  void sweep();

 private:
  void enter(size_t step);
  void leave(size_t step);
  void collect_views();

  struct StepUse {
    std::vector<BufferId> reads, writes, storages;
  };
  Program& program_;
  std::vector<StepUse> uses_;
  std::vector<bool> removed_;
  std::vector<std::set<size_t>> readers_, writers_, storage_writers_;
  std::vector<std::vector<BufferId>> children_;
};

}  // namespace onnxc
