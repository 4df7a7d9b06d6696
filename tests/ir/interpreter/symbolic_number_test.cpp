#include "ir/interpreter/symbolic_number.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/interpreter/symbolic_evaluation.h"
#include "ir/loops/scalar_ops.h"
#include "ir/program_builder.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

const Symbol d = Symbol::dim("D"), h = Symbol::dim("H");

// ------------------------------------------------------------------- every operation, evaluated and interpreted

std::vector<ScalarOp> operations(int operands) {
  std::vector<ScalarOp> found;
  for (auto i = static_cast<uint8_t>(ScalarOp::negate); i < static_cast<uint8_t>(ScalarOp::string_function); ++i) {
    const auto op = static_cast<ScalarOp>(i);
    if (row(op).operands == operands && op != ScalarOp::cast && op != ScalarOp::reinterpret) found.push_back(op);
  }
  return found;
}

bool has_meaning(ScalarOp op, DType dtype) {
  try {
    if (row(op).operands == 1)
      static_cast<void>(unary_function(op, dtype));
    else
      static_cast<void>(binary_function(op, dtype));
    return true;
  } catch (const InternalError&) {
    return false;
  }
}

using Operands = std::vector<Scalar>;
using Function = std::function<Scalar(const Operands&)>;

// y = function(D, H, -D, D - H, fractions of them), all in one type.
ProgramBuilder program_of(DType dtype, const Function& function) {
  ProgramBuilder builder;
  const Operand x = builder.input(DType::int64, {2});
  const Scalar probe = function(Operands(10, scalar::load(dtype, x.buffer, {0})));
  const Operand y = builder.output(info(probe.dtype()).compute, {1});
  builder.elementwise("operation", y, [&](const auto&) {
    const auto number = [&](double value) { return scalar::constant(dtype, value); };
    const Scalar a = scalar::cast(dtype, x({0})), b = scalar::cast(dtype, x({1}));
    Operands operands{a, b, number(0), number(3)};
    if (dtype != DType::boolean)
      for (const Scalar& each : {a - b, a * b, number(0) - a, a / number(4), (a - number(5)) / number(3),
                                 a * number(is_floating(dtype) ? 0.7 : 7)})
        operands.push_back(each);
    return scalar::cast(y.dtype, function(operands));
  });
  return builder;
}

double number_of(const Tensor& tensor) {
  return is_floating(tensor.dtype()) ? tensor.as_double()[0] : static_cast<double>(tensor.as_int64()[0]);
}

using Sizes = std::map<Symbol, int64_t>;

// The element as the evaluator knows it; nothing if it leaves it to the run.
std::optional<SymbolicNumber> evaluated(const ProgramBuilder& builder, const SymbolicElements& input) {
  const std::optional<SymbolicElements> elements = evaluate_symbolically(builder.program, {input})[0];
  return elements ? std::optional(elements->at(0)) : std::nullopt;
}

// With these sizes put in, as its type rounds it.
double value_of(const SymbolicNumber& number, const Sizes& sizes, DType dtype) {
  const double value = static_cast<double>(number.numerator.evaluate(sizes)) / static_cast<double>(number.denominator);
  return dtype == DType::float32 ? static_cast<double>(static_cast<float>(value)) : value;
}

const std::vector<Sizes> some_sizes = {{{d, 0}, {h, 1}}, {{d, 1}, {h, 7}},   {{d, 10}, {h, 3}},
                                       {{d, 7}, {h, 7}}, {{d, 24}, {h, 49}}, {{d, 1000}, {h, 9}}};
// Sizes for which floats round. Integers are assumed not to overflow.
const std::vector<Sizes> large_sizes = {{{d, maximum_symbolic_size}, {h, maximum_symbolic_size - 2}},
                                        {{d, maximum_symbolic_size - 5}, {h, 11184811}},
                                        {{d, 8388609}, {h, 5592409}}};

// The evaluator agrees with the interpreter, with the sizes free and with the sizes known, or leaves it to the run.
void expect_agreement(const ProgramBuilder& builder, DType operands, const std::string& name) {
  verify(builder.program);
  std::vector<Sizes> all_sizes = some_sizes;
  if (is_floating(operands)) all_sizes.insert(all_sizes.end(), large_sizes.begin(), large_sizes.end());
  const DType dtype = builder.program.buffer(builder.program.outputs[0]).dtype;
  const std::optional<SymbolicNumber> free = evaluated(builder, {{Expr(d)}, {Expr(h)}});
  for (const Sizes& sizes : all_sizes) {
    const std::vector<int64_t> values{sizes.at(d), sizes.at(h)};
    const std::vector<Tensor> inputs{Tensor::of(DType::int64, {2}, values)};
    const double expected = number_of(interpret(builder.program, {}, inputs)[0]);
    const std::string where = name + " with D = " + std::to_string(values[0]) + ", H = " + std::to_string(values[1]);
    if (free) EXPECT_EQ(value_of(*free, sizes, dtype), expected) << where << " free";
    const std::optional<SymbolicNumber> known = evaluated(builder, {{Expr(values[0])}, {Expr(values[1])}});
    if (known) EXPECT_EQ(value_of(*known, sizes, dtype), expected) << where << " known";
  }
}

constexpr DType types[] = {DType::boolean, DType::int64,   DType::int32,   DType::int16,
                           DType::uint8,   DType::uint32,  DType::uint64,  DType::float16,
                           DType::float32, DType::float64, DType::bfloat16};

size_t operand_count(DType dtype) {
  if (dtype == DType::boolean) return 4;
  return dtype == DType::int64 || dtype == DType::float32 ? 10 : 7;
}

TEST(SymbolicNumber, EveryUnaryOperationIsWhatARunComputes) {
  for (const ScalarOp op : operations(1))
    for (const DType dtype : types) {
      if (!has_meaning(op, dtype)) continue;
      for (size_t i = 0; i < operand_count(dtype); ++i)
        expect_agreement(
            program_of(dtype, [&](const Operands& x) { return scalar::unary(op, x[i]); }), dtype,
            std::string(row(op).text) + " of " + std::string(info(dtype).name) + " operand " + std::to_string(i));
    }
}

TEST(SymbolicNumber, EveryBinaryOperationIsWhatARunComputes) {
  for (const ScalarOp op : operations(2))
    for (const DType dtype : types) {
      if (!has_meaning(op, dtype)) continue;
      const size_t count = operand_count(dtype);
      for (size_t i = 0; i < count * count; ++i)
        expect_agreement(
            program_of(dtype, [&](const Operands& x) { return scalar::binary(op, x[i / count], x[i % count]); }), dtype,
            std::string(row(op).text) + " of " + std::string(info(dtype).name) + " operands " +
                std::to_string(i / count) + ", " + std::to_string(i % count));
    }
}

TEST(SymbolicNumber, EveryCastIsWhatARunComputes) {
  for (const DType from : types)
    for (const DType to : types)
      for (size_t i = 0; i < operand_count(from); ++i)
        expect_agreement(program_of(from, [&](const Operands& x) { return scalar::cast(to, x[i]); }),
                         from == DType::int64 || to == DType::int32 ? to : from,
                         "a cast of " + std::string(info(from).name) + " to " + std::string(info(to).name));
}

TEST(SymbolicNumber, ASelectionIsWhatARunComputes) {
  for (const ScalarOp op : {ScalarOp::equal, ScalarOp::less, ScalarOp::less_or_equal})
    for (size_t i = 0; i < 100; ++i)
      expect_agreement(program_of(DType::float32,
                                  [&](const Operands& x) {
                                    return scalar::select(scalar::binary(op, x[i / 10], x[i % 10]), x[4], x[7]);
                                  }),
                       DType::float32, "select");
}

// A check that cannot fail is useless: the rules know what shape arithmetic lives from.
TEST(SymbolicNumber, TheRulesKnowWhatIsExact) {
  const auto knows = [](DType dtype, const Function& function) {
    const SymbolicElements free{{Expr(d)}, {Expr(h)}};
    return evaluated(program_of(dtype, function), free).has_value();
  };
  for (const ScalarOp op : {ScalarOp::add, ScalarOp::subtract, ScalarOp::multiply, ScalarOp::divide,
                            ScalarOp::modulo_floor, ScalarOp::minimum, ScalarOp::maximum})
    EXPECT_TRUE(knows(DType::int64, [&](const Operands& x) { return scalar::binary(op, x[0], x[3]); })) << row(op).text;
  for (const ScalarOp op : {ScalarOp::negate, ScalarOp::absolute, ScalarOp::floor, ScalarOp::ceil, ScalarOp::truncate})
    EXPECT_TRUE(knows(DType::float32, [&](const Operands& x) { return scalar::unary(op, x[7]); })) << row(op).text;
}

// ------------------------------------------------------------------------------------------------- what is exact

bool keeps(DType dtype, const Expr& size) { return symbolic_cast(dtype, DType::int64, {size}).has_value(); }

TEST(SymbolicNumber, ATypeHoldsTheSizesThatItsSignificandHolds) {
  EXPECT_TRUE(keeps(DType::float32, d));
  EXPECT_TRUE(keeps(DType::float32, Expr(d) + 1));
  EXPECT_TRUE(keeps(DType::float32, 8 * Expr(d) + 8));
  EXPECT_FALSE(keeps(DType::float32, Expr(d) + h));
  EXPECT_FALSE(keeps(DType::float32, Expr(d) * h));
  EXPECT_TRUE(keeps(DType::float64, Expr(d) * h));
  EXPECT_FALSE(keeps(DType::float64, Expr(d) * h * d));
  EXPECT_FALSE(keeps(DType::float16, d));
  EXPECT_TRUE(keeps(DType::float16, Symbol::dim("B", {0, 2048})));
  EXPECT_FALSE(keeps(DType::float16, Symbol::dim("B", {0, 2049})));
  EXPECT_FALSE(keeps(DType::bfloat16, Symbol::dim("B", {0, 300})));
  // An element of a tensor may be any number.
  EXPECT_FALSE(keeps(DType::float32, Symbol::dim("e", Bounds{})));
  EXPECT_TRUE(keeps(DType::float32, mod(Expr(Symbol::dim("e", Bounds{})), 100)));
}

TEST(SymbolicNumber, ASixteenthOfASizeIsAsExact) {
  const Expr quotient = Symbol::quotient(d, 16, 1);
  EXPECT_TRUE(keeps(DType::float32, 16 * quotient + 1));
  EXPECT_FALSE(keeps(DType::float32, 32 * quotient + 1));
}

// n/d is rounded; its floor, and its place among the integers, is the exact one's for every size.
TEST(SymbolicNumber, ARoundedQuotientHasTheFloorOfTheExactOne) {
  for (const int64_t divisor : {3, 5, 7, 10, 127, 1000, 1023})
    for (int64_t size = maximum_symbolic_size; size > maximum_symbolic_size - 3000; --size) {
      const float quotient = static_cast<float>(size) / static_cast<float>(divisor);
      ASSERT_EQ(static_cast<int64_t>(std::floor(quotient)), size / divisor) << size << " / " << divisor;
      ASSERT_EQ(static_cast<int64_t>(std::ceil(quotient)), (size + divisor - 1) / divisor) << size << " / " << divisor;
    }
}

TEST(SymbolicNumber, ARoundedQuotientGoesNowhereElse) {
  const SymbolicNumber third{d, 3}, three{3, 1};
  for (const ScalarOp op : operations(2)) {
    if (!has_meaning(op, DType::float32)) continue;
    const bool compares = op == ScalarOp::equal || op == ScalarOp::less || op == ScalarOp::less_or_equal;
    EXPECT_FALSE(symbolic_binary(op, DType::float32, third, {Expr(h), 7}).has_value()) << row(op).text;
    if (!compares) EXPECT_FALSE(symbolic_binary(op, DType::float32, third, three).has_value()) << row(op).text;
  }
  EXPECT_FALSE(symbolic_cast(DType::float64, DType::float32, third).has_value());
}

TEST(SymbolicNumber, KnownNumbersAreRoundedAsTheRunRoundsThem) {
  const auto product = [](DType dtype, double a, double b) {
    return symbolic_binary(ScalarOp::multiply, dtype, *symbolic_constant(dtype, {.number = a}),
                           *symbolic_constant(dtype, {.number = b}))
        ->known(dtype)
        ->number;
  };
  const auto tenth = static_cast<double>(0.7F);
  EXPECT_EQ(product(DType::float32, 10, tenth), 7);
  EXPECT_LT(product(DType::float64, 10, tenth), 7);
  EXPECT_EQ(symbolic_cast(DType::float16, DType::int64, {Expr(2049)})->numerator, Expr(2048));
  EXPECT_EQ(symbolic_cast(DType::uint8, DType::int64, {Expr(-3)})->numerator, Expr(253));
}

}  // namespace
}  // namespace onnxc
