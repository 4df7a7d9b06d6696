// Fourier transforms: DFT (ONNX 17, 20) and STFT (17); and MelWeightMatrix (17), by which a spectrum is weighed. A
// short transform of known length is a product with a constant matrix. The CPU has a kernel for any other one
// (kernels/cpu/signal/fourier.h); else it is loops: their time grows with the square of the length, or with its power
// of 3/2 if that is known and has factors.
//
// A complex number is the last axis of a tensor: its real part, then its imaginary one.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <utility>

#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/run_time_axes.h"
#include "ops/signal/dft_spec.h"

namespace onnxc {
namespace {

// The real and the imaginary parts of a number whose axis may have only the real one.
struct Complex {
  Scalar real, imaginary;
};

Complex complex_at(const Operand& x, std::vector<Expr> place) {
  const Expr& parts = x.shape.back();
  place.back() = 0;
  const Scalar real = x.compute(place);
  if (parts.is_constant(1)) return {real, number(real, 0)};
  place.back() = min(1, parts - 1);
  const Scalar imaginary = x.compute(place);
  return {real, parts.is_constant(2) ? imaginary : scalar::select(less(1, parts), imaginary, number(real, 0))};
}

void check_parts(InferContext& c, size_t input) {
  const Expr& parts = c.shape(input).back();
  c.at_least(parts, 1, "the last axis is that of the real and imaginary parts");
  c.at_least(2, parts, "the last axis is that of the real and imaginary parts");
}

// cos and sin of 2 pi m / length, for m below length. In float64: an angle rounded to float32 would cost digits.
class Angles {
 public:
  Angles(DefineContext& c, DType dtype, const Expr& length) : length_(max(length, 1)) {
    cosines_ = c.temporary("cosines", dtype, {length_});
    sines_ = c.temporary("sines", dtype, {length_});
    NestBuilder nest("angles");
    const Expr m = nest.parallel(length_);
    auto exact = [](const Expr& value) { return scalar::cast(DType::float64, scalar::index(value)); };
    const Scalar turn = exact(m) / exact(length_), angle = number(turn, 2 * std::numbers::pi) * turn;
    nest.store(*cosines_, {m}, scalar::unary(ScalarOp::cosine, angle));
    nest.store(*sines_, {m}, scalar::unary(ScalarOp::sine, angle));
    c.emit(std::move(nest));
  }

  // x times e to the power of 2 pi i * turns / length, or with a minus sign if `forwards`.
  Complex turned(const Complex& x, const Expr& turns, bool forwards) const {
    const Expr m = mod(turns, length_);
    const Scalar cosine = (*cosines_)({m}), sine = (*sines_)({m});
    if (forwards) return {x.real * cosine + x.imaginary * sine, x.imaginary * cosine - x.real * sine};
    return {x.real * cosine - x.imaginary * sine, x.imaginary * cosine + x.real * sine};
  }

 private:
  Expr length_;
  std::optional<Operand> cosines_, sines_;
};

// --------------------------------------------------------------------------------------- transforms as products

// A transform of a length that is known may be a matrix product with a constant matrix, for which targets have kernels;
// in float32, the type of these. One of 512 real numbers takes longer so on a CPU than by its kernel; frames of a
// signal overlap, and their window is in the matrix.
constexpr int64_t most_stft_elements = int64_t{1} << 22, most_dft_elements = int64_t{1} << 18;

// The matrix part of a transform: `used` elements of a signal, of `parts` parts each, give `bins`, of 1 part or 2.
struct TransformMatrix {
  int64_t length, used, parts, bins;
  bool inverse = false, gives_real = false;

  int64_t rows() const { return used * parts; }
  int64_t columns() const { return bins * (gives_real ? 1 : 2); }
  bool is_small(int64_t most) const { return used <= most && bins <= most && rows() * columns() <= most; }

  // [rows, columns], computed in float64. `weight`: of an element of the signal.
  Tensor values(const std::function<double(int64_t n)>& weight) const {
    std::vector<float> result;
    for (int64_t n = 0; n < used; ++n)
      for (int64_t part = 0; part < parts; ++part)
        for (int64_t k = 0; k < bins; ++k) {
          // The power of e that is the factor, and that times i for the imaginary part of an element.
          const double turn = static_cast<double>(n * k % length) / static_cast<double>(length);
          const double angle = (inverse ? 2 : -2) * std::numbers::pi * turn;
          const double real = part == 0 ? std::cos(angle) : -std::sin(angle);
          const double imaginary = part == 0 ? std::sin(angle) : std::cos(angle);
          result.push_back(static_cast<float>(weight(n) * real));
          if (!gives_real) result.push_back(static_cast<float>(weight(n) * imaginary));
        }
    return Tensor::of(DType::float32, {rows(), columns()}, result);
  }
};

// ---------------------------------------------------------------------------------------------------------- DFT

void infer_dft(InferContext& c) {
  expect_type(c, 0, Types::floating);
  const DftSpec spec = resolve_dft(c, [&] {
    return c.run_time_symbol(fmt::format("{}_extent", c.node().outputs[0]->name), {0, Bounds::infinity},
                             "the extent along the axis");
  });
  check_parts(c, 0);
  c.at_least(spec.length, 1, "the length of the transform");
  c.at_least(longest_transform, spec.length, "the length of the transform");
  if (spec.one_sided && !spec.inverse && c.integer("takes_complex", 0) == 0)
    c.same(c.shape(0).back(), 1, "a one-sided transform takes real signals, without imaginary parts");
  Shape shape = c.shape(0);
  for (size_t i = 0; i + 1 < spec.rank(); ++i)
    if (!spec.has_known_axis())
      shape[i] = c.run_time_dim(0, i);
    else if (spec.axis.is_constant(static_cast<int64_t>(i)))
      shape[i] = spec.output_extent();
  shape.back() = spec.gives_real() ? 1 : 2;
  c.output(0, c.dtype(0), shape);
}

// The element of the input with index n along the axis, for an element of the output; and the index along the axis of
// the output's.
std::pair<std::vector<Expr>, Expr> along_axis(NestBuilder& nest, const DftSpec& spec, const std::vector<Expr>& out,
                                              const Expr& n) {
  std::vector<Expr> source = out;
  if (spec.has_known_axis()) {
    const auto axis = static_cast<size_t>(*spec.axis.constant());
    source[axis] = n;
    return {source, out[axis]};
  }
  Scalar place = scalar::index(0);
  for (size_t i = 0; i + 1 < spec.rank(); ++i) {
    place = scalar::select(spec.is(i), scalar::index(out[i]), place);
    source[i] = nest.let(scalar::select(spec.is(i), scalar::index(n), scalar::index(out[i])));
  }
  return {source, nest.let(place)};
}

// The element n of a line, where one half of a real signal's spectrum stands for both: the other half is its mirror
// image, conjugated, so that a real part counts twice.
Complex weighed(const DftSpec& spec, Complex element, const Expr& n) {
  if (!spec.gives_real()) return element;
  const Scalar is_alone =
      any_of(equal(scalar::index(n), scalar::index(0)), equal(scalar::index(2 * n), scalar::index(spec.length)));
  const Scalar count = scalar::select(is_alone, number(element.real, 1), number(element.real, 2));
  return {element.real * count, element.imaginary * count};
}

// The sums of both parts of a term over the nest's reduce loops, as the element of the output at `out`.
void store_sums(NestBuilder& nest, const DftSpec& spec, const Operand& y, std::vector<Expr> out, const Complex& term) {
  const Scalar length = scalar::cast(term.real.dtype(), scalar::index(spec.length));
  auto store = [&](int64_t part, const Scalar& value) {
    const Scalar total = nest.accumulate(ReduceKind::sum, value);
    out.back() = part;
    nest.store(y, out, spec.inverse ? total / length : total);
  };
  store(0, term.real);
  if (!spec.gives_real()) store(1, term.imaginary);
}

// y[k] = sum over n of x[n] e^(-2 pi i k n / length); the inverse with a plus sign and divided by the length.
void define_in_one_step(DefineContext& c, const DftSpec& spec, const Angles& angles) {
  const Operand x = c.in(0), y = c.out(0);
  NestBuilder nest("dft");
  std::vector<Expr> out = nest.parallel(Shape(y.shape.begin(), y.shape.end() - 1));
  out.emplace_back(0);
  const Expr n = nest.reduce(spec.used());
  const auto [source, k] = along_axis(nest, spec, out, n);
  store_sums(nest, spec, y, out, angles.turned(weighed(spec, complex_at(x, source), n), n * k, !spec.inverse));
  c.emit(std::move(nest));
}

// The same of a length that is a product a b, by sums of b and of a elements: with n = i + a j,
//   t[i, k] = sum over j of x[i + a j] e^(-2 pi i a j k / length), k < b
//   y[k] = sum over i of t[i, k mod b] e^(-2 pi i i k / length).
void define_in_two_steps(DefineContext& c, const DftSpec& spec, const Angles& angles, int64_t a) {
  const Operand x = c.in(0), y = c.out(0);
  const auto axis = static_cast<size_t>(spec.axis.constant().value());
  const int64_t b = spec.length.constant().value() / a;
  Shape shape = x.shape;
  shape[axis] = a * b;
  shape.back() = 2;
  const Operand t = c.temporary("sums", info(x.dtype).compute, shape);

  NestBuilder first("dft_sums");
  std::vector<Expr> source;
  for (size_t i = 0; i + 1 < shape.size(); ++i) source.push_back(first.parallel(i == axis ? Expr(a) : shape[i]));
  const Expr i = source[axis], k = first.parallel(b), j = first.reduce(b), n = i + a * j;
  std::vector<Expr> target = source;
  target[axis] = i * b + k;
  target.emplace_back(0);
  source[axis] = min(n, max(spec.extent - 1, 0));
  source.emplace_back(0);
  Complex element = weighed(spec, complex_at(x, source), n);
  const Scalar counts = less(n, spec.used()), zero = number(element.real, 0);
  element = {scalar::select(counts, element.real, zero), scalar::select(counts, element.imaginary, zero)};
  const Complex term = angles.turned(element, a * j * k, !spec.inverse);
  first.store(t, target, first.accumulate(ReduceKind::sum, term.real));
  target.back() = 1;
  first.store(t, target, first.accumulate(ReduceKind::sum, term.imaginary));
  c.emit(std::move(first));

  NestBuilder second("dft");
  std::vector<Expr> out = second.parallel(Shape(y.shape.begin(), y.shape.end() - 1));
  out.emplace_back(0);
  const Expr summed = second.reduce(a);
  std::vector<Expr> from = out;
  from[axis] = summed * b + mod(out[axis], b);
  store_sums(second, spec, y, out, angles.turned(complex_at(t, from), summed * out[axis], !spec.inverse));
  c.emit(std::move(second));
}

// The largest factor of a known length that is no larger than its root.
int64_t middle_factor(const DftSpec& spec) {
  const int64_t length = spec.has_known_axis() ? spec.length.constant().value_or(1) : 1;
  int64_t result = 1;
  for (int64_t factor = 2; factor <= length / factor; ++factor)
    if (length % factor == 0) result = factor;
  return result;
}

void define_dft(DefineContext& c) {
  const DftSpec spec = resolve_dft(c);
  bind_dft(c, spec);
  const Angles angles(c, info(c.dtype(0)).compute, spec.length);
  if (const int64_t factor = middle_factor(spec); factor > 1) return define_in_two_steps(c, spec, angles, factor);
  define_in_one_step(c, spec, angles);
}

// The transform as a matrix; nothing if it is not one, or too large.
std::optional<TransformMatrix> dft_matrix(const NodeReader& c, const DftSpec& spec) {
  const std::optional<int64_t> length = spec.length.constant(), parts = c.shape(0).back().constant();
  const std::optional<int64_t> used = spec.used().constant(), bins = spec.output_extent().constant();
  if (c.dtype(0) != DType::float32 || !length || !parts || !used || !bins) return std::nullopt;
  // Others are refused by infer_dft.
  if (*length < 1 || *used < 1 || *parts < 1 || *parts > 2) return std::nullopt;
  if (spec.one_sided && !spec.inverse && *parts != 1) return std::nullopt;
  const TransformMatrix matrix{*length, *used, *parts, *bins, spec.inverse, spec.gives_real()};
  return matrix.is_small(most_dft_elements) ? std::optional(matrix) : std::nullopt;
}

// As a number of the model, or left out; a symbol that stands for an input of the run does not count.
bool is_number(const NodeReader& c, size_t input) {
  if (!c.has_input(input)) return true;
  const std::optional<std::vector<Expr>> elements = c.elements(input);
  return elements && !any_unknown(*elements);
}

// The axes in their order, but one next to the last; and the order that undoes it.
std::vector<int64_t> order_with(size_t rank, size_t axis) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + static_cast<std::ptrdiff_t>(axis), order.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
              order.end() - 1);
  return order;
}
std::vector<int64_t> inverse_of(const std::vector<int64_t>& order) {
  std::vector<int64_t> result(order.size());
  for (size_t i = 0; i < order.size(); ++i) result[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return result;
}

// The leading dims as they are, and then `last`.
Value* with_last_dims(ExpandContext& c, Value* x, size_t leading, const std::vector<int64_t>& last) {
  std::vector<int64_t> dims(leading, 0);
  dims.insert(dims.end(), last.begin(), last.end());
  return c.add("Reshape", {x, c.integers(dims)});
}

void put_dft_product(ExpandContext& c, const DftSpec& spec, const TransformMatrix& matrix) {
  const auto axis = static_cast<size_t>(*spec.axis.constant());
  const std::vector<int64_t> order = order_with(spec.rank(), axis);
  Value* x = c.in(0);
  if (!spec.extent.is_constant(matrix.used))
    x = c.add("Slice", {x, c.integers({0}), c.integers({matrix.used}), c.integers({static_cast<int64_t>(axis)})});
  const bool moves = axis + 2 != spec.rank();
  if (moves) x = c.add("Transpose", {x}, {{"perm", order}});
  x = with_last_dims(c, x, spec.rank() - 2, {matrix.rows()});
  // One half of a real signal's spectrum stands for both, but for the elements that are their own mirror images.
  const int64_t length = matrix.length;
  const auto weight = [&](int64_t n) {
    const double count = matrix.gives_real && n != 0 && 2 * n != length ? 2.0 : 1.0;
    return matrix.inverse ? count / static_cast<double>(length) : count;
  };
  Value* y = c.add("MatMul", {x, c.constant(matrix.values(weight))});
  y = with_last_dims(c, y, spec.rank() - 2, {matrix.bins, matrix.columns() / matrix.bins});
  c.give(0, moves ? c.add("Transpose", {y}, {{"perm", inverse_of(order)}}) : y);
}

// Before version 20 the axis is an attribute; an input since.
void expand_dft(ExpandContext& c) {
  if (is_number(c, 1) && is_number(c, 2) && c.rank(0) >= 2) {
    const DftSpec spec = resolve_dft(c, []() -> Expr { internal_error("an axis that is known"); });
    if (const std::optional<TransformMatrix> matrix = dft_matrix(c, spec)) return put_dft_product(c, spec, *matrix);
  }
  Value* const axis = c.version() < 20 ? c.integers({c.integer("axis", 1)}) : c.in(2);
  c.give_row(internal_domain, "DFT", {c.in(0), c.in(1), axis},
             {{"inverse", c.integer("inverse", 0)}, {"onesided", c.integer("onesided", 0)}});
}

// --------------------------------------------------------------------------------------------------------- STFT

struct StftSpec {
  Expr step, length, frames;
};

StftSpec resolve_stft(const NodeReader& c) {
  const Shape& signal = c.shape(0);
  c.check(signal.size() == 3, "a signal [batch, length, parts] or [batch, length] is expected, found {}",
          short_text(signal));
  c.check(!c.has_input(2) || c.rank(2) == 1, "the window must be a vector");
  StftSpec spec;
  spec.step = given_number(c, 1, "frame_step");
  spec.length = c.has_input(3) ? given_number(c, 3, "frame_length") : c.has_input(2) ? c.shape(2)[0] : signal[1];
  spec.frames = floor_div(signal[1] - spec.length, max(spec.step, 1)) + 1;
  return spec;
}

// The frames of a signal, from the inputs of STFT: y[b, f, n, p] = x[b, f * step + n, p] * window[n].
void infer_frames(InferContext& c) {
  expect_type(c, 0, Types::floating);
  const StftSpec spec = resolve_stft(c);
  c.at_least(spec.step, 1, "frame_step");
  c.at_least(spec.length, 1, "the length of a frame");
  c.at_least(c.shape(0)[1], spec.length, "a frame may not be longer than the signal");
  check_parts(c, 0);
  if (c.has_input(2)) {
    c.check(c.dtype(2) == c.dtype(0), "a window of the signal's type is expected, found {}", info(c.dtype(2)).name);
    c.same(c.shape(2)[0], spec.length, "the length of the window and of a frame");
  }
  c.output(0, info(c.dtype(0)).compute, {c.shape(0)[0], spec.frames, spec.length, c.shape(0)[2]});
}

void define_frames(DefineContext& c) {
  const Operand x = c.in(0);
  const StftSpec spec = resolve_stft(c);
  c.elementwise([&](const std::vector<Expr>& out) {
    const Scalar element = x.compute({out[0], out[1] * spec.step + out[2], out[3]});
    return c.has_input(2) ? element * c.in(2).compute({out[2]}) : element;
  });
}

// The transform of a frame as a matrix, its window included; nothing if it is not one, or too large.
std::optional<TransformMatrix> stft_matrix(const NodeReader& c) {
  if (c.dtype(0) != DType::float32 || !is_number(c, 1) || !is_number(c, 3) || c.rank(0) != 3) return std::nullopt;
  if (c.has_input(2) && (c.constant(2) == nullptr || c.dtype(2) != DType::float32)) return std::nullopt;
  const StftSpec spec = resolve_stft(c);
  const std::optional<int64_t> length = spec.length.constant(), parts = c.shape(0)[2].constant();
  if (!length || !parts || *length < 1 || *parts < 1 || *parts > 2) return std::nullopt;
  if (c.has_input(2) && c.constant(2)->size() != *length) return std::nullopt;
  const TransformMatrix matrix{*length, *length, *parts, c.integer("onesided", 1) != 0 ? *length / 2 + 1 : *length};
  return matrix.is_small(most_stft_elements) ? std::optional(matrix) : std::nullopt;
}

void expand_stft(ExpandContext& c) {
  const NamedAttribute one_sided{"onesided", c.integer("onesided", 1)};
  // As onnxruntime takes it, and ONNX's shape inference: real numbers.
  if (c.rank(0) == 2) {
    Value* const signal = c.add("Unsqueeze", {c.in(0), c.integers({2})});
    return c.give(0, c.add("STFT", {signal, c.in(1), c.in(2), c.in(3)}, {one_sided}));
  }
  const std::optional<TransformMatrix> matrix = stft_matrix(c);
  if (!matrix) {
    Value* const frames = c.add_row(internal_domain, "Frames", {c.in(0), c.in(1), c.in(2), c.in(3)}, 1)[0];
    Value* y =
        c.add_row(internal_domain, "DFT", {frames, nullptr, c.integers({2})}, 1, {one_sided, {"takes_complex", 1}})[0];
    if (info(c.dtype(0)).compute != c.dtype(0)) y = c.add("CastLike", {y, c.in(0)});
    return c.give(0, y);
  }
  const std::vector<double> window = c.has_input(2) ? c.NodeReader::constant(2)->as_double() : std::vector<double>{};
  const auto weight = [&](int64_t n) { return window.empty() ? 1.0 : window[static_cast<size_t>(n)]; };
  Value* const length = c.constant(Tensor::of(DType::int64, {}, std::vector{matrix->length}));
  Value* const frames = c.add_row(internal_domain, "Frames", {c.in(0), c.in(1), nullptr, length}, 1)[0];
  Value* const y =
      c.add("MatMul", {with_last_dims(c, frames, 2, {matrix->rows()}), c.constant(matrix->values(weight))});
  c.give(0, with_last_dims(c, y, 2, {matrix->bins, 2}));
}

// ---------------------------------------------------------------------------------------------- MelWeightMatrix

void infer_mel_weight_matrix(InferContext& c) {
  constexpr std::string_view roles[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
                                        "upper_edge_hertz"};
  for (size_t i = 0; i < 5; ++i) c.one_number(i, roles[i]);
  const Expr bins = c.needed_elements(0, roles[0]).front(), length = c.needed_elements(1, roles[1]).front();
  c.at_least(bins, 0, "num_mel_bins");
  c.at_least(length, 0, "dft_length");
  c.output(0, dtype_attribute(c, "output_datatype", c.integer("output_datatype", 1), Types::numeric),
           {floor_div(length, 2) + 1, bins});
}

// Column i is a triangle over the bins of the spectrum: 0 at corner i, 1 at corner i + 1, 0 at corner i + 2. The
// corners are equally far apart in mel(f) = 2595 log10(1 + f / 700).
void define_mel_weight_matrix(DefineContext& c) {
  const Operand y = c.out(0);
  auto given = [&](size_t i) {
    const Operand operand = c.in(i);
    return scalar::cast(DType::float64, operand.compute(std::vector<Expr>(operand.rank(), 0)));
  };
  const Scalar rate = given(2), one = number(rate, 1), ten = number(rate, 10);
  const Scalar height = number(rate, 700), scale = number(rate, 2595);
  auto mel = [&](const Scalar& hertz) { return scale * logarithm(one + hertz / height) / logarithm(ten); };
  const Scalar low = mel(given(3)), high = mel(given(4)), bins = given(0), length = given(1);
  const Scalar step = (high - low) / (bins + number(bins, 2));
  auto corner = [&](const Expr& i) {
    const Scalar place = low + scalar::cast(DType::float64, scalar::index(i)) * step;
    const Scalar hertz = height * (scalar::binary(ScalarOp::power, ten, place / scale) - one);
    return scalar::unary(ScalarOp::floor, (length + one) * hertz / rate);
  };
  c.elementwise([&](const std::vector<Expr>& out) {
    const Scalar place = scalar::cast(DType::float64, scalar::index(out[0]));
    const Scalar left = corner(out[1]), top = corner(out[1] + 1), right = corner(out[1] + 2);
    const Scalar zero = number(place, 0);
    const Scalar falling = scalar::select(less(place, right), (right - place) / (right - top), zero);
    const Scalar rising = scalar::select(less(place, left), zero, (place - left) / (top - left));
    const Scalar beside = scalar::select(less(place, top), rising, falling);
    return scalar::cast(y.dtype, scalar::select(equal(place, top), one, beside));
  });
}

using enum StorageRule;

constexpr OpRow rows[] = {
    {.domain = "", .name = "DFT", .expand = expand_dft},
    {internal_domain, "DFT", infer_dft, define_dft, unchanged},
    {.domain = "", .name = "STFT", .expand = expand_stft},
    {internal_domain, "Frames", infer_frames, define_frames, unchanged},
    {"", "MelWeightMatrix", infer_mel_weight_matrix, define_mel_weight_matrix, unchanged},
};

}  // namespace

std::span<const OpRow> fourier_ops() { return rows; }

}  // namespace onnxc
