// The rows of GPUs: names, what their vendors say of them, and members that mean one thing for each vendor.
#include "machine/gpu_machines.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace onnxc::machine {
namespace {

TEST(GpuMachine, ANameIsThatOfOneRow) {
  std::set<std::string> names;
  for (const GpuMachine& gpu : gpu_machines) {
    EXPECT_TRUE(names.insert(gpu.name).second) << gpu.name;
    EXPECT_EQ(find_gpu(gpu.name)->name, std::string(gpu.name));
  }
  // An architecture means the same card to the kernels and to the command line.
  EXPECT_STREQ(find_gpu("gfx942")->name, gfx942.name);
  EXPECT_STREQ(find_gpu("gfx90a")->name, gfx90a.name);
  EXPECT_STREQ(find_gpu("gfx950")->name, gfx950.name);
  EXPECT_STREQ(find_gpu("gfx1100")->name, gfx1100.name);
  EXPECT_STREQ(find_gpu("gfx1101")->name, gfx1101.name);
  EXPECT_STREQ(find_gpu("gfx1102")->name, gfx1102.name);
  EXPECT_STREQ(find_gpu("gfx1150")->name, gfx1150.name);
  EXPECT_STREQ(find_gpu("gfx1151")->name, gfx1151.name);
  EXPECT_STREQ(find_gpu("gfx1200")->name, gfx1200.name);
  EXPECT_STREQ(find_gpu("gfx1201")->name, gfx1201.name);
  EXPECT_STREQ(find_gpu("sm_80")->name, "a100");
  EXPECT_STREQ(find_gpu("sm_90a")->name, "h100");
  EXPECT_EQ(find_gpu("sm_70"), nullptr);
}

TEST(GpuMachine, CardsOfAnArchitectureShareWhatItsKernelsRead) {
  for (const GpuMachine& gpu : gpu_machines) {
    const GpuMachine& own = *find_gpu(gpu.architecture);
    EXPECT_EQ(gpu.wave_lanes, own.wave_lanes) << gpu.name;
    EXPECT_EQ(gpu.matrix_unit, own.matrix_unit) << gpu.name;
    EXPECT_EQ(gpu.has_wide_mfma, own.has_wide_mfma) << gpu.name;
    EXPECT_EQ(gpu.vendor, own.vendor) << gpu.name;
    EXPECT_EQ(gpu.block_lds_bytes, own.block_lds_bytes) << gpu.name;
    EXPECT_EQ(gpu.launch_lds_bytes, own.launch_lds_bytes) << gpu.name;
  }
}

TEST(GpuMachine, ACodeRunsOnlyOnCardsThatKnowIt) {
  for (const GpuMachine& gpu : gpu_machines) {
    EXPECT_EQ(gpu.compute_capability > 0, gpu.vendor == Vendor::nvidia) << gpu.name;
    if (gpu.vendor == Vendor::amd) continue;
    const std::string architecture = gpu.architecture;
    const int code = std::stoi(architecture.substr(3));
    EXPECT_TRUE(architecture.ends_with('a') ? code == gpu.compute_capability : code <= gpu.compute_capability)
        << gpu.name;
  }
}

TEST(GpuMachine, ACubinLoadsOnCardsOfItsGeneration) {
  const auto nvidia = [](int capability, int units) {
    const GpuMachine* const found = nearest_nvidia(capability, units, true);
    return std::string(found != nullptr ? found->name : "none");
  };
  EXPECT_EQ(nvidia(86, 82), "a100");
  EXPECT_EQ(nvidia(89, 58), "l4");
  EXPECT_EQ(nvidia(90, 132), "h100");
  EXPECT_EQ(nvidia(103, 160), "b200");
  EXPECT_EQ(nvidia(110, 20), "none");
  EXPECT_EQ(nvidia(121, 48), "rtx5090");
}

TEST(GpuMachine, TheNearestRowOfAGpu) {
  const auto nvidia = [](int capability, int units) {
    const GpuMachine* const found = nearest_nvidia(capability, units);
    return std::string(found != nullptr ? found->name : "none");
  };
  EXPECT_EQ(nvidia(75, 40), "none");
  EXPECT_EQ(nvidia(80, 108), "a100");
  EXPECT_EQ(nvidia(86, 82), "l4");  // an RTX 3090
  EXPECT_EQ(nvidia(89, 58), "l4");
  EXPECT_EQ(nvidia(89, 128), "rtx4090");
  EXPECT_EQ(nvidia(90, 132), "h100");
  EXPECT_EQ(nvidia(100, 148), "b200");
  EXPECT_EQ(nvidia(120, 170), "rtx5090");
  EXPECT_STREQ(nearest_amd("gfx942", 304)->name, "mi300x");
  EXPECT_STREQ(nearest_amd("gfx942", 38)->name, "mi300x-cpx");
  EXPECT_STREQ(nearest_amd("gfx942", 228)->name, "mi300a");
  EXPECT_STREQ(nearest_amd("gfx1100", 42)->name, "rx7900xtx");  // an RX 7900 XT
  EXPECT_STREQ(nearest_amd("gfx1201", 32)->name, "rx9070xt");
  EXPECT_STREQ(nearest_amd("gfx1201", 28)->name, "rx9070");
  EXPECT_STREQ(nearest_amd("gfx1103", 6)->name, "gfx11-generic");  // a Radeon 780M
  EXPECT_EQ(nearest_amd("gfx906", 60), nullptr);
}

// A unit of either vendor has registers of 256 KiB (NVIDIA), 512 (CDNA, the small cards of RDNA) or 768 KiB (RDNA), of
// 4 bytes each.
TEST(GpuMachine, RegistersAreThoseOfALane) {
  for (const GpuMachine& gpu : gpu_machines) {
    const int kibibytes = gpu.registers * gpu.wave_lanes * gpu.simds * 4 / 1024;
    const bool is_small = gpu.wave_lanes == 64 || gpu.architecture == std::string("gfx1102") ||
                          gpu.architecture == std::string("gfx1150") ||
                          gpu.architecture == std::string("gfx11-generic");
    EXPECT_EQ(kibibytes, gpu.vendor == Vendor::nvidia ? 256 : is_small ? 512 : 768) << gpu.name;
  }
}

// Two blocks of products share a unit, whose wavefronts have the registers that the compiler may take.
TEST(GpuMachine, RdnaHasWmmaInWavefrontsOf32Lanes) {
  for (const GpuMachine& gpu : gpu_machines) {
    const std::string architecture = gpu.architecture;
    EXPECT_EQ(gpu.matrix_unit == MatrixUnit::wmma, architecture.starts_with("gfx11")) << gpu.name;
    EXPECT_EQ(gpu.matrix_unit == MatrixUnit::wmma12, architecture.starts_with("gfx12")) << gpu.name;
    if (!multiplies_by_wmma(gpu)) continue;
    EXPECT_EQ(gpu.wave_lanes, 32) << gpu.name;
    EXPECT_TRUE(multiplies_bytes(gpu) && !gpu.has_xf32) << gpu.name;
    EXPECT_EQ(gpu.taken_registers % gpu.register_granule, 0) << gpu.name;
    EXPECT_LE(gpu.taken_registers, 256) << gpu.name;
  }
}

TEST(GpuMachine, BlocksOfAUnitByTheirLds) {
  EXPECT_EQ(blocks_by_lds(gfx942, 32 * 1024), 2);
  EXPECT_EQ(blocks_by_lds(gfx942, 32 * 1024 + 512), 1);
  // The system takes 1 KiB of each block, and a block may not ask for more than 48 KiB.
  EXPECT_EQ(blocks_by_lds(sm_80, 40 * 1024), 4);
  EXPECT_EQ(blocks_by_lds(sm_80, 48 * 1024), 3);
  EXPECT_EQ(blocks_by_lds(sm_80, 48 * 1024 + 128), 0);
  // Unless its launch asks for more.
  EXPECT_EQ(blocks_by_lds(h100, 80 * 1024, h100.launch_lds_bytes), 2);
  EXPECT_EQ(blocks_by_lds(h100, 227 * 1024, h100.launch_lds_bytes), 1);
  EXPECT_EQ(blocks_by_lds(h100, 227 * 1024 + 128, h100.launch_lds_bytes), 0);
}

// wgmma and its memory belong to compute capability 9.0; whatever has it has mma.sync as well.
TEST(GpuMachine, OnlyHopperHasWgmma) {
  for (const GpuMachine& gpu : gpu_machines) {
    const bool is_hopper = gpu.compute_capability == 90;
    EXPECT_EQ(gpu.matrix_unit == MatrixUnit::wgmma, is_hopper) << gpu.name;
    EXPECT_EQ(gpu.launch_lds_bytes > 0, is_hopper) << gpu.name;
    EXPECT_EQ(gpu.wgmma_products_a_cycle > 0, is_hopper) << gpu.name;
    EXPECT_EQ(multiplies_by_mma(gpu), gpu.vendor == Vendor::nvidia) << gpu.name;
  }
}

// TFLOPS of 16-bit types with sums of float32, and of float32 on the vector unit, by the data sheets; those of H100 by
// mma.sync at the clock of its matrix units.
TEST(GpuMachine, RatesAreThoseOfTheDataSheets) {
  const std::map<std::string, std::pair<double, double>> sheets{{"a100", {312, 19.5}},
                                                                {"l4", {121, 30.3}},
                                                                {"rtx4090", {165.2, 82.6}},
                                                                {"rtx5090", {209.5, 104.8}},
                                                                {"h100", {618, 61.9}},
                                                                {"mi300x", {1307.4, 81.7}},
                                                                // The vector unit without its dual issue.
                                                                {"rx7900xtx", {122.8, 30.7}},
                                                                {"rx9070xt", {195, 24.3}}};
  for (const auto& [name, rates] : sheets) {
    const GpuMachine& gpu = *find_gpu(name);
    const double tera = 2e-6 * gpu.compute_units * gpu.simds * gpu.clock_megahertz;
    EXPECT_NEAR(tera * gpu.half_products_a_cycle, rates.first, 0.01 * rates.first) << name;
    EXPECT_NEAR(tera * gpu.vector_products_a_cycle, rates.second, 0.01 * rates.second) << name;
  }
  // The same of 16-bit types by wgmma.
  EXPECT_NEAR(2e-6 * h100.compute_units * h100.simds * h100.clock_megahertz * h100.wgmma_products_a_cycle, 989.4, 10);
}

}  // namespace
}  // namespace onnxc::machine
