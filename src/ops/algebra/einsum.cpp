// Einsum (ONNX 12): a sum of products over named axes. The named axes are the loops.
#include <algorithm>
#include <map>

#include "ops/algebra/einsum_spec.h"
#include "ops/families.h"
#include "support/count_text.h"

namespace onnxc {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr size_t maximum_ellipsis_axes = 10;

// `rank` is the tensor's if it is known (the inputs), to tell how many axes the ellipsis stands for.
AxisLabels read_term(const NodeReader& c, const std::string& term, std::optional<size_t> rank, size_t ellipsis_axes) {
  AxisLabels labels;
  size_t dots = term.find("...");
  size_t letters = static_cast<size_t>(std::count_if(term.begin(), term.end(), is_letter));
  c.check(term.size() == letters + (dots == std::string::npos ? 0 : 3), "the term '{}' of the equation is malformed",
          term);
  if (rank) {
    c.check(dots == std::string::npos ? letters == *rank : letters <= *rank,
            "the term '{}' of the equation does not fit a tensor of rank {}", term, *rank);
    ellipsis_axes = *rank - letters;
  }
  c.check(ellipsis_axes <= maximum_ellipsis_axes, "an ellipsis for {}", counted(ellipsis_axes, "axis"));
  for (size_t i = 0; i < term.size();) {
    if (i != dots) {
      labels += term[i++];
      continue;
    }
    for (size_t axis = ellipsis_axes; axis-- > 0;) labels += static_cast<char>('0' + axis);
    i += 3;
  }
  return labels;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace

EinsumSpec resolve_einsum(const NodeReader& c) {
  constexpr size_t most_inputs = 64;  // one expression is the product of all
  c.check(c.input_count() <= most_inputs, "{}; at most {} are compiled", counted(c.input_count(), "input"),
          most_inputs);
  std::string text = c.text("equation", "");
  std::erase(text, ' ');
  size_t arrow = text.find("->");
  std::vector<std::string> terms = split(text.substr(0, arrow), ',');
  c.check(terms.size() == c.input_count(), "the equation '{}' has {} for {}", text, counted(terms.size(), "term"),
          counted(c.input_count(), "input"));
  EinsumSpec equation;
  size_t ellipsis_axes = 0;
  std::map<char, int> counts;
  for (size_t i = 0; i < terms.size(); ++i) {
    equation.inputs.push_back(read_term(c, terms[i], c.rank(i), 0));
    for (char label : equation.inputs.back()) {
      ++counts[label];
      if (!is_letter(label)) ellipsis_axes = std::max(ellipsis_axes, static_cast<size_t>(label - '0') + 1);
    }
  }
  if (arrow != std::string::npos) {
    equation.output = read_term(c, text.substr(arrow + 2), std::nullopt, ellipsis_axes);
  } else {
    // Without an arrow: the ellipsis, then the letters that occur once, in alphabetical order.
    for (size_t axis = ellipsis_axes; axis-- > 0;) equation.output += static_cast<char>('0' + axis);
    for (const auto& [label, count] : counts)
      if (is_letter(label) && count == 1) equation.output += label;
  }
  for (char label : equation.output) {
    c.check(counts.contains(label), "the output's axis '{}' of the equation '{}' occurs in no input", label, text);
    c.check(std::count(equation.output.begin(), equation.output.end(), label) == 1,
            "the output's axis '{}' of the equation '{}' is given twice", label, text);
  }
  return equation;
}

namespace {

void infer_einsum(InferContext& c) {
  EinsumSpec equation = resolve_einsum(c);
  std::map<char, Expr> extents;
  for (size_t i = 0; i < c.input_count(); ++i) {
    c.check(c.dtype(i) == c.dtype(0), "inputs of one type are expected, found {} and {}", info(c.dtype(0)).name,
            info(c.dtype(i)).name);
    for (size_t axis = 0; axis < c.rank(i); ++axis) {
      char label = equation.inputs[i][axis];
      auto [found, is_new] = extents.try_emplace(label, c.shape(i)[axis]);
      if (!is_new) found->second = c.broadcast(found->second, c.shape(i)[axis]);
    }
  }
  Shape shape;
  for (char label : equation.output) shape.push_back(extents.at(label));
  c.output(0, c.dtype(0), shape);
}

// The extent of a named axis, which every input that has it may broadcast along.
Expr extent_of(const DefineContext& c, const EinsumSpec& equation, char label) {
  std::vector<Expr> dims;
  for (size_t i = 0; i < c.input_count(); ++i) {
    for (size_t axis = 0; axis < c.rank(i); ++axis) {
      const Expr& dim = c.shape(i)[axis];
      if (equation.inputs[i][axis] != label || dim.is_constant(1)) continue;
      if (dim.constant()) return dim;
      if (std::ranges::find(dims, dim) == dims.end()) dims.push_back(dim);
    }
  }
  return dims.empty() ? Expr(1) : broadcast_extent(dims);
}

void define_einsum(DefineContext& c) {
  EinsumSpec equation = resolve_einsum(c);
  Operand y = c.out(0);
  NestBuilder nest("einsum");
  std::map<char, Expr> loops;
  for (size_t axis = 0; axis < y.rank(); ++axis) loops.emplace(equation.output[axis], nest.parallel(y.shape[axis]));
  bool reduces = false;
  for (size_t i = 0; i < c.input_count(); ++i) {
    for (size_t axis = 0; axis < c.rank(i); ++axis) {
      char label = equation.inputs[i][axis];
      if (loops.contains(label)) continue;
      loops.emplace(label, nest.reduce(extent_of(c, equation, label)));
      reduces = true;
    }
  }
  Scalar product;
  for (size_t i = 0; i < c.input_count(); ++i) {
    Operand x = c.in(i);
    std::vector<Expr> place;
    for (char label : equation.inputs[i]) place.push_back(loops.at(label));
    Scalar factor = x.compute(x.broadcast_indices(place));
    product = product ? product * factor : factor;
  }
  std::vector<Expr> out;
  for (char label : equation.output) out.push_back(loops.at(label));
  nest.store(y, out, reduces ? nest.accumulate(ReduceKind::sum, product) : product);
  c.emit(std::move(nest));
}

constexpr OpRow rows[] = {
    {"", "Einsum", infer_einsum, define_einsum, StorageRule::unchanged, LayoutRule::row_major, 12}};

}  // namespace

std::span<const OpRow> einsum_ops() { return rows; }

}  // namespace onnxc
