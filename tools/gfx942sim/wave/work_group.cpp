#include "gfx942sim/wave/work_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gfx942sim/operations/operation_table.h"

namespace gfx942sim {
namespace {

// The descriptor's kernel_code_properties: which values stand in the first scalar registers, in this order.
struct UserRegister {
  int bit;
  int registers;
};
constexpr UserRegister private_segment_buffer{0, 4}, dispatch_pointer{1, 2}, queue_pointer{2, 2},
    argument_pointer{3, 2}, dispatch_identity{4, 2}, flat_scratch{5, 2}, private_segment_size{6, 1};

constexpr int work_group_id_bit = 7;  // of compute_pgm_rsrc2, for x; y and z follow
constexpr int scratch_of_dynamic_stack = 16384;
// The instruction with the registers that it reaches when they are counted from M0.
Instruction with_indexed_registers(Wave& wave, const Instruction& instruction) {
  Instruction indexed = instruction;
  const auto offset = static_cast<int>(wave.read_scalar(m0_register) & 0xff);
  for (size_t i = 0; i < indexed.operands.size(); ++i) {
    const uint8_t bit = i == 0 ? RegisterIndexing::destination : static_cast<uint8_t>(1 << (i - 1));
    if ((wave.indexing.operands & bit) && indexed.operands[i].kind == OperandKind::vector)
      indexed.operands[i].index += offset;
  }
  return indexed;
}

constexpr uint32_t preload_entry_offset = 256;  // where kernels begin that find their arguments in registers

}  // namespace

WorkGroup::WorkGroup(const DeviceMemory& memory, const LoadedModule& module, const Launch& launch,
                     DispatchAddresses addresses, uint64_t instruction_limit)
    : memory_(memory),
      module_(module),
      launch_(launch),
      addresses_(addresses),
      instruction_limit_(instruction_limit),
      waves_((launch.threads() + wave_size - 1) / wave_size),
      hazards_(module.program().instructions()),
      lds_operations_(waves_.size()) {}

void WorkGroup::run(std::array<uint32_t, 3> id) {
  id_ = id;
  lds.reset(launch_.kernel->lds_bytes + launch_.dynamic_lds_bytes);
  for (size_t i = 0; i < waves_.size(); ++i) set_up(waves_[i], static_cast<int>(i));
  for (auto& operations : lds_operations_) operations.clear();
  loads_into_lds_ = false;
  counts.waves += waves_.size();
  traffic.begin_group();

  while (true) {
    for (Wave& wave : waves_)
      if (!wave.ended) run_to_barrier(wave);
    const auto waiting = std::find_if(waves_.begin(), waves_.end(), [](const Wave& wave) { return wave.at_barrier; });
    if (waiting == waves_.end()) {
      counts.group_cycles += latest_wave();
      return;
    }
    const auto ended = std::find_if(waves_.begin(), waves_.end(), [](const Wave& wave) { return wave.ended; });
    if (ended != waves_.end()) {
      const Instruction* barrier = program().find(waiting->program_counter - 4);
      const InstructionFault fault(
          -1, fmt::format("waits at a barrier that wave {} never reached: it has ended", ended->number()));
      throw SimulationFault(report(*waiting, barrier, fault));
    }
    pass_barrier();
  }
}

void WorkGroup::set_up(Wave& wave, int number) {
  const Kernel& kernel = *launch_.kernel;
  const int scratch = static_cast<int>(kernel.scratch_bytes) + (kernel.dynamic_stack ? scratch_of_dynamic_stack : 0);
  wave.reset(*this, number, kernel.vector_registers, kernel.accumulators, scratch);
  wave.mode.bits = kernel.mode;
  wave.program_counter = module_.to_device_address(kernel.entry);

  int next = 0;
  auto place = [&](UserRegister value, uint64_t content, bool known) {
    if (!(kernel.properties >> value.bit & 1)) return;
    for (int i = 0; i < value.registers; ++i, ++next)
      if (known) wave.write_scalar(next, static_cast<uint32_t>(content >> (32 * i)));
  };
  place(private_segment_buffer, 0, false);
  place(dispatch_pointer, addresses_.packet, true);
  place(queue_pointer, 0, false);
  place(argument_pointer, addresses_.arguments, true);
  place(dispatch_identity, 0, false);
  place(flat_scratch, 0, false);
  place(private_segment_size, static_cast<uint64_t>(scratch), true);

  const uint32_t preload_words = kernel.preload & 0x7f, preload_offset = kernel.preload >> 7;
  for (uint32_t i = 0; i < preload_words; ++i, ++next) {
    const uint64_t address = addresses_.arguments + (preload_offset + i) * 4;
    if (const Allocation* arguments = memory_.find(address, 4)) {
      uint32_t word;
      std::memcpy(&word, arguments->bytes + (address - arguments->address), sizeof word);
      wave.write_scalar(next, word);
    }
  }
  if (preload_words > 0) wave.program_counter += preload_entry_offset;

  for (int axis = 0; axis < 3; ++axis)
    if (kernel.resource2 >> (work_group_id_bit + axis) & 1) wave.write_scalar(next++, id_[static_cast<size_t>(axis)]);

  // Work items are numbered x first; gfx942 packs their three indices into v0, ten bits each.
  LaneWords items{};
  LaneBits active = 0;
  for (uint32_t lane = 0; lane < wave_size; ++lane) {
    const uint32_t item = static_cast<uint32_t>(number) * wave_size + lane;
    if (item >= launch_.threads()) break;
    const uint32_t x = item % launch_.block[0], y = item / launch_.block[0] % launch_.block[1],
                   z = item / (launch_.block[0] * launch_.block[1]);
    items[lane] = x | y << 10 | z << 20;
    active |= LaneBits{1} << lane;
  }
  wave.set_exec(active);
  wave.write_vector({.kind = OperandKind::vector, .index = 0}, 0, items, active);
}

void WorkGroup::execute(Wave& wave, const Instruction& instruction) {
  const Unit unit = instruction.operation->unit;
  const uint64_t lds_cycles = counts.lds_cycles;
  counts.count(*instruction.operation);
  wave.clock.issue(instruction);
  if (wave.indexing.operands != 0 && unit == Unit::vector)
    instruction.operation->execute(wave, with_indexed_registers(wave, instruction));
  else
    instruction.operation->execute(wave, instruction);
  if (unit == Unit::lds) wave.clock.begin_lds(lds_latency + counts.lds_cycles - lds_cycles);
  if (unit == Unit::scalar_memory) wave.clock.begin_scalar_memory();
}

void WorkGroup::run_to_barrier(Wave& wave) {
  for (uint64_t executed = 0; !wave.ended && !wave.at_barrier; ++executed) {
    const Instruction* instruction = program().find(wave.program_counter);
    try {
      if (!instruction)
        wave.fail(-1, fmt::format("jumps to {:#x}, where no instruction begins",
                                  module_.to_file_address(wave.program_counter)));
      if (!instruction->operation) wave.fail(-1, "is not known to the simulator");
      if (executed == instruction_limit_)
        wave.fail(-1, fmt::format("runs for {} instructions without a barrier: does it ever end?", executed));
      if (auto hazard = hazards_.issue(wave.history, *instruction)) wave.fail(-1, *hazard);
      wave.program_counter += static_cast<uint64_t>(instruction->size);
      execute(wave, *instruction);
    } catch (const InstructionFault& fault) {
      throw SimulationFault(report(wave, instruction, fault));
    }
  }
}

uint64_t WorkGroup::latest_wave() const {
  uint64_t latest = 0;
  for (const Wave& wave : waves_) latest = std::max(latest, wave.clock.now());
  return latest;
}

void WorkGroup::pass_barrier() {
  lds.pass_barrier();
  ++counts.barriers;
  const uint64_t now = latest_wave();
  for (Wave& wave : waves_) {
    wave.at_barrier = false;
    wave.clock.set(now);
    // What was not waited for may happen behind the barrier too.
    drop_complete_lds_operations(wave.number());
    for (const LdsOperation& operation : lds_operations_[static_cast<size_t>(wave.number())])
      for (int lane = 0; lane < wave_size; ++lane)
        if (operation.lanes >> lane & 1)
          lds.touch(operation.addresses[static_cast<size_t>(lane)], operation.length, operation.access, wave.number());
  }
}

void WorkGroup::note_lds_operation(const Wave& wave, Queue queue, uint32_t number, LdsAccess access,
                                   const std::array<uint32_t, wave_size>& addresses, LaneBits lanes, uint32_t length) {
  constexpr size_t usual_depth = 32;
  auto& operations = lds_operations_[static_cast<size_t>(wave.number())];
  if (operations.size() >= usual_depth) drop_complete_lds_operations(wave.number());
  if (queue == Queue::vector_memory) loads_into_lds_ = true;
  operations.push_back({queue, number, access, lanes, length, addresses});
}

LdsCycles WorkGroup::cycles_of_lds(const std::array<uint32_t, wave_size>& addresses, LaneBits lanes, uint32_t length,
                                   bool write) {
  const uint32_t slot = (addresses[0] / 4 + 5 * (addresses[wave_size - 1] / 4) + length + write) % 64;
  KnownLdsCycles& known = known_lds_cycles_[slot];
  if (known.length != length || known.write != write || known.lanes != lanes || known.addresses != addresses)
    known = {addresses, lanes, length, write, lds_cycles(addresses, lanes, length, write)};
  return known.cycles;
}

void WorkGroup::drop_complete_lds_operations(int wave) {
  auto& operations = lds_operations_[static_cast<size_t>(wave)];
  std::erase_if(operations, [&](const LdsOperation& operation) {
    return waves_[static_cast<size_t>(wave)].counters.is_complete(operation.queue, operation.number);
  });
}

void WorkGroup::check_lds_arrived(const Wave& wave, int lane, uint32_t address, uint32_t length) const {
  if (!loads_into_lds_) return;
  for (const LdsOperation& operation : lds_operations_[static_cast<size_t>(wave.number())]) {
    if (operation.queue != Queue::vector_memory || wave.counters.is_complete(operation.queue, operation.number))
      continue;
    for (int other = 0; other < wave_size; ++other) {
      if (!(operation.lanes >> other & 1)) continue;
      const uint32_t begin = operation.addresses[static_cast<size_t>(other)];
      if (address < begin + operation.length && begin < address + length)
        wave.fail(lane,
                  fmt::format("touches LDS byte {} before an s_waitcnt vmcnt for the load that fills it", address));
    }
  }
}

const Allocation* WorkGroup::find_allocation(uint64_t address, uint64_t length) {
  if (!last_allocation_ || !last_allocation_->contains(address, length)) {
    const Allocation* found = memory_.find(address, length);
    if (!found) return nullptr;
    last_allocation_ = found;
  }
  return last_allocation_;
}

std::byte* WorkGroup::global_bytes(const Wave& wave, int lane, uint64_t address, uint32_t length, bool write) {
  const Allocation* allocation = find_allocation(address, length);
  if (!allocation)
    wave.fail(lane, fmt::format("{} {} bytes at {:#x}, {}", write ? "writes" : "reads", length, address,
                                memory_.describe(address)));
  return allocation->bytes + (address - allocation->address);
}

FaultReport WorkGroup::report(const Wave& wave, const Instruction* instruction, const InstructionFault& fault) const {
  FaultReport report;
  report.kernel = launch_.kernel->name;
  report.message = fault.what();
  report.instruction = instruction ? instruction->text : "none";
  report.address = module_.to_file_address(instruction ? instruction->address : wave.program_counter);
  if (instruction) report.source_line = module_.code_object().source_line(report.address);
  std::copy(id_.begin(), id_.end(), report.group);
  report.wave = wave.number();
  report.lane = fault.lane;
  return report;
}

}  // namespace gfx942sim
