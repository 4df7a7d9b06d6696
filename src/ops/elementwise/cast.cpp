// Cast and CastLike between all types, BitCast, and Identity.
#include <cmath>

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/saturation.h"
#include "ops/families.h"

namespace onnxc {
namespace {

// ------------------------------------------------------------------------------------------- to types of 8 bits

// Attribute 'round_mode'. To "nearest" a number half way between two powers becomes the greater.
enum class RoundMode : uint8_t { up, down, nearest };

RoundMode round_mode(const NodeReader& node) {
  const std::string mode = node.text("round_mode", "up");
  if (mode == "up") return RoundMode::up;
  if (mode == "down") return RoundMode::down;
  if (mode == "nearest") return RoundMode::nearest;
  node.fail("attribute 'round_mode' must be \"up\", \"down\" or \"nearest\", found \"{}\"", mode);
}

// ONNX Cast 24, table: saturating, 0 and what is below 2^-127 become 2^-127, and what is above 2^127 that; else both
// become NaN. The loop IR's cast takes the power of two below. (ONNX's reference evaluator makes NaN of an infinity
// always, and 2^-127 of 0 always.)
Scalar to_power_of_two(const Scalar& x, RoundMode mode, bool saturates) {
  const Scalar given = scalar::cast(DType::float32, x);
  const Scalar least = number(given, std::exp2(-127)), most = number(given, std::exp2(127));
  const Scalar wide = saturates ? minimum(maximum(given, least), most) : given;
  const Scalar below = scalar::cast(DType::float32, scalar::cast(DType::float8e8m0, wide));
  Scalar power = below;
  if (mode != RoundMode::down) {
    const Scalar is_above = mode == RoundMode::up
                                ? less(below, wide)
                                : scalar::unary(ScalarOp::logical_not, less(wide, below * number(below, 1.5)));
    power = scalar::select(is_above, below * number(below, 2), below);
  }
  if (saturates)
    power = minimum(power, most);
  else
    power = scalar::select(less(given, least), number(given, NAN), power);
  return scalar::cast(DType::float8e8m0, power);
}

// ------------------------------------------------------------------------------------------- to and from strings

// The number that a string spells, in a type that holds all of the type that is asked for.
Scalar spelled_number(const Scalar& text, DType to) {
  using enum StringFunction;
  if (is_floating(to)) return scalar::call(number_of, {text});
  return scalar::call(to == DType::uint64 ? unsigned_of : integer_of, {text});
}

Scalar spelled(const Scalar& number) {
  using enum StringFunction;
  const DType from = number.dtype();
  if (from == DType::float64) return scalar::call(text_of_double, {number});
  if (is_floating(from)) return scalar::call(text_of_float, {scalar::cast(DType::float32, number)});
  if (from == DType::uint64) return scalar::call(text_of_unsigned, {number});
  return scalar::call(text_of_integer, {scalar::cast(DType::int64, number)});
}

// The conversion itself is the loop IR's (ir/loops/loops.h): it truncates and saturates from floating-point numbers to
// integers, and keeps the low bits between integers and for integers of less than a byte.
void define_cast(DefineContext& c) {
  Operand x = c.in(0);
  const DType to = c.out(0).dtype;
  const bool saturates = c.integer("saturate", 1) != 0;
  const RoundMode mode = round_mode(c);
  // Attribute 'saturate' (ONNX Cast 19, table); without it what is beyond becomes the type's infinity or NaN, as the
  // loop IR's cast has it.
  const std::optional<double> most = greatest_finite(to);
  c.elementwise([&](const std::vector<Expr>& i) {
    const Scalar given = x(i);
    if (given.dtype() == to) return given;
    if (to == DType::string) return spelled(given);
    const Scalar value = given.dtype() == DType::string ? spelled_number(given, to) : given;
    if (to == DType::float8e8m0) return to_power_of_two(value, mode, saturates);
    return scalar::cast(to, most && saturates ? saturated(value, *most) : value);
  });
}

// --------------------------------------------------------------------------------------------------- Cast, CastLike

// Cast 1 names the type; since version 6 attribute 'to' is TensorProto's number.
DType cast_target(const NodeReader& node) {
  if (node.version() < 6) {
    std::string name = node.text("to", "");
    for (auto [text, dtype] : {std::pair{"FLOAT", DType::float32},
                               {"DOUBLE", DType::float64},
                               {"FLOAT16", DType::float16},
                               {"BOOL", DType::boolean},
                               {"STRING", DType::string},
                               {"INT8", DType::int8},
                               {"INT16", DType::int16},
                               {"INT32", DType::int32},
                               {"INT64", DType::int64},
                               {"UINT8", DType::uint8},
                               {"UINT16", DType::uint16},
                               {"UINT32", DType::uint32},
                               {"UINT64", DType::uint64}})
      if (name == text) return dtype;
    node.fail("attribute 'to' must name a type such as \"FLOAT\", found \"{}\"", name);
  }
  return dtype_attribute(node, "to", node.integer("to"), Types::any_or_string);
}

void infer_cast(InferContext& c) {
  expect_type(c, 0, Types::any_or_string);
  static_cast<void>(round_mode(c));
  c.output(0, cast_target(c), c.shape(0));
}

void infer_cast_like(InferContext& c) {
  expect_type(c, 0, Types::any_or_string);
  expect_type(c, 1, Types::any_or_string);
  static_cast<void>(round_mode(c));
  c.output(0, c.dtype(1), c.shape(0));
}

void define_identity(DefineContext& c) {
  Operand x = c.in(0);
  c.elementwise([&](const std::vector<Expr>& i) { return x(i); });
}

// ------------------------------------------------------------------------------------------------------- BitCast

// ONNX BitCast 26.
void infer_bit_cast(InferContext& c) {
  const DType from = c.dtype(0), to = dtype_attribute(c, "to", c.integer("to"), Types::any);
  c.check(info(from).bits == info(to).bits, "types of equal width are expected, found {} and {}", info(from).name,
          info(to).name);
  c.check(from == to || to != DType::boolean, "the bits of {} need not be those of a bool", info(from).name);
  c.output(0, to, c.shape(0));
}

void define_bit_cast(DefineContext& c) {
  Operand x = c.in(0);
  const DType to = c.out(0).dtype;
  c.elementwise([&](const std::vector<Expr>& i) { return x.dtype == to ? x(i) : scalar::reinterpret(to, x(i)); });
}

using enum LayoutRule;
using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "Cast", infer_cast, define_cast, reduces, follows},
    {"", "CastLike", infer_cast_like, define_cast, reduces, follows},
    {"", "BitCast", infer_bit_cast, define_bit_cast, unchanged, follows},
    {"", "Identity", infer_like_input<Types::any_or_string>, define_identity, moves, follows},
};

}  // namespace

std::span<const OpRow> cast_ops() { return rows; }

}  // namespace onnxc
