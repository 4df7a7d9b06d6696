// Cast and CastLike between all real types, and what hands its input on: Identity, Dropout.
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
    const Scalar value = x(i);
    if (value.dtype() == to) return value;
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
                               {"INT8", DType::int8},
                               {"INT16", DType::int16},
                               {"INT32", DType::int32},
                               {"INT64", DType::int64},
                               {"UINT8", DType::uint8},
                               {"UINT16", DType::uint16},
                               {"UINT32", DType::uint32},
                               {"UINT64", DType::uint64}})
      if (name == text) return dtype;
    node.fail("attribute 'to' must name a type of numbers such as \"FLOAT\", found \"{}\"", name);
  }
  return dtype_attribute(node, "to", node.integer("to"), Types::any);
}

void infer_cast(InferContext& c) {
  expect_type(c, 0, Types::any);
  static_cast<void>(round_mode(c));
  c.output(0, cast_target(c), c.shape(0));
}

void infer_cast_like(InferContext& c) {
  expect_type(c, 0, Types::any);
  expect_type(c, 1, Types::any);
  static_cast<void>(round_mode(c));
  c.output(0, c.dtype(1), c.shape(0));
}

void define_identity(DefineContext& c) {
  Operand x = c.in(0);
  c.elementwise([&](const std::vector<Expr>& i) { return x(i); });
}

// ------------------------------------------------------------------------------------------------------- Dropout

bool is_true(const Tensor& tensor) { return tensor.size() == 1 && tensor.as_int64()[0] != 0; }

// Inference drops nothing: the output is the input, and the mask (of the input's type until version 9) is all true.
// Attribute 'is_test' of versions 1 and 6 is ignored: a model that is compiled is not trained.
void infer_dropout(InferContext& c) {
  expect_type(c, 0, Types::floating);
  if (c.has_input(2)) {
    const Tensor* training = c.constant(2);
    c.check(training != nullptr && !is_true(*training),
            "input 2 (training_mode) must be the constant false: onnxc compiles for inference; export the model in "
            "evaluation mode");
  }
  c.output(0, c.dtype(0), c.shape(0));
  c.output(1, c.version() < 10 ? c.dtype(0) : DType::boolean, c.shape(0));
}

void define_dropout(DefineContext& c) {
  if (c.has_output(0)) define_identity(c);
  if (!c.has_output(1)) return;
  DType mask = c.out(1).dtype;
  c.elementwise([&](const std::vector<Expr>&) { return scalar::constant(mask, 1); }, 1);
}

using enum LayoutRule;

constexpr OpRow rows[] = {
    {"", "Cast", infer_cast, define_cast, follows},
    {"", "CastLike", infer_cast_like, define_cast, follows},
    {"", "Identity", infer_like_input<Types::any>, define_identity, follows},
    {"", "Dropout", infer_dropout, define_dropout, follows},
};

}  // namespace

std::span<const OpRow> cast_ops() { return rows; }

}  // namespace onnxc
