// The state of one wave: 64 lanes, their registers, and what is known about each register: whether it was ever written,
// and whether a memory operation that fills it is still under way.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gfx942sim/code/instruction.h"
#include "gfx942sim/fault.h"
#include "gfx942sim/wave/hazards.h"
#include "gfx942sim/wave/wait_counters.h"
#include "gfx942sim/wave/wave_clock.h"

namespace gfx942sim {

class WorkGroup;

inline constexpr int wave_size = 64;
using LaneBits = uint64_t;                          // bit i: lane i
using LaneWords = std::array<uint32_t, wave_size>;  // a vector register
inline constexpr uint8_t whole_register = 0b1111;   // all four bytes

// Bits of scalar registers, and which of them were ever written.
struct KnownBits {
  uint64_t value = 0;
  uint64_t known = ~uint64_t{0};
};

struct alignas(64) VectorRegister {
  LaneWords lanes;
  LaneBits written[4];  // for each byte
  uint32_t pending[3];  // the last operation of each Queue that fills the register
};

// The MODE register's fields that change results.
struct Mode {
  uint32_t bits = 0;
  bool flush_f32() const { return ((bits >> 4) & 3) == 0; }
  bool flush_f16_f64() const { return ((bits >> 6) & 3) == 0; }
  bool ieee() const { return (bits >> 9) & 1; }
};

// s_set_gpr_idx_on: the operands of vector instructions are counted from M0's low byte. One bit for each operand.
struct RegisterIndexing {
  static constexpr uint8_t source0 = 1, source1 = 2, source2 = 4, destination = 8;
  uint8_t operands = 0;  // 0: off
};

class Wave {
 public:
  // Registers are left over from the last wave that ran here: none counts as written.
  void reset(WorkGroup& group, int number, int vector_registers, int accumulators, int scratch_bytes_per_lane);

  WorkGroup& group() const { return *group_; }
  int number() const { return number_; }

  // --- faults -------------------------------------------------------------------------------------------------------
  [[noreturn]] void fail(int lane, const std::string& message) const { throw InstructionFault(lane, message); }

  // --- masks --------------------------------------------------------------------------------------------------------
  LaneBits exec() const { return scalar_pair(exec_register); }
  void set_exec(LaneBits lanes) { set_scalar_pair(exec_register, lanes); }

  // --- vector registers ---------------------------------------------------------------------------------------------
  // The lanes of a register, after checking that the given bytes of the given lanes were written and have arrived.
  const LaneWords& read_vector(const Operand&, int word, LaneBits lanes, uint8_t bytes = whole_register);
  // The same without asking whether they were written.
  const VectorRegister& peek_vector(const Operand&, int word);
  // Stores the bytes into the lanes.
  void write_vector(const Operand&, int word, const LaneWords& values, LaneBits lanes, uint8_t bytes = whole_register);
  void mark_unwritten(const Operand&, int word, LaneBits lanes, uint8_t bytes = whole_register);
  // Stores what a memory operation brings; it may be used when the operation is complete. A load that fills one half
  // (d16) loses the other on hardware whose registers have ECC, as gfx942's do (LLVM D112635).
  void write_vector_later(const Operand&, int word, const LaneWords& values, LaneBits lanes, Queue queue,
                          uint32_t number, uint8_t bytes = whole_register);

  // --- scalar registers ---------------------------------------------------------------------------------------------
  uint32_t read_scalar(int index);
  void write_scalar(int index, uint32_t value);
  // A scalar load's result; `written` is false for bytes past the end of the kernel's arguments.
  void write_scalar_later(int index, uint32_t value, bool written, uint32_t number);
  // A register, a constant or SCC as a source of a scalar or a vector instruction.
  uint32_t read_uniform(const Operand&, int word = 0);
  uint64_t read_uniform_pair(const Operand&);
  void write_uniform_pair(const Operand&, uint64_t value);
  // The bits of the given lanes of a mask; those of others need not have been written.
  uint64_t read_mask(const Operand&, LaneBits lanes);
  // One or two words without asking whether they were written, and with that knowledge stored again.
  KnownBits peek_uniform(const Operand&, int words);
  void write_known(const Operand&, int words, KnownBits bits);
  void mark_unwritten_pair(const Operand&);
  void mark_scc_unwritten() { scc_written_ = false; }
  bool read_scc();
  void write_scc(bool value);
  uint64_t scalar_pair(int index) const { return scalars_[index] | uint64_t{scalars_[index + 1]} << 32; }

  // --- scratch ------------------------------------------------------------------------------------------------------
  // A lane's private bytes; null when they are not all inside. The second is the bytes' written flags.
  std::pair<uint8_t*, uint8_t*> scratch(int lane, uint64_t address, uint32_t length);

  uint64_t program_counter = 0;
  Mode mode;
  WaitCounters counters;
  IssueHistory history;
  WaveClock clock;
  uint64_t memory_accesses = 0;  // instructions
  bool at_barrier = false;
  bool ended = false;
  RegisterIndexing indexing;

 private:
  VectorRegister& vector_register(const Operand&, int word);
  void require_arrived(const VectorRegister&, const Operand&, int word) const;
  void check_arrived_scalar(int index) const;
  void set_scalar_pair(int index, uint64_t value);

  WorkGroup* group_ = nullptr;
  int number_ = 0;
  int vector_count_ = 0, accumulator_count_ = 0;
  std::vector<VectorRegister> vectors_;  // the vector registers, then the accumulators
  std::array<uint32_t, scalar_register_count> scalars_{};
  std::array<uint32_t, scalar_register_count> scalar_known_{};  // the bits that were written
  std::array<uint32_t, scalar_register_count> scalar_pending_{};
  bool scc_ = false, scc_written_ = false;
  uint32_t scratch_size_ = 0;  // of a lane
  std::vector<uint8_t> scratch_bytes_, scratch_written_;
};

}  // namespace gfx942sim
