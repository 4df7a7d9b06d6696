// Cast and CastLike between all real types, and what hands its input on: Identity, Dropout.
#include "ops/elementwise/elementwise.h"

namespace onnxc {
namespace {

// The conversion itself is the loop IR's (ir/loops/loops.h): it truncates and saturates from floating-point numbers to
// integers, and keeps the low bits between integers. Attributes 'saturate' and 'round_mode' are about 8-bit
// floating-point types only.
void define_cast(DefineContext& c) {
  Operand x = c.in(0);
  DType to = c.out(0).dtype;
  c.elementwise([&](const std::vector<Expr>& i) { return scalar::cast(to, x(i)); });
}

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
  c.output(0, cast_target(c), c.shape(0));
}

void infer_cast_like(InferContext& c) {
  expect_type(c, 0, Types::any);
  expect_type(c, 1, Types::any);
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
