#include "report/nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/cpu/cpu_target.h"
#include "passes/graph_builder.h"
#include "passes/lower.h"

namespace onnxc {
namespace {

TEST(NodesReport, NamesTheKernelAndNotTheCopyThatFollowsIt) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {1, 3, 9, 9});
  Value* weights = builder.constant(DType::float32, {16, 3, 1, 1}, std::vector<float>(48, 1.0F));
  builder.output(builder.node("Conv", {x, weights}));
  infer_shapes(builder.graph);
  const Program program = lower(builder.graph, CpuTarget(8), true);
  EXPECT_EQ(program.steps.size(), 2u);
  EXPECT_THAT(nodes_table(origins(builder.graph), program),
              testing::HasSubstr("n1    kernel     0  conv_direct 1x1x1 3->16"));
}

}  // namespace
}  // namespace onnxc
