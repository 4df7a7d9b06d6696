// Measured rates: whose they are, and what a part of a card has of them.
#include "machine/gpu_timing.h"

#include <gtest/gtest.h>

#include "machine/gpu_machines.h"

namespace onnxc::machine {
namespace {

TEST(GpuTiming, APartHasItsShare) {
  const GpuTiming whole = *timing_of(mi300x), part = *timing_of(mi300x_cpx), mi300a_timing = *timing_of(mi300a);
  EXPECT_DOUBLE_EQ(8 * part.l2_bytes_a_second, whole.l2_bytes_a_second);
  EXPECT_DOUBLE_EQ(8 * part.infinity_cache_bytes_a_second, whole.infinity_cache_bytes_a_second);
  EXPECT_DOUBLE_EQ(8 * part.memory_bytes_a_second, whole.memory_bytes_a_second);
  // Six dies of eight, and the same memory.
  EXPECT_DOUBLE_EQ(mi300a_timing.l2_bytes_a_second, 0.75 * whole.l2_bytes_a_second);
  EXPECT_DOUBLE_EQ(mi300a_timing.memory_bytes_a_second, whole.memory_bytes_a_second);
}

TEST(GpuTiming, WhatIsReachedIsBelowThePeak) {
  for (const GpuMachine& gpu : gpu_machines) {
    EXPECT_LE(reached_memory_bytes_a_second(gpu), gpu.memory_bytes_a_second) << gpu.name;
    const std::optional<GpuTiming> timing = timing_of(gpu);
    EXPECT_EQ(timing.has_value(), std::string_view(gpu.architecture) == "gfx942") << gpu.name;
    if (!timing) continue;
    EXPECT_LT(timing->l2_bytes_a_second, 1e6 * gpu.clock_megahertz * gpu.xcds * gpu.l2_bytes_a_cycle) << gpu.name;
    EXPECT_LT(timing->memory_bytes_a_second, timing->infinity_cache_bytes_a_second) << gpu.name;
    EXPECT_LT(timing->infinity_cache_bytes_a_second, timing->l2_bytes_a_second) << gpu.name;
  }
}

}  // namespace
}  // namespace onnxc::machine
