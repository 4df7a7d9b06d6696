#include "ir/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onnxc {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

std::vector<int> bytes_of(const Tensor& tensor) {
  std::vector<int> result;
  for (const std::byte byte : tensor.bytes()) result.push_back(static_cast<int>(byte));
  return result;
}

Tensor int4s(std::vector<int64_t> dims, const std::vector<int8_t>& values) {
  return Tensor::of(DType::int4, std::move(dims), values);
}

TEST(Tensor, PacksTheFirstElementIntoTheLowestBits) {
  EXPECT_THAT(bytes_of(pack(int4s({3}, {1, -2, 3}))), ElementsAre(0xe1, 0x03));
  EXPECT_THAT(bytes_of(pack(Tensor::of<uint8_t>(DType::uint2, {5}, {3, 2, 1, 0, 2}))), ElementsAre(0x1b, 0x02));
  EXPECT_THAT(bytes_of(pack(Tensor::of<uint8_t>(DType::float8e5m2, {2}, {0x3c, 0xff}))), ElementsAre(0x3c, 0xff));
}

TEST(Tensor, UnpacksWithTheirSign) {
  const std::vector<std::byte> bytes = {std::byte{0x8f}, std::byte{0xf7}};
  EXPECT_THAT(unpack(DType::int4, {3}, bytes).as_int64(), ElementsAre(-1, -8, 7));
  EXPECT_THAT(unpack(DType::uint4, {3}, bytes).as_int64(), ElementsAre(15, 8, 7));
  EXPECT_THAT(unpack(DType::float4e2m1, {3}, bytes).as_double(), ElementsAre(-6, -0.0, 6));
  EXPECT_THAT(unpack(DType::int2, {2, 3}, bytes).as_int64(), ElementsAre(-1, -1, 0, -2, -1, 1));
  EXPECT_THAT(unpack(DType::uint2, {2, 3}, bytes).as_int64(), ElementsAre(3, 3, 0, 2, 3, 1));
}

TEST(Tensor, NumbersAreRoundedToTheFloatingTypeThatIsAskedFor) {
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    const Tensor tensor = float_tensor(dtype, {2}, {0.5, 1.0 / 3});
    EXPECT_EQ(tensor.dtype(), dtype);
    const double precision = dtype == DType::bfloat16 ? 0x1p-9 : dtype == DType::float16 ? 0x1p-12 : 0x1p-25;
    EXPECT_THAT(tensor.as_double(), ElementsAre(0.5, DoubleNear(1.0 / 3, precision)));
  }
}

TEST(Tensor, PackedAndUnpackedItIsTheSame) {
  const Tensor tensor = int4s({3, 5}, {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6});
  const Tensor again = unpack(DType::int4, {3, 5}, pack(tensor).bytes());
  EXPECT_EQ(again.as_int64(), tensor.as_int64());
}

}  // namespace
}  // namespace onnxc
