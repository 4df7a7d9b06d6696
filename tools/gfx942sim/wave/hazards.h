// The hazards that gfx942 leaves to software: pairs of instructions with too few wait states between, for which
// hardware gives a wrong value and no warning. The rules are those of "Manually Inserted Wait States" in AMD's CDNA3
// instruction set guide; clang keeps them by s_nop, hand-written assembly must.
//
// A wait state is an instruction of any kind, or one of the N + 1 of s_nop N. Only the way that a wave takes counts.
// Its last instructions are kept, and an instruction is compared with each of them; an instruction found good after the
// same way is not compared again, so that loops cost little.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "gfx942sim/code/instruction.h"

namespace gfx942sim {

inline constexpr int longest_hazard = 19;  // wait states that any rule asks for

// The wait states that must lie between two instructions, and the rule that says so.
struct RequiredWait {
  int states = 0;
  const char* rule = nullptr;
};
RequiredWait required_wait(const Instruction& earlier, const Instruction& later);

// The last instructions of a wave.
class IssueHistory {
 public:
  // `jumped`: the instruction does not follow the one before in memory.
  void issue(const Instruction& instruction, bool jumped);
  const Instruction* last() const { return count_ == 0 ? nullptr : entry(1).instruction; }

 private:
  friend class HazardChecker;
  struct Entry {
    const Instruction* instruction;
    uint32_t time;  // of its issue, in wait states
  };
  static constexpr uint32_t capacity = 32;
  const Entry& entry(uint64_t back) const { return entries_[(count_ - back) % capacity]; }

  std::array<Entry, capacity> entries_;
  uint64_t count_ = 0;
  uint32_t time_ = 0;
  // The last jump: its place, and how many wait states the stretches before and after it have.
  const Instruction* jump_ = nullptr;
  const Instruction* stretch_first_ = nullptr;
  uint32_t stretch_begin_ = 0, stretch_before_ = 0;
};

class HazardChecker {
 public:
  explicit HazardChecker(const std::vector<Instruction>& program) : program_(&program), is_good_(program.size()) {}

  // The reason why the instruction must not be issued now, or nothing; then notes it.
  std::optional<std::string> issue(IssueHistory& history, const Instruction& instruction);

 private:
  static std::optional<std::string> compare(const IssueHistory& history, const Instruction& instruction);
  size_t index_of(const Instruction& instruction) const { return static_cast<size_t>(&instruction - program_->data()); }

  const std::vector<Instruction>* program_;
  std::vector<bool> is_good_;                       // after a straight stretch of more than the longest hazard
  std::unordered_set<uint64_t> good_behind_jumps_;  // instruction, jump and its target, by their indices
};

}  // namespace gfx942sim
