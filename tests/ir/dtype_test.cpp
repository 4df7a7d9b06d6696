#include "ir/dtype.h"

#include <gtest/gtest.h>

#include "kernels/shared/small_types.h"

namespace onnxc {
namespace {

TEST(DType, InABufferEveryElementHasBytesOfItsOwn) {
  EXPECT_EQ(element_size(DType::float64), 8);
  EXPECT_EQ(element_size(DType::bfloat16), 2);
  EXPECT_EQ(element_size(DType::float8e5m2), 1);
  EXPECT_EQ(element_size(DType::int4), 1);
  EXPECT_EQ(element_size(DType::uint2), 1);
}

TEST(DType, InAFileTheyArePacked) {
  EXPECT_EQ(packed_size(DType::float32, 3), 12);
  EXPECT_EQ(packed_size(DType::float8e8m0, 3), 3);
  EXPECT_EQ(packed_size(DType::int4, 4), 2);
  EXPECT_EQ(packed_size(DType::uint4, 5), 3);
  EXPECT_EQ(packed_size(DType::int2, 9), 3);
  EXPECT_EQ(packed_size(DType::float4e2m1, 5), 3);
  EXPECT_EQ(packed_size(DType::int4, 0), 0);
}

TEST(DType, OnlyTheHalfTypesAreHalf) {
  for (int code = 0; code < 32; ++code)
    if (const DTypeInfo* row = find_dtype(code))
      EXPECT_EQ(is_half(row->dtype), row->dtype == DType::float16 || row->dtype == DType::bfloat16) << row->name;
}

TEST(DType, NumbersWithoutARow) {
  for (const int code : {-1, 14, 15, 27, 31, 32, 1000}) EXPECT_EQ(find_dtype(code), nullptr) << code;
}

TEST(DType, NamesAreReadBack) {
  for (int code = 0; code < 32; ++code)
    if (const DTypeInfo* row = find_dtype(code)) EXPECT_EQ(parse_dtype(row->name), row->dtype);
}

// Properties that comparisons of numbers do not see; the values themselves are held against ml_dtypes in test_cast.py.
TEST(SmallTypes, SignsOfZeroAndOfNan) {
  EXPECT_EQ(kernels::float8e4m3fn_t(-0.0F).bits, 0x80);
  EXPECT_EQ(kernels::float8e5m2_t(-1e-9F).bits, 0x80);
  EXPECT_EQ(kernels::float8e4m3fnuz_t(-0.0F).bits, 0);
  EXPECT_EQ(kernels::float8e5m2fnuz_t(-1e-9F).bits, 0);
  EXPECT_EQ(kernels::float8e4m3fn_t(-__builtin_nanf("")).bits, 0xff);
  EXPECT_EQ(kernels::float8e4m3fnuz_t(-__builtin_nanf("")).bits, 0x80);
  EXPECT_EQ(kernels::float8e5m2_t(-__builtin_inff()).bits, 0xfc);
  EXPECT_EQ(kernels::float8e4m3fn_t(-__builtin_inff()).bits, 0xff);
  EXPECT_EQ(kernels::float8e8m0_t(__builtin_inff()).bits, 0xff);
  EXPECT_EQ(kernels::float4e2m1_t(-0.0F).bits, 0x8);
  EXPECT_EQ(kernels::float4e2m1_t(-__builtin_inff()).bits, 0xf);
  EXPECT_EQ(kernels::float4e2m1_t(__builtin_nanf("")).bits, 0x8);
  EXPECT_EQ(kernels::float4e2m1_t(-__builtin_nanf("")).bits, 0x8);
}

}  // namespace
}  // namespace onnxc
