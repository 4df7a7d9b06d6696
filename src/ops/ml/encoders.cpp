// Operators of ai.onnx.ml that give each element the value of its key: LabelEncoder and CategoryMapper.
//
// The keys are sorted while compiling, and an element is looked for by halves: 17 comparisons for 100,000 keys, without
// a branch. Strings are compared by their handles, in whatever order these are.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "ir/loops/scalar_arithmetic.h"
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"

namespace onnxc {
namespace {

constexpr const char* ml = "ai.onnx.ml";

// A vector of keys with the value of each, and the value, of one element, of everything that is not a key.
struct Mapping {
  Tensor keys, values, otherwise;
};

template <class T>
Tensor vector_of(DType dtype, const std::vector<T>& values) {
  return Tensor::of(dtype, {std::ssize(values)}, values);
}

// The elements of a vector at these positions.
Tensor taken(const Tensor& from, DType dtype, const std::vector<int64_t>& positions) {
  const auto size = static_cast<size_t>(element_size(dtype));
  Tensor result = Tensor::zeros(dtype, {std::ssize(positions)});
  for (size_t i = 0; i < positions.size(); ++i)
    std::memcpy(result.mutable_bytes() + i * size, from.bytes().data() + static_cast<size_t>(positions[i]) * size,
                size);
  return result;
}

Tensor joined(const Tensor& a, const Tensor& b) {
  Tensor result = Tensor::zeros(a.dtype(), {a.size() + b.size()});
  std::ranges::copy(b.bytes(), std::ranges::copy(a.bytes(), result.mutable_bytes()).out);
  return result;
}

// The positions of keys from the least to the greatest, without NaN. Among equal keys the last counts (LabelEncoder 4).
template <class T>
std::vector<int64_t> sorted_positions(const std::vector<T>& keys) {
  std::vector<int64_t> positions;
  const auto key = [&](int64_t position) { return keys[static_cast<size_t>(position)]; };
  for (int64_t i = 0; i < std::ssize(keys); ++i)
    if (key(i) == key(i)) positions.push_back(i);
  std::ranges::sort(positions, [&](int64_t a, int64_t b) { return key(a) != key(b) ? key(a) < key(b) : a > b; });
  const auto repeated = std::ranges::unique(positions, [&](int64_t a, int64_t b) { return key(a) == key(b); });
  positions.erase(repeated.begin(), repeated.end());
  return positions;
}

std::optional<int64_t> last_nan(const Tensor& keys) {
  if (!is_floating(keys.dtype())) return std::nullopt;
  const std::vector<double> numbers = keys.as_double();
  const auto found = std::find_if(numbers.rbegin(), numbers.rend(), [](double key) { return std::isnan(key); });
  if (found == numbers.rend()) return std::nullopt;
  return numbers.rend() - found - 1;
}

// Puts Lookup(x, keys, values): the keys sorted, their number made a power of two by repeating the greatest; then,
// after the value of each, that of a NaN and that of everything that is not a key.
void expand_mapping(ExpandContext& c, const Mapping& mapping) {
  const auto& [keys, values, otherwise] = mapping;
  c.check(keys.dims().size() == 1 && values.dims() == keys.dims(),
          "as many values as keys are expected, found {} and {}", values.size(), keys.size());
  c.check(keys.dtype() == c.dtype(0), "keys of the input's type {} are expected, found {}", info(c.dtype(0)).name,
          info(keys.dtype()).name);
  c.check(otherwise.size() == 1 && otherwise.dtype() == values.dtype(),
          "one default of the values' type {} is expected, found {} of {}", info(values.dtype()).name, otherwise.size(),
          info(otherwise.dtype()).name);
  std::vector<int64_t> order =
      is_floating(keys.dtype()) ? sorted_positions(keys.as_double()) : sorted_positions(keys.as_int64());
  const bool has_keys = !order.empty();
  if (has_keys) order.resize(std::bit_ceil(order.size()), order.back());
  const DType compared = keys.dtype() == DType::string ? DType::int64 : keys.dtype();
  const std::optional<int64_t> nan = last_nan(keys);
  const Tensor of_nan = nan ? taken(values, values.dtype(), {*nan}) : taken(otherwise, values.dtype(), {0});
  const Tensor all =
      joined(joined(taken(values, values.dtype(), order), of_nan), taken(otherwise, values.dtype(), {0}));
  c.give(0, c.add_row(internal_domain, "Lookup", {c.in(0), c.constant(taken(keys, compared, order)), c.constant(all)},
                      1)[0]);
}

void infer_lookup(InferContext& c) { c.output(0, c.dtype(2), c.shape(0)); }

// The greatest of the keys that is not above x lies at the sum of the halves that were taken.
void define_lookup(DefineContext& c) {
  const Operand x = c.in(0), keys = c.in(1), values = c.in(2), y = c.out(0);
  const int64_t count = *keys.shape[0].constant();
  NestBuilder nest("lookup");
  const std::vector<Expr> indices = nest.parallel(y.shape);
  const Scalar given = x.dtype == DType::string ? scalar::cast(DType::int64, x(indices)) : x(indices);
  Expr place = 0;
  for (int64_t half = count / 2; half > 0; half /= 2) {
    const Scalar is_at_least = scalar::binary(ScalarOp::less_or_equal, keys({place + half}), given);
    place = nest.let(scalar::select(is_at_least, scalar::index(place + half), scalar::index(place)));
  }
  Scalar found = scalar::index(count + 1);
  if (count > 0) found = scalar::select(equal(keys({place}), given), scalar::index(place), found);
  if (is_floating(x.dtype)) found = scalar::select(scalar::unary(ScalarOp::is_nan, given), scalar::index(count), found);
  nest.store(y, indices, values({nest.let(found)}));
  c.emit(std::move(nest));
}

// ---------------------------------------------------------------------------------------------------- LabelEncoder

// One of the attributes NAME_tensor, NAME_strings, NAME_int64s, NAME_floats.
Tensor listed(ExpandContext& c, const std::string& name) {
  const auto given = [&](const char* suffix) { return c.has_attribute(name + suffix); };
  const int count = given("_tensor") + given("_strings") + given("_int64s") + given("_floats");
  c.check(count == 1,
          "one of the attributes '{0}_tensor', '{0}_strings', '{0}_int64s' and '{0}_floats' is expected, "
          "found {1}",
          name, count);
  if (given("_tensor")) return *c.tensor(name + "_tensor");
  if (given("_strings")) return c.string_tensor(c.texts(name + "_strings"));
  if (given("_int64s")) return vector_of(DType::int64, c.NodeReader::integers(name + "_int64s"));
  return vector_of(DType::float32, c.reals(name + "_floats"));
}

// The default for values of a type.
Tensor default_of(ExpandContext& c, DType dtype) {
  if (const Tensor* given = c.tensor("default_tensor")) return *given;
  if (dtype == DType::string) return c.string_tensor({c.text("default_string", "_Unused")});
  Tensor result = Tensor::zeros(dtype, {1});
  store_function(dtype)(result.mutable_bytes(),
                        is_floating(dtype) ? ScalarValue{.number = static_cast<double>(c.real("default_float", -0.0F))}
                                           : ScalarValue{.integer = c.integer("default_int64", -1)});
  return result;
}

// ONNX-ML LabelEncoder 2 and 4: keys and values of any types.
void expand_label_encoder(ExpandContext& c) {
  const Tensor values = listed(c, "values");
  expand_mapping(c, {listed(c, "keys"), values, default_of(c, values.dtype())});
}

// Strings to numbers or numbers to strings, whatever the input is.
void expand_strings_and_numbers(ExpandContext& c, const std::vector<std::string>& texts, const Tensor& numbers) {
  const Tensor strings = c.string_tensor(texts);
  if (c.dtype(0) == DType::string)
    expand_mapping(c, {strings, numbers, default_of(c, DType::int64)});
  else
    expand_mapping(c, {numbers, strings, default_of(c, DType::string)});
}

// ONNX-ML LabelEncoder 1: the place of a string in a list, and the other way round.
void expand_early_label_encoder(ExpandContext& c) {
  const std::vector<std::string> classes = c.texts("classes_strings");
  std::vector<int64_t> places(classes.size());
  std::iota(places.begin(), places.end(), 0);
  expand_strings_and_numbers(c, classes, vector_of(DType::int64, places));
}

// ONNX-ML CategoryMapper 1.
void expand_category_mapper(ExpandContext& c) {
  expand_strings_and_numbers(c, c.texts("cats_strings"),
                             vector_of(DType::int64, c.NodeReader::integers("cats_int64s")));
}

constexpr OpRow rows[] = {
    {.domain = ml, .name = "LabelEncoder", .last_version = 1, .expand = expand_early_label_encoder},
    {.domain = ml, .name = "LabelEncoder", .first_version = 2, .expand = expand_label_encoder},
    {.domain = ml, .name = "CategoryMapper", .expand = expand_category_mapper},
    {internal_domain, "Lookup", infer_lookup, define_lookup, StorageRule::unchanged},
};

}  // namespace

std::span<const OpRow> encoder_ops() { return rows; }

}  // namespace onnxc
