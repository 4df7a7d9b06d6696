#include "machine/cpu_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onnxc {
namespace {

TEST(CpuMachine, RegisterTilesFollowFromTheRegisters) {
  for (const machine::VectorUnit& unit : {machine::avx2, machine::avx512}) {
    // The sums of a tile of two vectors leave a register for each weight vector and one for the broadcast.
    EXPECT_LE(unit.accumulators() + 3, unit.registers);
    EXPECT_LT(unit.short_tile_rows(), unit.tile_rows());
    EXPECT_EQ(machine::vector_unit(unit.lanes).registers, unit.registers);
  }
}

TEST(CpuMachine, AnUnknownProcessorHasTheCostsOfItsVectorUnit) {
  const CpuMachine skylake = cpu_machine_with(machine::avx512, "skylake-avx512", {"avx512f"});
  EXPECT_EQ(skylake.march, "skylake-avx512");
  EXPECT_THAT(skylake.features, testing::ElementsAre("avx512f"));
  EXPECT_EQ(skylake.convolution.strided_input, find_cpu_machine("x86-64-v4")->convolution.strided_input);
}

TEST(CpuMachine, AnUnknownProcessorWithMatrixTilesHasTheirCosts) {
  const CpuMachine known = *find_cpu_machine("sapphirerapids");
  const CpuMachine granite = cpu_machine_with(machine::avx512, "graniterapids", known.features, known.tile_features);
  EXPECT_EQ(granite.tile_features, known.tile_features);
  EXPECT_GT(granite.convolution.bfloat16_tile_products, 0);
  // Tiles that no row has count for nothing.
  const CpuMachine other = cpu_machine_with(machine::avx512, "other", known.features, {"amx-tile"});
  EXPECT_EQ(other.convolution.bfloat16_tile_products, 0);
}

TEST(CpuMachine, AnEmulatedMachineIsCompiledForTheOneThatRunsIt) {
  EXPECT_EQ(find_cpu_machine("x86-64-v4-emulating-amx")->name_for_clang(), "x86-64-v4");
  EXPECT_EQ(find_cpu_machine("znver4")->name_for_clang(), "znver4");
}

TEST(CpuMachine, AMachineHasWhatTheLevelBelowHas) {
  for (const CpuMachine& machine : cpu_machines())
    EXPECT_THAT(machine.features, testing::IsSupersetOf(find_cpu_machine("x86-64-v3")->features)) << machine.march;
  EXPECT_FALSE(find_cpu_machine("i386").has_value());
}

}  // namespace
}  // namespace onnxc
