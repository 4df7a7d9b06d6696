#include "frontend/value_types.h"

#include <algorithm>
#include <string_view>

#include "frontend/file/onnx_names.h"
#include "ir/expr/parser.h"
#include "support/checked.h"
#include "support/count_text.h"
#include "support/diagnostics.h"
#include "support/list_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

using onnx::TensorShapeProto;

// The dim that a text stands for, and whether there is a name in it.
struct NamedDim {
  Expr size;
  bool has_name = false;
};

NamedDim named_dim(const std::string& text, SymbolTable& symbols) {
  NamedDim dim;
  dim.size = parse_expr(text, [&](std::string_view name) {
    dim.has_name = true;
    return symbols.named(std::string(name));
  });
  return dim;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\n\r";
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  return text.substr(0, text.find_last_not_of(spaces) + 1);
}

// How exporters say that they do not know a dim: two of them need not be equal.
bool is_unknown(const TensorShapeProto::Dimension& dim) {
  if (dim.has_dim_value()) return dim.dim_value() == -1;
  const std::string_view text = trimmed(dim.dim_param());
  return text.empty() || text == "?" || text == "-1" || text == "None";
}

// -1 is not a size, but its meaning is known: any size.
bool is_minus_one(const TensorShapeProto::Dimension& dim) {
  return is_unknown(dim) && (dim.has_dim_value() || trimmed(dim.dim_param()) == "-1");
}

// A dim of an input that the file knows, by number or by name. `what` names it in warnings.
Expr read_known_dim(const TensorShapeProto::Dimension& dim, SymbolTable& symbols, const std::string& what,
                    std::vector<std::string>& warnings) {
  if (dim.has_dim_value()) {
    user_check(dim.dim_value() >= 0, "{} is negative; a dim that may change needs a name (dim_param)", dim.dim_value());
    return dim.dim_value();
  }
  const NamedDim named = named_dim(dim.dim_param(), symbols);
  if (named.has_name) return named.size;
  const std::string text = quote(dim.dim_param());
  user_check(named.size.constant().value_or(0) >= 0,
             "its name is {}, a negative number; a dim that may change needs a name that is not a number", text);
  warnings.push_back(fmt::format("{} has the name {}, and is taken as this size", what, text));
  return named.size;
}

}  // namespace

void SymbolTable::reserve(const std::string& text) {
  try {
    parse_expr(text, [&](std::string_view name) -> Expr {
      reserved_.emplace(name);
      return Symbol::dim(std::string(name));
    });
  } catch (const UserError&) {  // which read_input_shape tells of
  }
}

Expr SymbolTable::named(const std::string& name) {
  const auto known = symbols_.find(name);
  if (known != symbols_.end()) return known->second;
  const auto bound = bounds_.find(name);
  const Bounds bounds = bound == bounds_.end() ? Bounds{0, Bounds::infinity} : bound->second;
  const Expr value = bounds.minimum == bounds.maximum ? Expr(bounds.minimum) : Expr(Symbol::dim(name, bounds));
  symbols_.emplace(name, value);
  return value;
}

Expr SymbolTable::unnamed(std::string name) {
  while (reserved_.contains(name) || symbols_.contains(name)) name += "_";
  return named(name);
}

std::vector<std::string> SymbolTable::unused_bounds() const {
  std::vector<std::string> unused;
  for (const auto& [name, bounds] : bounds_)
    if (!symbols_.contains(name)) unused.push_back(name);
  return unused;
}

void SymbolTable::check_bounds_used() const {
  for (const std::string& name : unused_bounds()) {
    std::vector<std::string> known;
    for (const auto& [symbol, value] : symbols_) known.push_back(printable(symbol));
    throw UsageError(fmt::format("--dim {}: the inputs have no dim of this name; they have: {}", printable(name),
                                 known.empty() ? "no named dims" : list_text(known)));
  }
}

Shape read_input_shape(const onnx::ValueInfoProto& input, SymbolTable& symbols, const Limits& limits,
                       std::vector<std::string>& warnings) {
  const std::string what = fmt::format("input {}", quote(input.name()));
  const onnx::TypeProto::Tensor& type = input.type().tensor_type();
  user_check(type.has_shape(), "{}: it has no shape, not even a rank; export the model with an input of known rank",
             what);
  user_check(type.shape().dim_size() <= limits.max_rank, "{}: it has {}; at most {} are allowed", what,
             counted(type.shape().dim_size(), "axis"), limits.max_rank);
  Shape shape;
  int64_t known_bytes = element_size(read_input_dtype(input));
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const TensorShapeProto::Dimension& dim = type.shape().dim(i);
    try {
      const std::string its_dim = fmt::format("{}: its dim {}", what, i);
      if (is_minus_one(dim)) warnings.push_back(its_dim + " is -1; it is treated as dynamic");
      if (is_unknown(dim))
        shape.push_back(symbols.unnamed(fmt::format("{}_dim{}", input.name(), i)));
      else
        shape.push_back(read_known_dim(dim, symbols, its_dim, warnings));
      if (const int64_t size = shape.back().constant().value_or(0)) known_bytes = checked_multiply(known_bytes, size);
    } catch (const UserError& error) {
      user_error("{}, dim {}: {}", what, i, error.what());
    }
  }
  return shape;
}

DType read_input_dtype(const onnx::ValueInfoProto& input) {
  user_check(
      input.type().has_tensor_type(),
      "input {}: it is not a tensor; make it of tensors in the model (SequenceConstruct, Optional), as onnxc.backend "
      "does for the inputs of a run",
      quote(input.name()));
  const int code = input.type().tensor_type().elem_type();
  const DTypeInfo* row = find_dtype(code);
  user_check(row != nullptr && row->dtype != DType::undefined, "input {}: its element type {} is not supported",
             quote(input.name()), element_type_name(code));
  return row->dtype;
}

std::optional<Shape> read_declared_shape(const onnx::ValueInfoProto& value, SymbolTable& symbols) {
  if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape()) return std::nullopt;
  Shape shape;
  for (const TensorShapeProto::Dimension& dim : value.type().tensor_type().shape().dim()) {
    if (is_unknown(dim) || dim.dim_value() < 0) {
      shape.emplace_back(Symbol::dim("?"));
    } else if (dim.has_dim_value()) {
      shape.emplace_back(dim.dim_value());
    } else {
      try {
        shape.push_back(named_dim(dim.dim_param(), symbols).size);
      } catch (const UserError&) {
        return std::nullopt;  // the text is not an expression: there is nothing to compare with
      }
    }
  }
  return shape;
}

DType read_declared_dtype(const onnx::ValueInfoProto& value) {
  const DTypeInfo* row = find_dtype(value.type().tensor_type().elem_type());
  return row == nullptr ? DType::undefined : row->dtype;
}

}  // namespace onnxc
