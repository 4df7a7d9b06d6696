// The law of operands, of views and aliases: kernels have theirs in kernel_call_laws_test.cpp.
#include "ir/program/operand_law.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/program/parser.h"
#include "ir/program/verifier_message.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

std::string fault(const std::string& program) { return verifier_message(parse_program(program)); }

// For x[N, 9] and y[4, 5]: y is a copy of the part of x that b2 is.
std::string fault_of_part(const std::string& part, const std::string& guards = "") {
  return fault(R"(dim N ..
dim c 0..1
dim d 0..1
b0 input float32 [N, 9] "x"
b1 output float32 [4, 5] "y"
b2 temporary float32 [4, 5] )" +
               part + R"( "part"
inputs b0
outputs b1
)" + guards + R"(nest fill  axes i<4, j<5
  b1[i, j] = 0.0
nest copy  axes i<4, j<5
  b1[i, j] = b2[i, j]
)");
}

TEST(OperandLaw, AViewLiesWithinItsParent) {
  const std::string enough = "guard N >= 6 \"six rows\"\n";
  EXPECT_EQ(fault_of_part("view b0 [2, 4]", enough), "");
  EXPECT_THAT(
      fault_of_part("view b0 [2, 5]", enough),
      HasSubstr("nest copy takes b2 of shape [4, 5] from [2, 5] on of b0 of shape [N, 9], which is not shown to "
                "hold it"));
  EXPECT_THAT(fault_of_part("view b0 [3, 4]", enough), HasSubstr("from [3, 4] on"));
  EXPECT_THAT(fault_of_part("view b0 [-1, 4]", enough), HasSubstr("from [-1, 4] on"));
}

TEST(OperandLaw, OfAFreeSizeWithoutAGuardNothingIsKnown) {
  EXPECT_THAT(fault_of_part("view b0 [0, 0]"), HasSubstr("from [0, 0] on"));
}

// A branch within a branch: its condition is a sum of products, (1 - c)*d.
TEST(OperandLaw, GuardsOfABranchCount) {
  const std::string of_branch = "guard N >= 6 \"six rows\" when d - c*d\n";
  EXPECT_EQ(fault_of_part("view b0 [2, 4]", of_branch), "");
  EXPECT_NE(fault_of_part("view b0 [3, 4]", of_branch), "");
}

TEST(OperandLaw, AnAliasHasAsManyElements) {
  const auto reshape = [](const std::string& guards) {
    return fault(R"(dim N ..
dim M ..
b0 input float32 [N, M] "x"
b1 output float32 [3, 4] "y"
b2 temporary float32 [3, 4] alias b0 "flat"
inputs b0
outputs b1
)" + guards + R"(nest copy  axes i<3, j<4
  b1[i, j] = b2[i, j]
)");
  };
  EXPECT_EQ(reshape("guard N*M == 12 \"twelve elements\"\n"), "");
  EXPECT_THAT(reshape(""), HasSubstr("nest copy takes b2 of shape [3, 4] for b0 of shape [N, M], which is not shown to "
                                     "hold as many elements"));
  EXPECT_NE(reshape("guard N*M >= 12 \"twelve elements\"\n"), "");
}

TEST(OperandLaw, AnAliasHasAsManyElementsIfEachDimIsEqual) {
  const auto square = [](const std::string& guards) {
    return fault(R"(dim N ..
dim M ..
b0 input float32 [N, M] "x"
b1 output float32 [1, N, N] "y"
b2 temporary float32 [1, N, N] alias b0 "square"
inputs b0
outputs b1
)" + guards + R"(nest copy  axes i<N, j<N
  b1[0, i, j] = b2[0, i, j]
)");
  };
  EXPECT_EQ(square("guard N == M \"a square matrix\"\n"), "");
  EXPECT_THAT(square(""), HasSubstr("which is not shown to hold as many elements"));
  EXPECT_NE(square("guard N >= M \"a wide matrix\"\n"), "");
}

}  // namespace
}  // namespace onnxc
