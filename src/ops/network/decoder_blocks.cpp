// RotaryEmbedding and CausalConvWithState, which decoders have. (ONNX's own bodies of them need the inputs' shapes,
// which are not known yet when functions are inlined.)
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"

namespace onnxc {
namespace {

// ONNX RotaryEmbedding 23: pairs of a head's features, turned by angles that its position gives. X [batch, heads,
// positions, features] or [batch, positions, heads * features]; the cosines and sines are [rows, pairs] with position
// ids, else [batch, positions, pairs].
struct Rotary {
  explicit Rotary(const NodeReader& node)
      : by_heads(node.rank(0) == 4),
        is_interleaved(node.integer("interleaved", 0) != 0),
        rotated(node.integer("rotary_embedding_dim", 0)) {
    const Shape& x = node.shape(0);
    node.check(x.size() == 3 || x.size() == 4, "an input of rank 3 or 4 is expected, found {}", short_text(x));
    const int64_t count = node.integer("num_heads", 0);
    node.check(by_heads || count > 0, "an input of rank 3 needs attribute 'num_heads', found {}", count);
    node.check(rotated >= 0 && rotated % 2 == 0, "attribute 'rotary_embedding_dim' must be even, found {}", rotated);
    batch = x[0];
    heads = by_heads ? x[1] : Expr(count);
    positions = by_heads ? x[2] : x[1];
    head_size = by_heads ? x[3] : floor_div(x[2], count);
    pairs = rotated > 0 ? Expr(rotated / 2) : floor_div(head_size, 2);
  }

  // A feature of a head, in the input and the output.
  std::vector<Expr> place(const Expr& b, const Expr& head, const Expr& position, const Expr& feature) const {
    if (by_heads) return {b, head, position, feature};
    return {b, position, head * head_size + feature};
  }

  bool by_heads, is_interleaved;
  int64_t rotated;  // features of a head; 0 for all
  Expr batch, heads, positions, head_size, pairs;
};

void infer_rotary_embedding(InferContext& c) {
  expect_type(c, 0, Types::floating);
  const Rotary rotary(c);
  const Shape& x = c.shape(0);
  if (!rotary.by_heads)
    c.same(mod(x[2], c.integer("num_heads")), 0, "the remainder of the features by attribute 'num_heads'");
  if (rotary.rotated > 0)
    c.at_least(rotary.head_size, rotary.rotated, "a head must have 'rotary_embedding_dim' features");
  else
    c.same(mod(rotary.head_size, 2), 0, "the remainder of a head's features by 2");
  const bool has_positions = c.has_input(3);
  for (size_t input : {size_t{1}, size_t{2}}) {
    const Shape& cache = c.shape(input);
    c.check(c.dtype(input) == c.dtype(0), "input {} must have the type of input 0, found {}", input,
            info(c.dtype(input)).name);
    c.check(cache.size() == (has_positions ? 2 : 3), "input {} must be of rank {}{}, found {}", input,
            has_positions ? 2 : 3, has_positions ? "" : " if no positions are given", short_text(cache));
    c.same(cache.back(), rotary.pairs, fmt::format("the last dim of input {} and the pairs of a head", input));
    if (has_positions) {
      c.not_empty(cache[0], product(c.shape(3)), "a cache that is indexed must have rows");
      continue;
    }
    c.same(c.broadcast(cache[0], rotary.batch), rotary.batch, fmt::format("dim 0 of input {} and the batch", input));
    c.same(c.broadcast(cache[1], rotary.positions), rotary.positions,
           fmt::format("dim 1 of input {} and the positions", input));
  }
  if (has_positions) {
    const Shape& ids = c.shape(3);
    c.check(c.dtype(3) == DType::int64, "positions of int64 are expected, found {}", info(c.dtype(3)).name);
    c.check(ids.size() == 2, "positions of rank 2 are expected, found {}", short_text(ids));
    c.same(c.broadcast(ids[0], rotary.batch), rotary.batch, "dim 0 of the positions and the batch");
    c.same(c.broadcast(ids[1], rotary.positions), rotary.positions, "dim 1 of the positions and of the input");
  }
  c.output(0, c.dtype(0), x);
}

// y1 = cos * x1 - sin * x2, y2 = sin * x1 + cos * x2. The pair is features k and k + pairs, or if it is interleaved 2 k
// and 2 k + 1; the features after those that are rotated are copied.
void define_rotary_embedding(DefineContext& c) {
  const Rotary rotary(c);
  const Operand x = c.in(0), cosines = c.in(1), sines = c.in(2), y = c.out(0);
  NestBuilder nest("rotary_embedding");
  const Expr b = nest.parallel(rotary.batch), head = nest.parallel(rotary.heads);
  const Expr position = nest.parallel(rotary.positions), pair = nest.parallel(rotary.pairs);
  std::vector<Expr> row = {b, position};
  if (c.has_input(3)) {
    const Operand positions = c.in(3);
    const Scalar given = positions(positions.broadcast_indices(row)), rows = scalar::index(cosines.shape[0]);
    // Counted from the end if it is negative. One that is out of range is the caller's mistake: the nearest is read.
    const Scalar is_negative = scalar::binary(ScalarOp::less, given, scalar::index(0));
    const Expr place = nest.let(scalar::select(is_negative, given + rows, given));
    row = {place};
  }
  const auto in_cache = [&](const Operand& cache) {
    if (row.size() == 1) return cache.compute({max(min(row[0], cache.shape[0] - 1), 0), pair});
    return cache.compute(cache.broadcast_indices({b, position, pair}));
  };
  const Scalar cosine = in_cache(cosines), sine = in_cache(sines);
  const std::vector<Expr> first = rotary.place(b, head, position, rotary.is_interleaved ? 2 * pair : pair);
  const std::vector<Expr> second =
      rotary.place(b, head, position, rotary.is_interleaved ? 2 * pair + 1 : pair + rotary.pairs);
  nest.store(y, first, cosine * x.compute(first) - sine * x.compute(second));
  nest.store(y, second, sine * x.compute(first) + cosine * x.compute(second));
  c.emit(std::move(nest));
  if (rotary.rotated == 0) return;
  NestBuilder rest("not_rotated");
  const Expr b2 = rest.parallel(rotary.batch), head2 = rest.parallel(rotary.heads);
  const Expr position2 = rest.parallel(rotary.positions);
  const Expr feature = rest.parallel(rotary.head_size - rotary.rotated) + rotary.rotated;
  const std::vector<Expr> place = rotary.place(b2, head2, position2, feature);
  rest.store(y, place, x(place));
  c.emit(std::move(rest));
}

// ONNX CausalConvWithState 27: a depthwise convolution of what a step before left behind, or of zeros, and the input.
void expand_causal_conv(ExpandContext& c) {
  constexpr size_t weight = 1, bias = 2, past = 3, length_axis = 2;
  const std::string activation = c.text("activation", "none");
  c.check(activation == "none" || activation == "silu" || activation == "swish",
          "attribute 'activation' is '{}', none of none, silu, swish", activation);
  c.check(c.rank(0) == 3 && c.rank(weight) == 3, "an input and weights of rank 3 are expected, found {} and {}",
          short_text(c.shape(0)), short_text(c.shape(weight)));
  const std::optional<int64_t> channels = c.shape(weight)[0].constant();
  const std::optional<int64_t> length = c.shape(weight)[length_axis].constant();
  c.check(channels.has_value() && length.has_value(), "weights of known shape are expected, found {}",
          short_text(c.shape(weight)));
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
    {"", "RotaryEmbedding", infer_rotary_embedding, define_rotary_embedding, StorageRule::unchanged},
    {.domain = "", .name = "CausalConvWithState", .expand = expand_causal_conv},
};

}  // namespace

std::span<const OpRow> decoder_block_ops() { return rows; }

}  // namespace onnxc
