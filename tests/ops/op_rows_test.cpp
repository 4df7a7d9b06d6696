#include <gtest/gtest.h>

#include "ops/op.h"

namespace onnxc {
namespace {

// Rows of `expand` have no definition; the marks of control flow (a sequence, a missing element) have neither.
TEST(OpRowsTest, EachDefinedOperatorSaysItsStorage) {
  for (const OpRow* row : all_ops()) {
    SCOPED_TRACE(row->name);
    EXPECT_EQ(row->define != nullptr, row->infer != nullptr);
    EXPECT_FALSE(row->define != nullptr && row->expand != nullptr);
    EXPECT_EQ(row->define != nullptr, row->storage != StorageRule::unsaid)
        << "add the operator's StorageRule after its definition: what --precision makes of its outputs";
  }
}

TEST(OpRowsTest, VersionsOfAnOperatorDoNotOverlap) {
  for (const OpRow* row : all_ops())
    for (int version : {row->first_version, row->last_version})
      EXPECT_EQ(find_op(row->domain, row->name, version), row) << row->name << " " << version;
}

}  // namespace
}  // namespace onnxc
