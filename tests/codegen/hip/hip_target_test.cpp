// A program is planned for the GPU that it is compiled for, the first that is named.
#include "codegen/hip/hip_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/hip/emit.h"
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

Planned planned_for(const std::vector<std::string>& gpus) {
  const Target target = hip_target(kernels::Products::float32, gpus);
  const auto graph = read_shaped_graph(convolution);
  const Program program = lower(*graph, choose_kernels(*graph, target));
  Planned planned;
  for (const Step& step : program.steps)
    if (const auto* call = std::get_if<KernelCall>(&step.work)) planned.kernel = call->spec->describe();
  const EmittedDevice emitted =
      emit_hip(program, {std::get<machine::GpuMachine>(target.machine), gpus, "hash", "options", {}});
  planned.host = emitted.host;
  planned.device = emitted.source;
  return planned;
}

TEST(HipTarget, EachGpuHasAPlanOfItsOwnRow) {
  const Planned large = planned_for({"gfx942"}), small = planned_for({"gfx1100"});
  EXPECT_EQ(large.kernel, "conv 3x3x3 256->256 float32 tile 64x64 split");
  EXPECT_EQ(small.kernel, "conv 3x3x3 256->256 float32 tile 64x256 split");
  EXPECT_THAT(large.device, HasSubstr("Products::float32, {64, 64}"));
  EXPECT_THAT(small.device, HasSubstr("Products::float32, {64, 256}"));
}

TEST(HipTarget, TheHostFileLaunchesByTheRowOfThePlan) {
  for (const char* gpu : {"gfx942", "gfx90a", "gfx1100"})
    EXPECT_THAT(planned_for({gpu}).host,
                HasSubstr(std::string("constexpr machine::GpuMachine planned_gpu = machine::") + gpu + ";"));
}

TEST(HipTarget, TheFirstOfSeveralGpusIsPlannedFor) {
  EXPECT_EQ(planned_for({"gfx942", "gfx1100"}).kernel, planned_for({"gfx942"}).kernel);
  EXPECT_EQ(planned_for({"gfx1100", "gfx942"}).kernel, planned_for({"gfx1100"}).kernel);
}

TEST(HipTarget, AWideGpuIsKeptBusyByMoreResults) {
  EXPECT_EQ(hip_target(kernels::Products::float32, {"gfx942"}).parallel_results, 16 * 304);
  EXPECT_EQ(hip_target(kernels::Products::float32, {"gfx1100"}).parallel_results, 16 * 96);
}

}  // namespace
}  // namespace onnxc
