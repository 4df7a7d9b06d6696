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

// The second program takes the constants of the first that are equal in type, dims and bytes.
TEST(SharedConstants, EqualConstantsOfTwoProgramsAreOne) {
  const auto program_of = [](const std::vector<Tensor>& constants) {
    Program program;
    for (const Tensor& constant : constants) program.buffers.emplace_back().constant = constant;
    return program;
  };
  const auto of = [](std::vector<int64_t> dims, float last) {
    return Tensor::of<float>(DType::float32, std::move(dims), {1, 2, 3, last});
  };
  Program first = program_of({of({4}, 4), of({4}, 5)});
  Program second = program_of({of({2, 2}, 4), of({4}, 5), of({4}, 6)});
  SharedConstants shared;
  shared.share(first);
  shared.share(second);
  const auto bytes = [](const Program& program, size_t i) { return program.buffers[i].constant->bytes().data(); };
  EXPECT_EQ(bytes(second, 1), bytes(first, 1));
  EXPECT_NE(bytes(second, 0), bytes(first, 0));
  EXPECT_EQ(second.buffers[0].constant->dims(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(second.buffers[2].constant->values<float>()[3], 6);
}

}  // namespace
}  // namespace onnxc
