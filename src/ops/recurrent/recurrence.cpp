#include "ops/recurrent/recurrence.h"

#include "ops/control/control_flow.h"
#include "ops/op.h"

namespace onnxc {
namespace {

bool is_batch_first(const NodeReader& node) { return node.integer("layout", 0) != 0; }

// For each direction, whether it goes from the last step to the first.
std::vector<bool> directions_of(const NodeReader& node) {
  const std::string direction = node.text("direction", "forward");
  // The default of GRU 7 and RNN 7 is spelled so in ONNX's schemas.
  if (direction == "forward" || direction == "foward") return {false};
  if (direction == "reverse") return {true};
  node.check(direction == "bidirectional",
             "attribute 'direction' must be forward, reverse or bidirectional, found '{}'", direction);
  return {false, true};
}

// Checks what the loops rely on, and returns the hidden size.
int64_t check_shapes(const NodeReader& node, const RecurrentForm& form) {
  const Shape &x = node.shape(RecurrentInput::x), &w = node.shape(RecurrentInput::w),
              &r = node.shape(RecurrentInput::r);
  node.check(x.size() == 3 && w.size() == 3 && r.size() == 3, "X, W and R of rank 3 are expected, found {}, {} and {}",
             short_text(x), short_text(w), short_text(r));
  const std::optional<int64_t> hidden = r[2].constant();
  node.check(hidden.has_value() && *hidden > 0, "the hidden size, the last dim of R, must be known, found {}",
             short_text(r));
  node.check(!node.has_attribute("hidden_size") || node.integer("hidden_size") == *hidden,
             "attribute 'hidden_size' is {}, and R has shape {}", node.integer("hidden_size", 0), short_text(r));
  const Expr rows = form.gates * *hidden;
  const Expr directions = std::ssize(directions_of(node));
  const auto agree = [&](const Shape& shape, const Shape& expected, std::string_view what) {
    bool fits = shape.size() == expected.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) fits = !proven_different(shape[i], expected[i]);
    node.check(fits, "{} must have the shape {}, found {}", what, short_text(expected), short_text(shape));
  };
  agree(w, {directions, rows, x[2]}, "W");
  agree(r, {directions, rows, *hidden}, "R");
  if (node.has_input(RecurrentInput::b)) agree(node.shape(RecurrentInput::b), {directions, 2 * rows}, "B");
  return *hidden;
}

}  // namespace

Recurrence::Recurrence(ExpandContext& c, const RecurrentForm& form, size_t direction)
    : c_(c),
      form_(form),
      direction_(direction),
      backwards_(directions_of(c)[direction]),
      dtype_(c.dtype(RecurrentInput::x)),
      hidden_(check_shapes(c, form)),
      x_(c.in(RecurrentInput::x)),
      activations_(read_activations(c, form.activations, directions_of(c).size())) {
  if (is_batch_first(c)) x_ = c.add("Transpose", {x_}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
}

Value* Recurrence::part(size_t input, int64_t first, int64_t end) {
  Value* own = c_.add("Gather", {c_.in(input), c_.number(DType::int64, static_cast<double>(direction_))},
                      {{"axis", int64_t{0}}});
  return c_.add("Slice", {own, c_.integers({first * hidden_}), c_.integers({end * hidden_}), c_.integers({0})});
}

Value* Recurrence::transposed_part(size_t input, int64_t first, int64_t end) {
  return c_.add("Transpose", {part(input, first, end)}, {{"perm", std::vector<int64_t>{1, 0}}});
}

Value* Recurrence::of_inputs(Value* bias) {
  return add(c_.add("MatMul", {x_, transposed_part(RecurrentInput::w, 0, form_.gates)}), bias);
}

std::vector<Value*> Recurrence::split(Value* gates, int64_t count) {
  const std::vector<int64_t> sizes(static_cast<size_t>(count), hidden_);
  return c_.add_row("", "Split", {gates, c_.integers(sizes)}, sizes.size(), {{"axis", int64_t{-1}}});
}

Value* Recurrence::activate(size_t i, Value* x) {
  if (c_.has_attribute("clip")) {
    const double bound = c_.real("clip", 0);
    x = c_.add("Clip", {x, c_.number(dtype_, -bound), c_.number(dtype_, bound)});
  }
  return function(i, x);
}

Value* Recurrence::function(size_t i, Value* x) {
  return apply(c_, activations_[direction_ * form_.activations.size() + i], x, dtype_);
}

// [batch, hidden]: that of the input, else 0.
Value* Recurrence::initial_state(size_t input) {
  if (c_.has_input(input))
    return c_.add("Gather", {c_.in(input), c_.number(DType::int64, static_cast<double>(direction_))},
                  {{"axis", int64_t{is_batch_first(c_)}}});
  Value* batch = c_.add("Shape", {x_}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  Value* shape = c_.add("Concat", {batch, c_.integers({hidden_})}, {{"axis", int64_t{0}}});
  return c_.add("ConstantOfShape", {shape}, {{"value", Tensor::zeros(dtype_, {1})}});
}

// [steps, batch, 1], true if the step belongs to the sequence; null if all of them do.
Value* Recurrence::steps_within_sequences() {
  if (!c_.has_input(RecurrentInput::sequence_lens)) return nullptr;
  Value* steps = c_.add("Shape", {x_}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  steps = c_.add("Squeeze", {steps, c_.integers({0})});
  Value* positions = c_.add("Range", {c_.number(DType::int64, 0), steps, c_.number(DType::int64, 1)});
  positions = c_.add("Reshape", {positions, c_.integers({-1, 1, 1})});
  Value* lengths = c_.add("Cast", {c_.in(RecurrentInput::sequence_lens)}, {{"to", static_cast<int64_t>(DType::int64)}});
  return c_.add("Less", {positions, c_.add("Reshape", {lengths, c_.integers({1, -1, 1})})});
}

// Steps beyond the end of a sequence leave its states as they are and give 0. Backwards they come first, so that the
// sequence begins at its own end.
Recurrence::Result Recurrence::run(Value* inputs, const Step& step) {
  const size_t states = form_.initial_states.size();
  std::vector<Value*> begin{nullptr, nullptr};
  for (size_t input : form_.initial_states) begin.push_back(initial_state(input));
  begin.push_back(inputs);
  if (Value* within = steps_within_sequences()) begin.push_back(within);
  const auto order = [&](size_t scanned) {
    return std::vector<NamedAttribute>{{"carried", static_cast<int64_t>(states)},
                                       {"axes", std::vector<int64_t>(scanned, 0)},
                                       {"directions", std::vector<int64_t>(scanned, backwards_)}};
  };
  constexpr size_t first_state = LoopPlaces::first_state;
  const size_t count = begin.size();
  const std::vector<Value*> round =
      c_.add_row(control_flow_domain, "LoopBegin", std::move(begin), count, order(count - first_state - states));

  const std::vector<Value*> before(round.begin() + first_state,
                                   round.begin() + static_cast<std::ptrdiff_t>(first_state + states));
  std::vector<Value*> after = step(round[first_state + states], before);
  Value* output = after[0];
  if (first_state + states + 1 < count) {
    Value* within = round[first_state + states + 1];
    for (size_t i = 0; i < states; ++i) after[i] = c_.add("Where", {within, after[i], before[i]});
    output = c_.add("Where", {within, output, c_.number(dtype_, 0)});
  }

  std::vector<Value*> end(round.begin(), round.begin() + static_cast<std::ptrdiff_t>(first_state + states));
  end.push_back(round[1]);  // the condition holds on
  end.insert(end.end(), after.begin(), after.end());
  const bool collects = c_.has_output(0);
  if (collects) end.push_back(output);
  std::vector<Value*> results =
      c_.add_row(control_flow_domain, "LoopEnd", std::move(end), states + (collects ? 1 : 0), order(collects ? 1 : 0));
  Result result{collects ? results.back() : nullptr, std::move(results)};
  result.states.resize(states);
  return result;
}

namespace {

// A new axis for the directions, in which they are joined.
Value* joined(ExpandContext& c, const std::vector<Value*>& directions, int64_t axis) {
  std::vector<Value*> parts;
  for (Value* value : directions) parts.push_back(c.add("Unsqueeze", {value, c.integers({axis})}));
  return parts.size() == 1 ? parts[0] : c.add("Concat", parts, {{"axis", axis}});
}

}  // namespace

void expand_recurrent(ExpandContext& c, const RecurrentForm& form,
                      const std::function<Recurrence::Result(Recurrence&)>& of_direction) {
  std::vector<Recurrence::Result> results;
  for (size_t i = 0; i < directions_of(c).size(); ++i) {
    Recurrence recurrence(c, form, i);
    results.push_back(of_direction(recurrence));
  }
  const auto of_all = [&](const std::function<Value*(const Recurrence::Result&)>& value) {
    std::vector<Value*> values;
    for (const Recurrence::Result& result : results) values.push_back(value(result));
    return values;
  };
  if (c.has_output(0)) {
    // [steps, directions, batch, hidden], or [batch, steps, directions, hidden].
    Value* sequence = joined(c, of_all([](const auto& result) { return result.sequence; }), 1);
    if (is_batch_first(c)) sequence = c.add("Transpose", {sequence}, {{"perm", std::vector<int64_t>{2, 0, 1, 3}}});
    c.give(0, sequence);
  }
  for (size_t state = 0; state < form.initial_states.size(); ++state) {
    if (!c.has_output(1 + state)) continue;
    const std::vector<Value*> values = of_all([&](const auto& result) { return result.states[state]; });
    c.give(1 + state, joined(c, values, is_batch_first(c) ? 1 : 0));
  }
}

}  // namespace onnxc
