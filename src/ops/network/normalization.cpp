// Normalisations of channels: BatchNormalization, InstanceNormalization, GroupNormalization.
#include "ops/network/normalization.h"

#include "ops/families.h"
#include "ops/network/normalization_spec.h"
#include "ops/network/statistics.h"

namespace onnxc {
namespace {

// The statistics that normalise the elements of one place, such as a channel of an instance; the residue may be empty.
struct Place {
  Scalar mean, residue, variance, scale, shift;
};

// y = (x - mean) * inverse deviation * scale + shift. The common terms are computed once a place, so that an element
// costs a subtraction, a product and a sum.
template <class At, class PlaceOf>
void define_normalized(DefineContext& c, const Shape& places, const At& at, const PlaceOf& place_of) {
  Operand x = c.in(0);
  Operand center = c.temporary("center", compute_type(c), places);
  Operand factor = c.temporary("factor", compute_type(c), places);
  Operand offset = c.temporary("offset", compute_type(c), places);
  NestBuilder nest("normalization_factors");
  Indices p = nest.parallel(places);
  Place place = at(p);
  Scalar scale = place.scale * inverse_deviation(place.variance, epsilon_of(c));
  nest.store(center, p, place.mean);
  nest.store(factor, p, scale);
  nest.store(offset, p, place.residue ? place.shift - place.residue * scale : place.shift);
  c.emit(std::move(nest));
  c.elementwise([&](const Indices& i) {
    Indices of_element = place_of(i);
    return (x.compute(i) - center(of_element)) * factor(of_element) + offset(of_element);
  });
}

void expect_vector(InferContext& c, size_t input, const Expr& length, std::string_view what) {
  expect_type(c, input, Types::floating);
  c.check(c.rank(input) == 1, "input {} must be of rank 1, found {}", input, short_text(c.shape(input)));
  c.same(c.shape(input)[0], length, fmt::format("the length of input {} and the number of {}", input, what));
}

// ------------------------------------------------------------------------------------------- BatchNormalization

bool is_training(const NodeReader& node) { return node.version() >= 14 && node.integer("training_mode", 0) != 0; }

// Attribute 'spatial' = 0 (until version 8) has a parameter for each element of an image, not for each channel.
bool by_element(const NodeReader& node) { return node.version() < 9 && node.integer("spatial", 1) == 0; }

Indices parameter_indices(const NodeReader& node, const Indices& i) {
  return by_element(node) ? Indices(i.begin() + 1, i.end()) : Indices{i[1]};
}

void infer_batch_normalization(InferContext& c) {
  expect_channels(c);
  const Shape& x = c.shape(0);
  for (size_t input = 1; input < 5; ++input) {
    if (!by_element(c)) {
      expect_vector(c, input, x[1], "channels");
      continue;
    }
    expect_type(c, input, Types::floating);
    c.check(c.rank(input) + 1 == x.size(), "input {} must have the shape of input 0 without its first dim, found {}",
            input, short_text(c.shape(input)));
    for (size_t i = 1; i < x.size(); ++i)
      c.same(c.shape(input)[i - 1], x[i], fmt::format("dim {} of input {} and of input 0", i - 1, input));
  }
  for (size_t i = 1; i < c.output_count(); ++i)
    c.check(is_training(c) || !c.has_output(i),
            "output {} is a statistic of training; export the model in evaluation mode", i);
  c.output(0, c.dtype(0), x);
  c.output(1, c.dtype(3), {x[1]});
  c.output(2, c.dtype(4), {x[1]});
}

// running = input * momentum + current * (1 - momentum)
template <class Current>
void define_running_statistic(DefineContext& c, size_t input, size_t output, const Current& current) {
  if (!c.has_output(output)) return;
  double momentum = c.real("momentum", 0.9F);
  Operand before = c.in(input);
  c.elementwise(
      [&](const Indices& i) {
        Scalar now = current(i);
        return parameter(c, before, i) * number(now, momentum) + now * number(now, 1 - momentum);
      },
      output);
}

void define_batch_normalization(DefineContext& c) {
  Operand x = c.in(0), scale = c.in(1), shift = c.in(2);
  auto normalize = [&](const auto& mean, const auto& residue, const auto& variance) {
    if (!c.has_output(0)) return;
    auto at = [&](const Indices& p) -> Place {
      return {mean(p), residue(p), variance(p), parameter(c, scale, p), parameter(c, shift, p)};
    };
    define_normalized(c, scale.shape, at, [&](const Indices& i) { return parameter_indices(c, i); });
  };
  auto given = [&](size_t input) {
    return [&c, operand = c.in(input)](const Indices& p) { return parameter(c, operand, p); };
  };
  if (!is_training(c)) return normalize(given(3), [](const Indices&) { return Scalar(); }, given(4));
  std::vector<bool> folded(x.rank(), true);
  folded[1] = false;
  Moments batch = moments(c, x, FoldedAxes(x.shape, folded));
  auto variance = [&](const Indices& p) { return batch.variance(p); };
  normalize(batch.mean, batch.residue, variance);
  define_running_statistic(c, 3, 1, batch.mean);
  define_running_statistic(c, 4, 2, variance);
}

// ----------------------------------------------------------------------- InstanceNormalization, GroupNormalization

void define_by_instance(DefineContext& c, const Moments& moments) {
  define_normalized_by_instance(c, [&](const Indices& p) -> InstanceStatistics {
    return {moments.mean(p), moments.residue(p), moments.variance(p)};
  });
}

void infer_instance_normalization(InferContext& c) {
  expect_channels(c);
  for (size_t input : {size_t{1}, size_t{2}}) expect_vector(c, input, c.shape(0)[1], "channels");
  c.output(0, c.dtype(0), c.shape(0));
}

void define_instance_normalization(DefineContext& c) {
  Operand x = c.in(0);
  define_by_instance(c, moments(c, x, FoldedAxes::from(x.shape, 2)));
}

void infer_group_normalization(InferContext& c) {
  expect_channels(c);
  const InstanceNormalizationSpec spec = resolve_instance_normalization(c);
  const Expr &channels = spec.channels, &groups = spec.groups;
  c.same(mod(channels, *groups.constant()), 0,
         fmt::format("the remainder of {} channels in {} groups", short_text(channels), short_text(groups)));
  for (size_t input : {size_t{1}, size_t{2}})
    if (spec.has_parameters_by_group)
      expect_vector(c, input, groups, "groups");
    else
      expect_vector(c, input, channels, "channels");
  c.output(0, c.dtype(0), c.shape(0));
}

// The statistics of groups are put together from those of their channels, all as large, so that the loops over the
// elements are those of InstanceNormalization.
void define_group_normalization(DefineContext& c) {
  Operand x = c.in(0);
  Expr size = resolve_instance_normalization(c).channels_per_group();
  auto group = [&](const Expr& channel) { return floor_div(channel, size); };
  auto mean_of_group = [&](const Operand& means) {
    return mean_of(
        c, "group_mean", means.shape, {size},
        [&](const Indices& kept, const Indices& folded) { return means({kept[0], group(kept[1]) * size + folded[0]}); },
        [](const Scalar& value) { return value; });
  };
  define_by_instance(c, moments(c, x, FoldedAxes::from(x.shape, 2), mean_of_group));
}

// onnxruntime ImageScaler, which ONNX had once: x [N, C, H, W] by attribute 'scale', and a 'bias' for each channel.
void expand_image_scaler(ExpandContext& c) {
  expect_type(c, 0, Types::floating);
  std::vector<float> bias = c.reals("bias");
  const std::vector<int64_t> dims{std::ssize(bias), 1, 1};
  Value* scaled = c.add("Mul", {c.in(0), c.number(c.dtype(0), c.real("scale", 1))});
  Value* added = c.constant(Tensor::of(DType::float32, dims, bias));
  if (c.dtype(0) != DType::float32) added = c.add("Cast", {added}, {{"to", static_cast<int64_t>(c.dtype(0))}});
  c.give(0, c.add("Add", {scaled, added}));
}

using enum LayoutRule;
using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "BatchNormalization", infer_batch_normalization, define_batch_normalization, computes, follows},
    {"", "InstanceNormalization", infer_instance_normalization, define_instance_normalization, computes, follows},
    {"", "GroupNormalization", infer_group_normalization, define_group_normalization, computes, follows},
    {.domain = "", .name = "ImageScaler", .expand = expand_image_scaler},
};

}  // namespace

std::span<const OpRow> normalization_ops() { return rows; }

void define_normalized_by_instance(DefineContext& c,
                                   const std::function<InstanceStatistics(const Indices& place)>& statistics) {
  Operand scale = c.in(1), shift = c.in(2);
  const InstanceNormalizationSpec spec = resolve_instance_normalization(c);
  auto at = [&](const Indices& p) -> Place {
    Indices k{spec.has_parameters_by_group ? floor_div(p[1], spec.channels_per_group()) : p[1]};
    InstanceStatistics found = statistics(p);
    return {found.mean, found.residue, found.variance, parameter(c, scale, k), parameter(c, shift, k)};
  };
  const Shape& x = c.shape(0);
  define_normalized(c, {x[0], x[1]}, at, [](const Indices& i) { return Indices{i[0], i[1]}; });
}

}  // namespace onnxc
