#include "ir/node_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

const Origin node{"node_conv3d_5", "Conv", "", 22, {"encoder.up.0", "networks/unet.py:45", "x = stage(x)"}};

TEST(NodePattern, FitsNameOperatorModuleAndLine) {
  for (const char* pattern : {"node_conv3d_5", "node_conv*", "Con?", "encoder.*", "*up*", "networks/unet.py:45", "*"})
    EXPECT_TRUE(fits_node(pattern, node)) << pattern;
  for (const char* pattern : {"conv", "up", "x = *", "", "decoder*"}) EXPECT_FALSE(fits_node(pattern, node)) << pattern;
}

TEST(NodePattern, OneOfSeveral) {
  EXPECT_TRUE(fits_any({"decoder*", "encoder*"}, node));
  EXPECT_FALSE(fits_any({"decoder*"}, node));
  EXPECT_FALSE(fits_any({}, node));
}

TEST(NodePattern, ThatFitsNothingIsRefused) {
  const auto graph = read_shaped_graph("(float[2] x) => (y) { a = Relu(x) y = Neg(a) }");
  EXPECT_NO_THROW(check_patterns("--node", {"a", "Ne*"}, {graph.get()}));
  EXPECT_THAT(
      [&] { check_patterns("--keep-float32", {"a", "up"}, {graph.get()}); },
      ThrowsMessage<UsageError>(StrEq("--keep-float32 'up': no node has such a name, operator, module or source "
                                      "line; '*' stands for any text, as in '*up*'")));
}

}  // namespace
}  // namespace onnxc
