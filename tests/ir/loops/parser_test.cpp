#include "ir/loops/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// b0 to b2 are float32, b3 is int64, b4 boolean, b5 float16, b6 uint8, b7 uint64.
DType dtype_of(BufferId id) {
  constexpr DType dtypes[] = {DType::float32, DType::float32, DType::float32, DType::int64,
                              DType::boolean, DType::float16, DType::uint8,   DType::uint64};
  return dtypes[static_cast<size_t>(id)];
}

LoopNest parse(std::string_view text) {
  DimNames dims;
  return parse_nest(text, dtype_of, dims);
}

class RoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, PrintsWhatItRead) { EXPECT_EQ(to_string(parse(GetParam())), GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Nests, RoundTrip,
    testing::Values("nest softmax_sum  axes i<N  reduce k<D\n"
                    "  acc0: float32 = sum exp(b0[i, k] - b1[i])\n"
                    "  b2[i] = acc0\n",
                    "nest conv  axes o<16, y<H + 2  reduce c<3, r<3\n"
                    "  acc0: float32 = sum select(0 <= index(r + y - 2) && index(r + y) < index(H + 2), "
                    "b0[c, r + y - 2], 0.0) * b1[o, c, r]\n"
                    "  b2[o, y] = max(acc0, 0.0)\n",
                    "nest scatter  axes i<min(A, B)  ordered t<4\n"
                    "  let j0 = b3[i, t]\n"
                    "  let j1 = select(index(j0) < 0, index(j0 + 7), index(j0))\n"
                    "  b0[i, j1] += b1[i, t] if b4[t] && 0 <= index(j1)\n",
                    "nest argument  axes i<2  reduce k<5\n"
                    "  acc0: int64 = argument_maximum b0[i, k] at 2*k + 1\n"
                    "  acc1: float32 = maximum b0[i, k]\n"
                    "  b3[i] = acc0\n"
                    "  b0[i, 0] min= acc1\n",
                    "nest shared  axes i<N\n"
                    "  t0 = b0[i] * b1[i] + 1.5\n"
                    "  t1 = exp(t0)\n"
                    "  b2[i] = t1 / (t1 + t0)\n",
                    "nest numbers  axes i<N\n"
                    "  b0[i] = -b1[i] + -2.0 - 1e-05 * b1[i] + float32(nan) - float32(inf) * b2[i]\n"
                    "  b3[i] = (b3[i] << 3) - -4\n"
                    "  b4[i] = !(b3[i] == 9223372036854775807 || b4[i]) ^^ b4[i]\n"
                    "  b5[i] = float16(float32(b5[i]) * 0.25 + float32(float64(b0[i]) + float64(0.1)))\n"
                    "  b6[i] = uint8(3) & ~uint8(b3[i])\n"
                    "  b7[i] = modulo_floor(b7[i], uint64(18446744073709551615))\n",
                    "nest bits  axes i<N\n"
                    "  b3[i] = bits_as_int64(float64(b0[i])) + int64(bits_as_uint16(b5[i]))\n",
                    "nest scalar\n"
                    "  b0[] = 1.0\n"));

TEST(LoopsParser, SharedOperationsStaySoAndDimsAreOne) {
  DimNames dims;
  LoopNest nest = parse_nest("nest n  axes i<N\n  t0 = exp(b0[i])\n  b1[i] = t0 * t0\n", dtype_of, dims);
  const ScalarNode& product = *nest.stores[0].value;
  EXPECT_EQ(&*product.operands[0], &*product.operands[1]);
  LoopNest other = parse_nest("nest n  axes i<N\n  b1[i] = b0[i]\n", dtype_of, dims);
  EXPECT_EQ(nest.axes[0].extent, other.axes[0].extent);
}

TEST(LoopsPrinter, GivesAxesOfOneNameDifferentNames) {
  Expr n = Symbol::dim("i0");
  Symbol a = Symbol::axis("i0", n), b = Symbol::axis("i0", 4);
  LoopNest nest;
  nest.name = "fused";
  nest.axes = {{a, n, AxisKind::parallel}, {b, 4, AxisKind::parallel}};
  nest.stores.push_back({1, {a, b}, scalar::load(DType::float32, 0, {b, a}), StoreKind::assign, {}});
  EXPECT_EQ(to_string(nest), "nest fused  axes i0_1<i0, i0_2<4\n  b1[i0_1, i0_2] = b0[i0_2, i0_1]\n");
}

void expect_error(const char* text, const char* message) {
  EXPECT_THAT([&] { parse(text); }, ThrowsMessage<UserError>(HasSubstr(message))) << text;
}

TEST(LoopsParser, NamesTheLineAndWhatIsExpected) {
  expect_error("nest n  axes i<N\n  b0[i] = \n", "line 2: a scalar is expected");
  expect_error("nest n  axes i<N\n  b0[i = b1[i]\n", "line 2: ']' is expected");
  expect_error("nest n  sideways i<N\n", "line 1: 'axes', 'ordered' or 'reduce' is expected");
  expect_error("nest n  axes i<N\n  b0[i] = b1[i] b1[i]\n", "line 2: the end of the line is expected");
  expect_error("nest n  axes i<N\n  b0[i] = acc0\n", "line 2: an accumulator of the nest is expected");
  expect_error("nest n  axes i<N\n  b0[i] = exp(b0[i], b0[i])\n", "another number of operands is expected");
}

}  // namespace
}  // namespace onnxc
