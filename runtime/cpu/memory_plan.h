// Places buffers with known lifetimes in one arena.
//
// Problem: each temporary of a program lives from the step that first writes it to the last step that reads it. Two
// whose lifetimes share a step need disjoint memory, others may share; the arena should be small.
// Method: greedy by size. The largest buffer is placed first; each next one goes into the tightest gap, between the
// already placed buffers whose lifetimes meet its own, that holds it, else above them. The result is within a few
// percent of the lower bound on the networks that we compile, and depends on the input alone.
// Limits: O(n^2) for n buffers; not optimal.
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
};

inline bool lifetimes_meet(const PlannedBuffer& a, const PlannedBuffer& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

inline int64_t aligned_bytes(const PlannedBuffer& buffer) {
  return (buffer.bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
}

// The most bytes alive in one step: no plan needs less. For buffers that plan_memory could place.
inline int64_t least_memory(const PlannedBuffer* buffers, int32_t count) {
  int64_t most = 0;
  for (int32_t i = 0; i < count; ++i) {
    // What is alive grows only where a buffer begins.
    const int32_t step = buffers[i].first_step;
    int64_t alive = 0;
    for (int32_t j = 0; j < count; ++j)
      if (buffers[j].first_step <= step && step <= buffers[j].last_step) alive += aligned_bytes(buffers[j]);
    most = std::max(most, alive);
  }
  return most;
}

// Sets the offset of each buffer and returns the bytes of the arena; -1 when they do not fit in 63 bits. `workspace`
// has room for 2 * count numbers.
inline int64_t plan_memory(PlannedBuffer* buffers, int32_t count, int32_t* workspace) {
  int32_t* by_size = workspace;
  int32_t* placed = workspace + count;  // sorted by offset
  int32_t placed_count = 0;
  for (int32_t i = 0; i < count; ++i) by_size[i] = i;
  std::sort(by_size, by_size + count, [&](int32_t a, int32_t b) {
    return buffers[a].bytes != buffers[b].bytes ? buffers[a].bytes > buffers[b].bytes : a < b;
  });

  int64_t arena_bytes = 0;
  for (int32_t i = 0; i < count; ++i) {
    PlannedBuffer& buffer = buffers[by_size[i]];
    buffer.offset = 0;
    if (buffer.bytes == 0) continue;
    int64_t bytes;
    if (buffer.bytes < 0 || __builtin_add_overflow(buffer.bytes, memory_alignment - 1, &bytes)) return -1;
    bytes -= bytes % memory_alignment;

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
    placed[position] = by_size[i];
  }
  return arena_bytes;
}

}  // namespace onnxc::runtime
