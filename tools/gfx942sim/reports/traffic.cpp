#include "gfx942sim/reports/traffic.h"

#include <algorithm>
#include <bit>

namespace gfx942sim {

LineSet::Page& LineSet::page(uint64_t number) {
  if (number != last_number_) {
    last_ = &pages_[number];
    last_->resize(lines_in_page / 64);
    last_number_ = number;
  }
  return *last_;
}

bool LineSet::insert(uint64_t line) {
  uint64_t& word = page(line / lines_in_page)[line % lines_in_page / 64];
  const uint64_t bit = uint64_t{1} << line % 64;
  const bool is_new = !(word & bit);
  word |= bit;
  return is_new;
}

void LineSet::add(const LineSet& other) {
  for (const auto& [number, words] : other.pages_) {
    Page& mine = page(number);
    for (size_t i = 0; i < words.size(); ++i) mine[i] |= words[i];
  }
}

uint64_t LineSet::count() const {
  uint64_t sum = 0;
  for (const auto& [number, words] : pages_)
    for (uint64_t word : words) sum += static_cast<uint64_t>(std::popcount(word));
  return sum;
}

bool GroupLines::insert(uint64_t line) {
  if (2 * count_ >= entries_.size()) grow();
  const size_t mask = entries_.size() - 1;
  size_t at = (line * 0x9e3779b97f4a7c15) >> 20 & mask;
  for (; entries_[at].generation == generation_; at = (at + 1) & mask)
    if (entries_[at].line == line) return false;
  entries_[at] = {line, generation_};
  ++count_;
  return true;
}

void GroupLines::grow() {
  std::vector<Entry> old(2 * entries_.size());
  old.swap(entries_);
  count_ = 0;
  for (const Entry& entry : old)
    if (entry.generation == generation_) insert(entry.line);
}

bool Traffic::hits_l1(uint64_t line) {
  auto& lines = l1_.lines[line % sets];
  auto& used = l1_.used[line % sets];
  const auto end = lines.begin() + static_cast<std::ptrdiff_t>(ways_), found = std::find(lines.begin(), end, line + 1);
  const bool hit = found != end;
  const auto oldest = std::min_element(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(ways_));
  const auto way = static_cast<size_t>(hit ? found - lines.begin() : oldest - used.begin());
  lines[way] = line + 1;
  used[way] = ++l1_.accesses;
  return hit;
}

LineSource Traffic::load(uint64_t line, uint64_t cycle) {
  if (hits_l1(line)) return LineSource::l1;
  ++l1_misses_;
  if (!loaded_of_group_.insert(line)) return LineSource::l2;
  ++first_touches_;
  loaded_.insert(line);
  touches_.push_back({line, static_cast<uint32_t>(cycle), false});
  return LineSource::first_touch;
}

bool Traffic::store(uint64_t line, uint64_t cycle) {
  if (!stored_of_group_.insert(line)) return false;
  ++first_touches_;
  stored_.insert(line);
  touches_.push_back({line, static_cast<uint32_t>(cycle), true});
  return true;
}

void Traffic::add(const Traffic& other) {
  l1_misses_ += other.l1_misses_;
  first_touches_ += other.first_touches_;
  loaded_.add(other.loaded_);
  stored_.add(other.stored_);
}

}  // namespace gfx942sim
