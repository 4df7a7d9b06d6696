// Scalar loads.
#include <algorithm>
#include <cstring>

#include "gfx942sim/operations/operation_table.h"
#include "gfx942sim/wave/work_group.h"

namespace gfx942sim {
namespace {

constexpr uint32_t argument_padding = 16;  // to which the kernel-argument segment may be read

// The offset from the address: an operand, which may be a register, and an immediate.
int64_t load_offset(Wave& wave, const Instruction& instruction, size_t position) {
  int64_t offset = instruction.offset;
  if (position >= instruction.operands.size()) return offset;
  const Operand& operand = instruction.operands[position];
  if (operand.kind == OperandKind::constant) return offset + static_cast<int32_t>(operand.bits);
  return offset + int64_t{wave.read_uniform(operand)};
}

template <int words>
void execute_load(Wave& wave, const Instruction& instruction) {
  const uint64_t address =
      (wave.read_uniform_pair(instruction.operands[1]) + static_cast<uint64_t>(load_offset(wave, instruction, 2))) &
      ~uint64_t{3};
  WorkGroup& group = wave.group();
  const uint32_t number = wave.counters.issue(Queue::unordered);
  const Allocation* allocation = group.find_allocation(address, 1);
  // A wide load may run over the end of the kernel's arguments into their padding, as long as nobody reads the rest.
  const bool padded = allocation && allocation->is_kernel_arguments &&
                      (address - allocation->address) + words * 4 <=
                          (allocation->size + argument_padding - 1) / argument_padding * argument_padding;
  for (int i = 0; i < words; ++i) {
    const uint64_t at = address + 4 * static_cast<uint64_t>(i);
    uint32_t value = 0;
    // The last word of the arguments may be less than a word.
    const uint64_t left = padded ? allocation->size - std::min(allocation->size, at - allocation->address) : 4;
    const auto length = static_cast<uint32_t>(std::min<uint64_t>(left, 4));
    if (length > 0) std::memcpy(&value, group.global_bytes(wave, -1, at, length, false), length);
    wave.write_scalar_later(instruction.operands[0].index + i, value, length > 0, number);
  }
  group.counts.loaded_bytes += 4 * words;
}

// A load through a buffer descriptor: beyond its records it brings zero.
template <int words>
void execute_buffer_load(Wave& wave, const Instruction& instruction) {
  uint32_t descriptor[4];
  for (int i = 0; i < 4; ++i) descriptor[i] = wave.read_uniform(instruction.operands[1], i);
  const uint64_t base = descriptor[0] | uint64_t{descriptor[1] & 0xffff} << 32;
  const uint64_t offset = static_cast<uint64_t>(load_offset(wave, instruction, 2)) & ~uint64_t{3};
  const uint32_t number = wave.counters.issue(Queue::unordered);
  for (int i = 0; i < words; ++i) {
    const uint64_t at = offset + 4 * static_cast<uint64_t>(i);
    uint32_t value = 0;
    if (at + 4 <= descriptor[2])
      std::memcpy(&value, wave.group().global_bytes(wave, -1, base + at, 4, false), sizeof value);
    wave.write_scalar_later(instruction.operands[0].index + i, value, true, number);
  }
  wave.group().counts.loaded_bytes += 4 * words;
}

template <int words>
void add_load(Operations& rows) {
  const std::string suffix = words == 1 ? "dword" : "dwordx" + std::to_string(words);
  add_row(rows, "s_load_" + suffix, Unit::scalar_memory, &execute_load<words>);
  add_row(rows, "s_buffer_load_" + suffix, Unit::scalar_memory, &execute_buffer_load<words>);
}

// Clocks: any value that grows will do.
void execute_clock(Wave& wave, const Instruction& instruction) {
  const uint32_t number = wave.counters.issue(Queue::unordered);
  wave.write_scalar_later(instruction.operands[0].index, number, true, number);
  wave.write_scalar_later(instruction.operands[0].index + 1, 0, true, number);
}

}  // namespace

void add_scalar_memory_operations(Operations& rows) {
  add_load<1>(rows);
  add_load<2>(rows);
  add_load<4>(rows);
  add_load<8>(rows);
  add_load<16>(rows);
  add_row(rows, "s_memtime", Unit::scalar_memory, &execute_clock);
  add_row(rows, "s_memrealtime", Unit::scalar_memory, &execute_clock);
}

}  // namespace gfx942sim
