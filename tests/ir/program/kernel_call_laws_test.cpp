// The verifier's laws for the calls of kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/program/verifier_message.h"
#include "ir/program_builder.h"

namespace onnxc {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// Two matrices of [4, 8], the second packed, give one of the first's shape.
class MatrixKernel : public KernelSpec {
 public:
  std::string describe() const override { return "matrix"; }
  KernelOperands operands() const override {
    const KernelOperand matrix = whole_operand({4, 8}, {Layout::row_major(2)});
    return {{matrix, {.is_packed = true}}, matrix};
  }
  bool fills_output() const override { return fills; }
  bool may_replace_operand() const override { return fills && replaces; }
  bool accepts_views() const override { return takes_parts; }

  bool fills = true, replaces = true, takes_parts = true;
};

// Each test builds one fault into a call that is otherwise right.
class KernelCallLaws : public testing::Test {
 protected:
  KernelCallLaws() {
    builder.program.buffer(weights.buffer).is_packed = true;
    call.spec = spec;
    call.inputs = {x.buffer, weights.buffer};
    call.output = y.buffer;
    for (const char* name : {"i", "j"}) {
      const Expr extent = y.shape[call.epilogue.axes.size()];
      call.epilogue.axes.push_back({Symbol::axis(name, extent), extent, AxisKind::parallel});
    }
    call.epilogue.value = result + skip(stored());
  }

  std::vector<Expr> stored() const { return {call.epilogue.axes[0].symbol, call.epilogue.axes[1].symbol}; }

  // The verifier's message; empty if it finds nothing.
  std::string fault() {
    Program program = builder.program;
    program.steps.push_back({call, {}});
    return verifier_message(program);
  }

  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {4, 8}), skip = builder.input(DType::float32, {4, 8});
  Operand weights = builder.constant(Tensor::zeros(DType::float32, {32}));
  Operand y = builder.output(DType::float32, {4, 8});
  std::shared_ptr<MatrixKernel> spec = std::make_shared<MatrixKernel>();
  Scalar result = scalar::accumulator(DType::float32, 0);
  KernelCall call;
};

TEST_F(KernelCallLaws, ARightCall) { EXPECT_EQ(fault(), ""); }

TEST_F(KernelCallLaws, TheOutputIsNoInput) {
  call.inputs[0] = y.buffer;
  EXPECT_THAT(fault(), HasSubstr("kernel matrix reads b3 in memory of b3, which it writes"));
}

TEST_F(KernelCallLaws, UnderNoOtherNameEither) {
  Operand whole = builder.output(DType::float32, {8, 8});
  Operand upper = builder.view(whole, {4, 8}, {0, 0}), lower = builder.view(whole, {4, 8}, {3, 0});
  builder.elementwise("fill", whole, [](const auto&) { return scalar::constant(DType::float32, 0); });
  builder.elementwise("fill", y, [](const auto&) { return scalar::constant(DType::float32, 0); });
  call.inputs[0] = upper.buffer;
  call.output = lower.buffer;
  EXPECT_THAT(fault(), HasSubstr("reads b5 in memory of b6, which it writes"));
  builder.program.buffer(lower.buffer).view->shift[0] = 4;
  EXPECT_EQ(fault(), "");
}

TEST_F(KernelCallLaws, TheEpilogueLoadsOfTheOutputWhatItStores) {
  builder.elementwise("fill", y, [](const auto&) { return scalar::constant(DType::float32, 0); });
  call.epilogue.value = result + y(stored());
  EXPECT_EQ(fault(), "");
  call.epilogue.value = result + y({stored()[0], Expr(7) - stored()[1]});
  EXPECT_THAT(fault(), HasSubstr("kernel matrix reads b3 in memory of b3, which it writes"));
}

// Another thread may have stored it already.
TEST_F(KernelCallLaws, AnEpilogueThatIsComputedMoreThanOnceLoadsNothingOfTheOutput) {
  builder.elementwise("fill", y, [](const auto&) { return scalar::constant(DType::float32, 0); });
  spec->replaces = false;
  call.epilogue.value = result + y(stored());
  EXPECT_THAT(fault(), HasSubstr("kernel matrix reads b3 in memory of b3, which it writes"));
}

// It is computed before the output is.
TEST_F(KernelCallLaws, TheInnerEpilogueLoadsNothingOfTheOutput) {
  builder.elementwise("fill", y, [](const auto&) { return scalar::constant(DType::float32, 0); });
  call.inner_epilogue = call.epilogue;
  EXPECT_EQ(fault(), "");
  call.inner_epilogue.value = result + y(stored());
  EXPECT_THAT(fault(), HasSubstr("kernel matrix reads b3 in memory of b3, which it writes"));
}

TEST_F(KernelCallLaws, TheWorkspaceIsOfItsOwn) {
  call.workspace = builder.temporary(DType::float32, {32}).buffer;
  EXPECT_EQ(fault(), "");
  call.workspace = y.buffer;
  EXPECT_THAT(fault(), HasSubstr("reads b3 in memory of b3, which it writes"));
  call.workspace = skip.buffer;
  EXPECT_THAT(fault(), HasSubstr("kernel matrix writes b1, an input or a constant"));
}

TEST_F(KernelCallLaws, AsManyInputsAsItWasMadeFor) {
  call.inputs.pop_back();
  EXPECT_THAT(fault(), HasSubstr("kernel matrix has 1 inputs, not 2"));
}

TEST_F(KernelCallLaws, OperandsOfTheLayoutThatItWasMadeFor) {
  Operand blocked = builder.temporary(DType::float32, {4, 8}, Layout::channel_blocked(2, 4));
  builder.elementwise("copy", blocked, [&](const auto& i) { return x(i); });
  call.inputs[0] = blocked.buffer;
  EXPECT_THAT(fault(), HasSubstr("kernel matrix: b4 has layout 0 1/4 1%4"));
}

TEST_F(KernelCallLaws, OfTheShape) {
  call.inputs[0] = builder.input(DType::float32, {4, 7}).buffer;
  EXPECT_THAT(fault(), HasSubstr("kernel matrix is given b4 of shape [4, 7], whose axis 1 is not shown to be 8"));
}

TEST_F(KernelCallLaws, OfWhichEachSizeIsKnownToBeThat) {
  const Expr columns = Symbol::dim("N");
  call.inputs[0] = builder.input(DType::float32, {4, columns}).buffer;
  EXPECT_THAT(fault(), HasSubstr("b4 of shape [4, N], whose axis 1 is not shown to be 8"));
  builder.program.guards.push_back(
      {.kind = Guard::Kind::equal, .left = columns, .right = 8, .reason = "eight columns"});
  EXPECT_EQ(fault(), "");
}

TEST_F(KernelCallLaws, PackedWhereItPacks) {
  call.inputs = {x.buffer, skip.buffer};
  EXPECT_THAT(fault(), HasSubstr("kernel matrix: b1 is not packed"));
  call.inputs = {weights.buffer, weights.buffer};
  EXPECT_THAT(fault(), HasSubstr("kernel matrix: b2 is packed"));
}

TEST_F(KernelCallLaws, OfATypeThatKernelsTake) {
  for (const DType dtype : {DType::float64, DType::int32, DType::boolean, DType::float8e4m3fn, DType::float8e8m0}) {
    call.inputs[0] = builder.input(dtype, {4, 8}).buffer;
    EXPECT_THAT(fault(), HasSubstr(fmt::format("is {}, which it does not take", info(dtype).name)));
  }
}

TEST_F(KernelCallLaws, WholeBuffersWhereItTakesNoParts) {
  Operand whole = builder.input(DType::float32, {8, 8});
  call.inputs[0] = builder.view(whole, {4, 8}, {2, 0}).buffer;
  EXPECT_EQ(fault(), "");
  spec->takes_parts = false;
  EXPECT_THAT(fault(), HasSubstr("kernel matrix: b5 is a part of a buffer"));
}

TEST_F(KernelCallLaws, NoPartUnderAnotherShape) {
  Operand whole = builder.input(DType::float32, {8, 8});
  Operand columns = builder.view(whole, {8, 4}, {0, 2});
  call.inputs[0] = builder.alias(columns, {4, 8}).buffer;
  EXPECT_THAT(fault(), HasSubstr("kernel matrix: b6 is a part of a buffer under another shape"));
}

TEST_F(KernelCallLaws, TheEpilogueIsOfTheOutputsShapeAndType) {
  call.epilogue.axes[1].extent = 7;
  EXPECT_THAT(fault(), HasSubstr("kernel matrix has an epilogue that is not shown to be of the shape [4, 8] of b3"));
  call.epilogue.axes[1].extent = 8;
  call.epilogue.value = scalar::cast(DType::float16, result);
  EXPECT_THAT(fault(), HasSubstr("kernel matrix: the epilogue gives float16, but b3 is float32"));
  call.epilogue.value = scalar::accumulator(DType::float32, 1);
  EXPECT_THAT(fault(), HasSubstr("acc1 is not known here"));
}

// A kernel that stores a part of its output stores elsewhere than its epilogue's axes say.
TEST_F(KernelCallLaws, WhatStoresAPartLoadsNothingOfTheOutput) {
  builder.elementwise("fill", y, [](const auto&) { return scalar::constant(DType::float32, 0); });
  spec->fills = false;
  call.epilogue.value = result + y(stored());
  EXPECT_THAT(fault(), HasSubstr("kernel matrix reads b3 in memory of b3, which it writes"));
  call.epilogue.value = result + skip(stored());
  call.epilogue.axes[1].extent = 7;
  EXPECT_EQ(fault(), "");
}

}  // namespace
}  // namespace onnxc
