// The simulator's counts, and the time that it derives, on kernels whose counts are plain.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gfx942sim/kernel_tools.h"
#include "gfx942sim/reports/time_model.h"

namespace gfx942sim {
namespace {

// v1: 4 * work item; s[4:5] and s[6:7]: two buffers.
const std::string prologue = "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n";

std::string repeat(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// A read of LDS: lane i reads at i * stride.
AssemblyKernel lds_read(const std::string& name, int stride, const std::string& instruction) {
  return {name,
          fmt::format("v_mul_u32_u24 v1, {}, v0\nv_mov_b32 v2, 0\nv_mov_b32 v3, 0\nv_mov_b32 v4, 0\nv_mov_b32 v5, 0\n"
                      "ds_write_b128 v1, v[2:5]\ns_waitcnt lgkmcnt(0)\n{}\ns_waitcnt lgkmcnt(0)",
                      stride, instruction),
          65536};
}

const std::vector<AssemblyKernel> kernels = {
    {"nothing", ""},
    {"matrix", "v_mov_b32 v1, 0\ns_nop 4\n" + repeat("v_mfma_f32_32x32x2_f32 a[0:15], v1, v1, 0\n", 100)},
    {"vector", "v_mov_b32 v1, 0\n" + repeat("v_add_u32 v1, v1, v1\n", 100)},
    {"half_matrix", "v_mov_b32 v2, 0\nv_mov_b32 v3, 0\ns_nop 4\n" +
                        repeat("v_mfma_f32_32x32x8_f16 a[0:15], v[2:3], v[2:3], 0\n", 100)},
    {"scalar", "s_mov_b32 s4, 0\n" + repeat("s_add_u32 s4, s4, 1\n", 99)},
    {"load", prologue + "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)"},
    {"load_twice", prologue + "global_load_dword v2, v1, s[4:5]\nglobal_load_dword v3, v1, s[4:5]\ns_waitcnt vmcnt(0)"},
    {"loads_in_turn", prologue + "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n"
                                 "global_load_dword v3, v1, s[4:5] offset:256\ns_waitcnt vmcnt(0)"},
    {"scattered", prologue + "v_lshlrev_b32 v1, 7, v0\nglobal_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n"
                             "global_store_dword v1, v2, s[6:7]"},
    {"unequal_waves", "v_mov_b32 v1, 0\nv_readfirstlane_b32 s4, v0\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 1f\n" +
                          repeat("v_add_u32 v1, v1, v1\n", 200) + "1:\ns_barrier"},
    lds_read("lds_free", 16, "ds_read_b128 v[8:11], v1"),
    lds_read("lds_padded_rows", 80, "ds_read_b128 v[8:11], v1"),
    lds_read("lds_conflicts", 128, "ds_read_b128 v[8:11], v1"),
    lds_read("lds_words", 256, "ds_read_b32 v8, v1"),
};

class Counting : public testing::Test {
 protected:
  static Device& device() {
    static Device shared(assemble(kernels));
    return shared;
  }
  static Counts run(const std::string& kernel, uint32_t grid = 1, uint32_t block = 64) {
    static const uint64_t in = device().upload(std::vector<uint32_t>(4096, 1));
    static const uint64_t out = device().upload(std::vector<uint32_t>(4096, 1));
    return device().run(kernel, grid, block, in, out);
  }
  static Launch launch(const std::string& kernel, uint32_t grid = 1, uint32_t block = 64) {
    return {device().module().code_object().find_kernel(kernel), {grid, 1, 1}, {block, 1, 1}, 0};
  }
};

TEST_F(Counting, InstructionsAndOperations) {
  const Counts counts = run("matrix", 3, 128);
  EXPECT_EQ(counts.waves, 6U);
  EXPECT_EQ(counts.of_unit(Unit::matrix), 600U);
  EXPECT_EQ(counts.of_unit(Unit::vector), 6U);
  EXPECT_EQ(counts.matrix_flops(), 600U * 2 * 32 * 32 * 2);
  EXPECT_EQ(counts.cycles_of_unit(Unit::matrix), 600U * 64);
  EXPECT_EQ(counts.exclusive_matrix_cycles(), 600U * 64);
}

TEST_F(Counting, CacheLines) {
  const Counts once = run("load");
  EXPECT_EQ(once.loaded_bytes, 256U + 16);  // and the arguments
  EXPECT_EQ(once.load_lines, 2U);
  EXPECT_EQ(once.l1_misses, 2U);
  EXPECT_EQ(once.different_loaded_lines, 2U);
  const Counts twice = run("load_twice", 2);  // two groups, each with an empty L1
  EXPECT_EQ(twice.load_lines, 8U);
  EXPECT_EQ(twice.l1_misses, 4U);
  EXPECT_EQ(twice.different_loaded_lines, 2U);
  EXPECT_EQ(twice.lines_of_l2, 4U);                  // of two dies
  EXPECT_EQ(run("load_twice", 9).lines_of_l2, 16U);  // the ninth group is on the first again
  EXPECT_EQ(run("load_twice", 9).first_touches, 18U);
  const Counts scattered = run("scattered");
  EXPECT_EQ(scattered.load_lines, 64U);
  EXPECT_EQ(scattered.different_loaded_lines, 64U);
  EXPECT_EQ(scattered.store_lines, 64U);
  EXPECT_EQ(scattered.different_stored_lines, 64U);
}

TEST_F(Counting, BankConflicts) {
  // The read of 16 bytes a lane takes eight phases, and so would the write, but for its addresses on the way in.
  EXPECT_EQ(run("lds_free").lds_cycles, 8U + 10);
  EXPECT_EQ(run("lds_free").lds_conflict_cycles, 0U);
  EXPECT_EQ(run("lds_padded_rows").lds_conflict_cycles, 0U);
  // Eight lanes 128 bytes apart meet in the same four banks.
  EXPECT_EQ(run("lds_conflicts").lds_cycles, 2 * 64U);
  EXPECT_EQ(run("lds_conflicts").lds_conflict_cycles, 2 * 56U);
  // Single words take two phases of 32 lanes; the write as above.
  EXPECT_EQ(run("lds_words").lds_cycles, 64U + 64U);
}

TEST_F(Counting, TimeOfAGroupAlone) {
  EXPECT_EQ(run("vector").group_cycles, 4U * 102);               // and s_endpgm
  EXPECT_EQ(run("matrix").group_cycles, 24U + 99 * 64 + 4 + 4);  // each waits for the one before
  const uint64_t before = 3 * 4 + scalar_load_latency;
  const uint64_t latency = load_latency(LineSource::first_touch);
  EXPECT_NEAR(static_cast<double>(run("load").group_cycles), static_cast<double>(before + latency), 20);
  EXPECT_NEAR(static_cast<double>(run("load_twice").group_cycles), static_cast<double>(before + latency), 20);
  EXPECT_NEAR(static_cast<double>(run("loads_in_turn").group_cycles), static_cast<double>(before + 2 * latency), 20);
  // The other wave waits at the barrier.
  EXPECT_NEAR(static_cast<double>(run("unequal_waves", 1, 128).group_cycles), 4 * 207, 8);
}

TEST_F(Counting, WhatOneThreadDoesInTurn) {
  EXPECT_EQ(run("load", 3, 128).longest_wave_accesses, 1U);
  EXPECT_EQ(run("loads_in_turn", 2).longest_wave_accesses, 2U);
  EXPECT_EQ(run("vector").longest_wave_accesses, 0U);
}

TEST_F(Counting, Occupancy) {
  // 64 vector registers and 64 accumulators: four waves of 512 registers.
  EXPECT_EQ(occupancy(launch("matrix")).waves_per_simd, 4U);
  EXPECT_EQ(occupancy(launch("matrix", 1, 256)).groups_per_unit, 4U);
  EXPECT_EQ(occupancy(launch("lds_free")).groups_per_unit, 1U);
}

TEST_F(Counting, ModelledTimeIsTheLargestBound) {
  // A load by itself: its latency. Many groups: the matrix cores.
  const ModelledTime alone = modelled_time(launch("load"), run("load"));
  EXPECT_EQ(alone.bound, Bound::latency);
  const ModelledTime many = modelled_time(launch("matrix", 304 * 8, 256), run("matrix", 304 * 8, 256));
  EXPECT_EQ(many.bound, Bound::matrix);
  // Eight groups of four waves on four SIMDs, and the vector unit's two instructions.
  EXPECT_DOUBLE_EQ(many.total_cycles(), 8 * (100 * 64 + 4));
  EXPECT_DOUBLE_EQ(many.microseconds(), many.total_cycles() / 2100);
  EXPECT_EQ(modelled_time(launch("vector", 304 * 8, 256), run("vector", 304 * 8, 256)).bound, Bound::vector);
}

TEST_F(Counting, AllSimdsOfAUnitShareOneScalarInstructionACycle) {
  // One wave issues an instruction each four cycles, and thirty-two one a cycle.
  const ModelledTime alone = modelled_time(launch("scalar"), run("scalar"));
  EXPECT_EQ(alone.bound, Bound::latency);
  const ModelledTime many = modelled_time(launch("scalar", 304 * 8, 256), run("scalar", 304 * 8, 256));
  EXPECT_EQ(many.bound, Bound::scalar);
  EXPECT_DOUBLE_EQ(many.cycles[static_cast<int>(Bound::scalar)], 100 * 4 * 8);
  // The last waves of a group end a few cycles after each other.
  EXPECT_GE(many.total_cycles(), 100 * 4 * 8);
  EXPECT_LT(many.total_cycles(), 100 * 4 * 8 + 8);
}

TEST_F(Counting, PowerLimitsProductsOf16BitsOnAllUnits) {
  const ModelledTime few = modelled_time(launch("half_matrix", 100, 256), run("half_matrix", 100, 256));
  EXPECT_GE(few.cycles[static_cast<int>(Bound::matrix)], 100 * 32);
  EXPECT_LT(few.cycles[static_cast<int>(Bound::power)], 100 * 32);
  const ModelledTime all = modelled_time(launch("half_matrix", 304 * 8, 256), run("half_matrix", 304 * 8, 256));
  EXPECT_EQ(all.bound, Bound::power);
  EXPECT_DOUBLE_EQ(all.total_cycles(), 8 * 100 * 32 / 0.6);
  // Memory takes the rest of the power: a thousand lines of 128 bytes at 4.18 TB/s.
  Counts reading = run("half_matrix", 304 * 8, 256);
  reading.lines_of_memory += 1000;
  const double memory = 1000 * 128 / 4.177285e12 * 2.1e9;
  EXPECT_NEAR(modelled_time(launch("half_matrix", 304 * 8, 256), reading).total_cycles(), all.total_cycles() + memory,
              1e-6);
  const ModelledTime of_float32 = modelled_time(launch("matrix", 304 * 8, 256), run("matrix", 304 * 8, 256));
  EXPECT_EQ(of_float32.cycles[static_cast<int>(Bound::power)], 0);
}

TEST_F(Counting, AnXcdThatIsADeviceHasItsShare) {
  const Launch products = launch("matrix", 304 * 8, 256);
  const Counts counts = run("matrix", 304 * 8, 256);
  const ModelledTime whole = modelled_time(products, counts);
  setenv("GFX942SIM_PARTITION", "cpx,nps4", 1);
  const ModelledTime part = modelled_time(products, counts);
  unsetenv("GFX942SIM_PARTITION");
  // 38 compute units in place of 304, and an eighth of what all share.
  EXPECT_DOUBLE_EQ(part.total_cycles(), 8 * whole.total_cycles());
  for (const Bound bound : {Bound::l1, Bound::l2, Bound::infinity_cache, Bound::memory})
    EXPECT_DOUBLE_EQ(part.cycles[static_cast<int>(bound)], 8 * whole.cycles[static_cast<int>(bound)]);
}

TEST_F(Counting, DoesNotDependOnThreads) {
  const Counts first = run("scattered", 16), second = run("scattered", 16);
  EXPECT_EQ(first.group_cycles, second.group_cycles);
  EXPECT_EQ(first.l1_misses, second.l1_misses);
  EXPECT_EQ(first.unit_cycles, second.unit_cycles);
}

}  // namespace
}  // namespace gfx942sim
