#include "codegen/host/model_interface.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/text/scalar_dialect.h"
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

int level_of(const EmitContext& context, const Guard& guard) {
  return context.level(Shape{guard.left, guard.right, guard.condition});
}

// The guards that can be checked at a level, and not before.
void print_guards(TextWriter& writer, const EmitContext& context, int level) {
  for (const Guard& guard : context.program.guards) {
    if (level_of(context, guard) != level) continue;
    const bool is_equal = guard.kind == Guard::Kind::equal;
    const Expr difference = guard.left - guard.right;
    const std::string value = checked_text(difference, context.names.symbols);
    std::string fails = fmt::format("{0}.overflow || {0}.value {1} 0", value, is_equal ? "!=" : "<");
    if (!guard.condition.is_constant(1))
      fails = fmt::format("{}.value != 0 && ({})", checked_text(guard.condition, context.names.symbols), fails);
    print_rule(writer, fails,
               fmt::format("{} ({} must be {} {})", printable(guard.reason), printable(guard.left.to_string()),
                           is_equal ? "equal to" : "at least", printable(guard.right.to_string())));
  }
}

// Every index of a box of constant extents, in row-major order.
std::vector<std::vector<int64_t>> indices_of(const Shape& shape) {
  std::vector<std::vector<int64_t>> indices{{}};
  for (const Expr& extent : shape) {
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t>& index : indices)
      for (int64_t i = 0; i < *extent.constant(); ++i) {
        longer.push_back(index);
        longer.back().push_back(i);
      }
    indices = std::move(longer);
  }
  return indices;
}

}  // namespace

void print_bind(TextWriter& writer, const EmitContext& context) {
  auto function = writer.scope("static const char* bind(const int64_t* const* input_dims, int64_t* symbols)");
  print_bindings(writer, context);
  print_checks(writer, context);
  print_guards(writer, context, 0);
  writer.line("return nullptr;");
}

void print_run_time_binding(TextWriter& writer, const EmitContext& context, size_t step_index,
                            const std::string& function_name) {
  const Program& program = context.program;
  const Step& step = program.steps[step_index];
  const SymbolBinding none;  // of a loop, whose round the runtime counts
  const auto* given = std::get_if<SymbolBinding>(&step.work);
  const SymbolBinding& binding = given != nullptr ? *given : none;
  const int level = context.level_of_step(step_index);
  auto function =
      writer.scope(fmt::format("static const char* {}(const Frame& frame, int64_t* symbols)", function_name));
  std::set<Symbol> used, bound(binding.symbols.begin(), binding.symbols.end());
  std::vector<Expr> offsets;
  if (given != nullptr)
    for (const std::vector<int64_t>& index : indices_of(program.buffer(binding.buffer).shape)) {
      offsets.push_back(program.offset(binding.buffer, {index.begin(), index.end()}));
      used.merge(offsets.back().symbols());
    }
  for (const Guard& guard : program.guards)
    if (level_of(context, guard) == level) {
      used.merge((guard.left - guard.right).symbols());
      used.merge(guard.condition.symbols());
    }
  used.merge(step.condition.symbols());
  std::erase_if(used, [&](const Symbol& symbol) { return bound.contains(symbol); });
  declare_checked(writer, context, used);
  if (given != nullptr && !step.condition.is_constant(1)) {
    auto skipped = writer.scope(fmt::format("if ({}.value == 0)", checked_text(step.condition, context.names.symbols)));
    for (const Symbol& symbol : binding.symbols)
      writer.line(fmt::format("symbols[{}] = 0;", context.names.places.at(symbol)));
    writer.line("return nullptr;");
  }
  if (given != nullptr) {
    const std::string type = ScalarDialect().storage_type(program.buffer(binding.buffer).dtype);
    writer.line(fmt::format("const {0}* const elements = static_cast<const {0}*>(frame.buffers[{1}]);", type,
                            context.place(binding.buffer)));
  }
  for (size_t i = 0; i < binding.symbols.size(); ++i) {
    const Symbol& symbol = binding.symbols[i];
    const std::string& name = context.names.symbols.at(symbol);
    writer.line(fmt::format("const CheckedSize {} = static_cast<int64_t>(elements[{}.value]);", name,
                            checked_text(offsets[i], context.names.symbols)));
    if (const int64_t minimum = symbol.info().bounds.minimum; minimum != Bounds::minus_infinity)
      print_rule(writer, fmt::format("{}.value < {}", name, print_integer(minimum)),
                 fmt::format("node {} ({}): {} must be at least {}", quote(step.origins.front().name),
                             printable(step.origins.front().type), printable(symbol.name()), minimum));
    writer.line(fmt::format("symbols[{}] = {}.value;", context.names.places.at(symbol), name));
  }
  print_guards(writer, context, level);
  writer.line("return nullptr;");
}

void print_step_condition(TextWriter& writer, const EmitContext& context, const Step& step,
                          const std::string& function_name) {
  auto function = writer.scope(fmt::format("static bool {}(const Frame& frame)", function_name));
  const auto* loop = std::get_if<LoopBegin>(&step.work);
  std::set<Symbol> used = step.condition.symbols();
  if (loop != nullptr) {
    used.merge(loop->count.symbols());
    used.insert(loop->round);
  }
  declare_dims(writer, used, context.names);
  std::string text = step.condition.is_constant(1)
                         ? "true"
                         : fmt::format("({}) != 0", print_expr(step.condition, context.names.symbols));
  if (loop != nullptr)
    text += fmt::format(" && {} < {}", context.names.symbols.at(loop->round),
                        print_expr(loop->count, context.names.symbols));
  if (loop != nullptr && loop->condition >= 0) {
    const Expr offset = context.program.offset(loop->condition, {});
    text += fmt::format(" && static_cast<const bool*>(frame.buffers[{}])[{}]", context.place(loop->condition),
                        print_expr(offset, context.names.symbols));
  }
  writer.line(fmt::format("return {};", text));
}

void print_output_dims(TextWriter& writer, const EmitContext& context) {
  auto function = writer.scope("static void output_dims(int32_t level, const int64_t* symbols, int64_t* dims)");
  for (int level = 0; level < context.level_count(); ++level) {
    std::vector<std::pair<size_t, Expr>> dims;
    std::set<Symbol> used;
    size_t place = 0;
    for (BufferId id : context.program.outputs)
      for (const Expr& dim : context.program.buffer(id).element_shape()) {
        if (context.level(dim) == level) {
          dims.emplace_back(place, dim);
          used.merge(dim.symbols());
        }
        ++place;
      }
    if (dims.empty()) continue;
    auto block = writer.scope(fmt::format("if (level == {})", level));
    declare_checked(writer, context, used);
    for (const auto& [at, dim] : dims)
      writer.line(fmt::format("dims[{}] = {}.value;", at, checked_text(dim, context.names.symbols)));
  }
}

std::vector<std::string> output_dim_levels(const EmitContext& context) {
  std::vector<std::string> levels;
  for (BufferId id : context.program.outputs)
    for (const Expr& dim : context.program.buffer(id).element_shape())
      levels.push_back(std::to_string(context.level(dim)));
  return levels;
}

void print_state_dims(TextWriter& writer, const EmitContext& context) {
  auto function = writer.scope("static void state_dims(const int64_t* symbols, int64_t* dims)");
  Shape all;
  for (const State& state : context.program.states) {
    const Shape& shape = context.program.buffer(state.buffer).element_shape();
    all.insert(all.end(), shape.begin(), shape.end());
  }
  std::set<Symbol> used;
  for (const Expr& dim : all) used.merge(dim.symbols());
  declare_checked(writer, context, used);
  for (size_t i = 0; i < all.size(); ++i)
    writer.line(fmt::format("dims[{}] = {}.value;", i, checked_text(all[i], context.names.symbols)));
}

namespace {

// Buffers of one size.
struct SizedBuffers {
  Expr bytes;
  std::vector<size_t> places;
};

// In order of their first buffers.
std::vector<SizedBuffers> sizes_of_level(const EmitContext& context, int level) {
  std::vector<SizedBuffers> sizes;
  std::map<Expr, size_t> found;
  for (size_t place = 0; place < context.storages.size(); ++place) {
    const Buffer& buffer = context.program.buffer(context.storages[place]);
    const Expr bytes = buffer.layout.element_count(buffer.shape) * element_size(buffer.dtype);
    if (context.level(bytes) != level) continue;
    const auto [entry, is_new] = found.emplace(bytes, sizes.size());
    if (is_new) sizes.push_back({bytes, {}});
    sizes[entry->second].places.push_back(place);
  }
  return sizes;
}

// Each size has a function of its own: clang's time for one of thousands of checked products grows with their square.
void print_bytes_function(TextWriter& writer, const EmitContext& context, const Expr& bytes, const std::string& name) {
  auto function = writer.scope(fmt::format("[[gnu::noinline]] static int64_t {}(const int64_t* symbols)", name));
  declare_checked(writer, context, bytes.symbols());
  writer.line(fmt::format("const CheckedSize bytes = {};", print_expr(bytes, context.names.symbols, checked)));
  writer.line("return bytes.overflow ? -1 : bytes.value;");
}

// The lines that set the buffers' sizes.
std::vector<std::string> print_bytes(TextWriter& writer, const EmitContext& context, int level) {
  std::vector<std::string> lines;
  int functions = 0;
  for (const SizedBuffers& size : sizes_of_level(context, level)) {
    std::string bytes;
    if (const std::optional<int64_t> constant = size.bytes.constant()) {
      bytes = print_integer(*constant);
    } else {
      const std::string name = fmt::format("bytes{}_{}", level, functions++);
      print_bytes_function(writer, context, size.bytes, name);
      lines.push_back(fmt::format("if ((bytes = {}(symbols)) < 0) return 1;", name));
      bytes = "bytes";
    }
    for (const size_t place : size.places) lines.push_back(fmt::format("buffer_bytes[{}] = {};", place, bytes));
  }
  return lines;
}

void print_scratch(TextWriter& writer, const EmitContext& context, const std::set<std::string>& scratch) {
  if (scratch.empty()) return;
  declare_dims(writer, {context.symbols.begin(), context.symbols.end()}, context.names, "symbols");
  for (const std::string& bytes : scratch)
    writer.line(fmt::format("*scratch_bytes = maximum<int64_t>(*scratch_bytes, {});", bytes));
}

}  // namespace

void print_sizes(TextWriter& writer, const EmitContext& context, const ScratchOfLevels& scratch) {
  std::vector<std::vector<std::string>> bytes;
  for (int level = 0; level < context.level_count(); ++level) bytes.push_back(print_bytes(writer, context, level));
  auto function = writer.scope(
      "static int32_t sizes(int32_t level, const int64_t* symbols, int64_t* buffer_bytes, int64_t* scratch_bytes)");
  writer.line("*scratch_bytes = 0;");
  writer.line("int64_t bytes;");
  for (int level = 0; level < context.level_count(); ++level) {
    auto block = writer.scope(fmt::format("if (level == {})", level));
    for (const std::string& line : bytes[static_cast<size_t>(level)]) writer.line(line);
    const auto found = scratch.find(level);
    if (found != scratch.end()) print_scratch(writer, context, found->second);
  }
  writer.line("return 0;");
}

std::string tensor_description(TextWriter& writer, const Buffer& buffer, const std::string& name) {
  const Shape& shape = buffer.element_shape();
  std::string dims = "nullptr";
  if (!shape.empty()) {
    std::vector<std::string> texts;
    for (const Expr& dim : shape) texts.push_back(c_string_literal(dim.to_string()));
    dims = name;
    writer.line(fmt::format("static const char* const {}[] = {{{}}};", name, fmt::join(texts, ", ")));
  }
  return fmt::format("{{{}, {}, {}, {}, ONNXC_TENSOR}}", c_string_literal(buffer.name),
                     static_cast<int>(buffer.element_dtype()), shape.size(), dims);
}

}  // namespace onnxc
