// onnxruntime's attention over several heads, as the products and the Softmax that it consists of.
#include <cmath>

#include "support/count_text.h"

#include "ops/families.h"

namespace onnxc {
namespace {

constexpr const char* microsoft = "com.microsoft";

Value* transposed(ExpandContext& c, Value* x, std::vector<int64_t> perm) {
  return c.add("Transpose", {x}, {{"perm", std::move(perm)}});
}

// [batch, steps, heads * size] as [batch, heads, steps, size].
Value* split_heads(ExpandContext& c, Value* x, int64_t heads) {
  return transposed(c, c.add("Reshape", {x, c.integers({0, 0, heads, -1})}), {0, 2, 1, 3});
}

Value* concat(ExpandContext& c, std::vector<Value*> parts, int64_t axis) {
  return c.add("Concat", std::move(parts), {{"axis", axis}});
}

// The numbers from `first` to before `end`, as [.., end - first] with `axes` more axes.
Value* range(ExpandContext& c, Value* first, Value* end, std::vector<int64_t> axes) {
  return c.add("Unsqueeze", {c.add("Range", {first, end, c.number(DType::int64, 1)}), c.integers(std::move(axes))});
}

Value* extent(ExpandContext& c, Value* x, int64_t axis) {
  Value* dim = c.add("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
  return c.add("Squeeze", {dim, c.integers({0})});
}

// The summands to the scores of keys that a query does not see.
struct Masks {
  Value* bias = nullptr;           // added as it is, broadcast to [batch, heads, steps, keys]
  Value* padding = nullptr;        // [batch, keys]: 0 for a key that is padding
  bool is_unidirectional = false;  // a query sees the keys up to its own position
};

// softmax(scale * q k^T + masks) v, with the heads joined again.
Value* attention(ExpandContext& c, Value* q, Value* k, Value* v, float scale, const Masks& masks) {
  const DType dtype = c.dtype(0);
  const double lowest = dtype == DType::float16 ? -65504 : -3.4028234663852886e38;
  Value* scores = c.add("MatMul", {q, transposed(c, k, {0, 1, 3, 2})});
  scores = c.add("Mul", {scores, c.number(dtype, scale)});
  if (masks.bias != nullptr) scores = c.add("Add", {scores, masks.bias});
  if (masks.padding != nullptr) {
    Value* is_seen = c.add("Cast", {masks.padding}, {{"to", static_cast<int64_t>(DType::boolean)}});
    is_seen = c.add("Unsqueeze", {is_seen, c.integers({1, 2})});
    Value* penalty = c.number(dtype, c.real("mask_filter_value", -10000));
    scores = c.add("Add", {scores, c.add("Where", {is_seen, c.number(dtype, 0), penalty})});
  }
  if (masks.is_unidirectional) {
    Value *steps = extent(c, q, 2), *keys = extent(c, k, 2);
    Value* own = range(c, c.add("Sub", {keys, steps}), keys, {1});
    Value* others = range(c, c.number(DType::int64, 0), keys, {0});
    Value* is_seen = c.add("LessOrEqual", {others, own});
    scores = c.add("Where", {is_seen, scores, c.number(dtype, lowest)});
  }
  Value* joined = c.add("MatMul", {c.add("Softmax", {scores}, {{"axis", int64_t{-1}}}), v});
  return c.add("Reshape", {transposed(c, joined, {0, 2, 1, 3}), c.integers({0, 0, -1})});
}

int64_t head_count(const NodeReader& node) {
  const int64_t heads = node.integer("num_heads");
  node.check(heads >= 1, "attribute 'num_heads' is {}", heads);
  return heads;
}

// Attribute 'scale', else 1 / sqrt(size of a head).
float scale_of(const NodeReader& node, const Expr& width, int64_t heads) {
  const float given = node.real("scale", 0);
  if (given != 0) return given;
  const std::optional<int64_t> known = width.constant();
  node.check(known.has_value() && *known % heads == 0, "the width {} must be known, and a multiple of {}",
             short_text(width), counted(heads, "head"));
  return 1 / std::sqrt(static_cast<float>(*known / heads));
}

void check_absent(const NodeReader& node, std::initializer_list<size_t> inputs) {
  for (size_t i : inputs) node.check(!node.has_input(i), "its input {} is not supported yet", i);
}

// onnxruntime MultiHeadAttention: query, key and value [batch, steps, width], bias, key_padding_mask, attention_bias,
// past_key, past_value; key and value may also be [batch, heads, steps, size].
void expand_multi_head_attention(ExpandContext& c) {
  check_absent(c, {8, 9});
  c.check(!c.has_output(3), "its output 3 is not supported yet");
  c.check(c.rank(0) == 3 && c.has_input(1) && c.has_input(2),
          "query, key and value as inputs of their own are expected, the query of rank 3");
  const int64_t heads = head_count(c);
  std::vector<Value*> parts{c.in(0), c.in(1), c.in(2)};
  if (c.has_input(3)) {
    // One vector of the widths of query, key and value.
    std::vector<int64_t> widths;
    for (size_t i = 0; i < 3; ++i) {
      c.check(c.rank(i) == 3 && c.shape(i)[2].constant().has_value(), "with a bias, input {} must have a known width",
              i);
      widths.push_back(*c.shape(i)[2].constant());
    }
    const std::vector<Value*> biases = c.add_row("", "Split", {c.in(3), c.integers(widths)}, 3, {{"axis", int64_t{0}}});
    for (size_t i = 0; i < 3; ++i) parts[i] = c.add("Add", {parts[i], biases[i]});
  }
  for (size_t i = 0; i < 3; ++i)
    if (c.rank(i) == 3) parts[i] = split_heads(c, parts[i], heads);
  for (size_t i : {size_t{1}, size_t{2}})
    if (c.has_input(5 + i)) parts[i] = concat(c, {c.in(5 + i), parts[i]}, 2);
  c.check(!c.has_input(4) || c.rank(4) == 2, "a key_padding_mask of [batch, keys] is expected, found {}",
          c.has_input(4) ? short_text(c.shape(4)) : "");
  const Masks masks{c.in(5), c.in(4), c.integer("unidirectional", 0) != 0};
  c.give(0, attention(c, parts[0], parts[1], parts[2], scale_of(c, c.shape(0)[2], heads), masks));
  c.give(1, parts[1]);
  c.give(2, parts[2]);
}

// onnxruntime Attention: input [batch, steps, width], weights [width, 3 * hidden], bias, mask_index, past,
// attention_bias.
void expand_attention(ExpandContext& c) {
  check_absent(c, {4, 6});
  c.check(!c.has_output(1), "its output 1 is not supported yet");
  c.check(c.integer("do_rotary", 0) == 0, "attribute 'do_rotary' is not supported yet");
  c.check(!c.has_input(3) || c.rank(3) == 2, "a mask_index of [batch, keys] is expected, found {}",
          c.has_input(3) ? short_text(c.shape(3)) : "");
  const int64_t heads = head_count(c);
  const std::optional<int64_t> columns = c.rank(1) == 2 ? c.shape(1)[1].constant() : std::nullopt;
  c.check(columns.has_value(), "weights of a known number of columns are expected, found {}", short_text(c.shape(1)));
  const NodeReader& reader = c;
  const std::vector<int64_t> widths = reader.integers("qkv_hidden_sizes", std::vector<int64_t>(3, *columns / 3));
  c.check(widths.size() == 3, "attribute 'qkv_hidden_sizes' has {}; 3 are expected", counted(widths.size(), "value"));
  Value* product = c.add("MatMul", {c.in(0), c.in(1)});
  if (c.has_input(2)) product = c.add("Add", {product, c.in(2)});
  std::vector<Value*> parts = c.add_row("", "Split", {product, c.integers(widths)}, 3, {{"axis", int64_t{-1}}});
  for (Value*& part : parts) part = split_heads(c, part, heads);
  const Masks masks{c.in(5), c.in(3), c.integer("unidirectional", 0) != 0};
  c.give(0, attention(c, parts[0], parts[1], parts[2], scale_of(c, widths[0], heads), masks));
}

constexpr OpRow rows[] = {
    {.domain = microsoft, .name = "MultiHeadAttention", .expand = expand_multi_head_attention},
    {.domain = microsoft, .name = "Attention", .expand = expand_attention},
};

}  // namespace

std::span<const OpRow> microsoft_attention_ops() { return rows; }

}  // namespace onnxc
