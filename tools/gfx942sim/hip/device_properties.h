// The properties that the simulated GPU reports: an MI300X, or a part of one (partition.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace gfx942sim::hip {

inline constexpr const char* device_name = "AMD Instinct MI300X (gfx942sim)";
inline constexpr const char* architecture_name = "gfx942:sramecc+:xnack-";

// hipDeviceProp_t as HIP 6 and later lay it out (hipDeviceProp_tR0600). The headers of HIP 5, which we build with, have
// an older one.
struct DeviceProperties {
  char name[256];
  char uuid[16];
  char luid[8];
  uint32_t luid_device_node_mask;
  size_t total_global_memory;
  size_t shared_memory_per_block;
  int32_t registers_per_block, warp_size;
  size_t memory_pitch;
  int32_t max_threads_per_block, max_threads_dim[3], max_grid_size[3], clock_rate;
  size_t total_constant_memory;
  int32_t major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  int32_t device_overlap, multiprocessor_count, kernel_timeout_enabled, integrated, can_map_host_memory, compute_mode;
  int32_t textures_and_surfaces[40];
  size_t surface_alignment;
  int32_t concurrent_kernels, ecc_enabled, pci_bus_id, pci_device_id, pci_domain_id, tcc_driver, async_engine_count,
      unified_addressing, memory_clock_rate, memory_bus_width, l2_cache_size, persisting_l2_cache_max_size,
      max_threads_per_multiprocessor, stream_priorities_supported, global_l1_cache_supported, local_l1_cache_supported;
  size_t shared_memory_per_multiprocessor;
  int32_t registers_per_multiprocessor, managed_memory, is_multi_gpu_board, multi_gpu_board_group_id,
      host_native_atomic_supported, single_to_double_ratio, pageable_memory_access, concurrent_managed_access,
      compute_preemption_supported, can_use_host_pointer, cooperative_launch, cooperative_multi_device_launch;
  size_t shared_memory_per_block_optin;
  int32_t pageable_uses_host_tables, direct_managed_access, max_blocks_per_multiprocessor, access_policy_max_window;
  size_t reserved_shared_memory_per_block;
  int32_t memory_features[13];
  int32_t reserved[63], hip_reserved[32];
  char architecture[256];
  size_t max_shared_memory_per_multiprocessor;
  int32_t clock_instruction_rate;
  uint32_t architecture_flags;
  uint32_t *hdp_memory_flush, *hdp_register_flush;
  int32_t cooperative_unmatched[4], is_large_bar, asic_revision;
};
static_assert(offsetof(DeviceProperties, architecture) == 1160 && sizeof(DeviceProperties) == 1472);

}  // namespace gfx942sim::hip
