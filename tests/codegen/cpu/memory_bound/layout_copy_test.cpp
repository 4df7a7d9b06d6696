// Nests that become a copy between layouts with arithmetic on the way, or a store at a channel inside a block: which
// are taken, and that compiled they do what the interpreter does.
#include "codegen/cpu/memory_bound/layout_copy.h"

#include <gtest/gtest.h>

#include "codegen/cpu/compiled_programs.h"
#include "codegen/cpu/integer_tensors.h"
#include "codegen/cpu/memory_bound/channel_shift.h"
#include "ir/program_builder.h"
#include "ops/elementwise/elementwise.h"

namespace onnxc {
namespace {

// For the machine that the compiled programs run on.
int64_t native_lanes() { return resolve_march("native").lanes(); }

// A program whose last step is to be looked at, with a blocked copy of its first input.
struct Blocked {
  ProgramBuilder builder;
  Shape shape;
  Operand input, blocks;

  explicit Blocked(const Shape& shape_, DType dtype = DType::float32)
      : shape(shape_),
        input(builder.input(dtype, shape)),
        blocks(builder.temporary(dtype, shape, Layout::channel_blocked(shape.size(), native_lanes()))) {
    builder.elementwise("block", blocks, [&](const std::vector<Expr>& i) { return input(i); });
  }

  const LoopNest& last() const { return std::get<LoopNest>(builder.program.steps.back().work); }
  bool is_copy() const {
    return as_layout_copy(builder.program, last(), machine::vector_unit(native_lanes())).has_value();
  }
  bool is_shift() const {
    return as_channel_shift(builder.program, last(), machine::vector_unit(native_lanes())).has_value();
  }
};

Tensor tensor_of(const Shape& shape, int64_t seed = 1, DType dtype = DType::float32) {
  std::vector<int64_t> dims;
  for (const Expr& dim : shape) dims.push_back(*dim.constant());
  return integer_tensor(dtype, dims, seed);
}

TEST(LayoutCopyCall, ComputesFromBlocksToRows) {
  CompiledPrograms programs;
  for (int64_t channels : {1, 3, 16, 21})
    for (int64_t width : {1, 15, 17, 40}) {
      Blocked b({2, channels, 3, width});
      const Operand scale = b.builder.input(DType::float32, {channels}), y = b.builder.output(DType::float32, b.shape);
      const Operand other = b.builder.temporary(DType::float32, b.shape, Layout::channel_blocked(4, native_lanes()));
      b.builder.elementwise("block", other, [&](const std::vector<Expr>& i) { return b.input(i) * b.input(i); });
      b.builder.elementwise("scale", y, [&](const std::vector<Expr>& i) {
        return maximum(b.blocks(i) * scale({i[1]}), number(b.blocks(i), 0)) + other(i);
      });
      EXPECT_TRUE(b.is_copy());
      programs.add(fmt::format("{} channels, width {}", channels, width), b.builder.program,
                   {tensor_of(b.shape), tensor_of({channels}, 2)});
    }
  programs.expect_same_as_interpreter();
}

TEST(LayoutCopyCall, ComputesFromRowsToBlocksAndBetweenTypes) {
  CompiledPrograms programs;
  for (int64_t channels : {3, 16, 21}) {
    Blocked b({2, channels, 3, 19}, DType::float16);
    const Operand scale = b.builder.input(DType::float32, {channels}), y = b.builder.output(DType::float32, b.shape);
    const Operand scaled = b.builder.temporary(DType::float32, b.shape, Layout::channel_blocked(4, native_lanes()));
    b.builder.elementwise("scale", scaled,
                          [&](const std::vector<Expr>& i) { return b.input.compute(i) * scale({i[1]}); });
    EXPECT_TRUE(b.is_copy());
    b.builder.elementwise("add", y, [&](const std::vector<Expr>& i) { return scaled(i) + b.blocks.compute(i); });
    EXPECT_TRUE(b.is_copy());
    programs.add(fmt::format("{} channels", channels), b.builder.program,
                 {tensor_of(b.shape, 1, DType::float16), tensor_of({channels}, 2)});
  }
  programs.expect_same_as_interpreter();
}

// Multiples of a sixteenth with NaN and infinities, some beyond what bytes hold.
Tensor tensor_to_quantize(const Shape& shape) {
  std::vector<int64_t> dims;
  for (const Expr& dim : shape) dims.push_back(*dim.constant());
  std::vector<float> values(static_cast<size_t>(checked_product(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 1001) / 16.0f - 31.0f;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (size_t i = 0; const float value : {infinity, -infinity, std::nanf("")}) values[7 * ++i] = value;
  return Tensor::of(DType::float32, dims, values);
}

// QuantizeLinear from rows to blocks, and from blocks to rows.
TEST(LayoutCopyCall, QuantizesOnTheWay) {
  CompiledPrograms programs;
  for (const DType type : {DType::uint8, DType::int8})
    for (int64_t channels : {3, 16, 21}) {
      Blocked b({2, channels, 3, 19});
      const Operand zero_point = b.builder.input(type, {1});
      const auto quantized = [&](const Operand& x, const std::vector<Expr>& i) {
        const Scalar whole = scalar::unary(ScalarOp::round_even, x(i) / number(x(i), 0.125));
        return scalar::cast(type, whole + scalar::cast(DType::float32, zero_point({Expr(0)})));
      };
      const Operand bytes = b.builder.temporary(type, b.shape, Layout::channel_blocked(4, native_lanes()));
      b.builder.elementwise("quantize", bytes, [&](const std::vector<Expr>& i) { return quantized(b.input, i); });
      EXPECT_TRUE(b.is_copy());
      EXPECT_FALSE(b.is_shift());
      const Operand y = b.builder.output(type, b.shape), z = b.builder.output(type, b.shape);
      b.builder.elementwise("unblock", y, [&](const std::vector<Expr>& i) { return bytes(i); });
      b.builder.elementwise("quantize", z, [&](const std::vector<Expr>& i) { return quantized(b.blocks, i); });
      EXPECT_TRUE(b.is_copy());
      programs.add(fmt::format("{} channels of {}", channels, info(type).name), b.builder.program,
                   {tensor_to_quantize(b.shape), tensor_of({Expr(1)}, 2, type)});
    }
  programs.expect_same_as_interpreter();
}

TEST(LayoutCopyCall, LeavesWhatIsNotElementByElement) {
  Blocked transposed({2, 5, 5});
  const Operand y = transposed.builder.output(DType::float32, transposed.shape);
  transposed.builder.elementwise("transpose", y,
                                 [&](const std::vector<Expr>& i) { return transposed.blocks({i[0], i[2], i[1]}); });
  EXPECT_FALSE(transposed.is_copy());

  Blocked with_rows({2, 5, 5});
  const Operand z = with_rows.builder.output(DType::float32, with_rows.shape);
  with_rows.builder.elementwise("add", z,
                                [&](const std::vector<Expr>& i) { return with_rows.blocks(i) + with_rows.input(i); });
  EXPECT_FALSE(with_rows.is_copy());
}

// Concat of two parts; the second is computed on the way; then out of the blocks again.
void add_concat(CompiledPrograms& programs, int64_t first, int64_t second, bool is_taken) {
  Blocked b({2, first, 3, 7});
  const Shape shape = {2, second, 3, 7}, joined = {2, first + second, 3, 7};
  const Operand x = b.builder.input(DType::float32, shape), y = b.builder.output(DType::float32, joined);
  const auto blocked = [&](const Shape& of) {
    return b.builder.temporary(DType::float32, of, Layout::channel_blocked(4, native_lanes()));
  };
  const Operand other = blocked(shape), whole = blocked(joined);
  b.builder.elementwise("block", other, [&](const std::vector<Expr>& i) { return x(i); });
  const auto store = [&](const char* name, const Operand& from, int64_t shift, const auto& value) {
    NestBuilder nest(name);
    const std::vector<Expr> i = nest.parallel(from.shape);
    nest.store(whole, {i[0], i[1] + shift, i[2], i[3]}, value(i));
    b.builder.add(std::move(nest));
  };
  store("Concat", b.blocks, 0, [&](const std::vector<Expr>& i) { return b.blocks(i); });
  EXPECT_EQ(b.is_shift(), first % native_lanes() != 0);
  store("Relu", other, first, [&](const std::vector<Expr>& i) { return maximum(other(i), number(other(i), 0)); });
  EXPECT_EQ(b.is_shift(), is_taken);
  b.builder.elementwise("unblock", y, [&](const std::vector<Expr>& i) { return whole(i); });
  programs.add(fmt::format("{} and {} channels", first, second), b.builder.program,
               {tensor_of(b.shape), tensor_of(shape, 2)});
}

TEST(ChannelShiftCall, ConcatAtEveryChannelOfABlock) {
  CompiledPrograms programs;
  for (int64_t first = 1; first <= 17; ++first) add_concat(programs, first, 12, first % native_lanes() != 0);
  add_concat(programs, 12, 20, true);
  add_concat(programs, 30, 3, true);
  programs.expect_same_as_interpreter();
}

}  // namespace
}  // namespace onnxc
