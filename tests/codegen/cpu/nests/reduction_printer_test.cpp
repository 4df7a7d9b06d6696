// Reductions as compiled code, in each form that the schedule chooses, against the interpreter. Sums and products are
// of small integers, so that any order gives the same bits.
#include "codegen/cpu/nests/reduction_printer.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "codegen/cpu/compiled_programs.h"
#include "codegen/cpu/integer_tensors.h"
#include "codegen/cpu/nests/nest_printer.h"
#include "ir/program_builder.h"

namespace onnxc {
namespace {

using enum ReduceKind;

constexpr ReduceKind folds[] = {sum, product, minimum, maximum};
constexpr ReduceKind arguments[] = {argument_minimum, argument_maximum, last_argument_minimum, last_argument_maximum};

// For products ones, and a few twos and minus ones.
Tensor operand(ReduceKind kind, DType dtype, const std::vector<int64_t>& dims) {
  if (kind != product) return integer_tensor(dtype, dims);
  std::vector<float> values(static_cast<size_t>(checked_product(dims)), 1);
  for (size_t i = 0; i < values.size(); i += 29) values[i] = i % 2 == 0 ? 2 : -1;
  return Tensor::of(DType::float32, dims, values);
}

// y[i] = fold over k of x[i, k], or of x[k, i].
Program reduction(ReduceKind kind, DType dtype, const Expr& kept, const Expr& reduced, bool is_outer) {
  ProgramBuilder builder;
  Operand x = builder.input(dtype, is_outer ? Shape{reduced, kept} : Shape{kept, reduced});
  const bool is_argument = kind >= argument_minimum;
  NestBuilder nest("reduce");
  const Expr i = nest.parallel(kept), k = nest.reduce(reduced);
  const Scalar result = nest.accumulate(kind, x.compute(is_outer ? std::vector{k, i} : std::vector{i, k}), k);
  Operand y = builder.output(is_argument ? DType::int64 : dtype, {kept});
  nest.store(y, {i}, result);
  builder.add(std::move(nest));
  return std::move(builder.program);
}

void add_reduction(CompiledPrograms& programs, ReduceKind kind, DType dtype, int64_t kept, int64_t reduced) {
  for (bool is_outer : {false, true}) {
    const std::vector<int64_t> dims = is_outer ? std::vector{reduced, kept} : std::vector{kept, reduced};
    programs.add(fmt::format("kind {} of {}, {} of {} {}", static_cast<int>(kind), info(dtype).name, reduced, kept,
                             is_outer ? "outside" : "inside"),
                 reduction(kind, dtype, kept, reduced, is_outer), {operand(kind, dtype, dims)});
  }
}

TEST(ReductionPrinter, EveryKindInEverySize) {
  CompiledPrograms programs;
  for (ReduceKind kind : folds)
    for (int64_t reduced : {1, 7, 15, 16, 31, 32, 33, 64, 81, 100})
      add_reduction(programs, kind, DType::float32, 5, reduced);
  for (ReduceKind kind : arguments)
    for (int64_t reduced : {1, 8, 15, 16, 40, 64, 65, 128, 200})
      add_reduction(programs, kind, DType::float32, 6, reduced);
  programs.expect_same_as_interpreter();
}

// Accumulators an iteration of the parallel loop: around the 64 of a tile.
TEST(ReductionPrinter, TilesOfTheParallelLoop) {
  CompiledPrograms programs;
  for (int64_t kept : {1, 3, 4, 63, 64, 65, 130}) {
    add_reduction(programs, sum, DType::float32, kept, 9);
    add_reduction(programs, argument_maximum, DType::float32, kept, 9);
  }
  programs.expect_same_as_interpreter();
}

TEST(ReductionPrinter, EveryType) {
  CompiledPrograms programs;
  for (DType dtype : {DType::float64, DType::float16, DType::bfloat16, DType::int8, DType::uint8, DType::int32,
                      DType::int64, DType::uint64})
    for (ReduceKind kind : {sum, maximum}) add_reduction(programs, kind, dtype, 3, 37);
  for (ReduceKind kind : {any, all}) add_reduction(programs, kind, DType::boolean, 3, 37);
  for (DType dtype :
       {DType::float64, DType::float16, DType::int8, DType::uint8, DType::int32, DType::int64, DType::uint64})
    for (ReduceKind kind : arguments) add_reduction(programs, kind, dtype, 3, 37);
  programs.expect_same_as_interpreter();
}

// A fused multiply-add would not round the products: 1*0.7 + 9*0.7 is below 7 in float32.
TEST(ReductionPrinter, ProductsOfFewRoundsAreRounded) {
  CompiledPrograms programs;
  for (int64_t kept : {1, 2, 7})
    for (int64_t reduced : {2, 3, 5}) {
      ProgramBuilder builder;
      const Operand x = builder.input(DType::float32, {kept, reduced}), y = builder.output(DType::float32, {kept});
      NestBuilder nest("reduce");
      const Expr i = nest.parallel(kept), k = nest.reduce(reduced);
      nest.store(y, {i}, nest.accumulate(sum, x({i, k}) * scalar::constant(DType::float32, 0.7)));
      builder.add(std::move(nest));
      std::vector<float> values;
      for (int64_t at = 0; at < kept * reduced; ++at) values.push_back(static_cast<float>(1 + 8 * at % 13));
      programs.add(fmt::format("{} of {}", reduced, kept), std::move(builder.program),
                   {Tensor::of(DType::float32, {kept, reduced}, values)});
    }
  programs.expect_same_as_interpreter();
}

// y[i, j] = sum over k of a[i, k] * b[k, j].
Program matrix_product(DType dtype, const Expr& rows, const Expr& depth, const Expr& columns) {
  ProgramBuilder builder;
  const Operand a = builder.input(dtype, {rows, depth}), b = builder.input(dtype, {depth, columns}),
                y = builder.output(dtype, {rows, columns});
  NestBuilder nest("product");
  const Expr i = nest.parallel(rows), j = nest.parallel(columns), k = nest.reduce(depth);
  nest.store(y, {i, j}, nest.accumulate(sum, a.compute({i, k}) * b.compute({k, j})));
  builder.add(std::move(nest));
  return std::move(builder.program);
}

// Four rows share what they read of the other matrix; the last of them may be computed several times.
TEST(ReductionPrinter, RowsOfAProduct) {
  CompiledPrograms programs;
  const auto add = [&](DType dtype, int64_t rows, int64_t depth, int64_t columns) {
    programs.add(fmt::format("{} {}x{}x{}", info(dtype).name, rows, depth, columns),
                 matrix_product(dtype, rows, depth, columns),
                 {integer_tensor(dtype, {rows, depth}), integer_tensor(dtype, {depth, columns}, 2)});
  };
  for (int64_t rows : {1, 3, 4, 5, 7, 8, 9, 11}) add(DType::float64, rows, 7, 70);
  for (int64_t columns : {4, 31, 32, 33, 64, 65, 131}) add(DType::float64, 10, 5, columns);
  for (DType dtype : {DType::float32, DType::float16, DType::int8, DType::int32, DType::int64}) add(dtype, 13, 9, 77);
  const Symbol n = Symbol::dim("N"), m = Symbol::dim("M");
  std::vector<CompiledPrograms::Run> runs;
  for (int64_t depth : {0, 1, 12})
    for (int64_t columns : {0, 1, 64, 83})
      runs.push_back({{integer_tensor(DType::float64, {9, depth}), integer_tensor(DType::float64, {depth, columns}, 2)},
                      {{n, depth}, {m, columns}}});
  programs.add("free", matrix_product(DType::float64, 9, n, m), runs);
  programs.expect_same_as_interpreter();
}

std::string printed(const Program& program) {
  const auto& nest = std::get<LoopNest>(program.steps.back().work);
  TextWriter writer;
  ModelNames names;
  for (size_t id = 0; id < program.buffers.size(); ++id) names.storages.emplace(static_cast<BufferId>(id), id);
  print_nest(writer, schedule(flatten(program, nest), machine::avx512), "nest", names);
  return writer.take();
}

// Only nests that may compute sizes go without multiply-adds.
TEST(ReductionPrinter, ProductsOfManyRoundsAreFused) {
  const auto is_fused = [](const Program& program) {
    return printed(program).find("#pragma clang fp contract(fast)") != std::string::npos;
  };
  EXPECT_FALSE(is_fused(matrix_product(DType::float64, 1, 8, 8)));
  EXPECT_TRUE(is_fused(matrix_product(DType::float64, 1, 8, 9)));
  EXPECT_TRUE(is_fused(matrix_product(DType::float64, 64, 64, 64)));
}

TEST(ReductionPrinter, OverNothing) {
  CompiledPrograms programs;
  for (ReduceKind kind : folds) add_reduction(programs, kind, DType::float32, 5, 0);
  add_reduction(programs, sum, DType::int64, 70, 0);
  add_reduction(programs, sum, DType::float32, 0, 5);
  programs.expect_same_as_interpreter();
}

TEST(ReductionPrinter, DynamicSizes) {
  CompiledPrograms programs;
  for (ReduceKind kind : {sum, maximum, argument_maximum})
    for (bool is_outer : {false, true}) {
      const Symbol n = Symbol::dim("N"), m = Symbol::dim("M");
      std::vector<CompiledPrograms::Run> runs;
      for (int64_t kept : {0, 1, 64, 65, 200})
        for (int64_t reduced : {1, 50, 0}) {
          if (kind == argument_maximum && reduced == 0) continue;
          const std::vector<int64_t> dims = is_outer ? std::vector{reduced, kept} : std::vector{kept, reduced};
          runs.push_back({{integer_tensor(DType::float32, dims)}, {{n, kept}, {m, reduced}}});
        }
      programs.add(fmt::format("kind {} {}", static_cast<int>(kind), is_outer ? "outside" : "inside"),
                   reduction(kind, DType::float32, n, m, is_outer), runs);
    }
  programs.expect_same_as_interpreter();
}

TEST(ReductionPrinter, ExtremesHandOnNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values(4 * 40, 1);
  values[3] = values[40 + 39] = values[85] = values[86] = nan;
  CompiledPrograms programs;
  const Tensor x = Tensor::of(DType::float32, {4, 40}, values);
  for (ReduceKind kind : {minimum, maximum, argument_minimum, argument_maximum, last_argument_maximum}) {
    programs.add(fmt::format("kind {} inside", static_cast<int>(kind)), reduction(kind, DType::float32, 4, 40, false),
                 {x});
    programs.add(fmt::format("kind {} outside", static_cast<int>(kind)), reduction(kind, DType::float32, 40, 4, true),
                 {x});
  }
  programs.expect_same_as_interpreter();
}

// NaN, infinities, both zeros and equal numbers at any place of a row, in whole steps and in the rest.
TEST(ReductionPrinter, PositionsOfExtremesInAnyLane) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  constexpr int64_t rows = 200, columns = 150;
  std::mt19937 random(3);
  std::vector<float> values(rows * columns);
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<float> choice = row % 2 == 0 ? std::vector<float>{-1, -0.0f, 0.0f, -2, 1e-40f, -1e-40f}
                                                   : std::vector<float>{infinity, -infinity, 1, 2, -3, 2};
    for (int64_t column = 0; column < columns; ++column)
      values[static_cast<size_t>(row * columns + column)] = choice[random() % choice.size()];
    for (int64_t i = row % 4; i > 1; --i) values[static_cast<size_t>(row * columns) + random() % columns] = nan;
  }
  CompiledPrograms programs;
  const Tensor x = Tensor::of(DType::float32, {rows, columns}, values);
  for (ReduceKind kind : arguments)
    programs.add(fmt::format("kind {}", static_cast<int>(kind)), reduction(kind, DType::float32, rows, columns, false),
                 {x});
  programs.expect_same_as_interpreter();
}

// A window with padding over a blocked tensor whose channels do not fill their blocks, as a pool or a depthwise
// convolution without a kernel of its own; and a reduction over those channels.
TEST(ReductionPrinter, BlockedLayouts) {
  CompiledPrograms programs;
  for (int64_t block : {8, 16})
    for (int64_t channels : {5, 16, 21}) {
      const Shape shape = {2, channels, 9, 12};
      ProgramBuilder builder;
      Operand x = builder.input(DType::float32, shape);
      Operand blocked = builder.temporary(DType::float32, shape, Layout::channel_blocked(4, block));
      builder.elementwise("block", blocked, [&](const std::vector<Expr>& i) { return x(i); });
      Operand pooled = builder.temporary(DType::float32, {2, channels, 5, 6}, Layout::channel_blocked(4, block));
      NestBuilder pool("pool");
      const std::vector<Expr> i = pool.parallel(pooled.shape), k = pool.reduce(Shape{3, 3});
      const Expr row = i[2] * 2 + k[0] - 1, column = i[3] * 2 + k[1] - 1;
      const Scalar loaded = scalar::select(both(within(row, 9), within(column, 12)), blocked({i[0], i[1], row, column}),
                                           scalar::constant(DType::float32, -std::numeric_limits<double>::infinity()));
      pool.store(pooled, i, pool.accumulate(maximum, loaded));
      builder.add(std::move(pool));
      Operand y = builder.output(DType::float32, pooled.shape), z = builder.output(DType::float32, {2, 5, 6});
      builder.elementwise("unblock", y, [&](const std::vector<Expr>& o) { return pooled(o); });
      NestBuilder channel_sum("channel_sum");
      const std::vector<Expr> o = channel_sum.parallel(z.shape);
      const Expr c = channel_sum.reduce(channels);
      channel_sum.store(z, o, channel_sum.accumulate(sum, pooled({o[0], c, o[1], o[2]})));
      builder.add(std::move(channel_sum));
      programs.add(fmt::format("{} channels in blocks of {}", channels, block), builder.program,
                   {integer_tensor(DType::float32, {2, channels, 9, 12})});
    }
  programs.expect_same_as_interpreter();
}

// The mean and the sum of squares in one nest, and work after the reduction.
TEST(ReductionPrinter, SeveralAccumulators) {
  CompiledPrograms programs;
  for (bool is_outer : {false, true}) {
    ProgramBuilder builder;
    Operand x = builder.input(DType::float32, is_outer ? Shape{33, 70} : Shape{70, 33}),
            y = builder.output(DType::float32, {70}), z = builder.output(DType::float32, {70});
    NestBuilder nest("moments");
    const Expr i = nest.parallel(70), k = nest.reduce(33);
    const Scalar value = x(is_outer ? std::vector{k, i} : std::vector{i, k});
    const Scalar total = nest.accumulate(sum, value), squares = nest.accumulate(sum, value * value);
    nest.store(y, {i}, total + squares);
    nest.store(z, {i}, total * total - squares);
    builder.add(std::move(nest));
    const std::vector<int64_t> dims = is_outer ? std::vector<int64_t>{33, 70} : std::vector<int64_t>{70, 33};
    programs.add(is_outer ? "outside" : "inside", builder.program, {integer_tensor(DType::float32, dims)});
  }
  programs.expect_same_as_interpreter();
}

}  // namespace
}  // namespace onnxc
