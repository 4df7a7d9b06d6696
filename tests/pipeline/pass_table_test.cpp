#include "pipeline/pass_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/cpu/cpu_target.h"
#include "codegen/hip/hip_target.h"

namespace onnxc {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Not;

std::vector<std::string> passes_for(const std::vector<Target>& targets) {
  std::vector<std::string> names;
  const PassConditions conditions{.optimizes = true, .targets = targets};
  for (const GraphPass& pass : graph_passes())
    if (applies(pass.when, conditions)) names.emplace_back(pass.name);
  for (const ProgramPass& pass : program_passes())
    if (applies(pass.when, conditions)) names.emplace_back(pass.name);
  return names;
}

TEST(PassTable, APassRunsForTargetsThatHaveWhatItNeeds) {
  const Target cpu = cpu_target(*find_cpu_machine("x86-64-v3")), gpu = hip_target();
  EXPECT_THAT(passes_for({cpu}), AllOf(Contains("use_integer_products"), Not(Contains("split_reductions"))));
  EXPECT_THAT(passes_for({gpu}), AllOf(Not(Contains("use_integer_products")), Contains("split_reductions"),
                                       Contains("split_scatters"), Contains("split_running_folds")));
  // One graph is for both.
  EXPECT_THAT(passes_for({cpu, gpu}), AllOf(Not(Contains("use_integer_products")), Not(Contains("split_reductions"))));
  for (const std::vector<Target>& targets : {std::vector{cpu}, std::vector{gpu}})
    EXPECT_THAT(passes_for(targets), AllOf(Contains("fuse_epilogues"), Each(Not("drop_roundings"))));
}

TEST(PassTable, ATargetOwnsItsMachine) {
  const Target cpu = cpu_target(*find_cpu_machine("x86-64-v3")), gpu = hip_target();
  EXPECT_EQ(std::get<CpuMachine>(cpu.machine).march, "x86-64-v3");
  EXPECT_STREQ(std::get<machine::GpuMachine>(gpu.machine).name, "mi300x");
  EXPECT_EQ(gpu.parallel_results, 16 * 304);
}

}  // namespace
}  // namespace onnxc
