// Places buffers with known lifetimes in one arena.
//
// Problem: each temporary of a program lives from the step that first writes it to the last step that reads it. Two
// whose lifetimes share a step need disjoint memory, others may share it; the arena should be small. Method: greedy. A
// buffer goes into the tightest sufficient gap between the placed buffers whose lifetimes meet its own, else above
// them. The order is by breadth (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020):
// first the buffers of the step in which most bytes are alive, in which no byte may be lost, and among these the
// largest. If that plan exceeds the lower bound, a plan only by size is made too, and the smaller one counts. With the
// order by breadth the networks that we compile need no more than the bound (by size up to a third more); random
// buffers do better by size. The result depends only on the input. Limits: O(n^2) for n buffers; not optimal.
//
// It runs when an instance is bound to dims: so it is plain, takes its memory from the caller and throws nothing.
#pragma once

#include <stdint.h>

#include <algorithm>

namespace onnxc::runtime {

inline constexpr int64_t memory_alignment = 64;

struct PlannedBuffer {
  int64_t bytes;
  int32_t first_step, last_step;  // inclusive; both in the same numbering as every other buffer's
  int64_t offset;                 // the result: a multiple of 64, 0 for an empty buffer
  int64_t breadth = 0;            // the most bytes alive in one step of its lifetime; set on the way
};

inline bool lifetimes_meet(const PlannedBuffer& a, const PlannedBuffer& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

inline int64_t aligned_bytes(const PlannedBuffer& buffer) {
  return (buffer.bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
}

// The bytes alive in a step, INT64_MAX if their sum passes it.
inline int64_t alive_bytes(const PlannedBuffer* buffers, int32_t count, int32_t step) {
  int64_t alive = 0;
  for (int32_t i = 0; i < count; ++i)
    if (buffers[i].first_step <= step && step <= buffers[i].last_step &&
        __builtin_add_overflow(alive, aligned_bytes(buffers[i]), &alive))
      return INT64_MAX;
  return alive;
}

// The most bytes alive in one step: a lower bound on every plan. For buffers that plan_memory could place.
inline int64_t least_memory(const PlannedBuffer* buffers, int32_t count) {
  int64_t most = 0;
  // The bytes alive grow only when a buffer begins.
  for (int32_t i = 0; i < count; ++i) most = std::max(most, alive_bytes(buffers, count, buffers[i].first_step));
  return most;
}

// Sets each buffer's breadth. Its offset is used meanwhile for the bytes alive when it begins.
inline void measure_breadths(PlannedBuffer* buffers, int32_t count) {
  for (int32_t i = 0; i < count; ++i) buffers[i].offset = alive_bytes(buffers, count, buffers[i].first_step);
  for (int32_t i = 0; i < count; ++i) {
    PlannedBuffer& buffer = buffers[i];
    buffer.breadth = 0;
    for (int32_t j = 0; j < count; ++j)
      if (buffer.first_step <= buffers[j].first_step && buffers[j].first_step <= buffer.last_step)
        buffer.breadth = std::max(buffer.breadth, buffers[j].offset);
  }
}

// Sets the offset of each buffer in `order`, one after another, and returns the bytes of the arena; -1 when they do not
// fit in 63 bits. `placed` has room for `count` numbers.
inline int64_t place_buffers(PlannedBuffer* buffers, int32_t count, const int32_t* order, int32_t* placed) {
  int32_t placed_count = 0;  // in `placed`, sorted by offset
  int64_t arena_bytes = 0;
  for (int32_t i = 0; i < count; ++i) {
    PlannedBuffer& buffer = buffers[order[i]];
    buffer.offset = 0;
    const int64_t bytes = aligned_bytes(buffer);
    if (bytes == 0) continue;

    // Walk up through the occupied ranges; `top` is the end of all of them so far.
    int64_t top = 0, tightest = INT64_MAX, offset = -1;
    for (int32_t j = 0; j < placed_count; ++j) {
      const PlannedBuffer& other = buffers[placed[j]];
      if (!lifetimes_meet(buffer, other)) continue;
      int64_t gap = other.offset - top;
      if (gap >= bytes && gap < tightest) {
        tightest = gap;
        offset = top;
      }
      top = std::max(top, other.offset + aligned_bytes(other));
    }
    if (offset < 0) offset = top;

    int64_t end;
    if (__builtin_add_overflow(offset, bytes, &end)) return -1;
    buffer.offset = offset;
    arena_bytes = std::max(arena_bytes, end);

    int32_t position = placed_count++;
    for (; position > 0 && buffers[placed[position - 1]].offset > offset; --position)
      placed[position] = placed[position - 1];
    placed[position] = order[i];
  }
  return arena_bytes;
}

// Sets the offset of each buffer and returns the bytes of the arena; -1 when they do not fit in 63 bits. `workspace`
// has room for 2 * count numbers.
inline int64_t plan_memory(PlannedBuffer* buffers, int32_t count, int32_t* workspace) {
  for (int32_t i = 0; i < count; ++i)
    if (buffers[i].bytes < 0 || buffers[i].bytes > INT64_MAX - (memory_alignment - 1)) return -1;
  measure_breadths(buffers, count);

  int32_t* order = workspace;
  const auto place = [&](bool by_breadth) {
    for (int32_t i = 0; i < count; ++i) order[i] = i;
    std::sort(order, order + count, [&](int32_t a, int32_t b) {
      if (by_breadth && buffers[a].breadth != buffers[b].breadth) return buffers[a].breadth > buffers[b].breadth;
      return buffers[a].bytes != buffers[b].bytes ? buffers[a].bytes > buffers[b].bytes : a < b;
    });
    return place_buffers(buffers, count, order, workspace + count);
  };
  const int64_t broadest_first = place(true);
  if (broadest_first < 0 || broadest_first == least_memory(buffers, count)) return broadest_first;
  const int64_t largest_first = place(false);
  return largest_first >= 0 && largest_first <= broadest_first ? largest_first : place(true);
}

}  // namespace onnxc::runtime
