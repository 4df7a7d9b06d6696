// The table of operations against LLVM's assembler.
#include "gfx942sim/operations/operation_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gfx942sim/kernel_tools.h"

namespace gfx942sim {
namespace {

TEST(OperationTable, NamesEachInstructionOnce) {
  std::set<std::string> names;
  for (const Operation& operation : all_operations())
    EXPECT_TRUE(names.insert(operation.name).second) << operation.name;
}

// Without its operands an instruction is incomplete, but known.
TEST(OperationTable, HasNothingThatGfx942Lacks) {
  std::vector<std::string> names;
  for (const Operation& operation : all_operations()) names.push_back(operation.name);
  const std::vector<std::string> errors = assembler_errors(names);
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_THAT(errors[i], testing::Not(testing::HasSubstr("not supported on this GPU"))) << names[i];
    EXPECT_THAT(errors[i], testing::Not(testing::HasSubstr("invalid instruction"))) << names[i];
  }
}

}  // namespace
}  // namespace gfx942sim
