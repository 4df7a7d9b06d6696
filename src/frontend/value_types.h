// The types that a file declares for values: element types and shapes whose dims are symbols.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/expr/expr.h"
#include "onnx/onnx_pb.h"
#include "support/limits.h"

namespace onnxc {

// The symbols of a model, by name: the same dim_param is the same symbol everywhere.
class SymbolTable {
 public:
  // `bounds` are what the user says of symbols (ImportOptions::dims).
  explicit SymbolTable(std::map<std::string, Bounds> bounds) : bounds_(std::move(bounds)) {}

  // Keeps the names in a dim_param, so that no unnamed dim is called so.
  void reserve(const std::string& text);
  // The symbol of a name, or its number if the user gave one.
  Expr named(const std::string& name);
  // A new symbol with a name like this that nothing else has.
  Expr unnamed(std::string name);
  // The names that the user bounds and no input has.
  std::vector<std::string> unused_bounds() const;
  // UsageError if there is one.
  void check_bounds_used() const;

 private:
  std::map<std::string, Bounds> bounds_;
  std::map<std::string, Expr> symbols_;
  std::set<std::string> reserved_;
};

// The shape of a graph input: numbers, symbols for dim_param (which may be an expression, "16*D"), and for a dim of no
// name a symbol NAME_dimK. UserError naming input and dim.
Shape read_input_shape(const onnx::ValueInfoProto& input, SymbolTable& symbols, const Limits& limits,
                       std::vector<std::string>& warnings);
// The element type of a graph input. UserError if it is not a tensor, or is of a type that is not supported.
DType read_input_dtype(const onnx::ValueInfoProto& input);

// The type in value_info, for display only: nothing if it is not usable.
std::optional<Shape> read_declared_shape(const onnx::ValueInfoProto& value, SymbolTable& symbols);
DType read_declared_dtype(const onnx::ValueInfoProto& value);

}  // namespace onnxc
