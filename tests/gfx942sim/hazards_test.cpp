// The wait states that the instruction set guide asks for: one fewer is reported, as many are not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gfx942sim/kernel_tools.h"

namespace gfx942sim {
namespace {

using testing::HasSubstr;

struct Row {
  std::string earlier, later;
  int states;
  std::string rule;
};

const char* const matrix_result = "a matrix result is read, or overwritten";
const char* const matrix_chain = "a matrix instruction reads the result of another";
const char* const addend_overwritten = "still reads as its addend";

// CDNA3 instruction set guide, "Manually Inserted Wait States", and the same in LLVM's hazard recognizer.
const std::vector<Row> rows = {
    {"v_readfirstlane_b32 s20, v48", "global_load_dword v2, v1, s[20:21]", 5, "that a vector memory instruction reads"},
    {"v_readfirstlane_b32 s29, v49", "buffer_load_dword v2, v1, s[24:27], s29 offen", 5,
     "that a vector memory instruction reads"},
    {"v_readfirstlane_b32 s28, v1", "v_readlane_b32 s29, v1, s28", 4, "that selects a lane"},
    {"v_readfirstlane_b32 s28, v1", "v_writelane_b32 v2, 7, s28", 4, "that selects a lane"},
    {"v_cmp_eq_u32 vcc, v1, v1", "v_div_fmas_f32 v2, v3, v4, v5", 4, "v_div_fmas"},
    {"v_cmp_eq_u32 vcc, v1, v1", "v_cndmask_b32 v2, v3, v4, vcc", 2, "that a vector instruction reads"},
    {"v_readfirstlane_b32 s28, v1", "v_add_u32 v2, s28, v3", 2, "that a vector instruction reads"},
    {"v_cmp_eq_u32 s[28:29], v1, v1", "v_addc_co_u32 v2, vcc, v3, v4, s[28:29]", 2, "that a vector instruction reads"},
    {"v_cmpx_eq_u32 vcc, v1, v1", "v_mov_b32 v2, v3 row_shl:1", 5, "EXEC before a DPP"},
    {"v_cmpx_eq_u32 vcc, v1, v1", "v_readfirstlane_b32 s28, v2", 4, "EXEC before a lane"},
    {"v_cmpx_eq_u32 vcc, v1, v1", "v_mfma_f32_4x4x1_16b_f32 a[0:3], v2, v3, a[0:3]", 4, "EXEC before a matrix"},
    {"s_mov_b32 m0, 0", "buffer_load_dword v1, s[24:27], 0 offen lds", 1, "M0 that a load into LDS"},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3", "s_getreg_b32 s28, hwreg(HW_REG_MODE)", 2, "s_setreg before"},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 6, 2), 3", 2,
     "s_setreg before"},
    {"v_mov_b32 v2, 1", "v_mov_b32 v3, v2 row_shl:1", 2, "before a DPP instruction reads it"},
    {"v_mov_b32 v2, 1", "v_readlane_b32 s28, v2, 3", 1, "writes a register whose lane is read"},
    {"v_mov_b32 v2, 1", "v_readfirstlane_b32 s28, v2", 1, "writes a register whose lane is read"},
    {"v_rcp_f32 v2, v3", "v_add_f32 v4, v2, v2", 1, "not transcendental"},
    {"v_add_u16_sdwa v2, v3, v4 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 src1_sel:WORD_0",
     "v_add_u32 v5, v2, v2", 1, "SDWA or op_sel"},
    {"v_mad_u16 v2, v3, v4, v5 op_sel:[0,0,0,1]", "v_add_u32 v5, v2, v2", 1, "SDWA or op_sel"},
    {"global_store_dwordx4 v1, v[4:7], s[22:23]", "v_mov_b32 v6, 0", 2, "data of a store"},
    {"buffer_store_dwordx3 v[4:6], v1, s[24:27], 0 offen", "v_mov_b32 v6, 0", 2, "data of a store"},
    {"v_dot4_i32_i8 v2, v3, v4, v5", "v_add_u32 v6, v2, v2", 3, "a dot product's result"},
    {"v_dot4_i32_i8 v2, v3, v4, v5", "v_mov_b32 v2, 0", 3, "a dot product's result"},
    {"v_dot4_i32_i8 v2, v3, v4, v5", "v_dot4_i32_i8 v6, v2, v4, v5", 3, "a dot product's result"},
    {"v_mov_b32 v2, 1", "v_mfma_f32_32x32x2_f32 a[0:15], v2, v3, a[0:15]", 2, "before a matrix instruction reads it"},
    {"v_accvgpr_write_b32 a3, v2", "v_mfma_f32_32x32x2_f32 a[0:15], v2, v3, a[0:15]", 2,
     "before a matrix instruction reads it"},
    // float32: passes + 2.
    {"v_mfma_f32_32x32x2_f32 a[0:15], v2, v3, a[0:15]", "v_accvgpr_read_b32 v4, a15", 18, matrix_result},
    {"v_mfma_f32_16x16x4_f32 a[0:3], v2, v3, a[0:3]", "global_store_dword v1, a0, s[22:23]", 10, matrix_result},
    {"v_mfma_f32_4x4x1_16b_f32 a[0:3], v2, v3, a[0:3]", "v_accvgpr_write_b32 a1, v4", 4, matrix_result},
    {"v_mfma_f32_16x16x4_f32 v[16:19], v2, v3, v[16:19]", "ds_write_b32 v1, v18", 10, matrix_result},
    {"v_mfma_f32_16x16x4_f32 v[16:19], v2, v3, 0", "v_mfma_f32_16x16x4_f32 v[20:23], v16, v3, 0", 10, matrix_chain},
    {"v_mfma_f32_16x16x4_f32 v[16:19], v2, v3, 0", "v_mfma_f32_16x16x4_f32 v[24:27], v2, v3, v[18:21]", 8,
     matrix_chain},
    {"v_mfma_f32_4x4x1_16b_f32 a[0:3], v2, v3, a[0:3]", "v_mfma_f32_4x4x1_16b_f32 a[0:3], v2, v3, a[0:3]", 2,
     matrix_chain},
    // Narrow types: passes + 3.
    {"v_mfma_f32_32x32x8_f16 a[0:15], v[2:3], v[4:5], a[0:15]", "v_accvgpr_read_b32 v6, a15", 11, matrix_result},
    {"v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[4:5], 0", "v_mov_b32 v6, v16", 7, matrix_result},
    {"v_mfma_f32_16x16x8_xf32 v[16:19], v[2:3], v[4:5], 0", "v_mov_b32 v6, v16", 7, matrix_result},
    {"v_mfma_f32_32x32x4_2b_f16 a[0:31], v[2:3], v[4:5], a[0:31]", "v_accvgpr_read_b32 v6, a31", 19, matrix_result},
    {"v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[4:5], 0", "v_mfma_f32_16x16x16_f16 v[20:23], v[16:17], v[4:5], 0", 7,
     matrix_chain},
    {"v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[4:5], 0",
     "v_mfma_f32_16x16x16_f16 v[24:27], v[2:3], v[4:5], v[18:21]", 5, matrix_chain},
    {"v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], v[16:19]", "v_mov_b32 v17, 0", 3, addend_overwritten},
    {"v_mfma_f32_32x32x8_f16 v[32:47], v[2:3], v[4:5], v[16:31]", "v_mov_b32 v17, 0", 7, addend_overwritten},
    {"v_smfmac_f32_16x16x32_f16 v[16:19], v[2:3], v[4:7], v8", "v_mov_b32 v9, v16", 7, matrix_result},
    {"v_smfmac_f32_16x16x32_f16 v[16:19], v[2:3], v[4:7], v8",
     "v_smfmac_f32_16x16x32_f16 v[20:23], v[2:3], v[4:7], v16", 7, matrix_chain},
    {"v_mov_b32 v8, 1", "v_smfmac_f32_16x16x32_f16 v[16:19], v[2:3], v[4:7], v8", 2,
     "before a matrix instruction reads it"},
    // float64.
    {"v_mfma_f64_16x16x4_f64 a[0:7], v[2:3], v[4:5], a[0:7]", "v_accvgpr_read_b32 v6, a0", 11, matrix_result},
    {"v_mfma_f64_16x16x4_f64 v[16:23], v[2:3], v[4:5], 0", "ds_write_b32 v1, v18", 18, matrix_result},
    {"v_mfma_f64_4x4x4_4b_f64 v[16:17], v[2:3], v[4:5], 0", "v_mov_b32 v6, v16", 6, matrix_result},
    {"v_mfma_f64_4x4x4_4b_f64 v[16:17], v[2:3], v[4:5], 0", "ds_write_b32 v1, v16", 9, matrix_result},
    {"v_mfma_f64_4x4x4_4b_f64 a[0:1], v[2:3], v[4:5], a[0:1]", "v_mfma_f64_4x4x4_4b_f64 a[0:1], v[2:3], v[4:5], a[0:1]",
     4, matrix_chain},
    {"v_mfma_f64_16x16x4_f64 a[0:7], v[2:3], v[4:5], a[0:7]", "v_fma_f64 v[6:7], v[8:9], v[8:9], v[8:9]", 2,
     "a float64 multiply-add follows"},
};

// s[22:23]: the second buffer; s[24:27]: a descriptor of the first; v1: 4 * work item; the rest is small numbers.
std::string set_up() {
  std::string text =
      "s_load_dwordx4 s[20:23], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n"
      "s_mov_b32 s24, s20\ns_mov_b32 s25, s21\ns_movk_i32 s26, 0x1000\ns_mov_b32 s27, 0x27000\n"
      "s_mov_b32 s28, 0\ns_mov_b32 s29, 0\ns_mov_b32 m0, 0\ns_mov_b64 vcc, -1\n";
  for (int i = 2; i < 32; ++i) text += fmt::format("v_mov_b32 v{}, {}\n", i, i % 5);
  for (int i = 0; i < 32; ++i) text += fmt::format("v_accvgpr_write_b32 a{}, v{}\n", i, 2 + i % 7);
  return text + "v_mov_b32 v48, s20\nv_mov_b32 v49, 0\ns_nop 15\ns_nop 15\n";
}

std::string nops(int states) { return states == 0 ? "" : fmt::format("s_nop {}\n", states - 1); }

// "late" kernels have what the rule asks for, "early" ones a wait state less.
std::vector<AssemblyKernel> kernels() {
  std::vector<AssemblyKernel> all;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    auto body = [&](int states) {
      return set_up() + row.earlier + "\n" + (states > 16 ? nops(16) + nops(states - 16) : nops(states)) + row.later +
             "\ns_nop 15\ns_nop 15\ns_waitcnt vmcnt(0) lgkmcnt(0)";
    };
    all.push_back({fmt::format("early{}", i), body(row.states - 1), 1024});
    all.push_back({fmt::format("late{}", i), body(row.states), 1024});
  }
  // A loop whose last instruction and first are a hazard only by the way back.
  all.push_back({"loop", set_up() +
                             "s_mov_b32 s28, 3\n1:\nv_add_u32 v4, v2, v2\ns_nop 15\ns_nop 15\ns_sub_u32 s28, s28, 1\n"
                             "s_cmp_lg_u32 s28, 0\nv_dot4_i32_i8 v2, v3, v4, v5\ns_cbranch_scc1 1b"});
  return all;
}

Device& device() {
  static Device shared(assemble(kernels()));
  return shared;
}

FaultReport fault(const std::string& kernel) {
  const uint64_t in = device().upload(std::vector<uint32_t>(1024, 0));
  const uint64_t out = device().upload(std::vector<uint32_t>(1024, 0));
  return device().fault(kernel, 1, 64, in, out);
}

TEST(Hazards, AreReportedByOneWaitStateTooFew) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    SCOPED_TRACE(row.earlier + " / " + row.later);
    const FaultReport early = fault(fmt::format("early{}", i));
    EXPECT_THAT(early.message, HasSubstr(row.rule));
    EXPECT_THAT(early.message,
                HasSubstr(fmt::format("after {} wait states, but {} are needed", row.states - 1, row.states)));
    EXPECT_THAT(early.message, HasSubstr("an s_nop 0 is missing"));
    EXPECT_EQ(fault(fmt::format("late{}", i)).message, "");
  }
}

TEST(Hazards, AreFoundAlongTheWayThatAWaveTakes) {
  const FaultReport report = fault("loop");
  EXPECT_THAT(report.message, HasSubstr("a dot product's result"));
  EXPECT_THAT(report.message, HasSubstr("after 1 wait states, but 3 are needed"));
  EXPECT_EQ(report.instruction, "v_add_u32_e32 v4, v2, v2");
}

}  // namespace
}  // namespace gfx942sim
