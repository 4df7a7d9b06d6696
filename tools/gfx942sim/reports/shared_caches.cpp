#include "gfx942sim/reports/shared_caches.h"

#include <algorithm>

#include "machine/gpu_timing.h"

namespace gfx942sim {
namespace {

constexpr onnxc::machine::GpuTiming timing = onnxc::machine::mi300x_timing;
constexpr auto l2_latency = static_cast<uint64_t>(timing.l2_latency),
               infinity_cache_latency = static_cast<uint64_t>(timing.infinity_cache_latency),
               memory_latency = static_cast<uint64_t>(timing.memory_latency);

}  // namespace

CachedLines::Line* CachedLines::find(uint64_t number) {
  const auto found = places_.find(number);
  if (found == places_.end()) return nullptr;
  unlink(found->second);
  link_newest(found->second);
  return &lines_[found->second];
}

CachedLines::Line& CachedLines::insert(const Line& line, Line& left) {
  left = {};
  size_t place = lines_.size();
  if (places_.size() < capacity_) {
    lines_.emplace_back();
  } else {
    place = lines_[0].newer;  // the oldest
    left = lines_[place];
    unlink(place);
    places_.erase(left.number);
  }
  lines_[place] = line;
  places_[line.number] = place;
  link_newest(place);
  return lines_[place];
}

uint64_t CachedLines::dirty_lines() const {
  return static_cast<uint64_t>(std::ranges::count_if(lines_, [](const Line& line) { return line.is_dirty; }));
}

void CachedLines::link_newest(size_t place) {
  const size_t before = lines_[0].older;
  lines_[place].older = before;
  lines_[place].newer = 0;
  lines_[before].newer = place;
  lines_[0].older = place;
}

void CachedLines::unlink(size_t place) {
  const Line& line = lines_[place];
  lines_[line.older].newer = line.newer;
  lines_[line.newer].older = line.older;
}

SharedCaches::SharedCaches(const Shape& shape, uint64_t recorded_group)
    : groups_at_once_(shape.groups_at_once),
      recorded_group_(recorded_group),
      l2_(static_cast<size_t>(shape.dies), CachedLines(shape.lines_of_l2)),
      infinity_cache_(shape.lines_of_infinity_cache) {}

void SharedCaches::add(uint64_t group, std::vector<Touch> touches) {
  std::lock_guard lock(mutex_);
  waiting_[group] = std::move(touches);
  for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_group_;
       first = waiting_.begin()) {
    take(next_group_++, first->second);
    waiting_.erase(first);
  }
}

uint64_t SharedCaches::dirty_lines() const {
  uint64_t sum = 0;
  for (const CachedLines& lines : l2_) sum += lines.dirty_lines();
  return sum;
}

void SharedCaches::take(uint64_t group, const std::vector<Touch>& touches) {
  std::vector<uint16_t> latencies;
  if (group == recorded_group_) latencies.reserve(touches.size());
  for (const Touch& touch : touches) {
    uint64_t latency = l2_latency;
    if (touch.is_store)
      store(group, touch);
    else
      latency = load(group, touch);
    if (group == recorded_group_) latencies.push_back(static_cast<uint16_t>(latency));
  }
  if (group == recorded_group_) recorded_latencies_ = std::move(latencies);
}

uint64_t SharedCaches::load(uint64_t group, const Touch& touch) {
  CachedLines& l2 = l2_[group % l2_.size()];
  if (const CachedLines::Line* line = l2.find(touch.line)) return remaining(*line, group, touch.cycle, l2_latency);
  ++loaded_into_l2_;
  const uint64_t latency = latency_from_infinity_cache(group, touch);
  keep_in_l2({.number = touch.line, .group = group, .cycle = touch.cycle, .latency = latency});
  return latency;
}

void SharedCaches::store(uint64_t group, const Touch& touch) {
  CachedLines& l2 = l2_[group % l2_.size()];
  if (CachedLines::Line* line = l2.find(touch.line))
    line->is_dirty = true;
  else
    keep_in_l2({.number = touch.line, .group = group, .cycle = touch.cycle, .latency = l2_latency, .is_dirty = true});
}

uint64_t SharedCaches::latency_from_infinity_cache(uint64_t group, const Touch& touch) {
  if (const CachedLines::Line* line = infinity_cache_.find(touch.line))
    return remaining(*line, group, touch.cycle, infinity_cache_latency);
  ++loaded_from_memory_;
  CachedLines::Line left;
  infinity_cache_.insert({.number = touch.line, .group = group, .cycle = touch.cycle, .latency = memory_latency}, left);
  return memory_latency;
}

// A stored line that leaves L2 goes to the Infinity Cache.
void SharedCaches::keep_in_l2(const CachedLines::Line& line) {
  CachedLines::Line left, left_last;
  l2_[line.group % l2_.size()].insert(line, left);
  if (!left.is_dirty) return;
  ++written_back_;
  if (infinity_cache_.find(left.number)) return;
  left.is_dirty = false;
  left.latency = infinity_cache_latency;
  infinity_cache_.insert(left, left_last);
}

// A line of a group that runs at the same time may still be under way.
uint64_t SharedCaches::remaining(const CachedLines::Line& line, uint64_t group, uint64_t cycle, uint64_t least) const {
  if (group - line.group >= groups_at_once_ || line.latency <= least) return least;
  const uint64_t passed = cycle > line.cycle ? cycle - line.cycle : 0;
  return passed >= line.latency - least ? least : line.latency - passed;
}

}  // namespace gfx942sim
