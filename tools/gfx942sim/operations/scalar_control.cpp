// Branches, calls, barriers, waits and the mode register.
#include "gfx942sim/operations/operation_table.h"
#include "gfx942sim/wave/work_group.h"

namespace gfx942sim {
namespace {

// A branch's target counts words from the next instruction.
void jump(Wave& wave, const Instruction& instruction) {
  const auto words = static_cast<int16_t>(instruction.operands.back().bits);
  wave.program_counter += static_cast<uint64_t>(int64_t{words} * 4);
}

template <class Condition>
void add_branch(Operations& rows, std::string name, Condition) {
  add_row(rows, std::move(name), Unit::control, [](Wave& wave, const Instruction& instruction) {
    if (Condition()(wave)) jump(wave, instruction);
  });
}

uint64_t vcc(Wave& wave) {
  return wave.read_uniform_pair({.kind = OperandKind::scalar, .index = vcc_register, .registers = 2});
}

void execute_wait(Wave& wave, const Instruction& instruction) {
  if (instruction.vmcnt >= 0) {
    wave.counters.wait_vmcnt(static_cast<uint32_t>(instruction.vmcnt));
    wave.clock.wait_vmcnt(static_cast<uint32_t>(instruction.vmcnt));
  }
  if (instruction.lgkmcnt >= 0) {
    wave.counters.wait_lgkmcnt(static_cast<uint32_t>(instruction.lgkmcnt));
    wave.clock.wait_lgkmcnt(static_cast<uint32_t>(instruction.lgkmcnt));
  }
}

uint32_t mode_mask(const Instruction& instruction) {
  return instruction.hardware_size >= 32 ? ~0U : (1U << instruction.hardware_size) - 1;
}

void require_mode(Wave& wave, const Instruction& instruction) {
  if (instruction.hardware_register < 0)
    wave.fail(-1, "touches a hardware register that is not known to the simulator");
}

void execute_get_mode(Wave& wave, const Instruction& instruction) {
  require_mode(wave, instruction);
  wave.write_scalar(instruction.operands[0].index,
                    wave.mode.bits >> instruction.hardware_offset & mode_mask(instruction));
}

void execute_set_mode(Wave& wave, const Instruction& instruction) {
  require_mode(wave, instruction);
  constexpr uint32_t rounding_bits = 0xf;
  const uint32_t mask = mode_mask(instruction) << instruction.hardware_offset;
  const uint32_t value = wave.read_uniform(instruction.operands[0]) << instruction.hardware_offset;
  wave.mode.bits = (wave.mode.bits & ~mask) | (value & mask);
  if (wave.mode.bits & rounding_bits) wave.fail(-1, "sets a rounding mode other than to the nearest even");
}

void execute_get_program_counter(Wave& wave, const Instruction& instruction) {
  wave.write_uniform_pair(instruction.operands[0], wave.program_counter);
}

void execute_set_program_counter(Wave& wave, const Instruction& instruction) {
  wave.program_counter = wave.read_uniform_pair(instruction.operands[0]);
}

void execute_swap_program_counter(Wave& wave, const Instruction& instruction) {
  const uint64_t target = wave.read_uniform_pair(instruction.operands[1]);
  wave.write_uniform_pair(instruction.operands[0], wave.program_counter);
  wave.program_counter = target;
}

void execute_call(Wave& wave, const Instruction& instruction) {
  wave.write_uniform_pair(instruction.operands[0], wave.program_counter);
  jump(wave, instruction);
}

// M0 gets the index in its low byte and the operands that it counts for from bit 12.
void execute_index_on(Wave& wave, const Instruction& instruction) {
  const uint32_t m0 = wave.peek_uniform({.kind = OperandKind::scalar, .index = m0_register}, 1).value & 0xffff0f00;
  const uint32_t index = wave.read_uniform(instruction.operands[0]) & 0xff;
  wave.indexing.operands = instruction.indexed_operands;
  wave.write_scalar(m0_register, m0 | index | uint32_t{instruction.indexed_operands} << 12);
}

void execute_index(Wave& wave, const Instruction& instruction) {
  const uint32_t index = wave.read_uniform(instruction.operands[0]) & 0xff;
  wave.write_scalar(m0_register, (wave.read_scalar(m0_register) & ~0xffU) | index);
}

// Caches are not simulated; what is written back for other work groups, and read anew from them, is a matter of races.
void execute_write_back(Wave& wave, const Instruction& instruction) {
  if (instruction.sc1) wave.group().accesses.release(wave.number());
}

void execute_invalidate(Wave& wave, const Instruction& instruction) {
  if (instruction.sc1) wave.group().accesses.acquire(wave.number());
}

void do_nothing(Wave&, const Instruction&) {}

}  // namespace

void add_scalar_control_operations(Operations& rows) {
  add_branch(rows, "s_branch", [](Wave&) { return true; });
  add_branch(rows, "s_cbranch_scc0", [](Wave& wave) { return !wave.read_scc(); });
  add_branch(rows, "s_cbranch_scc1", [](Wave& wave) { return wave.read_scc(); });
  add_branch(rows, "s_cbranch_vccz", [](Wave& wave) { return vcc(wave) == 0; });
  add_branch(rows, "s_cbranch_vccnz", [](Wave& wave) { return vcc(wave) != 0; });
  add_branch(rows, "s_cbranch_execz", [](Wave& wave) { return wave.exec() == 0; });
  add_branch(rows, "s_cbranch_execnz", [](Wave& wave) { return wave.exec() != 0; });
  add_row(rows, "s_call_b64", Unit::control, &execute_call);
  add_row(rows, "s_getpc_b64", Unit::control, &execute_get_program_counter);
  add_row(rows, "s_setpc_b64", Unit::control, &execute_set_program_counter);
  add_row(rows, "s_swappc_b64", Unit::control, &execute_swap_program_counter);
  add_row(rows, "s_barrier", Unit::control, [](Wave& wave, const Instruction&) { wave.at_barrier = true; });
  add_row(rows, "s_endpgm", Unit::control, [](Wave& wave, const Instruction&) { wave.ended = true; });
  add_row(rows, "s_waitcnt", Unit::control, &execute_wait);
  add_row(rows, "s_getreg_b32", Unit::control, &execute_get_mode);
  add_row(rows, "s_setreg_b32", Unit::control, &execute_set_mode);
  add_row(rows, "s_setreg_imm32_b32", Unit::control, &execute_set_mode);
  add_row(rows, "s_trap", Unit::control,
          [](Wave& wave, const Instruction&) { wave.fail(-1, "traps: the kernel found an error itself"); });
  add_row(rows, "s_set_gpr_idx_on", Unit::scalar, &execute_index_on);
  add_row(rows, "s_set_gpr_idx_idx", Unit::scalar, &execute_index);
  add_row(rows, "s_set_gpr_idx_mode", Unit::control,
          [](Wave& wave, const Instruction& instruction) { wave.indexing.operands = instruction.indexed_operands; });
  add_row(rows, "s_set_gpr_idx_off", Unit::control, [](Wave& wave, const Instruction&) { wave.indexing.operands = 0; });
  add_row(rows, "buffer_wbl2", Unit::control, &execute_write_back);
  add_row(rows, "buffer_inv", Unit::control, &execute_invalidate);
  // Delays, priorities and caches: they change no result.
  for (const char* name :
       {"s_nop", "s_sleep", "s_setprio", "s_icache_inv", "s_dcache_inv", "s_dcache_wb", "s_wakeup", "s_sendmsg"})
    add_row(rows, name, Unit::control, &do_nothing);
}

}  // namespace gfx942sim
