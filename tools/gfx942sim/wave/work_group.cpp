#include "gfx942sim/wave/work_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gfx942sim/operations/lane_conflicts.h"
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

// Atomics, and loads and stores that go past the caches of one compute unit or XCD.
bool is_atomic_access(const Instruction& instruction) {
  return instruction.sc1 || (instruction.operation != nullptr && instruction.operation->is_atomic);
}

constexpr uint32_t preload_entry_offset = 256;  // the beginning of kernels that find their arguments in registers

}  // namespace

WorkGroup::WorkGroup(const DeviceMemory& memory, const LoadedModule& module, const Launch& launch,
                     DispatchAddresses addresses, uint64_t instruction_limit, RaceDetector& races,
                     uint64_t groups_of_unit)
    : traffic(groups_of_unit),
      accesses(races, (launch.threads() + wave_size - 1) / wave_size),
      memory_(memory),
      module_(module),
      launch_(launch),
      addresses_(addresses),
      instruction_limit_(instruction_limit),
      waves_((launch.threads() + wave_size - 1) / wave_size),
      hazards_(module.program().instructions()),
      lds_operations_(waves_.size()),
      detects_races_(races.races() != Races::none) {
  accesses.set_instructions(
      [](const void* group, uint32_t number) {
        const auto& self = *static_cast<const WorkGroup*>(group);
        const Instruction* found = self.program().find(self.entry() + 4 * uint64_t{number});
        return found == nullptr || is_atomic_access(*found);
      },
      this);
}

void WorkGroup::run(std::array<uint32_t, 3> id, bool records) {
  id_ = id;
  accesses.begin_group(number_of_group());
  lds.reset(launch_.kernel->lds_bytes + launch_.dynamic_lds_bytes);
  for (size_t i = 0; i < waves_.size(); ++i) set_up(waves_[i], static_cast<int>(i));
  if (records) {
    trace.waves.assign(waves_.size(), {});
    for (size_t i = 0; i < waves_.size(); ++i) waves_[i].clock.record(&trace.waves[i]);
  }
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
      if (records) trace.cycles = latest_wave();
      for (const Wave& wave : waves_)
        counts.longest_wave_accesses = std::max(counts.longest_wave_accesses, wave.memory_accesses);
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
  wave.program_counter = entry();

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
  if (unit == Unit::vector_memory) ++wave.memory_accesses;
  if (detects_races_ && (unit == Unit::vector_memory || unit == Unit::scalar_memory))
    accesses.begin_instruction(wave.number(), (instruction.address - entry()) / 4, is_atomic_access(instruction));
  if (wave.indexing.operands != 0 && unit == Unit::vector)
    instruction.operation->execute(wave, with_indexed_registers(wave, instruction));
  else
    instruction.operation->execute(wave, instruction);
  if (unit == Unit::lds) wave.clock.begin_lds(counts.lds_cycles - lds_cycles);
  if (wave.at_barrier) wave.clock.reach_barrier();
  if (unit == Unit::scalar_memory) wave.clock.begin_scalar_memory();
}

void WorkGroup::run_to_barrier(Wave& wave) {
  for (uint64_t executed = 0; !wave.ended && !wave.at_barrier; ++executed) {
    const Instruction* instruction = program().find(wave.program_counter);
    try {
      if (!instruction)
        wave.fail(-1, fmt::format("jumps to {:#x}, at which no instruction begins",
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
  accesses.pass_barrier(waves_, memory_);
  ++counts.barriers;
  const uint64_t now = latest_wave();
  for (Wave& wave : waves_) {
    wave.at_barrier = false;
    wave.clock.set(now);
    // Accesses that were not waited for may happen after the barrier too.
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

WorkGroup::LdsPattern WorkGroup::pattern_of_lds(const std::array<uint32_t, wave_size>& addresses, LaneBits lanes,
                                                uint32_t length, bool write) {
  const uint32_t slot = (addresses[0] / 4 + 5 * (addresses[wave_size - 1] / 4) + length + write) % 64;
  KnownLdsPattern& known = known_lds_patterns_[slot];
  if (known.length != length || known.write != write || known.lanes != lanes || known.addresses != addresses)
    known = {addresses,
             lanes,
             length,
             write,
             {lds_cycles(addresses, lanes, length, write), write && have_lanes_in_common(addresses, lanes)}};
  return known.pattern;
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

std::byte* WorkGroup::global_bytes(const Wave& wave, int lane, uint64_t address, uint32_t length, bool write,
                                   const void* stored) {
  const Allocation* allocation = find_allocation(address, length);
  if (!allocation)
    wave.fail(lane, fmt::format("{} {} bytes at {:#x}, {}", write ? "writes" : "reads", length, address,
                                memory_.describe(address)));
  if (allocation->device != any_device && !(launch_.reachable_devices >> allocation->device & 1))
    wave.fail(lane,
              fmt::format("{} {} bytes at {:#x}, {}, which is memory of device {}: there is no peer access to it",
                          write ? "writes" : "reads", length, address, memory_.describe(address), allocation->device));
  if (detects_races_)
    if (const auto conflict = accesses.touch(*allocation, address, length, write, stored))
      fail_for_race(wave, lane, address, length, write, *conflict);
  return allocation->bytes + (address - allocation->address);
}

void WorkGroup::check_alignment(const Wave& wave, int lane, uint64_t address, uint32_t length, bool write) const {
  if (!launch_.needs_natural_alignment) return;
  const uint32_t alignment = length & -length;  // three words are aligned to one
  if (address % alignment == 0) return;
  wave.fail(lane, fmt::format("{} {} bytes at {:#x}, which is not a multiple of {}; {}", write ? "writes" : "reads",
                              length, address, alignment, memory_.describe(address)));
}

uint64_t WorkGroup::number_of_group() const {
  return id_[0] + uint64_t{launch_.grid[0]} * (id_[1] + uint64_t{launch_.grid[1]} * id_[2]);
}

void WorkGroup::fail_for_race(const Wave& wave, int lane, uint64_t address, uint32_t length, bool write,
                              const GroupAccesses::Conflict& conflict) const {
  const AccessTag other = conflict.other;
  const uint64_t group = other.group(), columns = launch_.grid[0], rows = launch_.grid[1];
  std::string who = "several work groups";
  if (group != AccessTag::several_groups) {
    who = other.wave() == AccessTag::several_waves ? "several waves" : fmt::format("wave {}", other.wave());
    who += fmt::format(" of work group {},{},{}", group % columns, group / columns % rows, group / columns / rows);
  }
  const Instruction* found = program().find(entry() + 4 * uint64_t{other.instruction()});
  const std::string how = found == nullptr || other.instruction() == AccessTag::unknown_instruction
                              ? "an instruction outside of the kernel"
                              : fmt::format("{} at {:#x}", found->text, module_.to_file_address(found->address));
  const char* lacking = group == number_of_group() ? "a barrier, and an s_waitcnt vmcnt before it,"
                                                   : "a release and an acquire at agent scope";
  wave.fail(lane, fmt::format("{} {} bytes at {:#x}, {}, which {} {} ({}), without {} between",
                              write ? "writes" : "reads", length, address, memory_.describe(address), who,
                              conflict.other_writes ? "wrote" : "read", how, lacking));
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
