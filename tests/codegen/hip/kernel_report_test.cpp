#include "codegen/hip/kernel_report.h"

#include <gmock/gmock.h>

namespace onnxc {
namespace {

constexpr const char* remarks =
    "device.hip:18:1: remark: Function Name: kernel1 [-Rpass-analysis=kernel-resource-usage]\n"
    "   18 | extern \"C\" __global__ void kernel1(...)\n"
    "device.hip:18:1: remark:     SGPRs: 70 [-Rpass-analysis=kernel-resource-usage]\n"
    "device.hip:18:1: remark:     VGPRs: 56 [-Rpass-analysis=kernel-resource-usage]\n"
    "device.hip:18:1: remark:     AGPRs: 4 [-Rpass-analysis=kernel-resource-usage]\n"
    "device.hip:18:1: remark:     ScratchSize [bytes/lane]: 8 [-Rpass-analysis=kernel-resource-usage]\n"
    "device.hip:18:1: remark:     Occupancy [waves/SIMD]: 6 [-Rpass-analysis=kernel-resource-usage]\n"
    "device.hip:18:1: remark:     SGPRs Spill: 1 [-Rpass-analysis=kernel-resource-usage]\n"
    "device.hip:18:1: remark:     VGPRs Spill: 2 [-Rpass-analysis=kernel-resource-usage]\n"
    "device.hip:18:1: remark:     LDS Size [bytes/block]: 10240 [-Rpass-analysis=kernel-resource-usage]\n"
    "device.hip:30:1: remark: Function Name: nest2 [-Rpass-analysis=kernel-resource-usage]\n"
    "device.hip:30:1: remark:     VGPRs: 25 [-Rpass-analysis=kernel-resource-usage]\n";

TEST(KernelReport, ReadsWhatClangSaysOfEachKernel) {
  const auto resources = parse_resources(remarks);
  ASSERT_EQ(resources.size(), 2U);
  const KernelResources& kernel = resources.at("kernel1");
  EXPECT_EQ(kernel.vector_registers, 56);
  EXPECT_EQ(kernel.accumulation_registers, 4);
  EXPECT_EQ(kernel.scalar_registers, 70);
  EXPECT_EQ(kernel.spilled_registers, 3);
  EXPECT_EQ(kernel.scratch_bytes, 8);
  EXPECT_EQ(kernel.lds_bytes, 10240);
  EXPECT_EQ(kernel.waves, 6);
  EXPECT_EQ(resources.at("nest2").vector_registers, 25);
}

// Its lines as ptxas 13.5 writes them, among clang's.
TEST(KernelReport, ReadsWhatPtxasSaysOfEachKernel) {
  const auto resources = parse_resources(std::string(remarks) +
                                         "ptxas info    : 0 bytes gmem\n"
                                         "ptxas info    : Compiling entry function 'nest3' for 'sm_80'\n"
                                         "ptxas info    : Function properties for nest3\n"
                                         "    24 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
                                         "ptxas info    : Used 40 registers, used 0 barriers, 400 bytes cmem[0]\n"
                                         "ptxas info    : Compile time = 1.951 ms\n"
                                         "ptxas info    : Compiling entry function 'kernel4' for 'sm_80'\n"
                                         "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                                         "ptxas info    : Used 128 registers, used 1 barriers, 40960 bytes smem\n");
  ASSERT_EQ(resources.size(), 4U);
  const KernelResources &nest = resources.at("nest3"), &kernel = resources.at("kernel4");
  EXPECT_EQ(nest.vector_registers, 40);
  EXPECT_EQ(nest.spilled_registers, 2);
  EXPECT_EQ(nest.scratch_bytes, 24);
  EXPECT_EQ(nest.lds_bytes, 0);
  EXPECT_EQ(nest.waves, std::nullopt);
  EXPECT_EQ(kernel.vector_registers, 128);
  EXPECT_EQ(kernel.lds_bytes, 40960);
  EXPECT_EQ(kernel.spilled_registers + kernel.scratch_bytes, 0);
  EXPECT_EQ(resources.at("kernel1").vector_registers, 56) << "clang's own stay";
}

TEST(KernelReport, ShowsPlansWhereNothingWasCompiled) {
  const std::vector<DeviceKernel> kernels = {
      {"kernel1", "conv 3x3x3 6->5", {3, 4}, KernelFigures{20480, 4, Expected{8.04, "matrix unit"}}},
      {"nest2", "loops copy", {5}, std::nullopt},
      {"kernel3", "conv 1x1x1 6->5", {6}, KernelFigures{4096, 3}}};  // over sizes of the run
  const std::string planned = kernels_table(kernels, {});
  EXPECT_THAT(planned, testing::HasSubstr(
                           "kernel1      2  20480          -        -      4  8.0  matrix unit  conv 3x3x3 6->5"));
  EXPECT_THAT(planned,
              testing::HasSubstr("nest2        1      -          -        -      -    -  -            loops copy"));
  EXPECT_THAT(planned, testing::HasSubstr(
                           "kernel3      1   4096          -        -      3    -  -            conv 1x1x1 6->5"));
  const std::string made = kernels_table(kernels, parse_resources(remarks));
  EXPECT_THAT(
      made, testing::HasSubstr("kernel1      2  10240         60       11      6  8.0  matrix unit  conv 3x3x3 6->5"));
}

}  // namespace
}  // namespace onnxc
