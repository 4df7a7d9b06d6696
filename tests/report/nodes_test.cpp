#include "report/nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/cpu/cpu_target.h"
#include "passes/graph_text.h"
#include "passes/lowering/lower.h"
#include "passes/program/take_nests.h"
#include "passes/test_target.h"

namespace onnxc {
namespace {

TEST(NodesReport, NamesTheKernelAndNotTheCopyThatFollowsIt) {
  const Target target = cpu_target(*find_cpu_machine("x86-64-v3"));
  const auto graph = read_shaped_graph("(float[1, 3, 9, 9] x) => (y) <float[16, 3, 1, 1] w> { [n1] y = Conv(x, w) }");
  Program program = lower_for(*graph, target);
  EXPECT_EQ(program.steps.size(), 2u);
  const char* expected = "n1    kernel    0-1  conv_stem 1x1x1 3->16";
  EXPECT_THAT(nodes_table(origins(*graph), program), testing::HasSubstr(expected));
  take_nests(program, target);
  EXPECT_THAT(to_string(program), testing::HasSubstr("\nkernel copy to rows  b"));
  EXPECT_THAT(nodes_table(origins(*graph), program), testing::HasSubstr(expected));
}

TEST(NodesReport, NamesTheKernelThatComputesANest) {
  const Target target = cpu_target(*find_cpu_machine("x86-64-v3"));
  const auto graph = read_shaped_graph(R"((float[1, 3, 9, 9] x) => (y)
  <float[12, 3, 1, 1] u, float[12, 3, 1, 1] v, float[8, 24, 1, 1] w> {
    [n1] a = Conv(x, u)
    [n2] b = Conv(x, v)
    [n3] c = Concat <axis = 1> (a, b)
    [n4] y = Conv(c, w)
  })");
  Program program = lower_for(*graph, target);
  EXPECT_THAT(nodes_table(origins(*graph), program), testing::HasSubstr("n3    loops "));
  take_nests(program, target);
  const std::string table = nodes_table(origins(*graph), program);
  EXPECT_THAT(table, testing::HasSubstr("n3    kernel"));
  EXPECT_THAT(table, testing::HasSubstr(" to channel 12"));
  EXPECT_THAT(table, testing::Not(testing::HasSubstr("loops")));
}

}  // namespace
}  // namespace onnxc
