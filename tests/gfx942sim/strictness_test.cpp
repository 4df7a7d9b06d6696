// Each thing that hardware forgives only by luck stops the simulator with a report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gfx942sim/kernel_tools.h"

namespace gfx942sim {
namespace {

using testing::HasSubstr;

// v1: 4 * work item; s[4:5] and s[6:7]: two buffers.
const std::string prologue = "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n";

const std::vector<AssemblyKernel> kernels = {
    {"copy", prologue + "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]"},
    {"copy_without_wait", prologue + "global_load_dword v2, v1, s[4:5]\nglobal_store_dword v1, v2, s[6:7]"},
    {"overwrite_without_wait", prologue + "global_load_dword v2, v1, s[4:5]\nv_mov_b32 v2, 0\ns_waitcnt vmcnt(0)"},
    {"scalar_without_wait",
     "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\nglobal_load_dword v2, v1, s[4:5]"},
    {"waits_for_one_of_two", prologue + "global_load_dword v2, v1, s[4:5]\nglobal_load_dword v3, v1, s[4:5]\n"
                                        "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v2\nv_mov_b32 v5, v3"},
    {"lds_result_without_wait", "v_lshlrev_b32 v1, 2, v0\nds_write_b32 v1, v0\nds_read_b32 v2, v1\nv_mov_b32 v3, v2",
     256},
    {"unwritten_vector", prologue + "v_add_u32 v2, v3, v1"},
    {"unwritten_scalar", "s_add_u32 s4, s50, s51"},
    {"unwritten_scalar_moves", "s_mov_b64 s[4:5], s[50:51]\ns_andn2_b64 s[4:5], s[4:5], exec\ns_add_u32 s6, s4, s5"},
    {"unwritten_scalar_through_a_move", "s_mov_b32 s4, s50\ns_add_u32 s5, s4, 1"},
    {"unwritten_exec", "s_mov_b64 s[4:5], s[50:51]\ns_mov_b64 exec, s[4:5]"},
    {"unwritten_mask_of_lanes_that_are_off",
     "s_mov_b64 exec, 3\nv_cmp_eq_u32 s[6:7], v0, v0\ns_and_b64 s[4:5], s[50:51], 12\ns_or_b64 s[4:5], s[4:5], s[6:7]\n"
     "s_nop 4\nv_cndmask_b32 v1, 0, 1, s[4:5]"},
    {"selected_half",
     "v_fma_mixlo_f16 v2, v0, v0, v0\nv_cmp_eq_u32 vcc, v0, v0\ns_nop 4\n"
     "v_cndmask_b32 v3, v2, v2, vcc\nv_add_f16 v4, v3, v3"},
    {"unwritten_half_of_a_selection",
     "v_fma_mixlo_f16 v2, v0, v0, v0\nv_cmp_eq_u32 vcc, v0, v0\ns_nop 4\n"
     "v_cndmask_b32 v3, v2, v2, vcc\nv_add_f32 v4, v3, v3"},
    {"half_of_a_pair", "v_mov_b32 v2, v0\nv_pk_add_f32 v[4:5], v[2:3], v[2:3]\nv_add_f32 v6, v4, v4"},
    {"unwritten_half_of_a_pair", "v_mov_b32 v2, v0\nv_pk_add_f32 v[4:5], v[2:3], v[2:3]\nv_add_f32 v6, v5, v5"},
    {"loaded_half",
     prologue + "v_mov_b32 v2, v0\nglobal_load_short_d16 v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_f16 v3, v2, v2"},
    {"half_beside_a_loaded_one",
     prologue + "v_mov_b32 v2, v0\nglobal_load_short_d16_hi v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_f16 v3, v2, v2"},
    {"half_beside_one_of_lds",
     "v_lshlrev_b32 v1, 2, v0\nds_write_b32 v1, v0\nv_mov_b32 v2, v0\ns_waitcnt lgkmcnt(0)\n"
     "ds_read_u16_d16 v2, v1\ns_waitcnt lgkmcnt(0)\nv_add_u32 v3, v2, v2",
     256},
    {"scaled_result", "v_cvt_f32_u32 v2, v0\nv_add_f32_e64 v3, v2, v2 mul:2"},
    {"scaled_result_that_may_be_denormal",
     "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0\ns_nop 4\nv_cvt_f32_u32 v2, v0\nv_add_f32_e64 v3, v2, v2 div:2"},
    {"unwritten_mask", "s_mov_b64 s[4:5], s[50:51]\nv_cndmask_b32 v1, 0, 1, s[4:5]"},
    {"unwritten_carry",
     "v_mov_b32 v2, 1\nv_mad_u64_u32 v[4:5], s[4:5], v2, v2, v[2:3]\ns_nop 4\nv_cndmask_b32 v1, 0, 1, s[4:5]"},
    {"unwritten_scc", "s_cselect_b32 s4, 1, 0"},
    {"unwritten_store", prologue + "global_store_dword v1, v9, s[6:7]"},
    {"unwritten_through_a_move", prologue + "v_mov_b32 v2, v9\nglobal_store_dword v1, v2, s[6:7]"},
    {"unwritten_in_lanes_that_are_off", prologue + "s_mov_b64 exec, 1\nv_mov_b32 v2, 7\ns_mov_b64 exec, 3\n"
                                                   "global_store_dword v1, v2, s[6:7]"},
    {"unwritten_accumulator", "v_accvgpr_read_b32 v2, a3\nv_add_u32 v2, v2, v2"},
    {"register_beyond_the_descriptor", "v_mov_b32 v70, 0"},
    {"unwritten_lds", "v_lshlrev_b32 v1, 2, v0\nds_read_b32 v2, v1", 256},
    {"lds_beyond_its_size", "v_lshlrev_b32 v1, 2, v0\nds_write_b32 v1, v0 offset:4", 256},
    {"exchange",
     "v_lshlrev_b32 v1, 2, v0\nds_write_b32 v1, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\nv_xor_b32 v1, 0x100, v1\n"
     "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)",
     512},
    {"exchange_without_barrier",
     "v_lshlrev_b32 v1, 2, v0\nds_write_b32 v1, v0\ns_waitcnt lgkmcnt(0)\n"
     "v_and_b32 v1, 0xff, v1\nds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)",
     512},
    {"exchange_without_wait",
     "v_lshlrev_b32 v1, 2, v0\nds_write_b32 v1, v0\ns_barrier\nv_xor_b32 v1, 0x100, v1\n"
     "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)",
     512},
    {"write_after_read",
     "v_lshlrev_b32 v1, 2, v0\nds_write_b32 v1, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
     "v_xor_b32 v2, 0x100, v1\nds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\nv_readfirstlane_b32 s4, v0\n"
     "s_cmp_eq_u32 s4, 0\ns_cbranch_scc1 1f\nds_write_b32 v1, v3\n1:",
     512},
    // More barriers than the tags of LDS bytes can tell apart; then as without the last one.
    {"race_behind_many_barriers",
     "v_lshlrev_b32 v1, 2, v0\ns_movk_i32 s4, 5000\n1:\ns_barrier\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\n"
     "s_cbranch_scc1 1b\nds_write_b32 v1, v0\ns_waitcnt lgkmcnt(0)\nv_and_b32 v1, 0xff, v1\nds_read_b32 v2, v1\n"
     "s_waitcnt lgkmcnt(0)",
     512},
    {"many_barriers",
     "v_lshlrev_b32 v1, 2, v0\nv_xor_b32 v2, 0x100, v1\ns_movk_i32 s4, 5000\n1:\nds_write_b32 v1, v0\n"
     "s_waitcnt lgkmcnt(0)\ns_barrier\nds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\ns_barrier\ns_sub_u32 s4, s4, 1\n"
     "s_cmp_lg_u32 s4, 0\ns_cbranch_scc1 1b",
     512},
    {"atomics_meet",
     "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\nv_cmp_eq_u32 vcc, 0, v0\ns_and_saveexec_b64 s[4:5], vcc\n"
     "ds_write_b32 v1, v1\ns_mov_b64 exec, s[4:5]\ns_waitcnt lgkmcnt(0)\ns_barrier\nds_add_u32 v1, v2\n"
     "s_waitcnt lgkmcnt(0)",
     4},
    {"barrier_for_one_wave", "v_readfirstlane_b32 s4, v0\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 1f\ns_barrier\n1:"},
    {"arguments_too_short", "s_load_dwordx2 s[4:5], s[0:1], 0x10\ns_waitcnt lgkmcnt(0)\ns_add_u32 s6, s4, s5"},
    {"arguments_padding_unused", "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_add_u32 s8, s4, s6", 0,
     12},
    {"arguments_padding_used", "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_add_u32 s8, s4, s7", 0, 12},
    {"unknown_instruction", "v_cvt_off_f32_i4 v1, v0"},
    {"endless", "1:\ns_branch 1b"},
    {"jump_into_nothing", "s_mov_b64 s[4:5], 0x1000\ns_setpc_b64 s[4:5]"},
    {"traps", "s_trap 2"},
    {"buffer_out_of_range",
     prologue + "s_mov_b32 s8, s4\ns_mov_b32 s9, s5\ns_movk_i32 s10, 128\ns_mov_b32 s11, 0x27000\n"
                "buffer_load_dword v2, v1, s[8:11], 0 offen\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]"},
    {"buffer_range_depends_on_scalar_offset",
     prologue + "s_mov_b32 s8, s4\ns_mov_b32 s9, s5\ns_movk_i32 s10, 256\ns_mov_b32 s11, 0x27000\ns_movk_i32 s12, 4\n"
                "buffer_load_dword v2, v1, s[8:11], s12 offen\ns_waitcnt vmcnt(0)"},
    {"lds_from_memory",
     prologue +
         "s_mov_b32 s8, s4\ns_mov_b32 s9, s5\ns_movk_i32 s10, 256\ns_mov_b32 s11, 0x27000\ns_mov_b32 m0, 0\ns_nop 0\n"
         "buffer_load_dword v1, s[8:11], 0 offen lds\ns_waitcnt vmcnt(0)\nds_read_b32 v2, v1\n"
         "s_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v2, s[6:7]",
     256},
    {"lds_from_memory_without_wait",
     prologue +
         "s_mov_b32 s8, s4\ns_mov_b32 s9, s5\ns_movk_i32 s10, 256\ns_mov_b32 s11, 0x27000\ns_mov_b32 m0, 0\ns_nop 0\n"
         "buffer_load_dword v1, s[8:11], 0 offen lds\nds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)",
     256},
};

class Strictness : public testing::Test {
 protected:
  static Device& device() {
    static Device shared(assemble(kernels));
    return shared;
  }
  static uint64_t buffer(size_t words) { return device().upload(std::vector<uint32_t>(words, 5)); }
  FaultReport fault(const std::string& kernel, uint32_t block = 64) {
    return device().fault(kernel, 1, block, buffer(256), buffer(256));
  }
};

TEST_F(Strictness, LetsGoodKernelsPass) {
  for (const char* kernel : {"copy", "exchange", "atomics_meet", "lds_from_memory"})
    EXPECT_EQ(fault(kernel, 128 - 64 * (std::string(kernel) == "lds_from_memory")).message, "") << kernel;
  for (const char* kernel : {"unwritten_scalar_moves", "unwritten_mask_of_lanes_that_are_off", "selected_half",
                             "half_of_a_pair", "loaded_half"})
    EXPECT_EQ(fault(kernel).message, "") << kernel;
  EXPECT_EQ(device().fault("arguments_padding_unused", 1, 64, uint64_t{1}, uint32_t{2}).message, "");
}

TEST_F(Strictness, ReportsAccessesOutsideAllocations) {
  const uint64_t in = buffer(63), out = buffer(64);
  const FaultReport report = device().fault("copy", 1, 64, in, out);
  EXPECT_THAT(report.message, HasSubstr("reads 4 bytes at"));
  EXPECT_THAT(report.message, HasSubstr("0 bytes past the end of buffer (252 bytes)"));
  EXPECT_EQ(report.kernel, "copy");
  EXPECT_EQ(report.instruction, "global_load_dword v2, v1, s[4:5]");
  EXPECT_EQ(report.lane, 63);
  EXPECT_EQ(report.wave, 0);
}

TEST_F(Strictness, ReportsUseAfterRelease) {
  const uint64_t in = buffer(64), out = buffer(64);
  ASSERT_TRUE(device().memory().release(in));
  EXPECT_THAT(device().fault("copy", 1, 64, in, out).message, HasSubstr("reads 4 bytes at"));
}

TEST_F(Strictness, ReportsTheFirstFaultyGroupOfTheGrid) {
  const AssemblyKernel kernel{"late", "s_cmp_lt_u32 s2, 5\ns_cbranch_scc1 1f\ns_trap 2\n1:"};
  Device other(assemble({kernel}));
  EXPECT_EQ(other.fault("late", 64, 64, uint64_t{0}, uint64_t{0}).group[0], 5U);
}

TEST_F(Strictness, ReportsResultsUsedBeforeTheirWait) {
  EXPECT_THAT(fault("copy_without_wait").message, HasSubstr("uses v2 before an s_waitcnt vmcnt"));
  EXPECT_THAT(fault("overwrite_without_wait").message, HasSubstr("uses v2 before an s_waitcnt vmcnt"));
  EXPECT_THAT(fault("waits_for_one_of_two").message, HasSubstr("uses v3 before an s_waitcnt vmcnt"));
  EXPECT_THAT(fault("lds_result_without_wait").message, HasSubstr("uses v2 before an s_waitcnt lgkmcnt"));
  EXPECT_THAT(fault("scalar_without_wait").message, HasSubstr("uses s4 before an s_waitcnt lgkmcnt(0)"));
}

TEST_F(Strictness, ReportsReadsOfWhatWasNeverWritten) {
  EXPECT_THAT(fault("unwritten_vector").message, HasSubstr("reads v3, which was never written"));
  EXPECT_THAT(fault("unwritten_scalar").message, HasSubstr("reads s50, which was never written"));
  EXPECT_THAT(fault("unwritten_scalar_through_a_move").message, HasSubstr("reads s4, which was never written"));
  EXPECT_THAT(fault("unwritten_exec").message, HasSubstr("sets EXEC to bits that were never written"));
  EXPECT_THAT(fault("unwritten_mask").message, HasSubstr("reads s4, which was never written"));
  EXPECT_THAT(fault("unwritten_half_of_a_selection").message, HasSubstr("reads v3, which was never written"));
  EXPECT_THAT(fault("unwritten_half_of_a_pair").message, HasSubstr("reads v5, which was never written"));
  EXPECT_THAT(fault("half_beside_a_loaded_one").message, HasSubstr("reads v2, which was never written"));
  EXPECT_THAT(fault("half_beside_one_of_lds").message, HasSubstr("reads v2, which was never written"));
  EXPECT_THAT(fault("unwritten_carry").message, HasSubstr("reads s4, which was never written"));
  EXPECT_THAT(fault("unwritten_scc").message, HasSubstr("reads SCC, which was never written"));
  EXPECT_THAT(fault("unwritten_store").message, HasSubstr("reads v9, which was never written"));
  EXPECT_THAT(fault("unwritten_through_a_move").message, HasSubstr("reads v2, which was never written"));
  EXPECT_THAT(fault("unwritten_accumulator").message, HasSubstr("reads v2, which was never written"));
  const FaultReport lanes = fault("unwritten_in_lanes_that_are_off");
  EXPECT_THAT(lanes.message, HasSubstr("reads v2, which was never written"));
  EXPECT_EQ(lanes.lane, 1);
  EXPECT_THAT(fault("unwritten_lds").message, HasSubstr("reads LDS byte 0, which was never written"));
}

TEST_F(Strictness, ReportsWhatIsBeyondTheDescriptor) {
  EXPECT_THAT(fault("register_beyond_the_descriptor").message,
              HasSubstr("uses v70, but the kernel's descriptor asks for 64"));
  const FaultReport report = fault("lds_beyond_its_size");
  EXPECT_THAT(report.message, HasSubstr("writes 4 bytes of LDS at 256, but the work group has 256"));
  EXPECT_EQ(report.lane, 63);
}

TEST_F(Strictness, ReportsRaces) {
  EXPECT_THAT(fault("exchange_without_barrier", 128).message, HasSubstr("which wave 0 wrote, without a barrier"));
  EXPECT_THAT(fault("race_behind_many_barriers", 128).message, HasSubstr("which wave 0 wrote, without a barrier"));
  EXPECT_EQ(fault("many_barriers", 128).message, "");
  EXPECT_THAT(fault("exchange_without_wait", 128).message, HasSubstr("which wave 1 wrote, without a barrier"));
  EXPECT_THAT(fault("write_after_read", 128).message, HasSubstr("which wave 0 read, without a barrier"));
}

TEST_F(Strictness, ReportsBarriersThatSomeWavesNeverReach) {
  const FaultReport report = fault("barrier_for_one_wave", 128);
  EXPECT_THAT(report.message, HasSubstr("waits at a barrier that wave 1 never reached"));
  EXPECT_EQ(report.instruction, "s_barrier");
}

TEST_F(Strictness, ReportsArgumentsThatAreTooShort) {
  EXPECT_THAT(fault("arguments_too_short").message,
              HasSubstr("0 bytes past the end of the kernel's arguments (16 bytes)"));
  EXPECT_THAT(device().fault("arguments_padding_used", 1, 64, uint64_t{1}, uint32_t{2}).message,
              HasSubstr("reads s7, which was never written"));
  EXPECT_THROW(device().run("copy", 1, 64, uint64_t{0}), std::runtime_error);
}

TEST_F(Strictness, ReportsWhatItCannotRun) {
  const FaultReport unknown = fault("unknown_instruction");
  EXPECT_THAT(unknown.message, HasSubstr("is not known to the simulator"));
  EXPECT_EQ(unknown.instruction, "v_cvt_off_f32_i4_e32 v1, v0");
  EXPECT_THAT(fault("endless").message, HasSubstr("does it ever end?"));
  EXPECT_THAT(fault("jump_into_nothing").message, HasSubstr("at which no instruction begins"));
  EXPECT_THAT(fault("traps").message, HasSubstr("traps"));
}

TEST_F(Strictness, ReportsModifiersThatHardwareIgnores) {
  for (const char* kernel : {"scaled_result", "scaled_result_that_may_be_denormal"})
    EXPECT_THAT(fault(kernel).message, HasSubstr("scales its result (mul or div), which gfx942 ignores")) << kernel;
}

TEST_F(Strictness, GivesZeroOutsideABuffersRange) {
  const uint64_t in = buffer(32), out = buffer(64);
  device().run("buffer_out_of_range", 1, 64, in, out);
  std::vector<uint32_t> expected(64, 0);
  std::fill_n(expected.begin(), 32, 5);
  EXPECT_EQ(device().download<uint32_t>(out, 64), expected);
  EXPECT_THAT(fault("buffer_range_depends_on_scalar_offset").message, HasSubstr("depends on the scalar offset"));
}

TEST_F(Strictness, ReportsLdsFilledFromMemoryAndNotWaitedFor) {
  EXPECT_THAT(fault("lds_from_memory_without_wait").message,
              HasSubstr("before an s_waitcnt vmcnt for the load that fills it"));
}

TEST_F(Strictness, RefusesLaunchesThatHipRefuses) {
  auto refusal = [&](std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, uint32_t lds) -> std::string {
    const Launch launch{device().module().code_object().find_kernel("traps"), grid, block, lds};
    try {
      dispatch(device().memory(), device().module(), launch, std::vector<std::byte>(16));
    } catch (const SimulationFault&) {
      return "ran";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({1, 1, 1}, {64, 1, 1}, 0), "ran");
  EXPECT_THAT(refusal({1, 1, 1}, {1025, 1, 1}, 0), HasSubstr("above the limit of 1024"));
  EXPECT_THAT(refusal({1, 1, 1}, {32, 33, 1}, 0), HasSubstr("above the limit of 1024"));
  EXPECT_THAT(refusal({1, 1, 1}, {64, 1, 1}, 65537), HasSubstr("above the limit of 65536"));
  EXPECT_THAT(refusal({1U << 26, 1, 1}, {64, 1, 1}, 0), HasSubstr("not below 2^32"));
  EXPECT_THAT(refusal({0, 1, 1}, {64, 1, 1}, 0), HasSubstr("0 blocks"));
}

}  // namespace
}  // namespace gfx942sim
