#include "gfx942sim/hip/pending_work.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace gfx942sim::hip {

bool streams_run_early() {
  const char* text = std::getenv("GFX942SIM_STREAMS");
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

hipError_t PendingWork::run(WorkNumber number) {
  const Piece piece = std::move(pending_.at(number));
  pending_.erase(number);
  hipError_t result = hipSuccess;
  try {
    result = piece.work();
  } catch (...) {
    drop(piece.device);
    throw;
  }
  if (result != hipSuccess) drop(piece.device);
  return result;
}

hipError_t PendingWork::run_in_order(const std::set<WorkNumber>& numbers) {
  for (const WorkNumber number : numbers)
    if (const hipError_t result = run(number); result != hipSuccess) return result;
  return hipSuccess;
}

hipError_t PendingWork::run_in_turns(const std::set<WorkNumber>& numbers) {
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
    if (chosen == nullptr) return hipSuccess;
    const WorkNumber number = chosen->back();
    chosen->pop_back();
    last = pending_.at(number).stream;
    if (const hipError_t result = run(number); result != hipSuccess) return result;
  }
}

void PendingWork::drop(int device) {
  std::erase_if(pending_, [&](const auto& entry) { return entry.second.device == device; });
}

hipError_t PendingWork::finish(WorkNumber number) {
  const std::set<WorkNumber> wanted = with_what_is_before(number);
  if (!streams_run_early() || wanted.empty()) return run_in_order(wanted);
  std::set<WorkNumber> others;
  for (const auto& [other, piece] : pending_)
    if (!wanted.contains(other)) others.insert(other);
  const hipError_t result = run_in_turns(others);
  return result == hipSuccess ? run_in_order(with_what_is_before(number)) : result;
}

hipError_t PendingWork::finish_device(int device) {
  std::set<WorkNumber> wanted;
  for (const auto& [number, piece] : pending_)
    if (piece.device == device) wanted.merge(with_what_is_before(number));
  return run_in_turns(wanted);
}

}  // namespace gfx942sim::hip
