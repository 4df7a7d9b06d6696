#include "codegen/cpu/call/packed_weights.h"

#include <numeric>

#include "codegen/call/kernel_call.h"
#include "ops/define_context.h"

namespace onnxc {
namespace {

constexpr int64_t most_computed_weights = int64_t{1} << 24;

std::optional<int64_t> weight_count(const Value& weights) { return product(*weights.shape).constant(); }

// From 0 instead of 1, so that padding is -1.
Tensor as_indices(const Tensor& places) {
  std::vector<int32_t> indices;
  indices.reserve(static_cast<size_t>(places.size()));
  for (const float place : places.values<float>()) indices.push_back(static_cast<int32_t>(place) - 1);
  return Tensor::of(DType::int32, {places.size()}, indices);
}

BufferId move_weights(const Node& node, const Tensor& places, LoweringContext& context) {
  DefineContext define(node, context.program(), [&](const Value& value) { return context.buffer(value); });
  const Expr count = weight_count(*node.inputs[1]).value(), size = places.size();
  const Operand weights = define.reshaped(define.in(1), {count});
  const Operand indices = define.constant_operand("places", as_indices(places));
  const Operand packed = define.temporary("packed", DType::float32, {size});

  NestBuilder nest("pack_weights");
  const Expr i = nest.parallel(size), place = nest.let(indices({i}));
  const Scalar weight = scalar::cast(DType::float32, weights({place}));
  nest.store(packed, {i}, scalar::select(within(place, count), weight, scalar::constant(DType::float32, 0)));
  define.emit(std::move(nest));
  return packed.buffer;
}

}  // namespace

bool has_packable_weights(const Node& node) {
  const Value& weights = *node.inputs[1];
  if (weights.constant) return true;
  const std::optional<int64_t> count = weight_count(weights);
  return count && *count < most_computed_weights;
}

std::vector<float> weights_of(const Node& node) {
  const Value& weights = *node.inputs[1];
  if (weights.constant) return as_float(*weights.constant);
  std::vector<float> places(static_cast<size_t>(weight_count(weights).value()));
  std::iota(places.begin(), places.end(), 1.0F);
  return places;
}

BufferId packed_buffer(const Node& node, Tensor packed, LoweringContext& context) {
  const Value& weights = *node.inputs[1];
  if (!weights.constant) return move_weights(node, packed, context);
  return add_packed(context.program(), weights.name, std::move(packed));
}

}  // namespace onnxc
