// The loop IR: the one meaning of each operator. A loop nest computes `out[indices] = value` over named axes:
//
//   nest softmax_sum  axes i<N  reduce k<D
//     acc0 = sum exp(x[i, k] - m[i])
//     s[i] = acc0
//
// Indices are integer expressions (Expr) of axes, dims and let-bound integers; values are typed scalar expressions. The
// interpreter (constant folding, tests) and each target's printers read it.
//
// Semantics:
// - Every combination of the parallel axes runs once, in any order. The interpreter folds reduce axes into the
//   accumulators in ascending order; a target may reassociate floating-point sums, but not depend on threads. Ordered
//   axes run in ascending order, innermost of the parallel ones: a store is seen by the loads after it.
// - select(c, a, b) evaluates only the branch taken: a load may depend on the test that keeps it within bounds.
// - Arithmetic on floating types of less than 32 bits is done in float32 and rounded when a value is cast or stored.
//   Too great a value for a float8 type becomes its infinity, or its NaN if it has none; float4 has neither, and takes
//   its greatest number, and -0 for a NaN. On integers of less than a byte there is no arithmetic: they are loaded,
//   stored, and cast, which keeps the lowest bits.
// - reinterpret keeps the bits of an element, between types of one width; those of a NaN may change if the type is
//   computed in another.
// - Integer arithmetic wraps; integer division truncates towards zero (ONNX Div) and by zero gives 0; shifts by the
//   width or more give 0. Casts of floating to integer truncate and saturate (NaN gives 0), but narrowing of integers
//   keeps the low bits, both as onnxruntime on x86 does when the standard leaves it open.
// - random_bits(counter, key), of uint64, is kernels/shared/random_bits.h's.
// - A string is its handle (ir/dtype.h): strings are copied, compared for equality, cast to int64, which gives the
//   handle, and are operands and results of string functions, which are pure like all operations.
// - minimum and maximum hand on a NaN, and the argument reductions take the first NaN for the extreme (the last for the
//   last_ kinds), as PyTorch does; the sign of a NaN is 0.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/expr/expr.h"
#include "ir/loops/string_functions.h"

namespace onnxc {

using BufferId = int;  // index into Program::buffers

enum class ScalarOp : uint8_t {
  // leaves
  constant,     // `number` or `integer`
  index,        // `expr` as int64
  load,         // buffer[indices]
  accumulator,  // the value of accumulator `slot` after the reduce axes
  // unary
  negate,
  absolute,
  sign,
  exponential,
  logarithm,
  square_root,
  reciprocal,
  floor,
  ceil,
  round_even,
  truncate,
  sine,
  cosine,
  tangent,
  arc_sine,
  arc_cosine,
  arc_tangent,
  hyperbolic_sine,
  hyperbolic_cosine,
  hyperbolic_tangent,
  arc_hyperbolic_sine,
  arc_hyperbolic_cosine,
  arc_hyperbolic_tangent,
  error_function,
  logical_not,
  bitwise_not,
  is_nan,
  is_infinite,
  cast,
  reinterpret,
  // binary; comparisons and logical operators give boolean
  add,
  subtract,
  multiply,
  divide,
  modulo_floor,
  modulo_truncate,
  power,
  minimum,
  maximum,
  equal,
  less,
  less_or_equal,
  logical_and,
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  shift_left,
  shift_right,
  random_bits,
  // ternary
  select,
  // of any number of operands: `function` says which
  string_function,
};

struct ScalarNode;

// A typed scalar expression; a cheap handle on a shared immutable node. Operands of a binary operation have one dtype.
class Scalar {
 public:
  Scalar() = default;
  explicit Scalar(std::shared_ptr<const ScalarNode> node) : node_(std::move(node)) {}
  const ScalarNode* operator->() const { return node_.get(); }
  const ScalarNode& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  DType dtype() const;

 private:
  std::shared_ptr<const ScalarNode> node_;
};

struct ScalarNode {
  ScalarOp op;
  DType dtype;
  std::vector<Scalar> operands = {};
  double number = 0;               // constant of a floating dtype
  int64_t integer = 0;             // constant of an integer (bit pattern for uint64) or boolean dtype
  Expr expr = {};                  // index
  BufferId buffer = -1;            // load
  std::vector<Expr> indices = {};  // load: logical indices
  bool in_bounds = false;          // load: known to be within its buffer, also if a select does not choose it
  int slot = -1;                   // accumulator
  StringFunction function = {};    // string_function
};

// Constructors that check dtypes (InternalError) and fold constants if that is exact.
namespace scalar {
Scalar constant(DType dtype, double value);  // converts to the dtype: also 1 for an integer, inf, -inf
Scalar integer_constant(DType dtype, int64_t value);
Scalar index(const Expr& expr);
Scalar load(DType dtype, BufferId buffer, std::vector<Expr> indices, bool in_bounds = false);
Scalar accumulator(DType dtype, int slot);
Scalar unary(ScalarOp op, const Scalar& a);
Scalar binary(ScalarOp op, const Scalar& a, const Scalar& b);
Scalar select(const Scalar& condition, const Scalar& if_true, const Scalar& if_false);
Scalar cast(DType dtype, const Scalar& a);
Scalar reinterpret(DType dtype, const Scalar& a);  // to any type but boolean
Scalar call(StringFunction function, std::vector<Scalar> operands);
}  // namespace scalar

inline Scalar operator+(const Scalar& a, const Scalar& b) { return scalar::binary(ScalarOp::add, a, b); }
inline Scalar operator-(const Scalar& a, const Scalar& b) { return scalar::binary(ScalarOp::subtract, a, b); }
inline Scalar operator*(const Scalar& a, const Scalar& b) { return scalar::binary(ScalarOp::multiply, a, b); }
inline Scalar operator/(const Scalar& a, const Scalar& b) { return scalar::binary(ScalarOp::divide, a, b); }
inline Scalar operator-(const Scalar& a) { return scalar::unary(ScalarOp::negate, a); }

enum class AxisKind : uint8_t { parallel, reduce, ordered };

struct Axis {
  Symbol symbol;  // Symbol::axis(name, extent)
  Expr extent;
  AxisKind kind = AxisKind::parallel;
};

// An integer computed at run time and used in indices: an element of an index tensor, the floor of a coordinate.
struct Let {
  Symbol symbol;  // Symbol::index(name)
  Scalar value;   // int64; may use axes and the lets before it
};

enum class ReduceKind : uint8_t {
  sum,
  product,
  minimum,
  maximum,  // minimum and maximum hand on a NaN
  any,
  all,  // boolean
  argument_minimum,
  argument_maximum,  // int64: the first position (value of `position`) of the extreme of `element`
  last_argument_minimum,
  last_argument_maximum,  // the last such position
};
constexpr bool is_argument_reduction(ReduceKind kind) { return kind >= ReduceKind::argument_minimum; }

struct Accumulator {
  ReduceKind kind;
  DType dtype;     // of the result; sums of half types accumulate in float32: their dtype is float32
  Scalar element;  // folded in for each combination of the reduce axes
  Expr position;   // for the argument kinds
};

// How a store combines with the old value: a scatter with a reduction.
enum class StoreKind : uint8_t { assign, add, multiply, minimum, maximum };

struct Store {
  BufferId buffer;
  std::vector<Expr> indices;  // logical
  Scalar value;
  StoreKind kind = StoreKind::assign;
  Scalar condition;  // boolean; empty means always
};

struct LoopNest {
  std::string name;        // of the operator's role: "conv", "softmax_sum"
  std::vector<Axis> axes;  // outermost first: parallel and ordered ones, then reduce ones
  std::vector<Let> lets;
  std::vector<Accumulator> accumulators;
  std::vector<Store> stores;
};

// "acc0 + x[i, k]": with buffer names by id ("b3") unless a namer is given.
std::string to_string(const Scalar& scalar);
std::string to_string(const LoopNest& nest);

// Rewriting: each returns a new expression in which the replaced leaves are substituted.
Scalar substitute(const Scalar& scalar, const std::map<Symbol, Expr>& replacements);
// Calls `visit` for every node, operands first; a node shared twice is visited once.
void visit(const Scalar& scalar, const std::function<void(const ScalarNode&)>& visit);
// Whether it calls a string function for which `is_one` holds.
bool calls_string_function(const Scalar& scalar, bool (*is_one)(StringFunction));
bool calls_string_functions(const LoopNest& nest);
// Replaces every load that `replace` gives a value for.
Scalar replace_loads(const Scalar& scalar, const std::function<Scalar(const ScalarNode& load)>& replace);
Scalar replace_accumulators(const Scalar& scalar, const std::vector<Scalar>& values);

}  // namespace onnxc
