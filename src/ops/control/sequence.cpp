#include "ops/control/sequence.h"

#include <algorithm>

#include "ops/control/control_flow.h"
#include "ops/control/deciding_dims.h"
#include "ops/families.h"
#include "support/count_text.h"

namespace onnxc {
namespace {

bool is_made_by(const Value* value, std::string_view row) {
  return value != nullptr && value->producer != nullptr && value->producer->op != nullptr &&
         value->producer->op->domain == control_flow_domain && value->producer->op->name == row;
}

using Tensors = std::vector<Value*>;

void give_sequence(ExpandContext& c, Tensors tensors, size_t output = 0) {
  c.give(output, c.add_row(control_flow_domain, "Sequence", std::move(tensors), 1)[0]);
}

void give_no_element(ExpandContext& c, size_t output) {
  c.give(output, c.add_row(control_flow_domain, "NoElement", {}, 1)[0]);
}

Tensors sequence_at_input(ExpandContext& c, size_t i) {
  c.check(is_sequence(&c.input(i)),
          "a sequence whose number of tensors is known is expected as input {}, found {} ('{}')", i,
          kind_of(c.input(i)), c.input(i).name);
  return tensors_of(c.input(i));
}

Value* scalar_number(ExpandContext& c, int64_t value) { return c.number(DType::int64, static_cast<double>(value)); }

// ---------------------------------------------------------------------------------------------------- positions

// A position that counts from the beginning: a number, or a tensor if only a run knows it.
struct Position {
  std::optional<int64_t> known = std::nullopt;
  Value* tensor = nullptr;
};

// Input i, which may count from the end of `count` tensors, or `otherwise` if it is absent. ONNX calls a position out
// of range an error: it is one if it is known when the model is compiled, else the nearest tensor is meant.
Position read_position(ExpandContext& c, size_t i, int64_t count, int64_t otherwise) {
  if (!c.has_input(i)) return {.known = otherwise};
  c.check(c.dtype(i) == DType::int32 || c.dtype(i) == DType::int64, "the position must be of int32 or int64, found {}",
          info(c.dtype(i)).name);
  // A vector of a free dim is held to one number by the Reshape below.
  c.check(!proven_different(product(c.shape(i)), 1), "the position must be one number, found shape {}",
          short_text(c.shape(i)));
  const std::optional<std::vector<Expr>> given = c.elements(i);
  if (const std::optional<int64_t> known = given ? given->at(0).constant() : std::nullopt) {
    c.check(-count <= *known && *known < count, "position {} is out of range for a sequence of {}", *known,
            counted(count, "tensor"));
    return {.known = *known < 0 ? *known + count : *known};
  }
  Value* place = c.add("Reshape", {c.in(i), c.integers({})});
  place = c.add("Cast", {place}, {{"to", static_cast<int64_t>(DType::int64)}});
  Value* is_from_end = c.add("Less", {place, scalar_number(c, 0)});
  return {.tensor = c.add("Where", {is_from_end, c.add("Add", {place, scalar_number(c, count)}), place})};
}

// `before` if the position is less than `limit`, else `otherwise`: in a run the one or the other, whose sizes may
// differ.
Value* choose(ExpandContext& c, const Position& position, int64_t limit, Value* before, Value* otherwise) {
  Value* is_before = c.add("Less", {position.tensor, scalar_number(c, limit)});
  return c.add("If", {is_before, c.add("Identity", {before}), c.add("Identity", {otherwise})});
}

// ---------------------------------------------------------------------------------------------------- operators

// ONNX SequenceConstruct 11.
void expand_construct(ExpandContext& c) {
  Tensors tensors;
  for (size_t i = 0; i < c.input_count(); ++i) {
    c.check(c.has_input(i), "input {} is missing", i);
    tensors.push_back(c.in(i));
  }
  give_sequence(c, std::move(tensors));
}

// ONNX SequenceEmpty 11. Its attribute 'dtype' says nothing that matters here.
void expand_empty(ExpandContext& c) { give_sequence(c, {}); }

// The tensor that a Stack is made of; null for another value.
Value* stacked(const ExpandContext& c) { return is_stack(c.in(0)) ? c.input(0).producer->inputs[0] : nullptr; }

// ONNX SequenceLength 11.
void expand_length(ExpandContext& c) {
  if (Value* stack = stacked(c)) return c.give(0, c.add("Gather", {c.add("Shape", {stack}), scalar_number(c, 0)}));
  c.give(0, scalar_number(c, std::ssize(sequence_at_input(c, 0))));
}

// ONNX SequenceAt 11.
void expand_at(ExpandContext& c) {
  if (Value* stack = stacked(c)) {
    Value* position = c.add("Reshape", {c.in(1), c.integers({})});
    return c.give(0, c.add("Gather", {stack, position}, {{"axis", int64_t{0}}}));
  }
  const Tensors tensors = sequence_at_input(c, 0);
  c.check(!tensors.empty(), "the sequence '{}' is empty", c.input(0).name);
  const Position position = read_position(c, 1, std::ssize(tensors), 0);
  if (position.known) return c.give(0, c.add("Identity", {tensors.at(static_cast<size_t>(*position.known))}));
  // The last tensor, but the one before it if the position is less, and so on.
  Value* result = tensors.back();
  for (size_t i = tensors.size() - 1; i-- > 0;)
    result = choose(c, position, static_cast<int64_t>(i) + 1, tensors[i], result);
  c.give(0, c.add("Identity", {result}));
}

// ONNX SequenceInsert 11: after the last tensor if no position is given.
void expand_insert(ExpandContext& c) {
  Tensors tensors = sequence_at_input(c, 0);
  c.check(tensors.empty() || tensors[0]->dtype == c.dtype(1), "a tensor of {} is put into a sequence of {}",
          info(c.dtype(1)).name, tensors.empty() ? "" : info(tensors[0]->dtype).name);
  const int64_t count = std::ssize(tensors);
  // The position -1 is that before the last tensor, and `count` that after it.
  Position position{.known = count};
  if (c.has_input(2)) {
    const std::optional<std::vector<Expr>> given = c.elements(2);
    if (!given || given->size() != 1 || !given->at(0).is_constant(count)) position = read_position(c, 2, count, 0);
  }
  if (position.known) {
    tensors.insert(tensors.begin() + *position.known, c.in(1));
    return give_sequence(c, std::move(tensors));
  }
  Tensors result;
  for (int64_t i = 0; i <= count; ++i) {
    const auto at = static_cast<size_t>(i);
    Value* tensor = i == 0 ? c.in(1) : choose(c, position, i, tensors[at - 1], c.in(1));
    result.push_back(i == count ? tensor : choose(c, position, i + 1, tensor, tensors[at]));
  }
  give_sequence(c, std::move(result));
}

// ONNX SequenceErase 11: the last tensor if no position is given.
void expand_erase(ExpandContext& c) {
  Tensors tensors = sequence_at_input(c, 0);
  c.check(!tensors.empty(), "the sequence '{}' is empty", c.input(0).name);
  const int64_t count = std::ssize(tensors);
  const Position position = read_position(c, 1, count, count - 1);
  if (position.known) {
    tensors.erase(tensors.begin() + *position.known);
    return give_sequence(c, std::move(tensors));
  }
  Tensors result;
  for (size_t i = 0; i + 1 < tensors.size(); ++i)
    result.push_back(choose(c, position, static_cast<int64_t>(i) + 1, tensors[i + 1], tensors[i]));
  give_sequence(c, std::move(result));
}

// If new_axis is not wanted, the number of tensors and the axis after it are one axis.
Value* joined_stack(ExpandContext& c, Value* stack, bool has_new_axis) {
  const size_t rank = stack->shape->size(), axis = c.axis(c.integer("axis"), has_new_axis ? rank : rank - 1);
  std::vector<int64_t> order;
  for (size_t i = 1; i < rank; ++i) order.push_back(static_cast<int64_t>(i));
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(axis), 0);
  Value* moved = c.add("Transpose", {stack}, {{"perm", order}});
  if (has_new_axis) return moved;
  const auto dims = [&](size_t start, size_t end) {
    return c.add("Shape", {moved}, {{"start", static_cast<int64_t>(start)}, {"end", static_cast<int64_t>(end)}});
  };
  Tensors parts{c.add("Mul", {dims(axis, axis + 1), dims(axis + 1, axis + 2)})};
  if (axis > 0) parts.insert(parts.begin(), dims(0, axis));
  if (axis + 2 < rank) parts.push_back(dims(axis + 2, rank));
  Value* shape = c.add("Concat", std::move(parts), {{"axis", int64_t{0}}});
  return c.add("Reshape", {moved, shape}, {{"allowzero", int64_t{1}}});
}

// ONNX ConcatFromSequence 11: 'new_axis' stacks.
void expand_concat(ExpandContext& c) {
  if (Value* stack = stacked(c)) return c.give(0, joined_stack(c, stack, c.integer("new_axis", 0) != 0));
  Tensors tensors = sequence_at_input(c, 0);
  c.check(!tensors.empty(), "the sequence '{}' is empty", c.input(0).name);
  const int64_t axis = c.integer("axis");
  if (c.integer("new_axis", 0) != 0)
    for (Value*& tensor : tensors) tensor = c.add("Unsqueeze", {tensor, c.integers({axis})});
  c.give(0, c.add("Concat", std::move(tensors), {{"axis", axis}}));
}

constexpr int64_t most_parts = 10'000;

// How many parts a SplitToSequence makes, and the input of a Split that says how large they are.
struct Parts {
  int64_t count;
  Value* sizes;
};

Parts equal_parts(ExpandContext& c, const Expr& extent, int64_t size) {
  const std::optional<int64_t> known = extent.constant();
  c.check(known.has_value(),
          "the axis has {}: how many parts there are must be known when the model is compiled; give the "
          "inputs' dims their values with --dim",
          counted(short_text(extent), "element"));
  c.check(size > 0, "parts of {}", counted(size, "element"));
  c.check(*known / size < most_parts, "it makes {} parts of an axis; at most {} are compiled",
          ceil_div(extent, size).to_string(), most_parts);
  std::vector<int64_t> sizes;
  for (int64_t begin = 0; begin < *known; begin += size) sizes.push_back(std::min(size, *known - begin));
  const int64_t count = std::ssize(sizes);
  return {count, c.integers(std::move(sizes))};
}

Parts parts_of_split(ExpandContext& c, const Expr& extent) {
  if (!c.has_input(1)) return equal_parts(c, extent, 1);
  if (c.rank(1) == 0) {
    const std::optional<std::vector<Expr>> size = c.elements(1);
    c.check(size && size->at(0).constant(),
            "input 1 ('{}', split) says how many parts there are, and must be known when the model is compiled",
            c.input(1).name);
    return equal_parts(c, extent, *size->at(0).constant());
  }
  c.check(c.rank(1) == 1, "input 1 ('{}', split) must be a number or a vector, found shape {}", c.input(1).name,
          short_text(c.shape(1)));
  const std::optional<int64_t> count = c.shape(1)[0].constant();
  c.check(count.has_value(), "input 1 ('{}', split) has {}: how many must be known when the model is compiled",
          c.input(1).name, counted(c.shape(1)[0].to_string(), "element"));
  return {*count, c.in(1)};
}

// ONNX SplitToSequence 11, 24. 'keepdims' counts if no split is given: parts of one element lose the axis without.
void expand_split(ExpandContext& c) {
  const auto axis = static_cast<int64_t>(c.axis(c.integer("axis", 0), c.rank(0)));
  const Parts parts = parts_of_split(c, c.shape(0)[static_cast<size_t>(axis)]);
  if (parts.count == 0) return give_sequence(c, {});
  Value* sizes = parts.sizes;
  if (sizes->dtype != DType::int64) sizes = c.add("Cast", {sizes}, {{"to", static_cast<int64_t>(DType::int64)}});
  Tensors tensors = c.add_row("", "Split", {c.in(0), sizes}, static_cast<size_t>(parts.count), {{"axis", axis}});
  if (!c.has_input(1) && c.integer("keepdims", 1) == 0)
    for (Value*& tensor : tensors) tensor = c.add("Squeeze", {tensor, c.integers({axis})});
  give_sequence(c, std::move(tensors));
}

// ONNX SequenceMap 17, which the importer makes a loop: a round's part of an input is its tensor of that round if the
// input is a sequence, else the tensor itself. Inputs: the input, the number of the round.
void expand_map_input(ExpandContext& c) {
  c.give(0,
         is_sequence_or_optional(&c.input(0)) ? c.add("SequenceAt", {c.in(0), c.in(1)}) : c.add("Identity", {c.in(0)}));
}

// --------------------------------------------------------------------------------------- Identity and If of sequences

// ONNX Identity 14 of a sequence, 16 of an optional.
void expand_identity(ExpandContext& c) {
  if (is_no_element(&c.input(0))) return give_no_element(c, 0);
  if (Value* stack = stacked(c)) return c.give(0, c.add_row(control_flow_domain, "Stack", {stack}, 1)[0]);
  Tensors tensors;
  for (Value* tensor : tensors_of(c.input(0))) tensors.push_back(c.add("Identity", {tensor}));
  give_sequence(c, std::move(tensors));
}

// ONNX If 11 whose branches give sequences, 16 optionals, if only a run knows the branch.
void join(ExpandContext& c, size_t output) {
  Value *taken = c.in(branch_input(c, output, true)), *other = c.in(branch_input(c, output, false));
  if (!is_sequence_or_optional(taken) && !is_sequence_or_optional(other))
    return c.give(output, c.add("If", {c.in(0), taken, other}));
  if (is_no_element(taken) && is_no_element(other)) return give_no_element(c, output);
  const bool are_alike =
      is_sequence(taken) && is_sequence(other) && tensors_of(*taken).size() == tensors_of(*other).size();
  if (!are_alike)
    c.fail("output {}: the branches give {} and {}, and only a run knows which{}", output, kind_of(*taken),
           kind_of(*other), hint_at_deciding_dims(c.input(0)));
  Tensors tensors;
  for (size_t i = 0; i < tensors_of(*taken).size(); ++i)
    tensors.push_back(c.add("If", {c.in(0), tensors_of(*taken)[i], tensors_of(*other)[i]}));
  give_sequence(c, std::move(tensors), output);
}

void expand_if(ExpandContext& c) {
  for (size_t i = 0; i < c.output_count(); ++i)
    if (c.has_output(i)) join(c, i);
}

// ---------------------------------------------------------------------------------------------------- optionals

bool has_element(const ExpandContext& c) { return c.has_input(0) && !is_no_element(&c.input(0)); }

// ONNX Optional 15.
void expand_optional(ExpandContext& c) {
  if (!has_element(c)) return give_no_element(c, 0);
  c.give(0, c.add("Identity", {c.in(0)}));
}

// ONNX OptionalGetElement 15, 18.
void expand_get_element(ExpandContext& c) {
  c.check(has_element(c), "the optional has no element");
  c.give(0, c.add("Identity", {c.in(0)}));
}

// ONNX OptionalHasElement 15, 18.
void expand_has_element(ExpandContext& c) { c.give(0, c.number(DType::boolean, has_element(c) ? 1 : 0)); }

constexpr OpRow rows[] = {
    {.domain = "", .name = "SequenceConstruct", .expand = expand_construct},
    {.domain = "", .name = "SequenceEmpty", .expand = expand_empty},
    {.domain = "", .name = "SequenceLength", .expand = expand_length},
    {.domain = "", .name = "SequenceAt", .expand = expand_at},
    {.domain = "", .name = "SequenceInsert", .expand = expand_insert},
    {.domain = "", .name = "SequenceErase", .expand = expand_erase},
    {.domain = "", .name = "ConcatFromSequence", .expand = expand_concat},
    {.domain = "", .name = "SplitToSequence", .expand = expand_split},
    {.domain = "", .name = "Optional", .expand = expand_optional},
    {.domain = "", .name = "OptionalGetElement", .expand = expand_get_element},
    {.domain = "", .name = "OptionalHasElement", .expand = expand_has_element},
    {.domain = control_flow_domain, .name = "Identity", .expand = expand_identity},
    {.domain = control_flow_domain, .name = "If", .expand = expand_if},
    {.domain = control_flow_domain, .name = "MapInput", .expand = expand_map_input},
    {.domain = control_flow_domain, .name = "Sequence"},
    {.domain = control_flow_domain, .name = "Stack"},
    {.domain = control_flow_domain, .name = "NoElement"},
};

}  // namespace

bool is_sequence(const Value* value) { return is_made_by(value, "Sequence"); }

bool is_stack(const Value* value) { return is_made_by(value, "Stack"); }

bool is_sequence_or_optional(const Value* value) {
  return is_sequence(value) || is_stack(value) || is_no_element(value);
}

bool is_no_element(const Value* value) { return is_made_by(value, "NoElement"); }

const std::vector<Value*>& tensors_of(const Value& sequence) {
  internal_check(is_sequence(&sequence), "the tensors of a sequence");
  return sequence.producer->inputs;
}

std::string kind_of(const Value& value) {
  if (is_sequence(&value)) return fmt::format("a sequence of {}", counted(tensors_of(value).size(), "tensor"));
  if (is_stack(&value)) return "a sequence whose number of tensors only a run knows";
  return is_no_element(&value) ? "an optional without an element" : "a tensor";
}

bool takes_sequences(const Node& node) {
  return std::ranges::any_of(rows, [&](const OpRow& row) { return &row == node.op; });
}

std::span<const OpRow> sequence_ops() { return rows; }

}  // namespace onnxc
