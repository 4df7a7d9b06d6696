// Dropout, in inference and in training.
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/random/random_numbers.h"

namespace onnxc {
namespace {

constexpr size_t ratio = 1, training_mode = 2;

std::optional<double> known_number(const NodeReader& c, size_t i) {
  const Tensor* tensor = c.has_input(i) ? c.constant(i) : nullptr;
  return tensor != nullptr && tensor->size() == 1 ? std::optional(tensor->as_double()[0]) : std::nullopt;
}

// Inference drops nothing, and neither does training with a ratio of 0: the output is the input, and the mask (of the
// input's type until version 9) is all true. Attribute 'is_test' of versions 1 and 6 is ignored: their exports are of
// networks that are done with training.
bool drops_nothing(const NodeReader& c) {
  return !c.has_input(training_mode) || known_number(c, training_mode) == 0 || known_number(c, ratio) == 0;
}

void infer_dropout(InferContext& c) {
  expect_type(c, 0, Types::floating);
  c.output(0, c.dtype(0), c.shape(0));
  c.output(1, c.version() < 10 ? c.dtype(0) : DType::boolean, c.shape(0));
  if (drops_nothing(c)) return;
  c.one_number(training_mode, "training_mode");
  if (c.has_input(ratio)) {
    expect_type(c, ratio, Types::floating);
    c.one_number(ratio, "ratio");
    const std::optional<double> known = known_number(c, ratio);
    c.check(!known || (*known > 0 && *known < 1), "a ratio in [0, 1) is expected, found {}", known.value_or(0));
  }
  c.draws_random_numbers();
}

// The element of an input of one number, in the type that arithmetic is done in.
Scalar only_element(DefineContext& c, size_t i) { return c.in(i).compute(std::vector<Expr>(c.rank(i), 0)); }

// ONNX Dropout 12, 13, 22: an element is dropped with the probability `ratio`, and the others are divided by that of
// their being kept. A run's ratio of 1 and more drops all.
void define_dropout(DefineContext& c) {
  if (drops_nothing(c)) {
    if (c.has_output(0)) c.copy([](const std::vector<Expr>& i) { return i; });
    if (!c.has_output(1)) return;
    const DType mask = c.out(1).dtype;
    return c.elementwise([&](const std::vector<Expr>&) { return scalar::constant(mask, 1); }, 1);
  }
  const RandomNumbers random(c);
  const Operand x = c.in(0);
  const Scalar trains = c.in(training_mode)(std::vector<Expr>(c.rank(training_mode), 0));
  const Scalar dropped = c.has_input(ratio) ? only_element(c, ratio) : scalar::constant(DType::float32, 0.5);
  const auto is_kept = [&](const std::vector<Expr>& i) {
    const Scalar drawn = random.uniform(dropped.dtype(), place_of(x.shape, i));
    return any_of(negated(trains), scalar::binary(ScalarOp::less_or_equal, dropped, drawn));
  };
  if (c.has_output(0))
    c.elementwise([&](const std::vector<Expr>& i) {
      const Scalar given = x.compute(i), kept = scalar::cast(given.dtype(), number(dropped, 1) - dropped);
      const Scalar divided = scalar::select(trains, given / kept, given);
      return scalar::select(is_kept(i), divided, number(given, 0));
    });
  if (c.has_output(1)) c.elementwise([&](const std::vector<Expr>& i) { return is_kept(i); }, 1);
}

constexpr OpRow rows[] = {
    {"", "Dropout", infer_dropout, define_dropout, StorageRule::unchanged, LayoutRule::follows},
};

}  // namespace

std::span<const OpRow> dropout_ops() { return rows; }

}  // namespace onnxc
