#include "report/nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/cpu/cpu_target.h"
#include "passes/graph_text.h"
#include "passes/lowering/lower.h"

namespace onnxc {
namespace {

TEST(NodesReport, NamesTheKernelAndNotTheCopyThatFollowsIt) {
  const auto graph = read_shaped_graph("(float[1, 3, 9, 9] x) => (y) <float[16, 3, 1, 1] w> { [n1] y = Conv(x, w) }");
  const Program program = lower(*graph, CpuTarget(*find_cpu_machine("x86-64-v3")), true);
  EXPECT_EQ(program.steps.size(), 2u);
  EXPECT_THAT(nodes_table(origins(*graph), program), testing::HasSubstr("n1    kernel     0  conv_direct 1x1x1 3->16"));
}

}  // namespace
}  // namespace onnxc
