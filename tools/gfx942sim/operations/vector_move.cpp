// Moves between registers and lanes, selections and permutations of the vector unit.
#include <bit>

#include "gfx942sim/operations/vector_operation.h"

namespace gfx942sim {
namespace {

// Eight bytes to choose from, a signs' or a constant byte: one byte of v_perm_b32's result.
uint32_t permuted_byte(uint64_t bytes, uint32_t selector) {
  if (selector >= 13) return 0xff;
  if (selector == 12) return 0;
  if (selector >= 8) return (bytes >> (16 * (selector - 8) + 15) & 1) ? 0xff : 0;
  return bytes >> (8 * selector) & 0xff;
}

uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selectors) {
  const uint64_t bytes = uint64_t{a} << 32 | b;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) result |= permuted_byte(bytes, selectors >> (8 * i) & 0xff) << (8 * i);
  return result;
}

// The lanes in which a byte of a source was never written.
LaneBits unwritten_lanes(Wave& wave, const Operand& operand, int byte, LaneBits lanes) {
  if (operand.kind != OperandKind::vector && operand.kind != OperandKind::accumulator) return 0;
  return lanes & ~wave.peek_vector(operand, 0).written[byte];
}

// Each lane reads only the source that it selects, so that the other may be undefined. So may bytes of it: a half that
// is chosen between stands in the lower bytes of registers whose upper ones nobody wrote. Bits are moved: denormal ones
// stay even if floats are flushed (tinygrad's tests, confirmed on a gfx1100).
void execute_select(Wave& wave, const Instruction& instruction) {
  VectorContext context = begin_vector(wave, instruction);
  const uint64_t condition = wave.read_mask(instruction.operands[3], context.lanes);
  const LaneBits lanes = context.lanes;
  LaneValues<uint32_t> when_clear, when_set;
  context.lanes = lanes & ~condition;
  VectorContext clear = context;
  load_source(wave, instruction, clear, instruction.operands[1], 0, true, when_clear);
  VectorContext set = context;
  set.lanes = lanes & condition;
  load_source(wave, instruction, set, instruction.operands[2], 1, true, when_set);
  set_signs(instruction.operands[1], when_clear);
  set_signs(instruction.operands[2], when_set);
  LaneWords words;
  for (int lane = 0; lane < wave_size; ++lane)
    words[lane] = (condition >> lane & 1) ? when_set[lane] : when_clear[lane];
  context.lanes = lanes;
  LaneBits unwritten[4];
  for (int byte = 0; byte < 4; ++byte) {
    unwritten[byte] = (clear.unwritten & clear.lanes) | (set.unwritten & set.lanes);
    if (!instruction.sdwa.used && !context.has_dpp)
      unwritten[byte] &= unwritten_lanes(wave, instruction.operands[1], byte, clear.lanes) |
                         unwritten_lanes(wave, instruction.operands[2], byte, set.lanes);
  }
  store_words(wave, instruction, context, instruction.operands[0], 0, words);
  for (int byte = 0; byte < 4; ++byte)
    if (unwritten[byte] != 0)
      wave.mark_unwritten(instruction.operands[0], 0, unwritten[byte], static_cast<uint8_t>(1 << byte));
}

int first_active_lane(const Wave& wave) { return wave.exec() == 0 ? 0 : std::countr_zero(wave.exec()); }

// A lane of a vector register into a scalar one; bytes that were never written stay so.
void read_lane(Wave& wave, const Instruction& instruction, int lane) {
  const VectorRegister& vector = wave.peek_vector(instruction.operands[1], 0);
  KnownBits bits{vector.lanes[lane], 0};
  for (int byte = 0; byte < 4; ++byte)
    if (vector.written[byte] >> lane & 1) bits.known |= uint64_t{0xff} << (8 * byte);
  wave.write_known(instruction.operands[0], 1, bits);
}

void execute_read_first_lane(Wave& wave, const Instruction& instruction) {
  read_lane(wave, instruction, first_active_lane(wave));
}

void execute_read_lane(Wave& wave, const Instruction& instruction) {
  read_lane(wave, instruction, static_cast<int>(wave.read_uniform(instruction.operands[2]) % wave_size));
}

void execute_write_lane(Wave& wave, const Instruction& instruction) {
  const KnownBits bits = wave.peek_uniform(instruction.operands[1], 1);
  LaneWords words;
  words.fill(static_cast<uint32_t>(bits.value));
  const uint32_t lane = wave.read_uniform(instruction.operands[2]) % wave_size;
  wave.write_vector(instruction.operands[0], 0, words, LaneBits{1} << lane);
  if (static_cast<uint32_t>(bits.known) != ~0U) wave.mark_unwritten(instruction.operands[0], 0, LaneBits{1} << lane);
}

// The number of bits set in the mask below each lane, over the lower or the upper half of the lanes.
template <bool high>
void execute_count_below(Wave& wave, const Instruction& instruction) {
  VectorContext context = begin_vector(wave, instruction);
  LaneValues<uint32_t> mask, addend;
  load_source(wave, instruction, context, instruction.operands[1], 0, false, mask);
  load_source(wave, instruction, context, instruction.operands[2], 1, false, addend);
  for (int lane = 0; lane < wave_size; ++lane) {
    const uint64_t below = (uint64_t{1} << lane) - 1;
    const auto half = static_cast<uint32_t>(high ? below >> 32 : below);
    addend[lane] += static_cast<uint32_t>(std::popcount(mask[lane] & half));
  }
  store_result(wave, instruction, context, addend, false);
}

void execute_swap(Wave& wave, const Instruction& instruction) {
  const LaneWords first = wave.read_vector(instruction.operands[0], 0, wave.exec());
  const LaneWords second = wave.read_vector(instruction.operands[1], 0, wave.exec());
  wave.write_vector(instruction.operands[0], 0, second, wave.exec());
  wave.write_vector(instruction.operands[1], 0, first, wave.exec());
}

// Two words, each from the half of its source that op_sel names.
void execute_packed_move(Wave& wave, const Instruction& instruction) {
  VectorContext contexts[2] = {begin_vector(wave, instruction), begin_vector(wave, instruction)};
  LaneWords words[2];
  for (int i = 0; i < 2; ++i) {
    load_words(wave, instruction, contexts[i], instruction.operands[static_cast<size_t>(1 + i)], i,
               instruction.op_sel >> i & 1, false, true, words[i]);
  }
  for (int i = 0; i < 2; ++i) {
    store_words(wave, instruction, contexts[i], instruction.operands[0], i, words[i]);
    if (contexts[i].unwritten)
      wave.mark_unwritten(instruction.operands[0], i, contexts[i].unwritten & contexts[i].lanes);
  }
}

}  // namespace

void add_vector_move_operations(Operations& rows) {
  for (const char* name : {"v_mov_b32", "v_accvgpr_write_b32", "v_accvgpr_read_b32", "v_accvgpr_mov_b32"})
    add_vector<copying>(rows, name, [](uint32_t a) { return a; });
  add_vector<copying>(rows, "v_mov_b64", [](uint64_t a) { return a; });
  add_vector<copying>(rows, "v_perm_b32", [](uint32_t a, uint32_t b, uint32_t c) { return permute_bytes(a, b, c); });
  add_row(rows, "v_cndmask_b32", Unit::vector, &execute_select, {Type::f32, Type::f32, Type::f32, Type::lane_mask});
  add_row(rows, "v_readfirstlane_b32", Unit::vector, &execute_read_first_lane);
  add_row(rows, "v_readlane_b32", Unit::vector, &execute_read_lane);
  add_row(rows, "v_writelane_b32", Unit::vector, &execute_write_lane);
  add_row(rows, "v_mbcnt_lo_u32_b32", Unit::vector, &execute_count_below<false>);
  add_row(rows, "v_mbcnt_hi_u32_b32", Unit::vector, &execute_count_below<true>);
  add_row(rows, "v_swap_b32", Unit::vector, &execute_swap);
  add_row(rows, "v_pk_mov_b32", Unit::vector, &execute_packed_move);
}

}  // namespace gfx942sim
