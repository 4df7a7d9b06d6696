#include "ir/interpreter/symbolic_evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/program_builder.h"

namespace onnxc {
namespace {

using testing::ElementsAre;

const Expr d = Symbol::dim("D"), h = Symbol::dim("H");

// The elements of the only output as text, or "unknown".
std::vector<std::string> evaluate(const ProgramBuilder& builder,
                                  const std::vector<std::optional<SymbolicElements>>& inputs) {
  verify(builder.program);
  std::optional<SymbolicElements> elements = evaluate_symbolically(builder.program, inputs)[0];
  if (!elements) return {"unknown"};
  std::vector<std::string> texts;
  for (const SymbolicNumber& element : *elements)
    texts.push_back(element.numerator.to_string() +
                    (element.denominator == 1 ? "" : "/" + std::to_string(element.denominator)));
  return texts;
}

SymbolicElements elements(const std::vector<Expr>& expressions) {
  SymbolicElements result;
  for (const Expr& expression : expressions) result.push_back({expression});
  return result;
}

// One output element computed from the elements of one input, both of this dtype.
std::string apply(DType dtype, const std::vector<Expr>& input,
                  const std::function<Scalar(const std::vector<Scalar>&)>& function) {
  ProgramBuilder builder;
  Operand x = builder.input(dtype, {static_cast<int64_t>(input.size())});
  Operand y = builder.output(dtype, {1});
  builder.elementwise("apply", y, [&](const auto&) {
    std::vector<Scalar> operands;
    for (size_t i = 0; i < input.size(); ++i) operands.push_back(x({static_cast<int64_t>(i)}));
    return function(operands);
  });
  return evaluate(builder, {elements(input)})[0];
}

TEST(SymbolicEvaluation, IntegerArithmetic) {
  auto binary = [](ScalarOp op, const Expr& a, const Expr& b) {
    return apply(DType::int64, {a, b}, [&](const auto& x) { return scalar::binary(op, x[0], x[1]); });
  };
  EXPECT_EQ(binary(ScalarOp::add, d, 3), "D + 3");
  EXPECT_EQ(binary(ScalarOp::subtract, d * 2, d), "D");
  EXPECT_EQ(binary(ScalarOp::multiply, d, h), (d * h).to_string());
  EXPECT_EQ(binary(ScalarOp::divide, d + 1, 2), "(D + 1)//2");
  EXPECT_EQ(binary(ScalarOp::modulo_floor, d, 2), "D % 2");
  EXPECT_EQ(binary(ScalarOp::minimum, d, 7), min(d, 7).to_string());
  EXPECT_EQ(binary(ScalarOp::power, d, 2), (d * d).to_string());
}

TEST(SymbolicEvaluation, DivisionTruncatesOnlyWhereTheSignIsKnown) {
  auto divide = [](const Expr& a, const Expr& b) {
    return apply(DType::int64, {a, b}, [](const auto& x) { return x[0] / x[1]; });
  };
  EXPECT_EQ(divide(d - 1, 2), "unknown");  // -1/2 is 0, but -1 // 2 is -1
  EXPECT_EQ(divide(d * 4 - 4, 2), "2*D - 2");
  EXPECT_EQ(divide(d - 4, h), "unknown");
  EXPECT_EQ(divide(-7, 2), "-3");
  EXPECT_EQ(divide(7, 0), "0");
}

// The results of a Div and a Mod at run time.
TEST(SymbolicEvaluation, DivisionByZeroGivesZero) {
  const auto binary = [](ScalarOp op, const Expr& a, const Expr& b) {
    return apply(DType::int64, {a, b}, [&](const auto& x) { return scalar::binary(op, x[0], x[1]); });
  };
  EXPECT_EQ(binary(ScalarOp::divide, d, h), "(D//max(H, 1))*min(H, 1)");
  EXPECT_EQ(binary(ScalarOp::divide, d * h, h), "D*min(H, 1)");
  EXPECT_EQ(binary(ScalarOp::divide, (d - 4) * h, h), ((d - 4) * min(h, 1)).to_string());
  EXPECT_EQ(binary(ScalarOp::modulo_floor, -3, h), "(-3) % max(H, 1)");
  EXPECT_EQ(binary(ScalarOp::modulo_truncate, d, h), "D % max(H, 1)");
  EXPECT_EQ(binary(ScalarOp::modulo_truncate, -3, h), "unknown");
  EXPECT_EQ(binary(ScalarOp::modulo_floor, 3, d - h), "unknown");
}

TEST(SymbolicEvaluation, ConstantsWrapAsTheyDoAtRunTime) {
  EXPECT_EQ(apply(DType::int32, {Expr(2147483647)}, [](const auto& x) { return x[0] + x[0]; }), "-2");
}

TEST(SymbolicEvaluation, SelectsOnProvenConditions) {
  // Expand's idiom: if a dim asked for is -1, the input's.
  auto choose = [](const Expr& asked) {
    return apply(DType::int64, {asked, 5}, [](const auto& x) {
      Scalar is_free = scalar::binary(ScalarOp::equal, x[0], scalar::integer_constant(DType::int64, -1));
      return scalar::select(is_free, x[1], x[0]);
    });
  };
  EXPECT_EQ(choose(-1), "5");
  EXPECT_EQ(choose(d), "D");
  EXPECT_EQ(choose(d - 4), "unknown");
}

// A condition that a run decides is known as a symbol of 0 or 1.
TEST(SymbolicEvaluation, AConditionOfTheRunSelectsNothing) {
  ProgramBuilder builder;
  Operand condition = builder.input(DType::boolean, {1}), y = builder.output(DType::int64, {1});
  builder.elementwise("choose", y, [&](const auto& i) {
    return scalar::select(condition(i), scalar::integer_constant(DType::int64, 3),
                          scalar::integer_constant(DType::int64, 5));
  });
  EXPECT_THAT(evaluate(builder, {elements({Symbol::dim("C", {0, 1})})}), ElementsAre("unknown"));
  EXPECT_THAT(evaluate(builder, {elements({0})}), ElementsAre("5"));
}

TEST(SymbolicEvaluation, AStoreThatARunDecidesIsNotFollowed) {
  ProgramBuilder builder;
  Operand condition = builder.input(DType::boolean, {1}), y = builder.output(DType::int64, {1});
  builder.elementwise("zero", y, [](const auto&) { return scalar::integer_constant(DType::int64, 0); });
  NestBuilder nest("maybe");
  Expr i = nest.parallel(1);
  nest.store(y, {i}, scalar::integer_constant(DType::int64, 7), StoreKind::assign, condition({i}));
  builder.add(std::move(nest));
  EXPECT_THAT(evaluate(builder, {elements({Symbol::dim("C", {0, 1})})}), ElementsAre("unknown"));
  EXPECT_THAT(evaluate(builder, {elements({1})}), ElementsAre("7"));
}

TEST(SymbolicEvaluation, BranchesThatAgreeNeedNoCondition) {
  EXPECT_EQ(apply(DType::int64, {d, d, h},
                  [](const auto& x) {
                    return scalar::select(scalar::binary(ScalarOp::less, x[0], x[2]), x[0], x[1] + x[0] - x[1]);
                  }),
            "D");
}

TEST(SymbolicEvaluation, ScalesThatExportersWrite) {
  auto scaled = [](ScalarOp rounding, double scale) {
    return apply(DType::int64, {d}, [&](const auto& x) {
      Scalar product = scalar::cast(DType::float32, x[0]) * scalar::constant(DType::float32, scale);
      return scalar::cast(DType::int64, scalar::unary(rounding, product));
    });
  };
  EXPECT_EQ(scaled(ScalarOp::floor, 2), "2*D");
  EXPECT_EQ(scaled(ScalarOp::floor, 0.5), "D//2");
  EXPECT_EQ(scaled(ScalarOp::ceil, 0.5), ceil_div(d, 2).to_string());
  // 0.7 is not a short fraction, and D * 0.7f is rounded: its floor is not that of the exact product. So is D * 1.25f
  // if D is large.
  EXPECT_EQ(scaled(ScalarOp::floor, 0.7), "unknown");
  EXPECT_EQ(scaled(ScalarOp::floor, 1.25), "unknown");
}

TEST(SymbolicEvaluation, ProductsOfBoundedSizesAreExact) {
  const Expr bounded = Symbol::dim("B", {0, 512});
  EXPECT_EQ(apply(DType::int64, {bounded},
                  [](const auto& x) {
                    const Scalar real = scalar::cast(DType::float32, x[0]);
                    return scalar::cast(DType::int64, real * real * scalar::constant(DType::float32, 1.25));
                  }),
            floor_div(bounded * bounded * 5, 4).to_string());
}

TEST(SymbolicEvaluation, RatiosOfSizes) {
  EXPECT_EQ(apply(DType::float32, {d * 8 + 8, d * 2 + 2}, [](const auto& x) { return x[0] / x[1]; }), "4");
  // 6*D is rounded if it is above 2^24.
  EXPECT_EQ(apply(DType::float32, {d * 6 + 6, d * 2 + 2}, [](const auto& x) { return x[0] / x[1]; }), "unknown");
  EXPECT_EQ(apply(DType::float64, {d * 6 + 6, d * 2 + 2}, [](const auto& x) { return x[0] / x[1]; }), "3");
  EXPECT_EQ(apply(DType::float32, {d, h}, [](const auto& x) { return x[0] / x[1]; }), "unknown");
  EXPECT_EQ(apply(DType::float32, {d, 4}, [](const auto& x) { return x[0] / x[1]; }), "D/4");
}

TEST(SymbolicEvaluation, GatherThroughALetOfUnknownIndexIsUnknown) {
  ProgramBuilder builder;
  Operand data = builder.input(DType::int64, {3}), index = builder.input(DType::int64, {2});
  Operand y = builder.output(DType::int64, {2});
  NestBuilder nest("gather");
  Expr i = nest.parallel(2);
  Expr at = nest.let(index({i}));
  Expr wrapped = nest.let(scalar::select(less(at, 0), scalar::index(at + 3), scalar::index(at)));
  nest.store(y, {i}, data({max(min(wrapped, 2), 0)}));
  builder.add(std::move(nest));
  EXPECT_THAT(evaluate(builder, {elements({d, h, 5}), elements({-1, 0})}), ElementsAre("5", "D"));
  EXPECT_THAT(evaluate(builder, {elements({d, h, 5}), std::nullopt}), ElementsAre("unknown"));
  EXPECT_THAT(evaluate(builder, {elements({d, h, 5}), elements({d, 0})}), ElementsAre("unknown"));
}

TEST(SymbolicEvaluation, AnUnknownLetDoesNotReachTheResult) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::int64, {1}), y = builder.output(DType::int64, {1});
  NestBuilder nest("plus_one");
  Expr i = nest.parallel(1);
  nest.store(y, {i}, scalar::index(nest.let(x({i})) + 1));
  builder.add(std::move(nest));
  EXPECT_THAT(evaluate(builder, {std::nullopt}), ElementsAre("unknown"));
  EXPECT_THAT(evaluate(builder, {elements({d})}), ElementsAre("D + 1"));
}

TEST(SymbolicEvaluation, Reductions) {
  auto reduced = [](ReduceKind kind, const std::vector<Expr>& input) {
    ProgramBuilder builder;
    Operand x = builder.input(DType::int64, {static_cast<int64_t>(input.size())});
    Operand y = builder.output(DType::int64, {});
    NestBuilder nest("reduce");
    Expr k = nest.reduce(x.shape[0]);
    nest.store(y, {}, nest.accumulate(kind, x({k})));
    builder.add(std::move(nest));
    return evaluate(builder, {elements(input)})[0];
  };
  EXPECT_EQ(reduced(ReduceKind::product, {2, d, 3}), "6*D");
  EXPECT_EQ(reduced(ReduceKind::sum, {2, d, h}), (d + h + 2).to_string());
  EXPECT_EQ(reduced(ReduceKind::maximum, {d, d + 2}), "D + 2");
  EXPECT_EQ(reduced(ReduceKind::product, {}), "1");
  EXPECT_EQ(reduced(ReduceKind::maximum, {}), "unknown");
}

TEST(SymbolicEvaluation, OutputsThatDependOnUnknownTestsAreUnknown) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::int64, {2}), y = builder.output(DType::int64, {2});
  builder.elementwise("zero", y, [](const auto&) { return scalar::integer_constant(DType::int64, 0); });
  NestBuilder nest("scatter");
  Expr i = nest.ordered(2);
  Expr at = nest.let(x({i}));
  nest.store(y, {at}, scalar::index(h), StoreKind::assign, within(at, 2));
  builder.add(std::move(nest));
  EXPECT_THAT(evaluate(builder, {elements({1, 7})}), ElementsAre("0", "H"));
  EXPECT_THAT(evaluate(builder, {elements({1, d})}), ElementsAre("unknown"));
}

TEST(SymbolicEvaluation, SymbolicShapesAreUnknown) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::int64, {d}), y = builder.output(DType::int64, {d});
  builder.elementwise("copy", y, [&](const auto& i) { return x(i); });
  EXPECT_THAT(evaluate(builder, {std::nullopt}), ElementsAre("unknown"));
}

TEST(SymbolicEvaluation, ValuesPassThroughAliasesAndTemporaries) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::int64, {4}), square = builder.alias(x, {2, 2});
  Operand turned = builder.temporary(DType::int64, {2, 2}), y = builder.output(DType::int64, {2, 2});
  builder.elementwise("transpose", turned, [&](const std::vector<Expr>& i) { return square({i[1], i[0]}); });
  builder.elementwise("double", y, [&](const auto& i) { return turned(i) + turned(i); });
  EXPECT_THAT(evaluate(builder, {elements({1, d, h, 4})}), ElementsAre("2", "2*H", "2*D", "8"));
}

}  // namespace
}  // namespace onnxc
