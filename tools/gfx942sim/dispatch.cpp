#include "gfx942sim/dispatch.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <mutex>
#include <system_error>
#include <thread>

#include "gfx942sim/partition.h"
#include "gfx942sim/reports/shared_caches.h"
#include "gfx942sim/reports/time_model.h"
#include "machine/gpu_machine.h"
#include "machine/gpu_timing.h"
#include "support/diagnostics.h"

namespace gfx942sim {
namespace {

using onnxc::user_check;

constexpr uint32_t lds_limit = onnxc::machine::gfx942.lds_bytes;
constexpr uint32_t thread_limit = onnxc::machine::gfx942.threads_of_block;

void check_geometry(const Launch& launch) {
  const std::string& name = launch.kernel->name;
  uint64_t threads = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint64_t grid = launch.grid[axis], block = launch.block[axis];
    user_check(grid > 0 && block > 0, "kernel {}: the launch has {} blocks of {} threads along axis {}", name, grid,
               block, axis);
    user_check(grid * block < uint64_t{1} << 32,
               "kernel {}: {} blocks of {} threads along axis {} are not below 2^32 threads", name, grid, block, axis);
    threads *= block;
    user_check(threads <= thread_limit, "kernel {}: a block of {} x {} x {} threads is above the limit of {}", name,
               launch.block[0], launch.block[1], launch.block[2], thread_limit);
  }
  user_check(threads <= launch.kernel->max_threads,
             "kernel {}: a block of {} threads, but it was compiled for at most {}", name, threads,
             launch.kernel->max_threads);
  const uint64_t lds = uint64_t{launch.kernel->lds_bytes} + launch.dynamic_lds_bytes;
  user_check(lds <= lds_limit, "kernel {}: {} bytes of LDS are above the limit of {}", name, lds, lds_limit);
}

// How many bytes of arguments the host has to give.
uint32_t explicit_bytes(const Kernel& kernel) {
  uint32_t end = 0;
  for (const KernelArgument& argument : kernel.arguments)
    if (!argument.kind.starts_with("hidden_")) end = std::max(end, argument.offset + argument.size);
  return end;
}

struct HiddenArgument {
  std::string_view kind;
  uint64_t value;
};

// The kernel-argument segment: what the host packed, and the hidden arguments that the kernel asks for.
std::vector<std::byte> argument_segment(const Launch& launch, std::span<const std::byte> explicit_arguments) {
  const Kernel& kernel = *launch.kernel;
  std::vector<std::byte> segment(kernel.argument_bytes);
  std::memcpy(segment.data(), explicit_arguments.data(), std::min(segment.size(), explicit_arguments.size()));
  const uint64_t dimensions = launch.grid[2] * launch.block[2] > 1 ? 3 : launch.grid[1] * launch.block[1] > 1 ? 2 : 1;
  const HiddenArgument hidden[] = {
      {"hidden_block_count_x", launch.grid[0]},
      {"hidden_block_count_y", launch.grid[1]},
      {"hidden_block_count_z", launch.grid[2]},
      {"hidden_group_size_x", launch.block[0]},
      {"hidden_group_size_y", launch.block[1]},
      {"hidden_group_size_z", launch.block[2]},
      {"hidden_remainder_x", 0},
      {"hidden_remainder_y", 0},
      {"hidden_remainder_z", 0},
      {"hidden_global_offset_x", 0},
      {"hidden_global_offset_y", 0},
      {"hidden_global_offset_z", 0},
      {"hidden_grid_dims", dimensions},
      {"hidden_dynamic_lds_size", launch.dynamic_lds_bytes},
  };
  for (const KernelArgument& argument : kernel.arguments)
    for (const HiddenArgument& value : hidden)
      if (argument.kind == value.kind && argument.size <= 8 && argument.offset + argument.size <= segment.size())
        std::memcpy(segment.data() + argument.offset, &value.value, argument.size);
  return segment;
}

// An AQL kernel dispatch packet's fields that kernels read: sizes of the work group and of the grid.
std::array<std::byte, 64> dispatch_packet(const Launch& launch) {
  std::array<std::byte, 64> packet{};
  for (size_t axis = 0; axis < 3; ++axis) {
    const auto block = static_cast<uint16_t>(launch.block[axis]);
    const uint32_t items = launch.grid[axis] * launch.block[axis];
    std::memcpy(packet.data() + 4 + 2 * axis, &block, sizeof block);
    std::memcpy(packet.data() + 12 + 4 * axis, &items, sizeof items);
  }
  return packet;
}

// An allocation that lives as long as the launch.
class LaunchBuffer {
 public:
  LaunchBuffer(DeviceMemory& memory, std::span<const std::byte> content, const std::string& label, bool arguments)
      : memory_(memory), allocation_(memory.allocate(content.size(), label)) {
    user_check(allocation_ != nullptr, "the device has no room for {}", label);
    std::memcpy(allocation_->bytes, content.data(), content.size());
    if (arguments) memory.mark_kernel_arguments(allocation_->address);
  }
  ~LaunchBuffer() { memory_.release(allocation_->address); }
  LaunchBuffer(const LaunchBuffer&) = delete;
  LaunchBuffer& operator=(const LaunchBuffer&) = delete;
  uint64_t address() const { return allocation_->address; }

 private:
  DeviceMemory& memory_;
  const Allocation* allocation_;
};

SharedCaches::Shape shape_of_caches(const Partition& partition, uint64_t groups_of_unit) {
  return {.dies = partition.gpu.xcds,
          .lines_of_l2 = static_cast<uint64_t>(partition.gpu.l2_bytes) / line_bytes,
          .lines_of_infinity_cache = static_cast<uint64_t>(onnxc::machine::mi300x_timing.infinity_cache_bytes) /
                                     static_cast<uint64_t>(partition.devices) / line_bytes,
          .groups_at_once = static_cast<uint64_t>(partition.gpu.compute_units) * groups_of_unit};
}

void count_lines(const Traffic& traffic, const SharedCaches& caches, Counts& counts) {
  counts.l1_misses = traffic.l1_misses();
  counts.first_touches = traffic.first_touches();
  counts.different_loaded_lines = traffic.different_loaded_lines();
  counts.different_stored_lines = traffic.different_stored_lines();
  counts.lines_of_l2 = caches.loaded_into_l2();
  counts.lines_of_memory = caches.loaded_from_memory();
  counts.written_lines = caches.written_back();
  counts.dirty_lines = caches.dirty_lines();
}

// The time that a core has spent on this thread.
double seconds_of_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The first fault in the grid's order, whatever the order in which threads meet faults: groups after it need not run.
class FirstFault {
 public:
  bool concerns(uint64_t group) const { return group < limit_.load(std::memory_order_relaxed); }
  void report(uint64_t group, std::exception_ptr fault) {
    std::lock_guard lock(mutex_);
    if (group >= limit_) return;
    limit_ = group;
    fault_ = std::move(fault);
  }
  void rethrow() const {
    if (fault_) std::rethrow_exception(fault_);
  }

 private:
  std::mutex mutex_;
  std::atomic<uint64_t> limit_ = ~uint64_t{0};
  std::exception_ptr fault_;
};

}  // namespace

void check_launch(const Launch& launch, size_t argument_bytes) {
  check_geometry(launch);
  const uint32_t needed = explicit_bytes(*launch.kernel);
  user_check(argument_bytes >= needed, "kernel {} takes {} bytes of arguments, but is given {}", launch.kernel->name,
             needed, argument_bytes);
}

Counts dispatch(DeviceMemory& memory, const LoadedModule& module, const Launch& launch,
                std::span<const std::byte> explicit_arguments, const DispatchOptions& options) {
  check_launch(launch, explicit_arguments.size());
  const LaunchBuffer arguments(memory, argument_segment(launch, explicit_arguments), "the kernel's arguments", true);
  const LaunchBuffer packet(memory, dispatch_packet(launch), "the dispatch packet", false);

  const uint64_t groups = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  std::atomic<uint64_t> next_group = 0;
  FirstFault first_fault;
  RaceDetector races(options.races);
  const MatrixArithmetic matrix_arithmetic = matrix_arithmetic_from_environment();
  Counts total;
  const Partition partition = partition_from_environment();
  const auto units = static_cast<uint64_t>(partition.gpu.compute_units);
  const uint64_t groups_of_unit = std::min(occupancy(launch).groups_per_unit, (groups + units - 1) / units);
  const uint64_t recorded = groups / 2;  // one that is not at an edge
  Traffic traffic(groups_of_unit);
  SharedCaches caches(shape_of_caches(partition, groups_of_unit), recorded);
  std::mutex total_mutex;
  GroupTrace trace;
  auto work = [&] {
    const double start = seconds_of_thread();
    WorkGroup group(memory, module, launch, {arguments.address(), packet.address()}, options.instruction_limit, races,
                    groups_of_unit);
    group.matrix_arithmetic = matrix_arithmetic;
    for (uint64_t i = next_group++; i < groups && first_fault.concerns(i); i = next_group++) {
      const auto x = static_cast<uint32_t>(i % launch.grid[0]);
      const auto y = static_cast<uint32_t>(i / launch.grid[0] % launch.grid[1]);
      const auto z = static_cast<uint32_t>(i / launch.grid[0] / launch.grid[1]);
      try {
        group.run({x, y, z}, i == recorded);
        if (i == recorded) trace = std::move(group.trace);
        caches.add(i, std::move(group.traffic.touches()));
      } catch (...) {
        first_fault.report(i, std::current_exception());
      }
    }
    group.counts.simulation_seconds = seconds_of_thread() - start;
    std::lock_guard lock(total_mutex);
    total.add(group.counts);
    traffic.add(group.traffic);
  };

  const uint64_t available =
      options.threads > 0 ? static_cast<uint64_t>(options.threads) : std::max(1U, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> threads;
    try {
      for (uint64_t i = 1; i < std::min(available, groups); ++i) threads.emplace_back(work);
    } catch (const std::system_error&) {  // a limit on processes: the others do the work
    }
    work();
  }
  first_fault.rethrow();
  count_lines(traffic, caches, total);
  trace.first_touch_latencies = caches.recorded_latencies();
  total.unit_cycles = unit_cycles(launch, total, trace);
  return total;
}

}  // namespace gfx942sim
