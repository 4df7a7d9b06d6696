// Machine code to instructions, by LLVM's disassembler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gfx942sim/code/instruction.h"

namespace gfx942sim {

// Every instruction of a stretch of code, decoded once. A part that is not an instruction (padding, data) is only an
// error when it is executed.
class Program {
 public:
  Program(std::span<const std::byte> code, uint64_t address);

  // Null outside the code, or between two instructions.
  const Instruction* find(uint64_t address) const {
    const uint64_t word = (address - address_) / 4;
    if (address < address_ || address % 4 != 0 || word >= by_word_.size() || by_word_[word] < 0) return nullptr;
    return &instructions_[static_cast<size_t>(by_word_[word])];
  }
  const std::vector<Instruction>& instructions() const { return instructions_; }

 private:
  uint64_t address_;
  std::vector<Instruction> instructions_;
  std::vector<int> by_word_;  // index into instructions_, -1 inside one
};

}  // namespace gfx942sim
