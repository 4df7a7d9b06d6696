// Operators of strings: StringConcat, StringSplit and StringNormalizer. The work on a string is a function of the
// runtime (ir/loops/string_functions.h).
#include <limits>

#include "ops/elementwise/elementwise.h"
#include "ops/families.h"

namespace onnxc {
namespace {

void expect_strings(const NodeReader& c, size_t i) {
  c.check(c.dtype(i) == DType::string, "input {} must have strings, found {}", i, info(c.dtype(i)).name);
}

// A string of a formula's own, as a constant of the graph.
Value* one_string(ExpandContext& c, const std::string& text) {
  return c.constant(Tensor::of<int64_t>(DType::string, {}, {c.string_tensor({text}).values<int64_t>()[0]}));
}

// ---------------------------------------------------------------------------------------------------- StringConcat

void infer_string_concat(InferContext& c) {
  for (const size_t i : {0, 1}) expect_strings(c, i);
  c.output(0, DType::string, broadcast_inputs(c));
}

void define_string_concat(DefineContext& c) {
  const Operand a = c.in(0), b = c.in(1);
  c.elementwise([&](const std::vector<Expr>& i) {
    return scalar::call(StringFunction::concatenate, {a(a.broadcast_indices(i)), b(b.broadcast_indices(i))});
  });
}

// ----------------------------------------------------------------------------------------------------- StringSplit

// Becomes Split(x, delimiter); the delimiter is a string, as those of tensors are.
void expand_string_split(ExpandContext& c) {
  const int64_t most = c.integer("maxsplit", std::numeric_limits<int64_t>::max());
  c.check(most >= 0, "attribute 'maxsplit' is {}", most);
  const std::vector<Value*> results = c.add_row(
      internal_domain, "SplitString", {c.in(0), one_string(c, c.text("delimiter", ""))}, 2, {{"maxsplit", most}});
  for (const size_t i : {0, 1}) c.give(i, results[i]);
}

// ONNX StringSplit 20: the parts, in an axis of their own, which is as long as most of the strings have; and how many
// there are of each.
void infer_split_string(InferContext& c) {
  expect_strings(c, 0);
  Shape parts = c.shape(0);
  if (c.has_output(0)) parts.push_back(c.run_time_dim(0, parts.size()));
  c.output(0, DType::string, std::move(parts));
  c.output(1, DType::int64, c.shape(0));
}

void define_split_string(DefineContext& c) {
  const Operand x = c.in(0), delimiter = c.in(1);
  const Scalar most = scalar::index(c.integer("maxsplit"));
  const Operand counts = c.has_output(1) ? c.out(1) : c.temporary("counts", DType::int64, x.shape);
  {
    NestBuilder nest("count_parts");
    const std::vector<Expr> i = nest.parallel(x.shape);
    nest.store(counts, i, scalar::call(StringFunction::count_parts, {x(i), delimiter({}), most}));
    c.emit(std::move(nest));
  }
  if (!c.has_output(0)) return;
  const Operand y = c.out(0), longest = c.temporary("longest", DType::int64, {});
  {
    NestBuilder nest("most_parts");
    const std::vector<Expr> i = nest.reduce(x.shape);
    nest.store(longest, {}, maximum(nest.accumulate(ReduceKind::maximum, counts(i)), scalar::index(0)));
    c.emit(std::move(nest));
  }
  c.bind({y.shape.back()}, {longest({})});
  NestBuilder nest("parts");
  const std::vector<Expr> out = nest.parallel(y.shape), i(out.begin(), out.end() - 1);
  const Scalar is_there = less(scalar::index(out.back()), counts(i));
  const Scalar part = scalar::call(StringFunction::part, {x(i), delimiter({}), most, scalar::index(out.back())});
  nest.store(y, out, scalar::select(is_there, part, scalar::integer_constant(DType::string, 0)));
  c.emit(std::move(nest));
}

// ------------------------------------------------------------------------------------------------ StringNormalizer

template <StringFunction function>
void define_text_function(DefineContext& c) {
  const Operand x = c.in(0);
  c.elementwise([&](const std::vector<Expr>& i) { return scalar::call(function, {x(i)}); });
}

void infer_text_function(InferContext& c) {
  expect_strings(c, 0);
  c.output(0, DType::string, c.shape(0));
}

// "LOWER", "UPPER" or "NONE".
Value* with_case(ExpandContext& c, Value* x, const std::string& action) {
  if (action == "NONE") return x;
  return c.add_row(internal_domain, action == "LOWER" ? "ToLower" : "ToUpper", {x}, 1)[0];
}

// ONNX StringNormalizer 10, of [C] or [1, C]: without the stop words, in any case if case does not count; if nothing is
// left, one empty string. Attribute 'locale' is ignored: the mapping is Unicode's for all languages.
void expand_string_normalizer(ExpandContext& c) {
  expect_strings(c, 0);
  c.check(c.rank(0) == 1 || c.rank(0) == 2, "an input [C] or [1, C] is expected, found {}", short_text(c.shape(0)));
  const std::string action = c.text("case_change_action", "NONE");
  c.check(action == "LOWER" || action == "UPPER" || action == "NONE",
          "attribute 'case_change_action' is '{}', none of LOWER, UPPER, NONE", action);
  const std::vector<std::string> stop_words = c.texts("stopwords");
  Value* const axis = c.integers({0});
  Value* x = c.rank(0) == 2 ? c.add("Squeeze", {c.in(0), axis}) : c.in(0);
  if (!stop_words.empty()) {
    const std::string compared = c.integer("is_case_sensitive", 0) != 0 ? "NONE" : "LOWER";
    Value* const words = with_case(c, c.constant(c.string_tensor(stop_words)), compared);
    Value* const own = c.add("Unsqueeze", {with_case(c, x, compared), c.integers({1})});
    const auto whole = [&](Value* is) { return c.add("Cast", {is}, {{"to", static_cast<int64_t>(DType::int32)}}); };
    const auto truth = [&](Value* is) { return c.add("Cast", {is}, {{"to", static_cast<int64_t>(DType::boolean)}}); };
    Value* const stops =
        c.add("ReduceMax", {whole(c.add("Equal", {own, words})), c.integers({1})}, {{"keepdims", int64_t{0}}});
    Value* const is_kept = c.add("Not", {truth(stops)});
    // After them an empty string, which is kept if nothing else is.
    Value* const kept = c.add("ReduceSum", {whole(is_kept)}, {{"keepdims", int64_t{1}}});
    Value* const choice = c.add("Concat", {is_kept, c.add("Not", {truth(kept)})}, {{"axis", int64_t{0}}});
    Value* const all = c.add("Concat", {x, c.constant(c.string_tensor({""}))}, {{"axis", int64_t{0}}});
    x = c.add("Compress", {all, choice}, {{"axis", int64_t{0}}});
  }
  x = with_case(c, x, action);
  c.give(0, c.rank(0) == 2 ? c.add("Unsqueeze", {x, axis}) : c.add("Identity", {x}));
}

// -------------------------------------------------------------------------------------------------------- Handles

// The handle of each string: two are the same number if the strings are the same.
void infer_handles(InferContext& c) {
  expect_strings(c, 0);
  c.output(0, DType::int64, c.shape(0));
}

void define_handles(DefineContext& c) {
  const Operand x = c.in(0);
  c.elementwise([&](const std::vector<Expr>& i) { return scalar::cast(DType::int64, x(i)); });
}

using enum StorageRule;

constexpr OpRow rows[] = {
    {internal_domain, "Handles", infer_handles, define_handles, unchanged},
    {"", "StringConcat", infer_string_concat, define_string_concat, unchanged},
    {.domain = "", .name = "StringSplit", .expand = expand_string_split},
    {.domain = "", .name = "StringNormalizer", .expand = expand_string_normalizer},
    {internal_domain, "SplitString", infer_split_string, define_split_string, unchanged},
    {internal_domain, "ToLower", infer_text_function, define_text_function<StringFunction::to_lower>, unchanged},
    {internal_domain, "ToUpper", infer_text_function, define_text_function<StringFunction::to_upper>, unchanged},
};

}  // namespace

std::span<const OpRow> string_ops() { return rows; }

}  // namespace onnxc
