#include "frontend/value_types.h"

#include "frontend/file/onnx_names.h"
#include "ir/expr/parser.h"
#include "support/checked.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

using onnx::TensorShapeProto;

Expr named_dim(const std::string& text, SymbolTable& symbols) {
  return parse_expr(text, [&](std::string_view name) { return symbols.named(std::string(name)); });
}

// "?" is how some exporters say that they do not know: two of them need not be equal.
bool has_name(const TensorShapeProto::Dimension& dim) {
  return dim.has_dim_param() && !dim.dim_param().empty() && dim.dim_param() != "?";
}

}  // namespace

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

void SymbolTable::check_bounds_used() const {
  for (const auto& [name, bounds] : bounds_) {
    if (symbols_.contains(name)) continue;
    std::string known;
    for (const auto& [symbol, value] : symbols_) known += (known.empty() ? "" : ", ") + printable(symbol);
    throw UsageError(fmt::format("--dim {}: the inputs have no dim of this name; they have: {}", printable(name),
                                 known.empty() ? "no named dims" : known));
  }
}

Shape read_input_shape(const onnx::ValueInfoProto& input, SymbolTable& symbols, const Limits& limits,
                       std::vector<std::string>& warnings) {
  const std::string what = fmt::format("input {}", quote(input.name()));
  const onnx::TypeProto::Tensor& type = input.type().tensor_type();
  user_check(type.has_shape(), "{}: it has no shape, not even a rank; export the model with an input of known rank",
             what);
  user_check(type.shape().dim_size() <= limits.max_rank, "{}: it has {} axes; at most {} are allowed", what,
             type.shape().dim_size(), limits.max_rank);
  Shape shape;
  int64_t known_bytes = element_size(read_input_dtype(input));
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const TensorShapeProto::Dimension& dim = type.shape().dim(i);
    try {
      const bool is_unknown = dim.has_dim_value() && dim.dim_value() == -1;
      if (is_unknown)
        warnings.push_back(
            fmt::format("{}: its dim {} is -1, which is no size; it is taken as one that may change", what, i));
      if (dim.has_dim_value() && !is_unknown) {
        user_check(dim.dim_value() >= 0, "{} is negative; a dim that may change needs a name (dim_param)",
                   dim.dim_value());
        shape.emplace_back(dim.dim_value());
        if (dim.dim_value() != 0) known_bytes = checked_multiply(known_bytes, dim.dim_value());
      } else if (has_name(dim)) {
        shape.push_back(named_dim(dim.dim_param(), symbols));
      } else {
        shape.push_back(symbols.unnamed(fmt::format("{}_dim{}", input.name(), i)));
      }
    } catch (const UserError& error) {
      user_error("{}, dim {}: {}", what, i, error.what());
    }
  }
  return shape;
}

DType read_input_dtype(const onnx::ValueInfoProto& input) {
  user_check(
      input.type().has_tensor_type(),
      "input {}: it is no tensor; make it of tensors in the model (SequenceConstruct, Optional), as onnxc.backend "
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
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      shape.emplace_back(dim.dim_value());
    } else if (has_name(dim)) {
      try {
        shape.push_back(named_dim(dim.dim_param(), symbols));
      } catch (const UserError&) {
        return std::nullopt;  // the text is no expression: there is nothing to compare with
      }
    } else {
      shape.emplace_back(Symbol::dim("?"));
    }
  }
  return shape;
}

DType read_declared_dtype(const onnx::ValueInfoProto& value) {
  const DTypeInfo* row = find_dtype(value.type().tensor_type().elem_type());
  return row == nullptr ? DType::undefined : row->dtype;
}

}  // namespace onnxc
