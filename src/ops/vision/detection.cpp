// Operators of detectors: RoiAlign samples a feature map inside boxes, NonMaxSuppression drops boxes that overlap
// better ones.
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/network/interpolation.h"
#include "ops/tensor/argsort_spec.h"
#include "ops/vision/chosen_boxes.h"

namespace onnxc {
namespace {

// The element of a tensor that holds one number: a scalar or a vector of one.
Scalar only_element(const Operand& x) { return x.compute(std::vector<Expr>(x.rank(), 0)); }
Scalar size_like(const Scalar& like, const Expr& size) { return scalar::cast(like.dtype(), scalar::index(size)); }

// ----------------------------------------------------------------------------------------------------- RoiAlign

struct RoiSpec {
  int64_t height, width, samples;  // samples of a bin along each axis; 0 if they follow from the box
  double scale;
  bool half_pixel, maximum;
};

RoiSpec resolve_roi_align(const NodeReader& c) {
  const std::string mode = c.text("mode", "avg");
  c.check(mode == "avg" || mode == "max", "mode '{}' is neither avg nor max", mode);
  const std::string early = "output_half_pixel", now = "half_pixel";
  const std::string coordinates = c.text("coordinate_transformation_mode", c.version() < 16 ? early : now);
  c.check(coordinates == early || coordinates == now, "coordinate_transformation_mode '{}' is neither {} nor {}",
          coordinates, now, early);
  const RoiSpec spec{c.integer("output_height", 1),
                     c.integer("output_width", 1),
                     c.integer("sampling_ratio", 0),
                     static_cast<double>(c.real("spatial_scale", 1)),
                     coordinates == now,
                     mode == "max"};
  c.check(spec.height >= 0 && spec.width >= 0 && spec.samples >= 0,
          "attributes 'output_height' {}, 'output_width' {} and 'sampling_ratio' {} may not be negative", spec.height,
          spec.width, spec.samples);
  return spec;
}

// X [N, C, H, W], rois [R, 4] as x1, y1, x2, y2, and the image of each [R] give Y [R, C, height, width].
void infer_roi_align(InferContext& c) {
  const RoiSpec spec = resolve_roi_align(c);
  expect_type(c, 0, Types::floating);
  expect_type(c, 1, Types::floating);
  const Shape &x = c.shape(0), &rois = c.shape(1), &images = c.shape(2);
  c.check(x.size() == 4 && rois.size() == 2 && images.size() == 1,
          "a map [N, C, H, W], boxes [R, 4] and images [R] are expected, found {}, {} and {}", short_text(x),
          short_text(rois), short_text(images));
  c.check(c.dtype(2) == DType::int64, "images of int64 are expected, found {}", info(c.dtype(2)).name);
  c.same(rois[1], 4, "the coordinates of a box");
  const Shape shape{c.same(rois[0], images[0], "the boxes and their images"), x[1], spec.height, spec.width};
  for (size_t i : {0, 2, 3}) c.not_empty(x[i], product(shape), "a map that is sampled must have elements");
  // The number of samples of a bin: that of the largest box, if it follows from the boxes.
  if (spec.samples == 0)
    for (const char* axis : {"height", "width"})
      c.run_time_symbol(fmt::format("{}_samples_{}", c.node().outputs[0]->name, axis), {0, Bounds::infinity},
                        fmt::format("samples along the {} of a bin", axis));
  c.output(0, c.dtype(0), shape);
}

// A box along one axis, in elements of the map.
struct RoiAxis {
  Scalar start, bin;  // the beginning of the box, and the length of a bin
  Scalar samples;     // a whole number
};

RoiAxis roi_axis(const RoiSpec& spec, const Operand& rois, const Expr& roi, bool is_height) {
  auto coordinate = [&](int64_t i) {
    const Scalar value = rois.compute({roi, i});
    return value * number(value, spec.scale) - number(value, spec.half_pixel ? 0.5 : 0);
  };
  const Scalar start = coordinate(is_height ? 1 : 0);
  Scalar length = coordinate(is_height ? 3 : 2) - start;
  if (!spec.half_pixel) length = maximum(length, number(length, 1));
  const Scalar bin = length / number(length, static_cast<double>(is_height ? spec.height : spec.width));
  const Scalar whole = maximum(scalar::unary(ScalarOp::ceil, bin), number(bin, 0));
  return {start, bin, spec.samples > 0 ? number(bin, static_cast<double>(spec.samples)) : whole};
}

// The most samples that a bin of any box has, along both axes; bound if only a run knows.
Shape most_samples(DefineContext& c, const RoiSpec& spec, const Operand& rois) {
  if (spec.samples > 0) return {spec.samples, spec.samples};
  const Operand most = c.temporary("most_samples", DType::int64, {2});
  NestBuilder nest("most_samples");
  const Expr roi = nest.reduce(rois.shape[0]);
  for (int64_t axis : {0, 1}) {
    const Scalar samples = scalar::cast(DType::int64, roi_axis(spec, rois, roi, axis == 0).samples);
    nest.store(most, {axis}, maximum(nest.accumulate(ReduceKind::maximum, samples), scalar::index(0)));
  }
  c.emit(std::move(nest));
  const Shape extents = c.run_time_dims();  // the height's first
  c.bind(extents, {most({0}), most({1})});
  return extents;
}

void define_roi_align(DefineContext& c) {
  const RoiSpec spec = resolve_roi_align(c);
  const Operand x = c.in(0), rois = c.in(1), images = c.in(2), y = c.out(0);
  const Shape extents = most_samples(c, spec, rois);
  NestBuilder nest("roi_align");
  const std::vector<Expr> out = nest.parallel(y.shape), sample = nest.reduce(extents);
  std::vector<std::vector<Tap>> taps{{{clamped(nest.let(images({out[0]})), x.shape[0])}}, {{out[1]}}};
  Scalar is_sample, is_near, count;
  for (size_t axis : {0, 1}) {
    const RoiAxis roi = roi_axis(spec, rois, out[0], axis == 0);
    const Expr& extent = x.shape[2 + axis];
    const Scalar half = number(roi.bin, 0.5), index = size_like(roi.bin, sample[axis]);
    const Scalar place =
        roi.start + size_like(roi.bin, out[2 + axis]) * roi.bin + (index + half) * roi.bin / roi.samples;
    // A sample beyond the map by more than one element counts as 0; one at its edge reads the edge.
    is_near = both(is_near, both(scalar::binary(ScalarOp::less_or_equal, number(place, -1), place),
                                 scalar::binary(ScalarOp::less_or_equal, place, size_like(place, extent))));
    is_sample = both(is_sample, less(index, roi.samples));
    count = count ? count * roi.samples : roi.samples;
    const Scalar inside = maximum(minimum(place, size_like(place, extent - 1)), number(place, 0));
    const Scalar below = scalar::unary(ScalarOp::floor, inside), fraction = inside - below;
    const Expr first = nest.let(below);
    taps.push_back({{clamped(first, extent), number(fraction, 1) - fraction}, {clamped(first + 1, extent), fraction}});
  }
  Scalar value;
  auto element = [&](const std::vector<Expr>& at) { return x.compute(at); };
  if (!spec.maximum) {
    const Scalar sum = weighted_sum(taps, element), zero = number(sum, 0);
    value = nest.accumulate(ReduceKind::sum, scalar::select(both(is_sample, is_near), sum, zero)) /
            scalar::cast(sum.dtype(), maximum(count, number(count, 1)));
  } else {
    // The largest of the weighted elements, not of their sums: so ONNX's reference and onnxruntime compute it.
    Scalar largest;
    for (const Tap& row : taps[2])
      for (const Tap& column : taps[3]) {
        const Scalar at = element({taps[0][0].index, out[1], row.index, column.index});
        const Scalar weighted = scalar::cast(at.dtype(), row.weight * column.weight) * at;
        largest = largest ? maximum(largest, weighted) : weighted;
      }
    const Scalar zero = number(largest, 0), lowest = number(largest, -std::numeric_limits<double>::infinity());
    const Scalar found = scalar::select(is_sample, scalar::select(is_near, largest, zero), lowest);
    value = scalar::select(less(number(count, 0), count), nest.accumulate(ReduceKind::maximum, found), zero);
  }
  nest.store(y, out, value);
  c.emit(std::move(nest));
}

// -------------------------------------------------------------------------------------------- NonMaxSuppression

// Boxes [N, B, 4] with two corners, or with a center and a size, as their lower and upper corners.
void infer_box_corners(InferContext& c) {
  expect_type(c, 0, Types::floating);
  const Shape& boxes = c.shape(0);
  c.check(boxes.size() == 3, "boxes [images, boxes, 4] are expected, found {}", short_text(boxes));
  c.same(boxes[2], 4, "the coordinates of a box");
  const int64_t form = c.integer("center_point_box");
  c.check(form == 0 || form == 1, "attribute 'center_point_box' must be 0 or 1, found {}", form);
  c.output(0, info(c.dtype(0)).compute, {boxes[0], boxes[1], 4});
}

void define_box_corners(DefineContext& c) {
  const Operand boxes = c.in(0), corners = c.out(0);
  NestBuilder nest("corners");
  const std::vector<Expr> box = nest.parallel({boxes.shape[0], boxes.shape[1]});
  auto given = [&](int64_t i) { return boxes.compute({box[0], box[1], i}); };
  for (int64_t axis : {0, 1}) {
    Scalar low = given(axis), high = given(axis + 2);
    if (c.integer("center_point_box") != 0) {
      const Scalar half = high * number(high, 0.5), center = low;
      low = center - half;
      high = center + half;
    }
    nest.store(corners, {box[0], box[1], axis}, minimum(low, high));
    nest.store(corners, {box[0], box[1], axis + 2}, maximum(low, high));
  }
  c.emit(std::move(nest));
}

void infer_chosen_boxes(InferContext& c) {
  const Shape &corners = c.shape(ChosenBoxes::corners), &order = c.shape(ChosenBoxes::order);
  c.same(corners[0], order[0], "the images of the boxes and of the scores");
  c.same(corners[1], order[2], "the boxes and their scores");
  if (c.has_input(ChosenBoxes::most)) c.one_number(ChosenBoxes::most, "max_output_boxes_per_class");
  if (c.has_input(ChosenBoxes::threshold)) c.one_number(ChosenBoxes::threshold, "iou_threshold");
  c.output(0, DType::boolean, order);
}

// Whether the overlap of two boxes is more than `most` of what they cover together; none overlaps an empty box.
Scalar overlaps(const Operand& corners, const Expr& image, const Expr& a, const Expr& b, const Scalar& most) {
  Scalar common, area_a, area_b, meets;
  auto times = [](const Scalar& product, const Scalar& factor) { return product ? product * factor : factor; };
  for (int64_t axis : {0, 1}) {
    const Scalar a_low = corners({image, a, axis}), a_high = corners({image, a, axis + 2});
    const Scalar b_low = corners({image, b, axis}), b_high = corners({image, b, axis + 2});
    const Scalar length = minimum(a_high, b_high) - maximum(a_low, b_low);
    meets = both(meets, less(number(length, 0), length));
    common = times(common, length);
    area_a = times(area_a, a_high - a_low);
    area_b = times(area_b, b_high - b_low);
  }
  return both(meets, less(scalar::cast(common.dtype(), most), common / (area_a + area_b - common)));
}

// In turn each box that none chosen before overlaps, until there are enough. A CPU has a kernel for it
// (kernels/cpu/selection/non_max_suppression.h); here each box is compared with each.
void define_chosen_boxes(DefineContext& c) {
  const Operand corners = c.in(ChosenBoxes::corners), order = c.in(ChosenBoxes::order), chosen = c.out(0);
  const Scalar most = c.has_input(ChosenBoxes::most) ? only_element(c.in(ChosenBoxes::most)) : scalar::index(0);
  const Scalar threshold = c.has_input(ChosenBoxes::threshold) ? only_element(c.in(ChosenBoxes::threshold))
                                                               : scalar::constant(corners.dtype, 0);
  NestBuilder nest("non_max_suppression");
  const Expr image = nest.parallel(order.shape[0]), of_class = nest.parallel(order.shape[1]);
  const Expr place = nest.ordered(order.shape[2]), other = nest.reduce(order.shape[2]);
  const Expr box = nest.let(order({image, of_class, place}));
  const Expr other_box = nest.let(order({image, of_class, other}));
  const Scalar no = scalar::constant(DType::boolean, 0);
  const Scalar is_before = scalar::select(less(other, place), chosen({image, of_class, other}), no);
  const Scalar overlapped =
      nest.accumulate(ReduceKind::any, both(is_before, overlaps(corners, image, box, other_box, threshold)));
  const Scalar count = nest.accumulate(ReduceKind::sum, scalar::cast(DType::int64, is_before));
  Scalar is_chosen = both(negated(overlapped), less(count, most));
  if (c.has_input(ChosenBoxes::candidates))
    is_chosen = both(is_chosen, c.in(ChosenBoxes::candidates)({image, of_class, place}));
  nest.store(chosen, {image, of_class, place}, is_chosen);
  c.emit(std::move(nest));
}

// ONNX NonMaxSuppression 10, 11. Boxes [N, B, 4] and scores [N, classes, B] give [chosen, 3]: image, class and box of
// each, the best of a class first; of equal scores the first box comes first, a NaN last.
void expand_non_max_suppression(ExpandContext& c) {
  Value *const boxes = c.in(0), *const scores = c.in(1);
  for (size_t i : {0, 1}) expect_type(c, i, Types::floating);
  c.check(c.rank(1) == 3, "scores [images, classes, boxes] are expected, found {}", short_text(c.shape(1)));
  Value* const corners =
      c.add_row(internal_domain, "BoxCorners", {boxes}, 1, {{"center_point_box", c.integer("center_point_box", 0)}})[0];
  Value* const lowest = c.number(c.dtype(1), -std::numeric_limits<double>::infinity());
  Value* const ranked = c.add("Where", {c.add("IsNaN", {scores}), lowest, scores});
  Value* const order = add_argsort(c, ranked, 2, true);
  Value* candidates = nullptr;
  if (c.has_input(4)) {
    Value* const threshold = c.add("Cast", {c.in(4)}, {{"to", static_cast<int64_t>(c.dtype(1))}});
    Value* const in_order = c.add("GatherElements", {scores, order}, {{"axis", int64_t{2}}});
    candidates = c.add("Greater", {in_order, threshold});
  }
  Value* const chosen = c.add_row(internal_domain, "ChosenBoxes", {corners, order, candidates, c.in(2), c.in(3)}, 1)[0];
  Value* const places = c.add("Transpose", {c.add("NonZero", {chosen})});
  Value* const of_class = c.add("Slice", {places, c.integers({0}), c.integers({2}), c.integers({1})});
  Value* const box = c.add("Unsqueeze", {c.add("GatherND", {order, places}), c.integers({1})});
  c.give(0, c.add("Concat", {of_class, box}, {{"axis", int64_t{1}}}));
}

using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "RoiAlign", infer_roi_align, define_roi_align, unchanged},
    {internal_domain, "BoxCorners", infer_box_corners, define_box_corners, unchanged},
    {internal_domain, "ChosenBoxes", infer_chosen_boxes, define_chosen_boxes, unchanged},
    {.domain = "", .name = "NonMaxSuppression", .expand = expand_non_max_suppression},
};

}  // namespace

bool is_chosen_boxes(const Node& node) {
  return node.origin.domain == internal_domain && node.origin.type == "ChosenBoxes";
}

std::span<const OpRow> detection_ops() { return rows; }

}  // namespace onnxc
