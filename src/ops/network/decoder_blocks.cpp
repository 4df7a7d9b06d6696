// RotaryEmbedding and CausalConvWithState, which decoders have. (ONNX's own bodies of them need the inputs' shapes,
// which are not known yet where functions are inlined.)
#include "ops/families.h"

namespace onnxc {
namespace {

Value* part(ExpandContext& c, Value* x, int64_t begin, int64_t end, int64_t step = 1) {
  return c.add("Slice", {x, c.integers({begin}), c.integers({end}), c.integers({3}), c.integers({step})});
}

// ONNX RotaryEmbedding 23: pairs of each token's numbers, turned by angles that its position gives. X [batch, heads,
// tokens, size] or [batch, tokens, heads * size]; the cosines and sines are [positions, half] with position_ids, else
// [batch, tokens, half].
void expand_rotary_embedding(ExpandContext& c) {
  constexpr int64_t end = std::numeric_limits<int64_t>::max();
  const bool has_heads = c.rank(0) == 4, interleaved = c.integer("interleaved", 0) != 0;
  const int64_t heads = c.integer("num_heads", 0), size = c.integer("rotary_embedding_dim", 0);
  c.check(has_heads || c.rank(0) == 3, "an input of rank 3 or 4 is expected, found {}", to_string(c.shape(0)));
  c.check(has_heads || heads > 0, "attribute 'num_heads' is {}; an input of rank 3 needs it", heads);
  c.check(size >= 0 && size % 2 == 0, "attribute 'rotary_embedding_dim' is {}; an even number is expected", size);
  Value* x = has_heads ? c.in(0) : c.add("Reshape", {c.in(0), c.integers({0, 0, heads, -1})});
  Value* turned = size == 0 ? x : part(c, x, 0, size);
  const auto angles = [&](size_t i) {
    Value* all = c.has_input(3) ? c.add("Gather", {c.in(i), c.in(3)}) : c.in(i);
    return c.add("Unsqueeze", {all, c.integers({has_heads ? 1 : 2})});
  };
  Value *cosine = angles(1), *sine = angles(2);
  const std::vector<Value*> halves =
      interleaved ? std::vector{part(c, turned, 0, end, 2), part(c, turned, 1, end, 2)}
                  : c.add_row("", "Split", {turned}, 2, {{"axis", int64_t{3}}, {"num_outputs", int64_t{2}}});
  const auto mixed = [&](const char* type, Value* a, Value* b) {
    return c.add(type, {c.add("Mul", {a, halves[0]}), c.add("Mul", {b, halves[1]})});
  };
  Value *real = mixed("Sub", cosine, sine), *imaginary = mixed("Add", sine, cosine);
  Value* y = nullptr;
  if (interleaved) {
    Value* last = c.integers({-1});
    Value* pairs = c.add("Concat", {c.add("Unsqueeze", {real, last}), c.add("Unsqueeze", {imaginary, last})},
                         {{"axis", int64_t{-1}}});
    y = c.add("Reshape", {pairs, c.add("Shape", {turned})});
  } else {
    y = c.add("Concat", {real, imaginary}, {{"axis", int64_t{3}}});
  }
  if (size != 0) y = c.add("Concat", {y, part(c, x, size, end)}, {{"axis", int64_t{3}}});
  c.give(0, has_heads ? y : c.add("Reshape", {y, c.add("Shape", {c.in(0)})}));
}

// ONNX CausalConvWithState 27: a depthwise convolution of what a step before left behind, or of zeros, and the input.
void expand_causal_conv(ExpandContext& c) {
  constexpr size_t weight = 1, bias = 2, past = 3, length_axis = 2;
  const std::string activation = c.text("activation", "none");
  c.check(activation == "none" || activation == "silu" || activation == "swish",
          "attribute 'activation' is '{}', none of none, silu, swish", activation);
  c.check(c.rank(0) == 3 && c.rank(weight) == 3, "an input and weights of rank 3 are expected, found {} and {}",
          to_string(c.shape(0)), to_string(c.shape(weight)));
  const std::optional<int64_t> channels = c.shape(weight)[0].constant();
  const std::optional<int64_t> length = c.shape(weight)[length_axis].constant();
  c.check(channels.has_value() && length.has_value(), "weights of known shape are expected, found {}",
          to_string(c.shape(weight)));
  const int64_t before = *length - 1;
  Value* x = c.has_input(past) ? c.add("Concat", {c.in(past), c.in(0)}, {{"axis", int64_t{length_axis}}})
                               : c.add("Pad", {c.in(0), c.integers({0, 0, before, 0, 0, 0})});
  std::vector<Value*> operands{x, c.in(weight)};
  if (c.has_input(bias)) operands.push_back(c.in(bias));
  Value* y = c.add("Conv", operands, {{"group", *channels}});
  if (activation != "none") y = c.add("Mul", {y, c.add("Sigmoid", {y})});
  c.give(0, y);
  if (!c.has_output(1)) return;
  const int64_t end = before == 0 ? 0 : std::numeric_limits<int64_t>::max();
  c.give(1, c.add("Slice", {x, c.integers({-before}), c.integers({end}), c.integers({length_axis})}));
}

constexpr OpRow rows[] = {
    {.domain = "", .name = "RotaryEmbedding", .expand = expand_rotary_embedding},
    {.domain = "", .name = "CausalConvWithState", .expand = expand_causal_conv},
};

}  // namespace

std::span<const OpRow> decoder_block_ops() { return rows; }

}  // namespace onnxc
