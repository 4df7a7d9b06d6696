// When the instructions of a wave would issue if it had its compute unit to itself: in order, each when its unit is
// free and, at an s_waitcnt, when the memory operations that it waits for have come back. Cycles of the core's clock.
//
// A line that its group has not had before is taken to come from the Infinity Cache, until shared_caches.h knows
// better.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gfx942sim/code/instruction.h"
#include "gfx942sim/reports/traffic.h"
#include "gfx942sim/wave/wave_trace.h"
#include "machine/gpu_timing.h"

namespace gfx942sim {

inline constexpr uint64_t issue_cycles = 4, lds_latency = onnxc::machine::mi300x_timing.lds_latency,
                          scalar_load_latency = onnxc::machine::mi300x_timing.scalar_load_latency,
                          store_latency = onnxc::machine::mi300x_timing.l2_latency;
constexpr uint64_t load_latency(LineSource source) {
  constexpr onnxc::machine::GpuTiming timing = onnxc::machine::mi300x_timing;
  return source == LineSource::l1   ? timing.l1_latency
         : source == LineSource::l2 ? timing.l2_latency
                                    : timing.infinity_cache_latency;
}

// The lines of an access of memory, and how long the slowest of them takes.
struct LineAccess {
  uint64_t latency = store_latency;
  uint8_t lines = 0, misses = 0, first_touches = 0;
  uint32_t first_touch = 0;
};

// When the last operations of a queue complete.
class CompletionQueue {
 public:
  void add(uint64_t time) {
    last_ = std::max(last_, time);
    times_[count_++ % capacity] = last_;
  }
  uint64_t complete_but(uint32_t outstanding) const {
    if (outstanding >= count_ || outstanding >= capacity) return 0;
    return times_[(count_ - 1 - outstanding) % capacity];
  }

 private:
  static constexpr uint64_t capacity = 64;  // vmcnt counts to 63
  uint64_t times_[capacity] = {};
  uint64_t count_ = 0, last_ = 0;
};

class WaveClock {
 public:
  uint64_t now() const { return now_; }
  void set(uint64_t now) { now_ = now; }
  // Steps are written down from now on, if it is not null.
  void record(WaveTrace* trace) { trace_ = trace; }

  void issue(const Instruction& instruction) {
    const Operation& operation = *instruction.operation;
    const auto busy = static_cast<uint64_t>(operation.cycles);
    if (operation.unit == Unit::matrix) {
      const uint64_t start = std::max(now_, matrix_free_);
      matrix_free_ = start + busy;
      now_ = start + issue_cycles;
      note({operation.excludes_vector ? Step::Kind::exclusive_matrix : Step::Kind::matrix}, busy);
    } else if (operation.unit == Unit::vector || operation.unit == Unit::transcendental) {
      now_ += busy;
      note({Step::Kind::vector}, busy);
    } else {
      const uint64_t cycles = issue_cycles * (1 + static_cast<uint64_t>(instruction.nop_states));
      now_ += cycles;
      if (operation.unit == Unit::scalar) note({Step::Kind::scalar}, cycles);
      if (operation.unit == Unit::control) note({Step::Kind::control}, cycles);
    }
  }

  // A memory operation that was just issued; operations of a queue complete in their order.
  void begin_vector_memory(const LineAccess& access) {
    vector_memory_.add(now_ + access.latency);
    note({.kind = Step::Kind::vector_memory,
          .lines = access.lines,
          .misses = access.misses,
          .first_touches = access.first_touches,
          .first_touch = access.first_touch},
         issue_cycles, access.latency);
  }
  void begin_lds(uint64_t busy) {
    lds_.add(now_ + lds_latency + busy);
    note({Step::Kind::lds}, busy, lds_latency);
  }
  // FLAT instructions count in both queues.
  void begin_flat(uint64_t latency) { lds_.add(now_ + latency); }
  void begin_scalar_memory() {
    scalar_memory_ = std::max(scalar_memory_, now_ + scalar_load_latency);
    note({Step::Kind::scalar_memory}, issue_cycles, scalar_load_latency);
  }

  void wait_vmcnt(uint32_t outstanding) {
    now_ = std::max(now_, vector_memory_.complete_but(outstanding));
    note({Step::Kind::wait_vector_memory}, outstanding);
  }
  void wait_lgkmcnt(uint32_t outstanding) {
    now_ = std::max(now_, lds_.complete_but(outstanding));
    if (outstanding == 0) now_ = std::max(now_, scalar_memory_);
    note({Step::Kind::wait_lds}, outstanding);
  }
  void reach_barrier() { note({Step::Kind::barrier}, 0); }

 private:
  void note(Step step, uint64_t busy, uint64_t latency = 0) {
    if (trace_ == nullptr) return;
    step.busy = static_cast<uint16_t>(busy);
    step.latency = static_cast<uint16_t>(latency);
    trace_->push_back(step);
  }

  uint64_t now_ = 0, matrix_free_ = 0, scalar_memory_ = 0;
  CompletionQueue vector_memory_, lds_;
  WaveTrace* trace_ = nullptr;
};

}  // namespace gfx942sim
