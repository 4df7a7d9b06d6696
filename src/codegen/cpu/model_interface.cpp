#include "codegen/cpu/model_interface.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "support/text.h"

namespace onnxc {
namespace {

constexpr const char* checked = "CheckedSize";

std::string checked_text(const Expr& expr, const SymbolNames& names) {
  return fmt::format("CheckedSize({})", print_expr(expr, names, checked));
}

void declare_checked(TextWriter& writer, const EmitContext& context, const std::set<Symbol>& used) {
  for (size_t i = 0; i < context.symbols.size(); ++i)
    if (used.contains(context.symbols[i]))
      writer.line(fmt::format("const CheckedSize {} = symbols[{}];", context.names.symbols.at(context.symbols[i]), i));
}

std::string dim_of(const EmitContext& context, int input, int axis) {
  const Buffer& buffer = context.program.buffer(context.program.inputs[static_cast<size_t>(input)]);
  return fmt::format("dim {} of input {}", axis, quote(buffer.name));
}

// The rules for the sizes of that dim: ": D = 16*n (node 'cat' (Concat): ...)".
std::string because(const EmitContext& context, int input, int axis) {
  std::string text;
  const SizeRule::Place place{static_cast<size_t>(input), static_cast<size_t>(axis)};
  for (const SizeRule& rule : context.program.size_rules)
    if (std::ranges::find(rule.places, place) != rule.places.end()) text += ": " + printable_message(rule.describe());
  return text;
}

void print_rule(TextWriter& writer, const std::string& fails, const std::string& text) {
  writer.line(fmt::format("if ({}) return {};", fails, c_string_literal(text)));
}

// The symbols, each from the dim that shows it, and whether it is in its range.
void print_bindings(TextWriter& writer, const EmitContext& context) {
  for (size_t i = 0; i < context.dims.bindings.size(); ++i) {
    const Binding& binding = context.dims.bindings[i];
    const std::string& name = context.names.symbols.at(binding.symbol);
    const std::string observed = fmt::format("CheckedSize(input_dims[{}][{}])", binding.input, binding.axis);
    SymbolNames names = context.names.symbols;
    names[context.dims.observed] = observed;
    writer.line(fmt::format("const CheckedSize {} = {};", name, print_expr(binding.value, names, checked)));
    const std::string where = dim_of(context, binding.input, binding.axis);
    print_rule(writer, name + ".overflow", where + " is out of range");
    const Bounds& bounds = binding.symbol.info().bounds;
    if (bounds.minimum != Bounds::minus_infinity)
      print_rule(writer, fmt::format("{}.value < {}", name, print_integer(bounds.minimum)),
                 fmt::format("{}: {} must be at least {}{}", where, printable(binding.symbol.name()), bounds.minimum,
                             because(context, binding.input, binding.axis)));
    if (bounds.maximum != Bounds::infinity)
      print_rule(writer, fmt::format("{}.value > {}", name, print_integer(bounds.maximum)),
                 fmt::format("{}: {} must be at most {}{}", where, printable(binding.symbol.name()), bounds.maximum,
                             because(context, binding.input, binding.axis)));
    writer.line(fmt::format("symbols[{}] = {}.value;", i, name));
  }
}

void print_checks(TextWriter& writer, const EmitContext& context) {
  for (const DimCheck& check : context.dims.checks) {
    const std::string expected = checked_text(check.expected, context.names.symbols);
    print_rule(
        writer,
        fmt::format("{0}.overflow || {0} != CheckedSize(input_dims[{1}][{2}])", expected, check.input, check.axis),
        fmt::format("{} must be {}{}", dim_of(context, check.input, check.axis), printable(check.expected.to_string()),
                    because(context, check.input, check.axis)));
  }
}

void print_guards(TextWriter& writer, const EmitContext& context) {
  for (const Guard& guard : context.program.guards) {
    const bool is_equal = guard.kind == Guard::Kind::equal;
    const Expr difference = guard.left - guard.right;
    const std::string value = checked_text(difference, context.names.symbols);
    print_rule(writer, fmt::format("{0}.overflow || {0}.value {1} 0", value, is_equal ? "!=" : "<"),
               fmt::format("{} ({} must be {} {})", printable(guard.reason), printable(guard.left.to_string()),
                           is_equal ? "equal to" : "at least", printable(guard.right.to_string())));
  }
}

}  // namespace

void print_bind(TextWriter& writer, const EmitContext& context) {
  auto function = writer.scope("static const char* bind(const int64_t* const* input_dims, int64_t* symbols)");
  print_bindings(writer, context);
  print_checks(writer, context);
  print_guards(writer, context);
  writer.line("return nullptr;");
}

void print_output_dims(TextWriter& writer, const EmitContext& context) {
  auto function = writer.scope("static void output_dims(const int64_t* symbols, int64_t* dims)");
  std::set<Symbol> used;
  for (BufferId id : context.program.outputs)
    for (const Expr& dim : context.program.buffer(id).shape) used.merge(dim.symbols());
  declare_checked(writer, context, used);
  size_t first = 0;
  for (BufferId id : context.program.outputs) {
    const Shape& shape = context.program.buffer(id).shape;
    for (const Expr& dim : shape)
      writer.line(fmt::format("dims[{}] = {}.value;", first++, checked_text(dim, context.names.symbols)));
  }
}

void print_sizes(TextWriter& writer, const EmitContext& context, const std::set<std::string>& scratch) {
  auto function =
      writer.scope("static int32_t sizes(const int64_t* symbols, int64_t* buffer_bytes, int64_t* scratch_bytes)");
  {
    auto block = writer.scope("");
    std::vector<Expr> bytes;
    std::set<Symbol> used;
    for (BufferId id : context.storages) {
      const Buffer& buffer = context.program.buffer(id);
      bytes.push_back(buffer.layout.element_count(buffer.shape) * info(buffer.dtype).size);
      used.merge(bytes.back().symbols());
    }
    declare_checked(writer, context, used);
    for (size_t i = 0; i < bytes.size(); ++i) {
      const std::string text = checked_text(bytes[i], context.names.symbols);
      if (!bytes[i].constant()) writer.line(fmt::format("if ({0}.overflow || {0}.value < 0) return 1;", text));
      writer.line(fmt::format("buffer_bytes[{}] = {}.value;", i, text));
    }
  }
  writer.line("*scratch_bytes = 0;");
  if (!scratch.empty())
    declare_dims(writer, {context.symbols.begin(), context.symbols.end()}, context.names, "symbols");
  for (const std::string& bytes : scratch)
    writer.line(fmt::format("*scratch_bytes = maximum<int64_t>(*scratch_bytes, {});", bytes));
  writer.line("return 0;");
}

std::string tensor_description(TextWriter& writer, const Buffer& buffer, const std::string& name) {
  std::string dims = "nullptr";
  if (!buffer.shape.empty()) {
    std::vector<std::string> texts;
    for (const Expr& dim : buffer.shape) texts.push_back(c_string_literal(dim.to_string()));
    dims = name;
    writer.line(fmt::format("static const char* const {}[] = {{{}}};", name, fmt::join(texts, ", ")));
  }
  return fmt::format("{{{}, {}, {}, {}, ONNXC_TENSOR}}", c_string_literal(buffer.name), static_cast<int>(buffer.dtype),
                     buffer.shape.size(), dims);
}

}  // namespace onnxc
