#include "gfx942sim/reports/time_model.h"

#include <algorithm>
#include <cmath>

#include "gfx942sim/partition.h"
#include "gfx942sim/reports/unit_replay.h"
#include "machine/gpu_timing.h"

namespace gfx942sim {
namespace {

namespace machine = onnxc::machine;
using machine::gfx942;

constexpr double clock_megahertz = gfx942.clock_megahertz, simds = gfx942.simds;
constexpr uint64_t registers_per_simd = gfx942.registers, register_granule = gfx942.register_granule,
                   waves_per_simd_limit = gfx942.waves_per_simd, lds_bytes = gfx942.lds_bytes,
                   lds_granule = gfx942.lds_granule;
constexpr machine::GpuTiming timing = machine::mi300x_timing;
constexpr double bytes_a_cycle(double bytes_a_second) { return bytes_a_second / (1e6 * clock_megahertz); }
// Bytes a cycle: of L1 for a compute unit, of the others for the whole card.
constexpr double l1_rate = gfx942.l1_bytes_a_cycle, l2_rate = bytes_a_cycle(timing.l2_bytes_a_second),
                 infinity_cache_rate = bytes_a_cycle(timing.infinity_cache_bytes_a_second),
                 memory_rate = bytes_a_cycle(timing.memory_bytes_a_second);

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

double lines_to_bytes(uint64_t lines) { return static_cast<double>(lines) * line_bytes; }

}  // namespace

Occupancy occupancy(const Launch& launch) {
  const Kernel& kernel = *launch.kernel;
  // Vector registers and accumulators share a file; accumulators begin after the last of four.
  const uint64_t registers =
      round_up(round_up(static_cast<uint64_t>(kernel.vector_registers), 4) + static_cast<uint64_t>(kernel.accumulators),
               register_granule);
  Occupancy result;
  result.waves_per_simd = std::min(waves_per_simd_limit, registers_per_simd / std::max<uint64_t>(registers, 1));
  const uint64_t waves = (launch.threads() + wave_size - 1) / wave_size;
  result.groups_per_unit = std::max<uint64_t>(1, result.waves_per_simd * static_cast<uint64_t>(simds) / waves);
  const uint64_t lds = round_up(kernel.lds_bytes + launch.dynamic_lds_bytes, lds_granule);
  if (lds > 0) result.groups_per_unit = std::min(result.groups_per_unit, std::max<uint64_t>(1, lds_bytes / lds));
  return result;
}

const char* to_text(Bound bound) {
  constexpr const char* names[bound_count] = {"matrix", "power", "vector",         "scalar", "lds",
                                              "l1",     "l2",    "infinity_cache", "memory", "latency"};
  return names[static_cast<int>(bound)];
}

double ModelledTime::microseconds() const { return total_cycles() / clock_megahertz; }

ModelledTime modelled_time(const Launch& launch, const Counts& counts) {
  const Partition partition = partition_from_environment();
  const double compute_units = partition.gpu.compute_units;
  const double groups = static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  const double groups_of_unit = std::ceil(groups / compute_units);  // of the busiest
  const double share = groups_of_unit / groups;
  const auto resident = static_cast<double>(occupancy(launch).groups_per_unit);
  const double waves_of_group = std::ceil(launch.threads() / static_cast<double>(wave_size));
  const double busy_simds = std::min(simds, waves_of_group * std::min(resident, groups_of_unit));

  const auto matrix = static_cast<double>(counts.cycles_of_unit(Unit::matrix));
  const auto exclusive = static_cast<double>(counts.exclusive_matrix_cycles());
  const auto vector =
      static_cast<double>(counts.cycles_of_unit(Unit::vector) + counts.cycles_of_unit(Unit::transcendental));
  ModelledTime time;
  auto set = [&](Bound bound, double cycles) { time.cycles[static_cast<int>(bound)] = cycles; };
  // Matrix instructions on float32 and float64 leave the vector unit no cycles; the others run beside it.
  const bool vector_waits = exclusive > 0;
  set(Bound::matrix, (matrix + (vector_waits && exclusive >= vector ? vector : 0)) * share / busy_simds);
  set(Bound::vector, (vector + (vector_waits && exclusive < vector ? exclusive : 0)) * share / busy_simds);
  // The scheduler turns to one SIMD a cycle and issues one scalar instruction or load there.
  set(Bound::scalar, static_cast<double>(counts.of_unit(Unit::scalar) + counts.of_unit(Unit::scalar_memory)) * share);
  set(Bound::lds, static_cast<double>(counts.lds_cycles) * share);
  set(Bound::l1, lines_to_bytes(counts.load_lines + counts.store_lines) * share / l1_rate);
  set(Bound::l2, lines_to_bytes(counts.l1_misses + counts.store_lines) / (partition.share() * l2_rate));
  const uint64_t written = counts.written_lines + counts.dirty_lines;
  set(Bound::infinity_cache, lines_to_bytes(counts.lines_of_l2 + written) / (partition.share() * infinity_cache_rate));
  set(Bound::memory, lines_to_bytes(counts.lines_of_memory + written) / (partition.share() * memory_rate));
  // Products of 16 and 8 bits by themselves take all power, and so does memory: a kernel with both adds them.
  const double half_products = (matrix - exclusive) / (compute_units * simds * timing.sustained_products);
  if (half_products > 0) set(Bound::power, half_products + time.cycles[static_cast<int>(Bound::memory)]);
  const double of_unit = static_cast<double>(counts.group_cycles) / groups * std::ceil(groups_of_unit / resident);
  set(Bound::latency, counts.unit_cycles > 0 ? counts.unit_cycles : of_unit);
  const double *last = time.cycles + static_cast<int>(Bound::latency), *first = time.cycles;
  const double* unit = std::max_element(first, last);
  if (*last <= 1.25 * *unit) time.bound = static_cast<Bound>(unit - time.cycles);
  return time;
}

double unit_cycles(const Launch& launch, const Counts& counts, const GroupTrace& group) {
  if (group.cycles == 0) return 0;
  const machine::GpuMachine gpu = partition_from_environment().gpu;
  const uint64_t groups = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2],
                 units = static_cast<uint64_t>(gpu.compute_units);
  // L2 has to be given some of the lines that groups have not had before, and memory has to bring some of those. Stored
  // lines leave L2 in the course of the kernel, but for the last, which it writes back at the end.
  const double share = partition_from_environment().share(), of_unit = share / static_cast<double>(units),
               touches = std::max(1.0, static_cast<double>(counts.first_touches));
  const double beyond = std::max(lines_to_bytes(counts.lines_of_l2 + counts.written_lines) / infinity_cache_rate,
                                 lines_to_bytes(counts.lines_of_memory + counts.written_lines) / memory_rate);
  const LineCycles lines{line_bytes / l1_rate, line_bytes / (of_unit * l2_rate), beyond / touches / of_unit};
  const double cycles = unit_cycles(group, {(groups + units - 1) / units, occupancy(launch).groups_per_unit}, lines);
  // The other groups may have more or less to do.
  const double work = static_cast<double>(counts.group_cycles) / static_cast<double>(groups * group.cycles);
  return cycles * work + lines_to_bytes(counts.dirty_lines) / (share * memory_rate);
}

}  // namespace gfx942sim
