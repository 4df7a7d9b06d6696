// Loops without reductions as compiled code, against the interpreter: bit for bit.
#include "codegen/cpu/nests/nest_printer.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "codegen/cpu/compiled_programs.h"
#include "codegen/cpu/integer_tensors.h"
#include "ir/program_builder.h"

namespace onnxc {
namespace {

constexpr DType all_types[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int8,
                               DType::uint8,   DType::int16,   DType::uint16,  DType::int32,    DType::uint32,
                               DType::int64,   DType::uint64,  DType::boolean};

// y = x + 2*x as arithmetic of the type, stored in the type.
void add_elementwise(CompiledPrograms& programs, DType dtype, const std::vector<int64_t>& dims) {
  ProgramBuilder builder;
  const Shape shape(dims.begin(), dims.end());
  Operand x = builder.input(dtype, shape), y = builder.output(dtype, shape);
  builder.elementwise("double", y, [&](const std::vector<Expr>& i) {
    const Scalar value = x.compute(i);
    if (dtype == DType::boolean) return scalar::unary(ScalarOp::logical_not, value);
    return value + scalar::constant(value.dtype(), 2) * value;
  });
  programs.add(fmt::format("{} {}", info(dtype).name, to_string(shape)), builder.program,
               {integer_tensor(dtype, dims)});
}

TEST(NestPrinter, ElementwiseOfEveryType) {
  CompiledPrograms programs;
  for (DType dtype : all_types) add_elementwise(programs, dtype, {3, 5, 17});
  programs.expect_same_as_interpreter();
}

// Around a vector, a task, and nothing at all.
TEST(NestPrinter, ElementwiseOfEverySize) {
  CompiledPrograms programs;
  for (int64_t size : {0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 16383, 16384, 16385, 40000})
    add_elementwise(programs, DType::float32, {size});
  add_elementwise(programs, DType::float32, {});
  add_elementwise(programs, DType::float32, {3, 0, 5});
  programs.expect_same_as_interpreter();
}

TEST(NestPrinter, CastsBetweenAllTypes) {
  CompiledPrograms programs;
  for (DType from : all_types) {
    ProgramBuilder builder;
    Operand x = builder.input(from, {41});
    for (DType to : all_types) {
      Operand y = builder.output(to, {41});
      builder.elementwise("cast", y, [&](const std::vector<Expr>& i) { return scalar::cast(to, x(i)); });
    }
    programs.add(fmt::format("cast of {}", info(from).name), builder.program, {integer_tensor(from, {41})});
  }
  programs.expect_same_as_interpreter();
}

TEST(NestPrinter, DynamicSizes) {
  const Symbol n = Symbol::dim("N"), m = Symbol::dim("M");
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {n, m}), bias = builder.input(DType::float32, {m}),
          y = builder.output(DType::float32, {n, m}), transposed = builder.output(DType::float32, {m, n});
  builder.elementwise("bias", y, [&](const std::vector<Expr>& i) { return x(i) + bias({i[1]}); });
  builder.elementwise("transpose", transposed, [&](const std::vector<Expr>& i) { return x({i[1], i[0]}); });
  std::vector<CompiledPrograms::Run> runs;
  for (int64_t rows : {0, 1, 3, 300})
    for (int64_t columns : {0, 1, 16, 77})
      runs.push_back({{integer_tensor(DType::float32, {rows, columns}), integer_tensor(DType::float32, {columns}, 2)},
                      {{n, rows}, {m, columns}}});
  CompiledPrograms programs;
  programs.add("bias and transpose", builder.program, runs);
  programs.expect_same_as_interpreter();
}

// A run may broadcast operands: whole along the innermost axis, of one element, and neither.
TEST(NestPrinter, ClampedIndices) {
  const Bounds one_or_more{1, Bounds::infinity};
  const Symbol n = Symbol::dim("N"), a = Symbol::dim("A", one_or_more), b = Symbol::dim("B", one_or_more),
               c = Symbol::dim("C", one_or_more);
  CompiledPrograms programs;
  for (const int operands : {1, 2, 3}) {
    ProgramBuilder builder;
    const Operand x = builder.input(DType::float32, {3, a}), z = builder.input(DType::float32, {b}),
                  w = builder.input(DType::float32, {c}), v = builder.input(DType::float32, {n}),
                  y = builder.output(DType::float32, {3, n});
    builder.elementwise("clamped", y, [&](const std::vector<Expr>& i) {
      Scalar value = x({i[0], min(Expr(a) - 1, i[1])});
      if (operands > 1) value = value - z({min(Expr(b) - 1, i[1])});
      if (operands > 2) value = value * w({min(Expr(c) - 1, i[1])}) + x({i[0], min(Expr(a) - 1, i[1])});
      return value + v({i[1]});
    });
    std::vector<CompiledPrograms::Run> runs;
    for (const auto& [columns, first, second, third] : std::vector<std::array<int64_t, 4>>{{40, 40, 40, 40},
                                                                                           {40, 1, 40, 40},
                                                                                           {40, 40, 1, 1},
                                                                                           {40, 1, 1, 1},
                                                                                           {40, 7, 40, 9},
                                                                                           {40, 7, 5, 1},
                                                                                           {1, 1, 1, 1},
                                                                                           {40, 50, 45, 41},
                                                                                           {0, 1, 3, 2},
                                                                                           {17, 17, 1, 17},
                                                                                           {2, 1, 2, 1}})
      runs.push_back({{integer_tensor(DType::float32, {3, first}), integer_tensor(DType::float32, {second}, 2),
                       integer_tensor(DType::float32, {third}, 3), integer_tensor(DType::float32, {columns}, 4)},
                      {{n, columns}, {a, first}, {b, second}, {c, third}}});
    programs.add(fmt::format("{} operands", operands), builder.program, runs);
  }
  programs.expect_same_as_interpreter();
}

// A shifted window whose borders are zero, as Pad is: the load is guarded by its test.
TEST(NestPrinter, LoadsBehindATest) {
  CompiledPrograms programs;
  for (int64_t shift : {-3, 0, 4, 40}) {
    ProgramBuilder builder;
    Operand x = builder.input(DType::float32, {5, 33}), y = builder.output(DType::float32, {5, 35});
    builder.elementwise("pad", y, [&](const std::vector<Expr>& i) {
      const Expr column = i[1] - shift;
      return scalar::select(within(column, 33), x({i[0], column}), scalar::constant(DType::float32, -1));
    });
    programs.add(fmt::format("shift {}", shift), builder.program, {integer_tensor(DType::float32, {5, 33})});
  }
  programs.expect_same_as_interpreter();
}

// Channels that do not fill their blocks: into a blocked tensor, through it, and out again.
TEST(NestPrinter, BlockedLayouts) {
  CompiledPrograms programs;
  for (int64_t block : {8, 16})
    for (int64_t channels : {1, 5, 16, 20, 45}) {
      const Shape shape = {2, channels, 3, 7};
      ProgramBuilder builder;
      Operand x = builder.input(DType::float32, shape), y = builder.output(DType::float32, shape);
      const Layout layout = Layout::channel_blocked(4, block);
      Operand blocked = builder.temporary(DType::float32, shape, layout),
              shifted = builder.temporary(DType::float32, shape, layout);
      builder.elementwise("block", blocked, [&](const std::vector<Expr>& i) { return x(i); });
      builder.elementwise("add", shifted, [&](const std::vector<Expr>& i) {
        return blocked(i) + scalar::cast(DType::float32, scalar::index(i[1] + 1));
      });
      builder.elementwise("unblock", y, [&](const std::vector<Expr>& i) { return shifted(i) + blocked(i); });
      programs.add(fmt::format("{} channels in blocks of {}", channels, block), builder.program,
                   {integer_tensor(DType::float32, {2, channels, 3, 7})});
    }
  programs.expect_same_as_interpreter();
}

// A slope by channel if x is below zero, as PRelu is: in blocks, some of them padded, and in rows.
TEST(NestPrinter, ChosenByTheirValues) {
  CompiledPrograms programs;
  for (int64_t channels : {5, 16, 20})
    for (const Layout& layout : {Layout::channel_blocked(3, 8), Layout::row_major(3)}) {
      const Shape shape = {2, channels, 9};
      ProgramBuilder builder;
      Operand x = builder.input(DType::float32, shape), slopes = builder.input(DType::float32, {channels}),
              y = builder.output(DType::float32, shape);
      Operand held = builder.temporary(DType::float32, shape, layout),
              chosen = builder.temporary(DType::float32, shape, layout);
      const Scalar zero = scalar::constant(DType::float32, 0);
      builder.elementwise("copy", held, [&](const std::vector<Expr>& i) { return x(i); });
      builder.elementwise("choose", chosen, [&](const std::vector<Expr>& i) {
        const Scalar value = held(i);
        return scalar::select(scalar::binary(ScalarOp::less, value, zero), value * slopes({i[1]}), value);
      });
      builder.elementwise("out", y, [&](const std::vector<Expr>& i) { return chosen(i); });
      programs.add(fmt::format("{} channels in {}", channels, layout.to_string()), builder.program,
                   {integer_tensor(DType::float32, {2, channels, 9}), integer_tensor(DType::float32, {channels}, 3)});
    }
  programs.expect_same_as_interpreter();
}

// Concat: two nests store into views of one buffer, at shifts that are whole blocks and such that are not; and a
// Reshape of the result, an alias.
TEST(NestPrinter, ViewsAndAliases) {
  CompiledPrograms programs;
  for (bool is_blocked : {false, true})
    for (int64_t first : {8, 5}) {
      ProgramBuilder builder;
      Operand a = builder.input(DType::float32, {2, first, 6}), b = builder.input(DType::float32, {2, 11, 6});
      const Shape joined = {2, first + 11, 6};
      Operand whole =
          builder.temporary(DType::float32, joined, is_blocked ? Layout::channel_blocked(3, 8) : Layout::row_major(3));
      Operand low = builder.view(whole, a.shape, {0, 0, 0}), high = builder.view(whole, b.shape, {0, first, 0});
      builder.elementwise("low", low, [&](const std::vector<Expr>& i) { return a(i); });
      builder.elementwise("high", high, [&](const std::vector<Expr>& i) { return -b(i); });
      Operand y = builder.output(DType::float32, joined);
      Operand dense = builder.temporary(DType::float32, joined), flat = builder.alias(dense, {2 * 6 * (first + 11)});
      builder.elementwise("copy", dense, [&](const std::vector<Expr>& i) { return whole(i); });
      Operand z = builder.output(DType::float32, flat.shape);
      builder.elementwise("out", y, [&](const std::vector<Expr>& i) { return dense(i); });
      builder.elementwise("flat", z, [&](const std::vector<Expr>& i) { return flat(i); });
      programs.add(fmt::format("{}shift {}", is_blocked ? "blocked, " : "", first), builder.program,
                   {integer_tensor(DType::float32, {2, first, 6}), integer_tensor(DType::float32, {2, 11, 6}, 2)});
    }
  programs.expect_same_as_interpreter();
}

// y[i, j, t] = y[i, j, t - 1] + x[i, j, t], along each axis.
TEST(NestPrinter, OrderedAxes) {
  CompiledPrograms programs;
  const std::vector<int64_t> dims = {3, 70, 9};
  for (size_t axis = 0; axis < 3; ++axis) {
    ProgramBuilder builder;
    const Shape shape(dims.begin(), dims.end());
    Operand x = builder.input(DType::float32, shape), y = builder.output(DType::float32, shape);
    NestBuilder nest("cumulative_sum");
    std::vector<Expr> indices;
    for (size_t i = 0; i < 3; ++i) indices.push_back(i == axis ? nest.ordered(shape[i]) : nest.parallel(shape[i]));
    std::vector<Expr> before = indices;
    before[axis] -= 1;
    const Scalar sum = scalar::select(less(0, indices[axis]), y(before), scalar::constant(DType::float32, 0));
    nest.store(y, indices, sum + x(indices));
    builder.add(std::move(nest));
    programs.add(fmt::format("along axis {}", axis), builder.program, {integer_tensor(DType::float32, dims)});
  }
  programs.expect_same_as_interpreter();
}

TEST(NestPrinter, GathersByIndicesKnownAtRunTime) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {9, 20}), where = builder.input(DType::int64, {6}),
          y = builder.output(DType::float32, {6, 20});
  NestBuilder nest("gather");
  std::vector<Expr> i = nest.parallel(y.shape);
  const Expr row = nest.let(where({i[0]}));
  nest.store(y, i, x({max(min(row, 8), 0), i[1]}));
  builder.add(std::move(nest));
  CompiledPrograms programs;
  programs.add(
      "gather", builder.program,
      {integer_tensor(DType::float32, {9, 20}), Tensor::of(DType::int64, {6}, std::vector<int64_t>{8, 0, 3, 3, 7, 1})});
  programs.expect_same_as_interpreter();
}

// Several updates of one element, in order; a condition leaves some out.
TEST(NestPrinter, Scatters) {
  CompiledPrograms programs;
  for (StoreKind kind :
       {StoreKind::assign, StoreKind::add, StoreKind::multiply, StoreKind::minimum, StoreKind::maximum})
    for (DType dtype : {DType::float32, DType::int64, DType::float16}) {
      ProgramBuilder builder;
      Operand x = builder.input(dtype, {5, 13}), updates = builder.input(dtype, {7, 13}),
              where = builder.input(DType::int64, {7}), y = builder.output(dtype, {5, 13});
      builder.elementwise("copy", y, [&](const std::vector<Expr>& i) { return x(i); });
      NestBuilder nest("scatter");
      const Expr i = nest.ordered(7), j = nest.parallel(13);
      const Expr row = nest.let(where({i}));
      nest.store(y, {row, j}, updates({i, j}), kind, both(less(j, 12), within(row, 5)));
      builder.add(std::move(nest));
      programs.add(fmt::format("scatter {} of {}", static_cast<int>(kind), info(dtype).name), builder.program,
                   {integer_tensor(dtype, {5, 13}), integer_tensor(dtype, {7, 13}, 2),
                    Tensor::of(DType::int64, {7}, std::vector<int64_t>{4, 0, 4, 1, 4, 0, 2})});
    }
  programs.expect_same_as_interpreter();
}

// Both stores of a nest; the second reads what the first wrote.
TEST(NestPrinter, StoresThatSeeOneAnother) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {50}), y = builder.output(DType::float32, {50}),
          z = builder.output(DType::float32, {50});
  NestBuilder nest("two");
  const std::vector<Expr> i = nest.parallel(y.shape);
  nest.store(y, i, x(i) + x(i));
  nest.store(z, i, y(i) * x(i));
  builder.add(std::move(nest));
  CompiledPrograms programs;
  programs.add("two stores", builder.program, {integer_tensor(DType::float32, {50})});
  programs.expect_same_as_interpreter();
}

}  // namespace
}  // namespace onnxc
