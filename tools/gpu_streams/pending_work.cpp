#include "gpu_streams/pending_work.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace gpu_streams {

bool PendingWork::runs_early() const {
  const char* text = std::getenv(variable_);
  return text != nullptr && std::strcmp(text, "early") == 0;
}

WorkNumber PendingWork::add(int device, const void* stream, std::vector<WorkNumber> after, Work work) {
  pending_[++last_] = {device, stream, std::move(after), std::move(work)};
  return last_;
}

std::set<WorkNumber> PendingWork::with_what_is_before(WorkNumber number) const {
  std::set<WorkNumber> found;
  std::vector<WorkNumber> open = {number};
  while (!open.empty()) {
    const WorkNumber next = open.back();
    open.pop_back();
    const auto piece = pending_.find(next);
    if (piece == pending_.end() || !found.insert(next).second) continue;
    open.insert(open.end(), piece->second.after.begin(), piece->second.after.end());
  }
  return found;
}

int PendingWork::run(WorkNumber number) {
  const Piece piece = std::move(pending_.at(number));
  pending_.erase(number);
  int result = 0;
  try {
    result = piece.work();
  } catch (...) {
    drop(piece.device);
    throw;
  }
  if (result != 0) drop(piece.device);
  return result;
}

int PendingWork::run_in_order(const std::set<WorkNumber>& numbers) {
  for (const WorkNumber number : numbers)
    if (const int result = run(number); result != 0) return result;
  return 0;
}

int PendingWork::run_in_turns(const std::set<WorkNumber>& numbers) {
  std::map<const void*, std::vector<WorkNumber>> streams;  // of each the next comes last
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number)
    streams[pending_.at(*number).stream].push_back(*number);
  const void* last = nullptr;
  while (true) {
    std::vector<WorkNumber>* chosen = nullptr;
    for (auto& [stream, left] : streams) {
      const bool is_ready = !left.empty() && std::ranges::none_of(pending_.at(left.back()).after,
                                                                  [&](WorkNumber other) { return is_pending(other); });
      if (!is_ready) continue;
      const bool is_better = chosen == nullptr || pending_.at(chosen->back()).stream == last ||
                             (stream != last && left.back() > chosen->back());
      if (is_better) chosen = &left;
    }
    if (chosen == nullptr) return 0;
    const WorkNumber number = chosen->back();
    chosen->pop_back();
    last = pending_.at(number).stream;
    if (const int result = run(number); result != 0) return result;
  }
}

void PendingWork::drop(int device) {
  std::erase_if(pending_, [&](const auto& entry) { return entry.second.device == device; });
}

int PendingWork::finish(WorkNumber number) {
  const std::set<WorkNumber> wanted = with_what_is_before(number);
  if (!runs_early() || wanted.empty()) return run_in_order(wanted);
  std::set<WorkNumber> others;
  for (const auto& [other, piece] : pending_)
    if (!wanted.contains(other)) others.insert(other);
  const int result = run_in_turns(others);
  return result == 0 ? run_in_order(with_what_is_before(number)) : result;
}

int PendingWork::finish_device(int device) {
  std::set<WorkNumber> wanted;
  for (const auto& [number, piece] : pending_)
    if (piece.device == device) wanted.merge(with_what_is_before(number));
  return run_in_turns(wanted);
}

}  // namespace gpu_streams
