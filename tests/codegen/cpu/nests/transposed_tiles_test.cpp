// Loads by transposed tiles: which nests have them, and that they compute what the interpreter computes, bit for bit.
#include "codegen/cpu/nests/transposed_tiles.h"

#include <gtest/gtest.h>

#include "codegen/cpu/compiled_programs.h"
#include "codegen/cpu/integer_tensors.h"
#include "codegen/cpu/nests/nest_schedule.h"
#include "ir/program_builder.h"

namespace onnxc {
namespace {

// y[..., j, i] = x[..., i, j]
void add_transposition(CompiledPrograms& programs, DType dtype, const std::vector<int64_t>& dims) {
  ProgramBuilder builder;
  Shape from(dims.begin(), dims.end()), to = from;
  std::swap(to[to.size() - 1], to[to.size() - 2]);
  Operand x = builder.input(dtype, from), y = builder.output(dtype, to);
  builder.elementwise("transpose", y, [&](std::vector<Expr> i) {
    std::swap(i[i.size() - 1], i[i.size() - 2]);
    return x(i);
  });
  programs.add(fmt::format("{} {}", info(dtype).name, to_string(from)), builder.program, {integer_tensor(dtype, dims)});
}

// The tiles of the last nest of a program.
std::vector<TransposedTile> tiles_of(const ProgramBuilder& builder) {
  const auto& nest = std::get<LoopNest>(builder.program.steps.back().work);
  return schedule(flatten(builder.program, nest), machine::avx512).tiles;
}

TEST(TransposedTiles, EveryType) {
  CompiledPrograms programs;
  for (DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int8, DType::uint8,
                      DType::int16, DType::int32, DType::int64, DType::boolean})
    add_transposition(programs, dtype, {2, 70, 301});
  programs.expect_same_as_interpreter();
}

TEST(TransposedTiles, SizesAroundSquaresAndTiles) {
  CompiledPrograms programs;
  for (DType dtype : {DType::float32, DType::int8})
    for (int64_t rows : {4, 7, 8, 9, 15, 16, 17, 31, 65})
      for (int64_t columns : {4, 5, 16, 17, 64, 255, 256, 257, 300})
        add_transposition(programs, dtype, {columns, rows});
  programs.expect_same_as_interpreter();
}

TEST(TransposedTiles, SeveralLoadsAndArithmetic) {
  CompiledPrograms programs;
  const std::vector<int64_t> dims = {3, 37, 5, 18};
  ProgramBuilder builder;
  Operand a = builder.input(DType::float32, {3, 37, 5, 18}), b = builder.input(DType::float16, {37, 18}),
          c = builder.input(DType::float32, {37}), y = builder.output(DType::float32, {3, 5, 18, 37});
  builder.elementwise("sum", y, [&](const std::vector<Expr>& i) {
    return a({i[0], i[3], i[1], i[2]}) * c({i[3]}) + scalar::cast(DType::float32, b({i[3], i[2]})) +
           a({0, i[3], 4, i[2]});
  });
  EXPECT_EQ(tiles_of(builder).size(), 3);
  programs.add("sum", builder.program,
               {integer_tensor(DType::float32, dims), integer_tensor(DType::float16, {37, 18}, 2),
                integer_tensor(DType::float32, {37}, 3)});
  programs.expect_same_as_interpreter();
}

// A tensor in blocks of channels, whose lanes are the rows of a tile, and one that is stored so.
TEST(TransposedTiles, BlockedLayouts) {
  CompiledPrograms programs;
  for (int64_t channels : {5, 16, 37}) {
    ProgramBuilder builder;
    const Shape shape = {2, channels, 70}, swapped = {2, 70, channels};
    Operand x = builder.input(DType::float32, shape), y = builder.output(DType::float32, shape),
            z = builder.output(DType::float32, swapped);
    Operand blocked = builder.temporary(DType::float32, shape, Layout::channel_blocked(3, 16)),
            other = builder.temporary(DType::float32, swapped, Layout::channel_blocked(3, 16));
    builder.elementwise("block", blocked, [&](const std::vector<Expr>& i) { return x(i); });
    builder.elementwise("swap", other, [&](const std::vector<Expr>& i) { return blocked({i[0], i[2], i[1]}); });
    builder.elementwise("rows", y, [&](const std::vector<Expr>& i) { return blocked(i); });
    builder.elementwise("out", z, [&](const std::vector<Expr>& i) { return other(i); });
    programs.add(fmt::format("{} channels", channels), builder.program,
                 {integer_tensor(DType::float32, {2, channels, 70})});
  }
  programs.expect_same_as_interpreter();
}

TEST(TransposedTiles, Schedule) {
  ProgramBuilder builder;
  const Symbol n = Symbol::dim("N");
  Operand x = builder.input(DType::float32, {n, 40}), y = builder.output(DType::float32, {40, n});
  builder.elementwise("transpose", y, [&](const std::vector<Expr>& i) { return x({i[1], i[0]}); });
  const auto& nest = std::get<LoopNest>(builder.program.steps.back().work);
  EXPECT_EQ(to_string(schedule(flatten(builder.program, nest), machine::avx512)),
            R"(tasks 3*((N + 1023)//1024): i0_tile<3, i1_tile<(N + 255)//256 by 4
loops: i0<min(-16*i0_tile + 40, 16), i1<min(N - 256*i1_tile, 256) vectorised
tile b2 of b0 from 16*i0_tile + 10240*i1_tile by 40
transpose
  b1[N*i0 + 16*N*i0_tile + i1 + 256*i1_tile] = b2[256*i0 + i1]
)");
}

// A load that a test keeps within the buffer may not be read ahead of it.
TEST(TransposedTiles, NotBehindATest) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {33, 20}), y = builder.output(DType::float32, {22, 35});
  builder.elementwise("pad", y, [&](const std::vector<Expr>& i) {
    return scalar::select(within(i[1] - 1, 33), x({i[1] - 1, i[0] - 1}), scalar::constant(DType::float32, -1));
  });
  EXPECT_TRUE(tiles_of(builder).empty());
}

TEST(TransposedTiles, NotFewRowsOrRowsThatARunLooksUp) {
  ProgramBuilder builder;
  Operand few = builder.input(DType::float32, {40, 3}), x = builder.input(DType::float32, {9, 20}),
          where = builder.input(DType::int64, {6}), y = builder.output(DType::float32, {3, 40}),
          z = builder.output(DType::float32, {20, 6});
  builder.elementwise("few", y, [&](const std::vector<Expr>& i) { return few({i[1], i[0]}); });
  EXPECT_TRUE(tiles_of(builder).empty());
  NestBuilder nest("gather");
  std::vector<Expr> i = nest.parallel(z.shape);
  const Expr row = nest.let(where({i[1]}));
  nest.store(z, i, x({row, i[0]}));
  builder.add(std::move(nest));
  EXPECT_TRUE(tiles_of(builder).empty());
}

}  // namespace
}  // namespace onnxc
