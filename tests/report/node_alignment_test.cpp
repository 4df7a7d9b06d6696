#include "report/node_alignment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

// Nodes from words such as "Conv:a:decoder", each a node's operator, name and module.
std::vector<NodeKey> nodes(const std::vector<std::string>& words) {
  std::vector<NodeKey> keys;
  for (const std::string& word : words) {
    const size_t first = word.find(':'), second = word.find(':', first + 1);
    keys.push_back({word.substr(0, first), word.substr(first + 1, second - first - 1),
                    second == std::string::npos ? "" : word.substr(second + 1), ""});
  }
  return keys;
}

// "0=0 1- +1": a pair, a node of only the first, a node of only the second.
std::string aligned(const std::vector<NodeKey>& before, const std::vector<NodeKey>& after) {
  std::string text;
  for (const NodePair& pair : align_nodes(before, after)) {
    if (!text.empty()) text += " ";
    if (pair.before) text += fmt::format("{}", *pair.before);
    text += pair.before && pair.after ? "=" : pair.before ? "-" : "+";
    if (pair.after) text += fmt::format("{}", *pair.after);
  }
  return text;
}

TEST(NodeAlignment, PairsEqualSequences) {
  EXPECT_EQ(aligned({}, {}), "");
  EXPECT_EQ(aligned(nodes({"Conv:a", "Relu:b"}), nodes({"Conv:a", "Relu:b"})), "0=0 1=1");
  EXPECT_EQ(aligned({}, nodes({"Conv:a"})), "+0");
  EXPECT_EQ(aligned(nodes({"Conv:a"}), {}), "0-");
}

TEST(NodeAlignment, FindsWhatWasPutInThoughNamesCountOn) {
  EXPECT_EQ(aligned(nodes({"Conv:c0", "Relu:r0", "Conv:c1", "Relu:r1"}),
                    nodes({"Conv:c0", "Relu:r0", "Relu:r1", "Conv:c1", "Relu:r2"})),
            "0=0 1=1 +2 2=3 3=4");
}

TEST(NodeAlignment, PairsNoTwoKinds) {
  EXPECT_EQ(aligned(nodes({"Conv:a", "Relu:b", "Conv:c"}), nodes({"Conv:a", "Elu:b", "Conv:c"})), "0=0 1- +1 2=2");
}

TEST(NodeAlignment, PairsThoseOfOneModule) {
  EXPECT_EQ(aligned(nodes({"Conv:a:up", "Conv:b:down"}), nodes({"Conv:c:down"})), "0- 1=0");
  EXPECT_EQ(aligned(nodes({"Conv:a:up", "Conv:b:down"}), nodes({"Conv:c:up"})), "0=0 1-");
}

TEST(NodeAlignment, PairsByOrderWhereNoNameIsTheSame) {
  EXPECT_EQ(aligned(nodes({"Conv:a", "Relu:b", "Conv:c"}), nodes({"Conv:/0", "Relu:/1", "Conv:/2"})), "0=0 1=1 2=2");
}

TEST(NodeAlignment, RefusesWhatWouldTakeTooMuchMemory) {
  const std::vector<NodeKey> before(10'000, {"Conv", "a", "", ""}), after(10'000, {"Conv", "b", "", ""});
  EXPECT_THROW(align_nodes(before, after), UserError);
}

}  // namespace
}  // namespace onnxc
