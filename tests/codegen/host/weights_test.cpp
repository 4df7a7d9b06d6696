#include "codegen/host/weights.h"

#include <gtest/gtest.h>

namespace onnxc {
namespace {

Tensor bytes(int64_t count, std::byte value) {
  Tensor tensor = Tensor::zeros(DType::uint8, {count});
  std::fill_n(tensor.mutable_bytes(), count, value);
  return tensor;
}

TEST(WeightBytes, EqualBytesHaveOneCopy) {
  WeightBytes weights;
  EXPECT_EQ(weights.place(bytes(100, std::byte{1})), 0);
  // 64 bytes after the first, at the next multiple of 64.
  EXPECT_EQ(weights.place(bytes(100, std::byte{2})), 192);
  EXPECT_EQ(weights.place(bytes(100, std::byte{1})), 0);
  EXPECT_EQ(weights.place(bytes(99, std::byte{1})), 384);
  EXPECT_EQ(weights.place(bytes(100, std::byte{2})), 192);
  EXPECT_EQ(weights.size(), 576);
}

// Most constants are told apart by their first 4 KiB; these only by their last byte.
TEST(WeightBytes, BytesThatDifferAtTheEndHaveTheirOwn) {
  Tensor other = bytes(10'000, std::byte{1});
  other.mutable_bytes()[9'999] = std::byte{2};
  WeightBytes weights;
  EXPECT_EQ(weights.place(bytes(10'000, std::byte{1})), 0);
  const int64_t offset = weights.place(other);
  EXPECT_GT(offset, 10'000);
  EXPECT_EQ(weights.place(other), offset);
}

}  // namespace
}  // namespace onnxc
