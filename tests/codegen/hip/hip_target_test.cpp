// A program is planned for the card that it is compiled for.
#include "codegen/hip/hip_target.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "codegen/call/typed_call.h"
#include "codegen/hip/call/kernel_spec.h"
#include "codegen/hip/emit.h"
#include "codegen/hip/gemm/gemm_choice.h"
#include "machine/gpu_machines.h"
#include "ops/network/normalization_spec.h"
#include "passes/graph_text.h"
#include "passes/lowering/lower.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

// 27 x 4 tiles of 64 x 64, in 5 parts each, are 540 blocks for 304 compute units; 7 x 4 of 256 x 64, in 3 parts, are 84
// for 48.
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
  WeightBytes weights;
  const EmittedDevice emitted = emit_hip(program, {gpu, "hash", "options", {}}, weights);
  planned.host = emitted.host;
  planned.device = emitted.source;
  return planned;
}

TEST(HipTarget, EachGpuHasAPlanOfItsOwnRow) {
  const Planned large = planned_for(machine::gfx942), small = planned_for(machine::gfx1100);
  EXPECT_EQ(large.kernel, "conv 3x3x3 256->256 float32 tile 64x64 split");
  EXPECT_EQ(small.kernel, "conv 3x3x3 256->256 float32 tile 256x64 split");
  EXPECT_THAT(large.device, HasSubstr("Products::float32, {64, 64}"));
  EXPECT_THAT(small.device, HasSubstr("Products::float32, {256, 64}"));
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
  std::vector<WeightBytes> weights(3);
  for (const machine::GpuMachine& gpu : {machine::mi300x, machine::mi300a, machine::rx7900xtx}) {
    const Program program = lower(*graph, choose_kernels(*graph, hip_target(kernels::Products::float32, gpu)));
    devices.push_back(emit_hip(program, {gpu, "hash", "options", {}, false, devices.size()}, weights[devices.size()]));
  }
  EXPECT_TRUE(weights[0].equals(weights[1]));
  EXPECT_EQ(devices[1].program, "device_program1");
  EXPECT_THAT(devices[1].host, HasSubstr("namespace hip1 {"));
  EXPECT_THAT(devices[2].host, HasSubstr("namespace hip2 {"));
}

TEST(HipTarget, AWideGpuIsKeptBusyByMoreResults) {
  EXPECT_EQ(hip_target(kernels::Products::float32, machine::gfx942).parallel_results, 16 * 304);
  EXPECT_EQ(hip_target(kernels::Products::float32, machine::gfx1100).parallel_results, 16 * 48);
}

// One node, that gives n or else the last: the offer that is taken, and the call that it becomes.
struct Lowered {
  Offer offer;
  KernelCall call;
  Program program;
};

Lowered lowered(const std::string& model, const machine::GpuMachine& gpu) {
  const Target target = hip_target(kernels::Products::float32, gpu);
  const auto graph = read_shaped_graph(model);
  const KernelChoices choices = choose_kernels(*graph, target);
  EXPECT_EQ(choices.cost_unit, "microseconds");
  const Node* chosen = graph->nodes().back().get();
  for (const auto& node : graph->nodes())
    if (node->outputs[0]->name == "n") chosen = node.get();
  const Offer* const offer = choices.chosen(*chosen);
  if (offer == nullptr) return {};
  Lowered result{*offer, {}, lower(*graph, choices)};
  for (const Step& step : result.program.steps)
    if (const auto* call = std::get_if<KernelCall>(&step.work))
      if (result.program.buffer(call->output).name == chosen->outputs[0]->name) result.call = *call;
  return result;
}

// All launches of a call, with what those after the first cost.
double expected_microseconds(const Lowered& lowered) {
  const auto* const spec = spec_of<HipKernelSpec>(lowered.call);
  double sum = spec->figures().expected.value().microseconds;
  for (const DeviceFunction& next : spec->further(lowered.call, lowered.program))
    if (next.figures) sum += launch_microseconds + next.figures->expected.value().microseconds;
  return sum;
}

// A model for each row, and others whose plans differ by what is before or after them.
const std::map<std::string, std::string> models = {
    {"in parts", convolution},
    {"of few channels", R"((float[1, 3, 40, 40, 40] x) => (y) <float[32, 3, 3, 3, 3] w> { y = Conv (x, w) })"},
    {"of rows", R"((float[1, 64, 40, 40, 40] x) => (y) <float[32, 64, 1, 1, 1] w> { y = Conv (x, w) })"},
    {"of blocks", R"((float[1, 64, 40, 40, 40] x) => (y) <float[64, 64, 3, 3, 3] v, float[32, 64, 1, 1, 1] w> {
      a = Conv (x, v)
      y = Conv (a, w)
    })"},
    {"transposed", R"((float[1, 64, 20, 20, 20] x) => (y) <float[64, 32, 2, 2, 2] w> {
      y = ConvTranspose <strides = [2, 2, 2]> (x, w)
    })"},
    {"channelwise", R"((float[1, 64, 40, 40, 40] x) => (y) <float[64, 1, 3, 3, 3] w> {
      y = Conv <group = 64, pads = [1, 1, 1, 1, 1, 1]> (x, w)
    })"},
    {"transposed channelwise", R"((float[1, 64, 20, 20, 20] x) => (y) <float[64, 1, 2, 2, 2] w> {
      y = ConvTranspose <group = 64, strides = [2, 2, 2]> (x, w)
    })"},
    {"product", "(float[5000, 320] x) => (y) <float[320, 1000] w> { y = MatMul (x, w) }"},
    {"softmax", "(float[50000, 320] x) => (y) { y = Softmax <axis = 1> (x) }"},
    {"last axes", "(float[50000, 320] x) => (y) <float[320] s, float[320] b> { y = LayerNormalization (x, s, b) }"},
    {"whole instances", R"((float[64, 320, 9, 9] x) => (y) <float[320] s, float[320] b> {
      y = InstanceNormalization (x, s, b)
    })"},
    {"instances in chunks", R"((float[1, 32, 64, 64, 64] x) => (y) <float[32] s, float[32] b> {
      y = InstanceNormalization (x, s, b)
    })"},
    {"instances in blocks",
     R"((float[1, 32, 64, 64, 64] x) => (y)
         <float[32, 32, 1, 1, 1] w, float[32] s, float[32] b, float[32, 32, 3, 3, 3] v> {
      a = Conv (x, w)
      n = InstanceNormalization (a, s, b)
      y = Conv (n, v)
    })"},
};

TEST(HipTarget, TheOfferThatIsTakenIsWhatIsEmitted) {
  for (const auto& [name, model] : models)
    for (const machine::GpuMachine& gpu : machine::gpu_machines) {
      const Lowered made = lowered(model, gpu);
      ASSERT_NE(made.call.spec, nullptr) << name;
      EXPECT_EQ(made.offer.kernel, made.call.spec->describe()) << name << " on " << gpu.name;
      EXPECT_DOUBLE_EQ(made.offer.cost.value(), expected_microseconds(made)) << name << " on " << gpu.name;
      EXPECT_GT(made.offer.cost.value(), 0) << name << " on " << gpu.name;
    }
}

TEST(HipTarget, AnOfferIsPlannedForTheLayoutOfItsInput) {
  const Lowered in_chunks = lowered(models.at("instances in chunks"), machine::gfx942),
                in_blocks = lowered(models.at("instances in blocks"), machine::gfx942);
  EXPECT_EQ(in_chunks.offer.reads, LayoutDemand::rows);
  EXPECT_EQ(in_blocks.offer.reads, LayoutDemand::blocks);
  EXPECT_NE(in_chunks.offer.cost, in_blocks.offer.cost);
  const Lowered of_rows = lowered(models.at("of rows"), machine::gfx942),
                of_blocks = lowered(models.at("of blocks"), machine::gfx942);
  EXPECT_EQ(of_rows.offer.reads, LayoutDemand::rows);
  EXPECT_EQ(of_blocks.offer.reads, LayoutDemand::blocks);
  EXPECT_THAT(spec_of<HipKernelSpec>(of_rows.call)->function(of_rows.call, of_rows.program), HasSubstr("planar, 1,"));
  EXPECT_THAT(spec_of<HipKernelSpec>(of_blocks.call)->function(of_blocks.call, of_blocks.program),
              HasSubstr("blocks, 16,"));
}

// The layout that the kernel of the last InstanceNormalization reads.
LayoutDemand normalized_in(const std::string& model) {
  const Target target = hip_target(kernels::Products::float32, machine::gfx942);
  const auto graph = read_shaped_graph(model);
  const KernelChoices choices = choose_kernels(*graph, target);
  std::optional<LayoutDemand> result;
  for (const auto& node : graph->nodes())
    if (is_instance_normalization(*node)) result = choices.chosen(*node)->reads;
  return result.value();
}

// In chunks of blocks a normalisation takes two launches, in rows here one; but the first may be the product's.
TEST(HipTarget, AFusionDecidesForItsLayout) {
  constexpr const char* model = R"((float[1, 16, 8, 16, 16] x) => (y)
      <float[32, 16, 1, 1, 1] w, float[32] s, float[32] b, float[32, 32, 1, 1, 1] v> {{
    a = Conv (x, w)
    g = Sigmoid (a)
    c = Mul (a, g)
    n = InstanceNormalization (c, s, b)
    m = Conv (n, v)
    y = {}
  }})";
  EXPECT_EQ(normalized_in(fmt::format(model, "Neg (m)")), LayoutDemand::blocks);
  // A result that others read as well is not fused.
  EXPECT_EQ(normalized_in(fmt::format(model, "Add (m, a)")), LayoutDemand::rows);
}

TEST(HipTarget, SizesThatOnlyARunKnowsAreCostedAsIsUsual) {
  const Lowered free = lowered(R"((float[N, 32, D, 64, 64] x) => (y) <float[32, 32, 3, 3, 3] w> { y = Conv (x, w) })",
                               machine::gfx942),
                usual = lowered(R"((float[1, 32, 64, 64, 64] x) => (y) <float[32, 32, 3, 3, 3] w> { y = Conv (x, w) })",
                                machine::gfx942);
  EXPECT_DOUBLE_EQ(free.offer.cost.value(), usual.offer.cost.value());
  EXPECT_FALSE(spec_of<HipKernelSpec>(free.call)->figures().expected.has_value());
}

TEST(HipTarget, ACostThatCannotBeComputedIsUnknown) {
  const Target target = hip_target();
  // 64^11 lines, by the hints.
  const auto graph = read_shaped_graph(
      "(float[A, B, C, D, E, F, G, H, I, J, K, 16] x) => (y) { f = Flatten <axis = 11> (x) y = Softmax (f) }");
  const KernelChoices choices = choose_kernels(*graph, target);
  EXPECT_FALSE(choices.chosen(*graph->nodes().back())->cost.has_value());
  EXPECT_THAT(to_string(*graph, choices), HasSubstr(" -  taken"));
}

}  // namespace
}  // namespace onnxc
