// A program is planned for the card that it is compiled for.
#include "codegen/hip/hip_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/hip/emit.h"
#include "machine/gpu_machines.h"
#include "passes/graph_text.h"
#include "passes/lowering/lower.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

// 27 x 4 tiles of 64 x 64, in 5 parts each, are 540 blocks for 304 compute units; 27 x 1 of 64 x 256, in 7 parts, are
// 189 for 96.
constexpr const char* convolution = R"((float[1, 256, 12, 12, 12] x) => (y) <float[256, 256, 3, 3, 3] w> {
  y = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w)
})";

struct Planned {
  std::string kernel, host, device;
};

Planned planned_for(const machine::GpuMachine& gpu) {
  const Target target = hip_target(kernels::Products::float32, gpu);
  const auto graph = read_shaped_graph(convolution);
  const Program program = lower(*graph, choose_kernels(*graph, target));
  Planned planned;
  for (const Step& step : program.steps)
    if (const auto* call = std::get_if<KernelCall>(&step.work)) planned.kernel = call->spec->describe();
  const EmittedDevice emitted = emit_hip(program, {gpu, "hash", "options", {}});
  planned.host = emitted.host;
  planned.device = emitted.source;
  return planned;
}

TEST(HipTarget, EachGpuHasAPlanOfItsOwnRow) {
  const Planned large = planned_for(machine::gfx942), small = planned_for(machine::gfx1100);
  EXPECT_EQ(large.kernel, "conv 3x3x3 256->256 float32 tile 64x64 split");
  EXPECT_EQ(small.kernel, "conv 3x3x3 256->256 float32 tile 64x256 split");
  EXPECT_THAT(large.device, HasSubstr("Products::float32, {64, 64}"));
  EXPECT_THAT(small.device, HasSubstr("Products::float32, {64, 256}"));
}

TEST(HipTarget, TheHostFileLaunchesByTheRowOfThePlan) {
  for (const machine::GpuMachine& gpu : machine::gpu_machines)
    EXPECT_THAT(planned_for(gpu).host,
                HasSubstr("constexpr machine::GpuMachine planned_gpu = machine::" + identifier(gpu) + ";"));
}

// 540 blocks are many for 38 compute units.
TEST(HipTarget, APartitionHasAPlanOfItsOwn) {
  EXPECT_NE(planned_for(machine::mi300x_cpx).kernel, planned_for(machine::mi300x).kernel);
}

TEST(HipTarget, ProgramsForSeveralCardsShareEqualWeights) {
  const auto graph = read_shaped_graph(convolution);
  std::vector<EmittedDevice> devices;
  for (const machine::GpuMachine& gpu : {machine::mi300x, machine::mi300a, machine::rx7900xtx}) {
    const Program program = lower(*graph, choose_kernels(*graph, hip_target(kernels::Products::float32, gpu)));
    devices.push_back(emit_hip(program, {gpu, "hash", "options", {}, devices}));
  }
  EXPECT_TRUE(devices[0].has_own_weights);
  EXPECT_FALSE(devices[1].has_own_weights);
  EXPECT_EQ(devices[1].weights_symbol, devices[0].weights_symbol);
  EXPECT_EQ(devices[1].program, "device_program1");
  EXPECT_THAT(devices[1].host, HasSubstr("namespace hip1 {"));
  EXPECT_THAT(devices[2].host, HasSubstr("namespace hip2 {"));
}

TEST(HipTarget, AWideGpuIsKeptBusyByMoreResults) {
  EXPECT_EQ(hip_target(kernels::Products::float32, machine::gfx942).parallel_results, 16 * 304);
  EXPECT_EQ(hip_target(kernels::Products::float32, machine::gfx1100).parallel_results, 16 * 96);
}

}  // namespace
}  // namespace onnxc
