#include "ir/loops/parser.h"

#include <array>
#include <cmath>
#include <cstdlib>

#include "ir/expr/parser.h"
#include "ir/loops/text.h"
#include "ir/text/cursor.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number after a prefix: "acc12" with the prefix "acc" is 12.
std::optional<size_t> numbered(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix) || word.size() == prefix.size()) return std::nullopt;
  size_t number = 0;
  for (char c : word.substr(prefix.size())) {
    if (!is_digit(c) || number > 1'000'000) return std::nullopt;
    number = 10 * number + static_cast<size_t>(c - '0');
  }
  return number;
}

// Names that are bound in a nest, over the dims.
class Scope {
 public:
  explicit Scope(DimNames& dims) : dims_(dims) {}

  void bind(const Symbol& symbol) { bound_.insert_or_assign(symbol.name(), symbol); }

  Expr index(std::string_view text) {
    return parse_expr(text, [this](std::string_view name) -> Expr {
      auto bound = bound_.find(name);
      if (bound != bound_.end()) return bound->second;
      auto dim = dims_.find(name);
      if (dim == dims_.end()) dim = dims_.emplace(name, Symbol::dim(std::string(name))).first;
      return dim->second;
    });
  }

  std::vector<Expr> indices(std::string_view text) {
    std::vector<Expr> result;
    for (std::string_view part : split_at_commas(text)) result.push_back(index(part));
    return result;
  }

 private:
  DimNames& dims_;
  std::map<std::string, Symbol, std::less<>> bound_;
};

// Reads one scalar at a time; what is named in the nest is kept between them.
class ScalarParser {
 public:
  ScalarParser(Scope& scope, const std::function<DType(BufferId)>& dtype_of) : scope_(scope), dtype_of_(dtype_of) {}

  void add_accumulator(DType dtype) { accumulators_.push_back(dtype); }
  void name(std::string_view name, Scalar value) { named_.insert_or_assign(std::string(name), std::move(value)); }

  Scalar parse(TextCursor& cursor) { return parse_infix(cursor, 1); }

 private:
  // Precedence climbing: operators that bind at least as tightly as `precedence`, to the left.
  Scalar parse_infix(TextCursor& cursor, int precedence) {
    Scalar left = parse_prefix(cursor);
    while (const ScalarOpRow* operation = peek_infix(cursor)) {
      if (operation->precedence < precedence) break;
      cursor.expect(operation->text);
      Scalar right = parse_infix(cursor, operation->precedence + 1);
      left = scalar::binary(operation->op, left, right);
    }
    return left;
  }

  static const ScalarOpRow* peek_infix(TextCursor& cursor) {
    if (cursor.at_end()) return nullptr;
    for (size_t length : {2, 1})
      if (cursor.rest().size() >= length)
        if (const ScalarOpRow* found = find_scalar_op(cursor.rest().substr(0, length), Notation::infix)) return found;
    return nullptr;
  }

  Scalar parse_prefix(TextCursor& cursor) {
    if (cursor.at_end()) cursor.fail("a scalar");
    const bool is_negative_number = cursor.peek() == '-' && cursor.rest().size() > 1 && is_digit(cursor.rest()[1]);
    if (is_negative_number || is_digit(cursor.peek())) return parse_number(cursor);
    if (const ScalarOpRow* operation = find_scalar_op(cursor.rest().substr(0, 1), Notation::prefix)) {
      cursor.expect(operation->text);
      return scalar::unary(operation->op, parse_prefix(cursor));
    }
    if (cursor.peek() == '(') {
      cursor.expect("(");
      Scalar inside = parse(cursor);
      cursor.expect(")");
      return inside;
    }
    return parse_named(cursor);
  }

  // A float32 when there is a point or an exponent, else an int64.
  static Scalar parse_number(TextCursor& cursor) {
    const std::string_view text = cursor.rest().substr(0, number_length(cursor.rest()));
    if (text.find_first_of(".e") == std::string_view::npos)
      return scalar::integer_constant(DType::int64, cursor.integer());
    const double value = std::strtod(std::string(text).c_str(), nullptr);
    cursor.expect(text);
    return scalar::constant(DType::float32, value);
  }

  static size_t number_length(std::string_view text) {
    size_t length = 1;  // a sign or a digit
    while (length < text.size() && (is_digit(text[length]) || text[length] == '.' || text[length] == 'e' ||
                                    ((text[length] == '-' || text[length] == '+') && text[length - 1] == 'e')))
      ++length;
    return length;
  }

  Scalar parse_named(TextCursor& cursor) {
    const std::string_view word = cursor.name();
    if (word == "true" || word == "false") return scalar::integer_constant(DType::boolean, word == "true" ? 1 : 0);
    if (word == "index") return scalar::index(scope_.index(cursor.bracketed('(', ')')));
    if (auto named = named_.find(word); named != named_.end()) return named->second;
    if (std::optional<size_t> slot = numbered(word, "acc")) {
      if (*slot >= accumulators_.size()) cursor.fail("an accumulator of the nest");
      return scalar::accumulator(accumulators_[*slot], static_cast<int>(*slot));
    }
    if (std::optional<size_t> buffer = numbered(word, "b")) {
      const auto id = static_cast<BufferId>(*buffer);
      return scalar::load(dtype_of_(id), id, scope_.indices(cursor.bracketed('[', ']')));
    }
    if (std::optional<DType> dtype = parse_dtype(word)) return parse_typed(*dtype, cursor);
    if (word.starts_with(reinterpret_prefix))
      if (std::optional<DType> dtype = parse_dtype(word.substr(reinterpret_prefix.size())))
        return parse_reinterpret(*dtype, cursor);
    if (const ScalarOpRow* operation = find_scalar_op(word, Notation::function)) return parse_call(*operation, cursor);
    if (const StringFunctionRow* called = find_string_function(word))
      return scalar::call(called->function, parse_operands(cursor));
    cursor.fail("a scalar");
  }

  // "float16(0.5)" is a constant, "float16(b0[i])" a cast.
  Scalar parse_typed(DType dtype, TextCursor& cursor) {
    TextCursor inside(cursor.bracketed('(', ')'), cursor.line_number());
    const std::string text(inside.rest());
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const bool is_literal = end == text.c_str() + text.size();
    if (is_literal && is_floating(dtype)) return scalar::constant(dtype, number);
    if (is_literal && dtype == DType::uint64)
      return scalar::integer_constant(dtype, static_cast<int64_t>(std::strtoull(text.c_str(), nullptr, 10)));
    return scalar::cast(dtype, parse(inside));
  }

  Scalar parse_reinterpret(DType dtype, TextCursor& cursor) {
    TextCursor inside(cursor.bracketed('(', ')'), cursor.line_number());
    return scalar::reinterpret(dtype, parse(inside));
  }

  std::vector<Scalar> parse_operands(TextCursor& cursor) {
    std::vector<Scalar> operands;
    cursor.expect("(");
    do operands.push_back(parse(cursor));
    while (cursor.take(","));
    cursor.expect(")");
    return operands;
  }

  Scalar parse_call(const ScalarOpRow& operation, TextCursor& cursor) {
    const std::vector<Scalar> operands = parse_operands(cursor);
    if (operands.size() != static_cast<size_t>(operation.operands)) cursor.fail("another number of operands");
    switch (operands.size()) {
      case 1:
        return scalar::unary(operation.op, operands[0]);
      case 2:
        return scalar::binary(operation.op, operands[0], operands[1]);
      default:
        return scalar::select(operands[0], operands[1], operands[2]);
    }
  }

  Scope& scope_;
  const std::function<DType(BufferId)>& dtype_of_;
  std::vector<DType> accumulators_;
  std::map<std::string, Scalar, std::less<>> named_;
};

class NestParser {
 public:
  NestParser(const std::function<DType(BufferId)>& dtype_of, DimNames& dims)
      : scope_(dims), scalars_(scope_, dtype_of) {}

  // "nest softmax_sum  axes i<N  reduce k<D"
  void parse_header(TextCursor cursor) {
    cursor.expect("nest");
    nest_.name = cursor.word();
    while (!cursor.at_end()) {
      const AxisKind kind = parse_axis_kind(cursor);
      do {
        std::string name(cursor.name());
        cursor.expect("<");
        // The extent ends at a comma, or at the two spaces before the next kind.
        TextCursor group(cursor.rest(), cursor.line_number());
        std::string_view extent = group.until(",");
        extent = extent.substr(0, extent.find("  "));
        cursor.expect(extent);
        Expr bound = scope_.index(extent);
        Symbol symbol = Symbol::axis(name, bound);
        nest_.axes.push_back({symbol, bound, kind});
        scope_.bind(symbol);
      } while (cursor.take(","));
    }
  }

  void parse_line(TextCursor cursor) {
    const size_t equals = cursor.rest().find(" = ");
    TextCursor lookahead = cursor;
    const std::string_view word = lookahead.name();
    if (word == "let")
      parse_let(cursor);
    else if (numbered(word, "acc"))
      parse_accumulator(cursor);
    else if (numbered(word, "t") && equals != std::string_view::npos)
      parse_name(cursor);
    else
      parse_store(cursor);
  }

  LoopNest take() { return std::move(nest_); }

 private:
  static AxisKind parse_axis_kind(TextCursor& cursor) {
    for (AxisKind kind : {AxisKind::parallel, AxisKind::ordered, AxisKind::reduce})
      if (cursor.take(name(kind))) return kind;
    cursor.fail("'axes', 'ordered' or 'reduce'");
  }

  // "let j0 = b1[i]"
  void parse_let(TextCursor& cursor) {
    cursor.expect("let");
    Symbol symbol = Symbol::index(std::string(cursor.name()));
    cursor.expect("=");
    Scalar value = scalars_.parse(cursor);
    finish(cursor);
    nest_.lets.push_back({symbol, value});
    scope_.bind(symbol);
  }

  // "t0 = exp(b1[i])"
  void parse_name(TextCursor& cursor) {
    const std::string_view name = cursor.name();
    cursor.expect("=");
    scalars_.name(name, scalars_.parse(cursor));
    finish(cursor);
  }

  // "acc0: int64 = argument_maximum b1[i, k] at k"
  void parse_accumulator(TextCursor& cursor) {
    cursor.name();
    cursor.expect(":");
    std::optional<DType> dtype = parse_dtype(cursor.name());
    if (!dtype) cursor.fail("a dtype");
    cursor.expect("=");
    std::optional<ReduceKind> kind = parse_reduce_kind(cursor.name());
    if (!kind) cursor.fail("a reduction");
    Accumulator accumulator{*kind, *dtype, scalars_.parse(cursor), 0};
    if (cursor.take("at")) accumulator.position = scope_.index(cursor.until("\n"));
    finish(cursor);
    nest_.accumulators.push_back(std::move(accumulator));
    scalars_.add_accumulator(*dtype);
  }

  // "b2[i, j] += acc0 if j < index(3)"
  void parse_store(TextCursor& cursor) {
    Store store;
    store.buffer = cursor.buffer_id();
    store.indices = scope_.indices(cursor.bracketed('[', ']'));
    store.kind = parse_store_kind(cursor);
    store.value = scalars_.parse(cursor);
    if (cursor.take("if")) store.condition = scalars_.parse(cursor);
    finish(cursor);
    nest_.stores.push_back(std::move(store));
  }

  static StoreKind parse_store_kind(TextCursor& cursor) {
    for (StoreKind kind :
         {StoreKind::assign, StoreKind::add, StoreKind::multiply, StoreKind::minimum, StoreKind::maximum})
      if (cursor.take(spelling(kind))) return kind;
    cursor.fail("'=' or another store");
  }

  static void finish(TextCursor& cursor) {
    if (!cursor.at_end()) cursor.fail("the end of the line");
  }

  Scope scope_;
  ScalarParser scalars_;
  LoopNest nest_;
};

}  // namespace

Expr parse_index(std::string_view text, DimNames& dims) { return Scope(dims).index(text); }

Shape parse_shape(std::string_view text, DimNames& dims) { return Scope(dims).indices(text); }

LoopNest parse_nest(std::string_view text, const std::function<DType(BufferId)>& dtype_of, DimNames& dims,
                    size_t first_line) {
  NestParser parser(dtype_of, dims);
  for (size_t line_number = first_line; !text.empty(); ++line_number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    TextCursor cursor(line, line_number);
    if (line_number == first_line)
      parser.parse_header(cursor);
    else if (!cursor.at_end())
      parser.parse_line(cursor);
  }
  return parser.take();
}

Scalar parse_epilogue(TextCursor& cursor, const std::vector<Axis>& axes, const std::function<DType(BufferId)>& dtype_of,
                      DimNames& dims) {
  Scope scope(dims);
  for (const Axis& axis : axes) scope.bind(axis.symbol);
  ScalarParser parser(scope, dtype_of);
  parser.add_accumulator(DType::float32);
  return parser.parse(cursor);
}

}  // namespace onnxc
