// One work group at a time on one thread of the host: its waves take turns between barriers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gfx942sim/code/module.h"
#include "gfx942sim/operations/lds_bank_conflicts.h"
#include "gfx942sim/operations/matrix/measured_matrix.h"
#include "gfx942sim/partition.h"
#include "gfx942sim/race_detector.h"
#include "gfx942sim/reports/counts.h"
#include "gfx942sim/wave/lds.h"
#include "gfx942sim/wave/wave.h"

namespace gfx942sim {

struct Launch {
  const Kernel* kernel = nullptr;
  std::array<uint32_t, 3> grid = {1, 1, 1};   // work groups
  std::array<uint32_t, 3> block = {1, 1, 1};  // work items of a group
  uint32_t dynamic_lds_bytes = 0;
  uint64_t reachable_devices = ~uint64_t{0};  // a bit for each whose memory it may touch
  bool needs_natural_alignment = false;       // of each lane's access, by its size

  uint32_t threads() const { return block[0] * block[1] * block[2]; }
};

// The addresses that the dispatcher hands to a kernel in scalar registers.
struct DispatchAddresses {
  uint64_t arguments = 0;
  uint64_t packet = 0;
};

class WorkGroup {
 public:
  WorkGroup(const DeviceMemory& memory, const LoadedModule& module, const Launch& launch, DispatchAddresses addresses,
            uint64_t instruction_limit, RaceDetector& races, uint64_t groups_of_unit = 1);

  // Runs a group to its end, and writes down what its waves do if asked. Throws SimulationFault.
  void run(std::array<uint32_t, 3> id, bool records = false);

  // For the operations.
  Lds lds;
  Counts counts;
  Traffic traffic;
  GroupTrace trace;  // of the last group that was to be recorded
  GroupAccesses accesses;
  MatrixArithmetic matrix_arithmetic = MatrixArithmetic::chains;
  // The bytes at a device address, or a fault of the lane; `stored` are those that a store is to write there.
  std::byte* global_bytes(const Wave& wave, int lane, uint64_t address, uint32_t length, bool write,
                          const void* stored = nullptr);
  const Allocation* find_allocation(uint64_t address, uint64_t length);
  // Faults at an access of a lane that is not aligned to its size, if the launch asks for that.
  void check_alignment(const Wave& wave, int lane, uint64_t address, uint32_t length, bool write) const;
  // Notes an LDS operation until it is waited for, since until then it may still touch LDS.
  void note_lds_operation(const Wave& wave, Queue queue, uint32_t number, LdsAccess access,
                          const std::array<uint32_t, wave_size>& addresses, LaneBits lanes, uint32_t length);
  // The consequences of the addresses of an LDS access; loops ask for the same ones again and again.
  struct LdsPattern {
    LdsCycles cycles;
    bool has_lanes_in_common = false;  // of a write, at one address
  };
  LdsPattern pattern_of_lds(const std::array<uint32_t, wave_size>& addresses, LaneBits lanes, uint32_t length,
                            bool write);
  // Whether LDS is shared at all: a group of one wave has no races.
  bool has_several_waves() const { return waves_.size() > 1; }
  const Program& program() const { return module_.program(); }
  // Faults when an operation of this wave that fills LDS straight from memory is still under way there.
  void check_lds_arrived(const Wave& wave, int lane, uint32_t address, uint32_t length) const;

 private:
  struct LdsOperation {
    Queue queue;
    uint32_t number;
    LdsAccess access;
    LaneBits lanes;
    uint32_t length;
    std::array<uint32_t, wave_size> addresses;
  };

  void set_up(Wave& wave, int number);
  uint64_t number_of_group() const;
  uint64_t entry() const { return module_.to_device_address(launch_.kernel->entry); }
  [[noreturn]] void fail_for_race(const Wave& wave, int lane, uint64_t address, uint32_t length, bool write,
                                  const GroupAccesses::Conflict& conflict) const;
  void run_to_barrier(Wave& wave);
  void execute(Wave& wave, const Instruction& instruction);
  void pass_barrier();
  uint64_t latest_wave() const;
  void drop_complete_lds_operations(int wave);
  FaultReport report(const Wave& wave, const Instruction* instruction, const InstructionFault& fault) const;

  const DeviceMemory& memory_;
  const LoadedModule& module_;
  Launch launch_;
  DispatchAddresses addresses_;
  uint64_t instruction_limit_;
  std::array<uint32_t, 3> id_{};
  std::vector<Wave> waves_;
  HazardChecker hazards_;
  std::vector<std::vector<LdsOperation>> lds_operations_;  // of each wave
  bool loads_into_lds_ = false;                            // whether any instruction of the group does
  struct KnownLdsPattern {
    std::array<uint32_t, wave_size> addresses{};
    LaneBits lanes = 0;
    uint32_t length = 0;
    bool write = false;
    LdsPattern pattern;
  };
  std::array<KnownLdsPattern, 64> known_lds_patterns_;
  const Allocation* last_allocation_ = nullptr;
  bool detects_races_;
};

}  // namespace gfx942sim
