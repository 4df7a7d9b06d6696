#include "passes/program/split_scatters.h"

#include <gtest/gtest.h>

#include "passes/program_text.h"

namespace onnxc {
namespace {

TEST(SplitScatters, TheLastUpdateOfAnElementIsFoundFirst) {
  expect_text(after(R"(b0 input int64 [2, 100] "i"
b1 input float32 [2, 100] "u"
b2 output float32 [2, 9] "y"
inputs b0, b1
outputs b2
# "scatter" ScatterElements-18
nest scatter  axes n<2  ordered i<100
  let at = b0[n, i]
  b2[n, at] = b1[n, i] if 0 <= index(at) && index(at) < 9
)",
                    split_scatters),
              R"(b0 input int64 [2, 100] "i"
b1 input float32 [2, 100] "u"
b2 output float32 [2, 9] "y"
b3 temporary int32 [2, 9] "scatter_last"
inputs b0, b1
outputs b2
# "scatter" ScatterElements-18
nest scatter_none  axes d0<2, d1<9
  b3[d0, d1] = int32(-1)
# "scatter" ScatterElements-18
nest scatter_last  axes n<2  ordered i<100
  let at = b0[n, i]
  b3[n, at] max= int32(index(i)) if 0 <= index(at) && index(at) < 9
# "scatter" ScatterElements-18
nest scatter  axes n<2, i<100
  let at = b0[n, i]
  b2[n, at] = b1[n, i] if select(0 <= index(at) && index(at) < 9, b3[n, at] == int32(index(i)), false)
)");
}

TEST(SplitScatters, SumsOfFloatingPointNumbersAreSumsOfIntegers) {
  expect_text(after(R"(b0 input int64 [N, M] "i"
b1 input float32 [N, M] "u"
b2 output float32 [9] "y"
inputs b0, b1
outputs b2
nest scatter  ordered n<N, m<M
  let at = b0[n, m]
  b2[at] += b1[n, m] if 0 <= index(at) && index(at) < 9
)",
                    split_scatters),
              R"(b0 input int64 [N, M] "i"
b1 input float32 [N, M] "u"
b2 output float32 [9] "y"
b3 temporary float32 [9] "scatter_least"
b4 temporary float32 [9] "scatter_most"
b5 temporary int64 [9] "scatter_sum"
b6 temporary float64 [9] "scatter_scale"
inputs b0, b1
outputs b2
nest scatter_begin  axes d0<9
  b3[d0] = 0.0
  b4[d0] = 0.0
  b5[d0] = 0
nest scatter_range  ordered n<N, m<M
  let at = b0[n, m]
  t0 = 0 <= index(at) && index(at) < 9
  b3[at] min= b1[n, m] if t0
  b4[at] max= b1[n, m] if t0
nest scatter_scale  axes d0<9
  t0 = float64(max(b4[d0], -b3[d0]))
  b6[d0] = select(float64(0) < t0 && t0 < float64(inf), pow(float64(2), floor(float64(60) - log(t0 * float64(index(M*N))) * float64(1.4426950408889634))), float64(0))
nest scatter_sum  ordered n<N, m<M
  let at = b0[n, m]
  b5[at] += int64(round_even(float64(b1[n, m]) * b6[at])) if 0 <= index(at) && index(at) < 9
nest scatter  axes d0<9
  b2[d0] = b2[d0] + select(float64(0) < b6[d0], float32(float64(b5[d0]) / b6[d0]), b3[d0] + b4[d0]) if !(b3[d0] == 0.0 && b4[d0] == 0.0)
)");
}

TEST(SplitScatters, SmallTypesAreCombinedInWiderOnes) {
  expect_text(steps_of(after(R"(b0 input int64 [100] "i"
b1 input float16 [100] "u"
b2 input uint8 [100] "v"
b3 output float16 [9] "y"
b4 output uint8 [9] "z"
inputs b0, b1, b2
outputs b3, b4
nest start  axes d<9
  b3[d] = float16(0)
  b4[d] = uint8(1)
nest largest  ordered i<100
  let at = b0[i]
  b3[at] max= b1[i] if 0 <= index(at) && index(at) < 9
nest product  ordered i<100
  let at = b0[i]
  b4[at] *= b2[i] if 0 <= index(at) && index(at) < 9
)",
                             split_scatters)),
              R"(nest start  axes d<9
  b3[d] = float16(0)
  b4[d] = uint8(1)
nest largest_begin  axes d0<9
  b5[d0] = float32(b3[d0])
nest largest  ordered i<100
  let at = b0[i]
  b5[at] max= float32(b1[i]) if 0 <= index(at) && index(at) < 9
nest largest_end  axes d0<9
  b3[d0] = float16(b5[d0])
nest product_begin  axes d0<9
  b6[d0] = int32(b4[d0])
nest product  ordered i<100
  let at = b0[i]
  b6[at] *= int32(b2[i]) if 0 <= index(at) && index(at) < 9
nest product_end  axes d0<9
  b4[d0] = uint8(b6[d0])
)");
}

// Scatters that combine in any order, are short, have no exact form, or read what they write.
TEST(SplitScatters, OthersStay) {
  const std::string text = R"(b0 input int64 [100] "i"
b1 input float32 [100] "u"
b2 input float64 [100] "v"
b3 output int64 [9] "sums"
b4 output float32 [9] "products"
b5 output float64 [9] "exact sums"
b6 output float32 [9] "y"
b7 output float32 [9] "z"
inputs b0, b1, b2
outputs b3, b4, b5, b6, b7
nest sums  ordered i<100
  let at = b0[i]
  b3[at] += b0[i] if 0 <= index(at) && index(at) < 9
nest products  ordered i<100
  let at = b0[i]
  b4[at] *= b1[i] if 0 <= index(at) && index(at) < 9
nest exact_sums  ordered i<100
  let at = b0[i]
  b5[at] += b2[i] if 0 <= index(at) && index(at) < 9
nest short  ordered i<63
  let at = b0[i]
  b6[at] = b1[i] if 0 <= index(at) && index(at) < 9
nest read  ordered i<100
  let at = b0[i]
  b7[at] = b7[at] - b1[i] if 0 <= index(at) && index(at) < 9
)";
  EXPECT_EQ(after(text, split_scatters), text);
}

}  // namespace
}  // namespace onnxc
