#include "passes/program/eliminate_copies.h"

#include <gtest/gtest.h>

#include "passes/program_text.h"

namespace onnxc {
namespace {

TEST(EliminateCopies, TheSourceIsWrittenWhereTheCopyWouldPutIt) {
  expect_text(after(R"(b0 input float32 [2, 3] "x"
b1 temporary float32 [2, 3] "t"
b2 output float32 [2, 8] "joined"
b3 temporary float32 [2, 3] view b2 [0, 5] "joined"
inputs b0
outputs b2
nest exp  axes i<2, j<3
  b1[i, j] = exp(b0[i, j])
nest concat  axes i<2, j<3
  b3[i, j] = b1[i, j]
)",
                    eliminate_copies),
              R"(b0 input float32 [2, 3] "x"
b1 temporary float32 [2, 3] view b3 [0, 0] "t"
b2 output float32 [2, 8] "joined"
b3 temporary float32 [2, 3] view b2 [0, 5] "joined"
inputs b0
outputs b2
nest exp  axes i<2, j<3
  b1[i, j] = exp(b0[i, j])
)");
}

// A Reshape of an input: the copy from its alias goes, and the reader reads the input.
TEST(EliminateCopies, TheDestinationIsReadWhereTheSourceStands) {
  expect_text(after(R"(b0 input float32 [2, 3] "x"
b1 temporary float32 [6] alias b0 "x"
b2 temporary float32 [6] "flat"
b3 output float32 [6] "y"
inputs b0
outputs b3
nest copy  axes i<6
  b2[i] = b1[i]
nest exp  axes i<6
  b3[i] = exp(b2[i])
)",
                    eliminate_copies),
              R"(b0 input float32 [2, 3] "x"
b1 temporary float32 [6] alias b0 "x"
b2 temporary float32 [6] view b1 [0] "flat"
b3 output float32 [6] "y"
inputs b0
outputs b3
nest exp  axes i<6
  b3[i] = exp(b2[i])
)");
}

TEST(EliminateCopies, AKernelWritesWhereTheCopyWouldPutIt) {
  expect_text(after(R"(b0 input float32 [2, 3] "x"
b1 temporary float32 [2, 3] "t"
b2 output float32 [2, 8] "joined"
b3 temporary float32 [2, 3] view b2 [0, 5] "joined"
inputs b0
outputs b2
kernel matmul  b1 = b0, b0
  epilogue [i, j] acc0
nest concat  axes i<2, j<3
  b3[i, j] = b1[i, j]
)",
                    eliminate_copies),
              R"(b0 input float32 [2, 3] "x"
b1 temporary float32 [2, 3] view b3 [0, 0] "t"
b2 output float32 [2, 8] "joined"
b3 temporary float32 [2, 3] view b2 [0, 5] "joined"
inputs b0
outputs b2
kernel matmul  b1 = b0, b0
  epilogue [i, j] acc0
)");
}

TEST(EliminateCopies, AKernelReadsWhatWasCopied) {
  expect_text(after(R"(b0 input float32 [2, 3] "x"
b1 temporary float32 [6] alias b0 "x"
b2 temporary float32 [6] "flat"
b3 output float32 [6] "y"
inputs b0
outputs b3
nest copy  axes i<6
  b2[i] = b1[i]
kernel softmax  b3 = b2
)",
                    eliminate_copies),
              R"(b0 input float32 [2, 3] "x"
b1 temporary float32 [6] alias b0 "x"
b2 temporary float32 [6] view b1 [0] "flat"
b3 output float32 [6] "y"
inputs b0
outputs b3
kernel softmax  b3 = b2
)");
}

// Programs that must stay as they are.
class EliminateCopiesLeaves : public testing::TestWithParam<const char*> {};

TEST_P(EliminateCopiesLeaves, TheCopy) { EXPECT_EQ(after(GetParam(), eliminate_copies), GetParam()); }

constexpr const char* an_input_that_is_an_output = R"(b0 input float32 [4] "x"
b1 output float32 [4] "x"
inputs b0
outputs b1
nest copy  axes i<4
  b1[i] = b0[i]
)";

constexpr const char* layouts_differ = R"(b0 input float32 [2, 4, 3] "x"
b1 temporary float32 [2, 4, 3] layout 0 1/4 2 1%4 "t"
b2 output float32 [2, 4, 3] "y"
inputs b0
outputs b2
nest exp  axes i<2, j<4, k<3
  b1[i, j, k] = exp(b0[i, j, k])
nest copy  axes i<2, j<4, k<3
  b2[i, j, k] = b1[i, j, k]
)";

// The copy's destination has a size that is not known when the source is written.
constexpr const char* laid_out_later = R"(b0 input float32 [4] "x"
b1 input int64 [1] "k"
b2 temporary float32 [4] "t"
b3 output float32 [s + 4] "joined"
b4 temporary float32 [4] view b3 [s] "joined"
inputs b0, b1
outputs b3
nest exp  axes i<4
  b2[i] = exp(b0[i])
bind s = b1
nest concat  axes i<4
  b4[i] = b2[i]
)";

constexpr const char* written_after_it_was_copied = R"(b0 input float32 [4] "x"
b1 temporary float32 [4] "state"
b2 output float32 [4] "before"
b3 output float32 [4] "after"
inputs b0
outputs b2, b3
nest exp  axes i<4
  b1[i] = exp(b0[i])
nest copy  axes i<4
  b2[i] = b1[i]
nest scatter  axes i<2
  b1[2*i] = 0.0
nest negate  axes i<4
  b3[i] = -b1[i]
)";

constexpr const char* destination_is_filled_in_between = R"(b0 input float32 [3] "x"
b1 temporary float32 [3] "t"
b2 output float32 [5] "padded"
b3 temporary float32 [3] view b2 [1] "padded"
inputs b0
outputs b2
nest exp  axes i<3
  b1[i] = exp(b0[i])
nest fill  axes i<5
  b2[i] = 0.0
nest pad  axes i<3
  b3[i] = b1[i]
)";

// The copied value is made of the state, which the nest sees under another shape.
constexpr const char* destination_is_read_under_another_shape = R"(b0 input float32 [6] "x"
b1 temporary float32 [6] "t"
b2 output float32 [6] "y"
b3 temporary float32 [2, 3] alias b2 "square"
b4 temporary float32 [6] view b2 [0] "y"
inputs b0
outputs b2
nest begin  axes i<6
  b2[i] = b0[i]
nest turn  axes i<2, j<3
  b1[i + 2*j] = b3[i, j]
nest next_state  axes i<6
  b4[i] = b1[i]
)";

// The source is read once more when its new place holds something else.
constexpr const char* destination_is_written_later = R"(b0 input float32 [4] "x"
b1 temporary float32 [4] "t"
b2 output float32 [4] "y"
b3 output float32 [4] "z"
b4 temporary float32 [2] view b2 [1] "y"
inputs b0
outputs b2, b3
nest exp  axes i<4
  b1[i] = exp(b0[i])
nest copy  axes i<4
  b2[i] = b1[i]
nest part  axes i<2
  b4[i] = 0.0
nest negate  axes i<4
  b3[i] = -b1[i]
)";

// The destination is more than a copy: a part of it is written.
constexpr const char* copy_is_written = R"(b0 input float32 [4] "x"
b1 temporary float32 [4] "t"
b2 output float32 [4] "y"
b3 temporary float32 [2] view b1 [1] "t"
inputs b0
outputs b2
nest copy  axes i<4
  b1[i] = b0[i]
nest part  axes i<2
  b3[i] = 0.0
nest negate  axes i<4
  b2[i] = -b1[i]
)";

// A scatter into the result of a Concat, with one part that is all of it.
constexpr const char* a_part_is_written_as_well = R"(b0 input float32 [4] "x"
b1 input float32 [2] "updates"
b2 temporary float32 [4] "joined"
b3 temporary float32 [2] view b2 [1] "joined"
b4 output float32 [4] "y"
inputs b0, b1
outputs b4
nest copy  axes i<4
  b2[i] = b0[i]
nest concat  axes i<2
  b3[i] = b1[i]
nest exp  axes i<4
  b4[i] = exp(b2[i])
)";

constexpr const char* states_that_change_places = R"(dim round ..
b0 input float32 [4] "x"
b1 temporary float32 [4] "first"
b2 temporary float32 [4] "second"
b3 temporary float32 [4] "aside"
b4 output float32 [4] "y"
inputs b0
outputs b4
nest begin  axes i<4
  b1[i] = b0[i]
nest begin  axes i<4
  b2[i] = exp(b0[i])
loop round < N carries b1, b2
nest put_aside  axes i<4
  b3[i] = b1[i]
nest next_state  axes i<4
  b1[i] = b2[i]
nest next_state  axes i<4
  b2[i] = b3[i]
end loop
nest end  axes i<4
  b4[i] = b1[i] + b2[i]
)";

// The destination is the round's: there is none when the source is written.
constexpr const char* collected_from_before_the_loop = R"(dim round ..
b0 input float32 [4] "x"
b1 temporary float32 [4] "t"
b2 output float32 [4*N] "y"
b3 temporary float32 [4] view b2 [4*round] "part"
inputs b0
outputs b2
nest exp  axes i<4
  b1[i] = exp(b0[i])
loop round < N
nest collect  axes i<4
  b3[i] = b1[i]
end loop
)";

constexpr const char* a_kernel_that_writes_no_views = R"(b0 input float32 [2, 3] "x"
b1 temporary float32 [2, 3] "t"
b2 output float32 [2, 8] "joined"
b3 temporary float32 [2, 3] view b2 [0, 5] "joined"
inputs b0
outputs b2
kernel softmax  b1 = b0 without views
nest concat  axes i<2, j<3
  b3[i, j] = b1[i, j]
)";

constexpr const char* a_kernel_that_reads_no_views = R"(b0 input float32 [2, 3] "x"
b1 temporary float32 [6] alias b0 "x"
b2 temporary float32 [6] "flat"
b3 output float32 [6] "y"
inputs b0
outputs b3
nest copy  axes i<6
  b2[i] = b1[i]
kernel softmax  b3 = b2 without views
)";

// Else the kernel would write what it reads.
constexpr const char* a_state_that_a_kernel_overwrites = R"(dim round ..
b0 input float32 [4, 4] "x"
b1 temporary float32 [4, 4] "state"
b2 temporary float32 [4, 4] "aside"
b3 output float32 [4, 4] "y"
inputs b0
outputs b3
nest begin  axes i<4, j<4
  b1[i, j] = exp(b0[i, j])
loop round < N carries b1
nest put_aside  axes i<4, j<4
  b2[i, j] = b1[i, j]
kernel matmul 4->4  b1 = b2, b0
  epilogue [i, j] acc0
end loop
nest end  axes i<4, j<4
  b3[i, j] = -b1[i, j]
)";

INSTANTIATE_TEST_SUITE_P(Programs, EliminateCopiesLeaves,
                         testing::Values(an_input_that_is_an_output, layouts_differ, laid_out_later,
                                         written_after_it_was_copied, destination_is_filled_in_between,
                                         a_part_is_written_as_well, destination_is_read_under_another_shape,
                                         destination_is_written_later, copy_is_written, states_that_change_places,
                                         collected_from_before_the_loop, a_kernel_that_writes_no_views,
                                         a_kernel_that_reads_no_views, a_state_that_a_kernel_overwrites));

}  // namespace
}  // namespace onnxc
