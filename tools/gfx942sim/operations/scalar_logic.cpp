// The scalar unit's logic and moves, bit by bit: a bit that was never written may pass through, as it does when
// compilers merge lane masks, and is known again if the other operand by itself decides the result.
#include "gfx942sim/operations/operation_table.h"
#include "gfx942sim/wave/wave.h"

namespace gfx942sim {
namespace {

using Bits = KnownBits;

Bits bit_not(Bits a) { return {~a.value, a.known}; }
Bits bit_and(Bits a, Bits b) {
  return {a.value & b.value, (a.known & b.known) | (a.known & ~a.value) | (b.known & ~b.value)};
}
Bits bit_or(Bits a, Bits b) { return bit_not(bit_and(bit_not(a), bit_not(b))); }
Bits bit_xor(Bits a, Bits b) { return {a.value ^ b.value, a.known & b.known}; }

constexpr uint64_t all_bits(int words) { return words == 2 ? ~uint64_t{0} : 0xffffffff; }

// SCC: whether any bit is set.
void set_scc(Wave& wave, Bits bits, int words) {
  const uint64_t all = all_bits(words);
  const bool is_set = (bits.value & bits.known & all) != 0;
  wave.write_scc(is_set);
  if (!is_set && (bits.known & all) != all) wave.mark_scc_unwritten();
}

template <int words, class F>
void execute_logic(Wave& wave, const Instruction& instruction) {
  const Bits a = wave.peek_uniform(instruction.operands[1], words);
  Bits result;
  if constexpr (requires { F()(a); })
    result = F()(a);
  else
    result = F()(a, wave.peek_uniform(instruction.operands[2], words));
  wave.write_known(instruction.operands[0], words, result);
  set_scc(wave, result, words);
}

template <int words>
void execute_move(Wave& wave, const Instruction& instruction) {
  wave.write_known(instruction.operands[0], words, wave.peek_uniform(instruction.operands[1], words));
}

template <int words>
void execute_select(Wave& wave, const Instruction& instruction) {
  const Operand& chosen = instruction.operands[wave.read_scc() ? 1 : 2];
  wave.write_known(instruction.operands[0], words, wave.peek_uniform(chosen, words));
}

template <class F>
void add_logic(Operations& rows, const std::string& name, F) {
  add_row(rows, name + "_b32", Unit::scalar, &execute_logic<1, F>, {Type::u32, Type::u32, Type::u32});
  add_row(rows, name + "_b64", Unit::scalar, &execute_logic<2, F>, {Type::u64, Type::u64, Type::u64});
}

// EXEC moves to the destination, and becomes a function of the source and of itself; SCC tells whether a lane is left.
template <class F>
void add_save_exec(Operations& rows, std::string name, F) {
  add_row(rows, std::move(name), Unit::scalar,
          [](Wave& wave, const Instruction& instruction) {
            const Bits source = wave.peek_uniform(instruction.operands[1], 2);
            const Bits exec{wave.exec()};
            wave.write_known(instruction.operands[0], 2, exec);
            wave.write_known({.kind = OperandKind::scalar, .index = exec_register}, 2, F()(source, exec));
            wave.write_scc(wave.exec() != 0);
          },
          {Type::u64, Type::u64});
}

// The destination gets the new EXEC.
template <class F>
void add_write_exec(Operations& rows, std::string name, F) {
  add_row(rows, std::move(name), Unit::scalar,
          [](Wave& wave, const Instruction& instruction) {
            const Bits source = wave.peek_uniform(instruction.operands[1], 2);
            const Bits result = F()(source, Bits{wave.exec()});
            wave.write_known({.kind = OperandKind::scalar, .index = exec_register}, 2, result);
            wave.write_known(instruction.operands[0], 2, result);
            wave.write_scc(wave.exec() != 0);
          },
          {Type::u64, Type::u64});
}

}  // namespace

void add_scalar_logic_operations(Operations& rows) {
  add_logic(rows, "s_and", [](Bits a, Bits b) { return bit_and(a, b); });
  add_logic(rows, "s_or", [](Bits a, Bits b) { return bit_or(a, b); });
  add_logic(rows, "s_xor", [](Bits a, Bits b) { return bit_xor(a, b); });
  add_logic(rows, "s_andn2", [](Bits a, Bits b) { return bit_and(a, bit_not(b)); });
  add_logic(rows, "s_orn2", [](Bits a, Bits b) { return bit_or(a, bit_not(b)); });
  add_logic(rows, "s_nand", [](Bits a, Bits b) { return bit_not(bit_and(a, b)); });
  add_logic(rows, "s_nor", [](Bits a, Bits b) { return bit_not(bit_or(a, b)); });
  add_logic(rows, "s_xnor", [](Bits a, Bits b) { return bit_not(bit_xor(a, b)); });
  add_logic(rows, "s_not", [](Bits a) { return bit_not(a); });
  add_row(rows, "s_mov_b32", Unit::scalar, &execute_move<1>, {Type::u32, Type::u32});
  add_row(rows, "s_mov_b64", Unit::scalar, &execute_move<2>, {Type::u64, Type::u64});
  add_row(rows, "s_cselect_b32", Unit::scalar, &execute_select<1>, {Type::u32, Type::u32, Type::u32});
  add_row(rows, "s_cselect_b64", Unit::scalar, &execute_select<2>, {Type::u64, Type::u64, Type::u64});
  add_save_exec(rows, "s_and_saveexec_b64", [](Bits source, Bits exec) { return bit_and(source, exec); });
  add_save_exec(rows, "s_or_saveexec_b64", [](Bits source, Bits exec) { return bit_or(source, exec); });
  add_save_exec(rows, "s_xor_saveexec_b64", [](Bits source, Bits exec) { return bit_xor(source, exec); });
  add_save_exec(rows, "s_andn2_saveexec_b64", [](Bits source, Bits exec) { return bit_and(source, bit_not(exec)); });
  add_save_exec(rows, "s_andn1_saveexec_b64", [](Bits source, Bits exec) { return bit_and(bit_not(source), exec); });
  add_save_exec(rows, "s_orn2_saveexec_b64", [](Bits source, Bits exec) { return bit_or(source, bit_not(exec)); });
  add_write_exec(rows, "s_andn1_wrexec_b64", [](Bits source, Bits exec) { return bit_and(bit_not(source), exec); });
  add_write_exec(rows, "s_andn2_wrexec_b64", [](Bits source, Bits exec) { return bit_and(source, bit_not(exec)); });
}

}  // namespace gfx942sim
