#include "ir/expr/parser.h"

#include <array>
#include <charconv>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

constexpr size_t max_length = 2000;
constexpr int max_nesting = 60;
constexpr int64_t max_exponent = 16;

enum class Syntax { number, name, negate, add, subtract, multiply, divide, floor_div, mod, power, call };

struct SyntaxNode {
  Syntax syntax;
  std::string_view text;  // of a number, a name, or a function
  std::vector<SyntaxNode> operands;
};

enum class Function { minimum, maximum, modulo, floor_div, ceil_div, true_div, modular_indexing, floor, ceiling };

struct FunctionRow {
  std::string_view name;
  Function function;
  size_t operands;  // 0: one or more
};

constexpr std::array functions = {
    FunctionRow{"min", Function::minimum, 0},
    FunctionRow{"Min", Function::minimum, 0},
    FunctionRow{"max", Function::maximum, 0},
    FunctionRow{"Max", Function::maximum, 0},
    FunctionRow{"Mod", Function::modulo, 2},
    FunctionRow{"PythonMod", Function::modulo, 2},
    FunctionRow{"FloorDiv", Function::floor_div, 2},
    FunctionRow{"CeilDiv", Function::ceil_div, 2},
    FunctionRow{"CleanDiv", Function::true_div, 2},
    FunctionRow{"IntTrueDiv", Function::true_div, 2},
    FunctionRow{"ModularIndexing", Function::modular_indexing, 3},
    FunctionRow{"floor", Function::floor, 1},
    FunctionRow{"FloorToInt", Function::floor, 1},
    FunctionRow{"ceil", Function::ceiling, 1},
    FunctionRow{"ceiling", Function::ceiling, 1},
    FunctionRow{"CeilToInt", Function::ceiling, 1},
};

const FunctionRow* find_function(std::string_view name) {
  for (const FunctionRow& row : functions)
    if (row.name == name) return &row;
  return nullptr;
}

struct NestsTooDeep {};

// Text to syntax tree, by recursive descent with Python's precedence; nothing if the text is not an expression.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<SyntaxNode> parse() {
    auto node = sum(0);
    return at_end() ? std::move(node) : std::nullopt;
  }

 private:
  using Result = std::optional<SyntaxNode>;

  Result sum(int depth) {
    Result left = product(depth);
    while (left) {
      if (accept("+"))
        left = binary(Syntax::add, std::move(left), product(depth));
      else if (accept("-"))
        left = binary(Syntax::subtract, std::move(left), product(depth));
      else
        break;
    }
    return left;
  }

  Result product(int depth) {
    Result left = signed_factor(depth);
    while (left) {
      if (accept("//"))
        left = binary(Syntax::floor_div, std::move(left), signed_factor(depth));
      else if (accept("/"))
        left = binary(Syntax::divide, std::move(left), signed_factor(depth));
      else if (accept("%"))
        left = binary(Syntax::mod, std::move(left), signed_factor(depth));
      else if (!peek("**") && accept("*"))
        left = binary(Syntax::multiply, std::move(left), signed_factor(depth));
      else
        break;
    }
    return left;
  }

  Result signed_factor(int depth) {
    if (depth > max_nesting) throw NestsTooDeep();
    if (accept("+")) return signed_factor(depth + 1);
    if (!accept("-")) return power(depth);
    Result operand = signed_factor(depth + 1);
    if (!operand) return std::nullopt;
    SyntaxNode node{Syntax::negate, {}, {}};
    node.operands.push_back(std::move(*operand));
    return node;
  }

  Result power(int depth) {
    Result base = primary(depth);
    if (!base || !accept("**")) return base;
    return binary(Syntax::power, std::move(base), primary(depth));
  }

  Result primary(int depth) {
    if (accept("(")) {
      Result inner = sum(depth + 1);
      return accept(")") ? std::move(inner) : std::nullopt;
    }
    std::string_view word = accept_word();
    if (word.empty()) return std::nullopt;
    if (is_digit(word[0])) return all_digits(word) ? Result(SyntaxNode{Syntax::number, word, {}}) : std::nullopt;
    if (!accept("(")) return SyntaxNode{Syntax::name, word, {}};
    return call(word, depth);
  }

  Result call(std::string_view name, int depth) {
    const FunctionRow* row = find_function(name);
    if (!row) return std::nullopt;
    SyntaxNode node{Syntax::call, name, {}};
    do {
      Result operand = sum(depth + 1);
      if (!operand) return std::nullopt;
      node.operands.push_back(std::move(*operand));
    } while (accept(","));
    bool complete = accept(")") && (row->operands == 0 || row->operands == node.operands.size());
    return complete ? Result(std::move(node)) : std::nullopt;
  }

  static Result binary(Syntax syntax, Result left, Result right) {
    if (!left || !right) return std::nullopt;
    SyntaxNode node{syntax, {}, {}};
    node.operands.push_back(std::move(*left));
    node.operands.push_back(std::move(*right));
    return node;
  }

  bool peek(std::string_view token) {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
    return text_.substr(position_).starts_with(token);
  }

  bool accept(std::string_view token) {
    bool found = peek(token);
    if (found) position_ += token.size();
    return found;
  }

  std::string_view accept_word() {
    peek("");
    size_t begin = position_;
    while (position_ < text_.size() && is_word(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  bool at_end() { return peek("") && position_ == text_.size(); }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_word(char c) { return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  static bool all_digits(std::string_view word) { return word.find_first_not_of("0123456789") == word.npos; }

  std::string_view text_;
  size_t position_ = 0;
};

// A value that may not be an integer yet: sympy writes floor(D/2 + 1/2).
struct Fraction {
  Expr numerator;
  Expr denominator = 1;
};

// Syntax tree to expression.
class Builder {
 public:
  Builder(std::string_view text, const SymbolResolver& resolve) : text_(text), resolve_(resolve) {}

  Expr integer(const SyntaxNode& node) { return integer(fraction(node)); }

 private:
  Expr integer(const Fraction& value) {
    auto quotient = exact_quotient(value.numerator, value.denominator);
    user_check(quotient.has_value(),
               "the dim `{}`: {} divided by {} is not always an integer; write // if rounding down is meant", text_,
               value.numerator.to_string(), value.denominator.to_string());
    return *quotient;
  }

  Fraction fraction(const SyntaxNode& node) {
    const auto& operands = node.operands;
    switch (node.syntax) {
      case Syntax::number:
        return {number(node.text)};
      case Syntax::name:
        return {resolve_(node.text)};
      case Syntax::negate:
        return multiply(fraction(operands[0]), {-1});
      case Syntax::add:
        return add(fraction(operands[0]), fraction(operands[1]));
      case Syntax::subtract:
        return add(fraction(operands[0]), multiply(fraction(operands[1]), {-1}));
      case Syntax::multiply:
        return multiply(fraction(operands[0]), fraction(operands[1]));
      case Syntax::divide:
        return divide(fraction(operands[0]), fraction(operands[1]));
      case Syntax::floor_div:
        return {floor(divide(fraction(operands[0]), fraction(operands[1])))};
      case Syntax::mod:
        return {mod(integer(operands[0]), integer(operands[1]))};
      case Syntax::power:
        return {power(integer(operands[0]), integer(operands[1]))};
      case Syntax::call:
        return call(node);
    }
    return {};
  }

  Fraction call(const SyntaxNode& node) {
    const auto& operands = node.operands;
    switch (find_function(node.text)->function) {
      case Function::minimum:
        return {fold(operands, min)};
      case Function::maximum:
        return {fold(operands, max)};
      case Function::modulo:
        return {mod(integer(operands[0]), integer(operands[1]))};
      case Function::floor_div:
        return {floor_div(integer(operands[0]), integer(operands[1]))};
      case Function::ceil_div:
        return {ceil_div(integer(operands[0]), integer(operands[1]))};
      case Function::true_div:
        return divide(fraction(operands[0]), fraction(operands[1]));
      case Function::modular_indexing:
        return {mod(floor_div(integer(operands[0]), integer(operands[1])), integer(operands[2]))};
      case Function::floor:
        return {floor(fraction(operands[0]))};
      case Function::ceiling: {
        Fraction value = fraction(operands[0]);
        return {ceil_div(value.numerator, value.denominator)};
      }
    }
    return {};
  }

  Expr fold(const std::vector<SyntaxNode>& operands, Expr (*combine)(const Expr&, const Expr&)) {
    Expr result = integer(operands[0]);
    for (size_t i = 1; i < operands.size(); ++i) result = combine(result, integer(operands[i]));
    return result;
  }

  static Fraction add(const Fraction& a, const Fraction& b) {
    if (a.denominator == b.denominator) return {a.numerator + b.numerator, a.denominator};
    return {a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator};
  }

  static Fraction multiply(const Fraction& a, const Fraction& b) {
    return {a.numerator * b.numerator, a.denominator * b.denominator};
  }

  Fraction divide(const Fraction& a, const Fraction& b) {
    user_check(!b.numerator.is_constant(0), "the dim `{}` divides by zero", text_);
    return {a.numerator * b.denominator, a.denominator * b.numerator};
  }

  static Expr floor(const Fraction& value) { return floor_div(value.numerator, value.denominator); }

  Expr power(const Expr& base, const Expr& exponent) {
    int64_t times = exponent.constant().value_or(-1);
    user_check(times >= 0 && times <= max_exponent, "the dim `{}`: the exponent {} is not a number from 0 to {}", text_,
               exponent.to_string(), max_exponent);
    return product(Shape(static_cast<size_t>(times), base));
  }

  Expr number(std::string_view digits) {
    int64_t value = 0;
    auto result = std::from_chars(digits.begin(), digits.end(), value);
    user_check(result.ec == std::errc(), "the dim `{}`: {} does not fit in 64 bits", text_, digits);
    return value;
  }

  std::string_view text_;
  const SymbolResolver& resolve_;
};

}  // namespace

Expr parse_expr(std::string_view text, const SymbolResolver& resolve) {
  user_check(text.size() <= max_length, "a dim's name has {} characters, more than the {} that are supported: `{}...`",
             text.size(), max_length, text.substr(0, 80));
  std::optional<SyntaxNode> tree;
  try {
    tree = Parser(text).parse();
  } catch (const NestsTooDeep&) {
    user_error("the dim `{}...` nests more than {} deep", text.substr(0, 80), max_nesting);
  }
  if (!tree) return resolve(text);
  return Builder(text, resolve).integer(*tree);
}

}  // namespace onnxc
