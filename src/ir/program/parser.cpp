#include "ir/program/parser.h"

#include <utility>

#include "ir/loops/parser.h"
#include "ir/loops/scalar_arithmetic.h"
#include "ir/program/text.h"
#include "ir/program/text_kernel.h"
#include "ir/random_symbols.h"
#include "ir/text/cursor.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

class ProgramParser {
 public:
  explicit ProgramParser(std::string_view text) {
    for (size_t start = 0; start < text.size();) {
      const size_t end = std::min(text.find('\n', start), text.size());
      lines_.push_back(text.substr(start, end - start));
      start = end + 1;
    }
  }

  Program parse() {
    for (size_t line = 0; line < lines_.size();) line = parse_from(line);
    check_parents();
    return std::move(program_);
  }

 private:
  // Parses what starts at a line; returns the line after it.
  size_t parse_from(size_t line) {
    TextCursor cursor(lines_[line], line + 1);
    if (cursor.at_end() || lines_[line].starts_with("# after ")) return line + 1;  // --dump-ir's own line
    if (cursor.peek() == '#')
      parse_origin(cursor);
    else if (lines_[line].starts_with("nest "))
      return parse_nest_from(line);
    else if (lines_[line].starts_with("kernel "))
      return parse_kernel_from(line);
    else if (cursor.take("dim"))
      parse_dim(cursor);
    else if (cursor.take("draws"))
      parse_draws();
    else if (cursor.take("inputs"))
      program_.inputs = parse_ids(cursor);
    else if (cursor.take("outputs"))
      program_.outputs = parse_ids(cursor);
    else if (cursor.take("state"))
      parse_state(cursor);
    else if (cursor.take("guard"))
      parse_guard(cursor);
    else if (cursor.take("bind"))
      parse_binding(cursor);
    else if (cursor.take("loop"))
      parse_loop(cursor);
    else if (cursor.take("end loop"))
      add_step(LoopEnd{});
    else if (cursor.take("when"))
      condition_ = parse_index(cursor.until("\n"), dims_);
    else
      parse_buffer(cursor);
    expect_end(cursor);
    return line + 1;
  }

  // The nest's header and the indented lines after it.
  size_t parse_nest_from(size_t line) {
    size_t end = line + 1;
    while (end < lines_.size() && lines_[end].starts_with("  ")) ++end;
    std::string text;
    for (size_t i = line; i < end; ++i) text.append(lines_[i]).append("\n");
    add_step(parse_nest(text, dtypes_at(line + 1), dims_, line + 1));
    return end;
  }

  // kernel conv 3x3x3 8->8  b4 = b1, b2, b3 workspace b5 without views, and its epilogues in the lines after it
  size_t parse_kernel_from(size_t line) {
    TextCursor cursor(lines_[line], line + 1);
    cursor.expect("kernel");
    std::string title(cursor.until("  "));
    KernelCall call;
    call.output = buffer_at(cursor);
    cursor.expect("=");
    call.inputs = parse_ids(cursor);
    if (cursor.take("workspace")) call.workspace = buffer_at(cursor);
    // The text does not say what the kernel was made for: whatever the buffers are.
    KernelOperands operands;
    for (const BufferId input : call.inputs) {
      check_exists(input, line + 1);
      operands.inputs.push_back({.is_packed = program_.buffer(input).is_packed});
    }
    call.spec = std::make_shared<TextKernel>(std::move(title), std::move(operands), !cursor.take("without views"));
    expect_end(cursor);
    for (++line; line < lines_.size() && lines_[line].starts_with("  "); ++line) {
      TextCursor next(lines_[line], line + 1);
      const bool is_inner = next.take("inner");
      (is_inner ? call.inner_epilogue : call.epilogue) = parse_epilogue_line(next, is_inner, call.output);
    }
    add_step(std::move(call));
    return line;
  }

  // epilogue [i, j] max(acc0 + b2[j], 0.0), over the axes of the output; an inner one's say their extents: [i<N, j<4]
  Epilogue parse_epilogue_line(TextCursor& cursor, bool is_inner, BufferId output) {
    cursor.expect("epilogue");
    Epilogue epilogue;
    const Shape& shape = program_.buffer(output).shape;
    for (std::string_view part : split_at_commas(cursor.bracketed('[', ']'))) {
      TextCursor axis(part, cursor.line_number());
      std::string name(axis.name());
      if (is_inner) axis.expect("<");
      if (!is_inner && epilogue.axes.size() == shape.size()) cursor.fail("an axis for each of the output");
      const Expr extent = is_inner ? parse_index(axis.until("\n"), dims_) : shape[epilogue.axes.size()];
      expect_end(axis);
      epilogue.axes.push_back({Symbol::axis(name, extent), extent, AxisKind::parallel});
    }
    if (!is_inner && epilogue.axes.size() != shape.size()) cursor.fail("an axis for each of the output");
    epilogue.value = parse_epilogue(cursor, epilogue.axes, dtypes_at(cursor.line_number()), dims_);
    expect_end(cursor);
    return epilogue;
  }

  std::function<DType(BufferId)> dtypes_at(size_t line_number) const {
    return [this, line_number](BufferId id) {
      check_exists(id, line_number);
      return program_.buffer(id).dtype;
    };
  }

  void check_exists(BufferId id, size_t line_number) const {
    user_check(id >= 0 && static_cast<size_t>(id) < program_.buffers.size(), "line {}: b{} does not exist", line_number,
               id);
  }

  BufferId buffer_at(TextCursor& cursor) const {
    const BufferId id = cursor.buffer_id();
    check_exists(id, cursor.line_number());
    return id;
  }

  static void expect_end(TextCursor& cursor) {
    if (!cursor.at_end()) cursor.fail("the end of the line");
  }

  // # "conv1" Conv-22, com.example.Fancy-1
  void parse_origin(TextCursor& cursor) {
    cursor.expect("#");
    Origin origin;
    origin.name = cursor.quoted();
    std::string_view type = cursor.word();
    const size_t dash = type.rfind('-');
    if (dash != std::string_view::npos) {
      origin.version = static_cast<int>(TextCursor(type.substr(dash + 1), cursor.line_number()).integer());
      type = type.substr(0, dash);
    }
    const size_t dot = type.rfind('.');
    if (dot != std::string_view::npos) origin.domain = type.substr(0, dot);
    origin.type = dot == std::string_view::npos ? type : type.substr(dot + 1);
    origins_.push_back(std::move(origin));
  }

  // dim N 1..8; either bound may be missing. dim D 16.. = 16*n + 3 says which remainder D leaves.
  void parse_dim(TextCursor& cursor) {
    std::string name(cursor.word());
    Bounds bounds;
    if (!cursor.take("..")) {
      bounds.minimum = cursor.integer();
      cursor.expect("..");
    }
    if (!cursor.at_end() && cursor.peek() != '=') bounds.maximum = cursor.integer();
    const Symbol dim = Symbol::dim(name, bounds);
    dims_.insert_or_assign(name, cursor.take("=") ? multiple_of(dim, cursor) : Expr(dim));
  }

  // 16*n + 3
  static Expr multiple_of(const Symbol& dim, TextCursor& cursor) {
    const int64_t divisor = cursor.integer();
    cursor.expect("*");
    cursor.expect("n");
    const int64_t rest = cursor.take("+") ? cursor.integer() : 0;
    user_check(divisor > 0 && rest >= 0 && rest < divisor,
               "line {}: {}*n + {}: a remainder of a positive divisor is expected", cursor.line_number(), divisor,
               rest);
    return Expr(Symbol::quotient(dim, divisor, rest)) * divisor + rest;
  }

  // The symbol of a name that a step binds.
  Symbol symbol_of(const std::string& name, TextCursor& cursor) {
    const std::optional<Symbol> symbol = dims_.try_emplace(name, Symbol::dim(name)).first->second.as_symbol();
    user_check(symbol.has_value(), "line {}: '{}' is a dim with a rule, which no step binds", cursor.line_number(),
               name);
    return *symbol;
  }

  std::vector<BufferId> parse_ids(TextCursor& cursor) const {
    std::vector<BufferId> ids;
    if (cursor.peek() != 'b') return ids;
    do ids.push_back(buffer_at(cursor));
    while (cursor.take(","));
    return ids;
  }

  // state b3 "cache"
  void parse_state(TextCursor& cursor) {
    const BufferId buffer = buffer_at(cursor);
    program_.states.push_back({cursor.quoted(), buffer});
  }

  // guard D >= 3 "node 'pool1' (MaxPool): ..."
  void parse_guard(TextCursor& cursor) {
    Guard guard;
    const bool is_equal = cursor.rest().find(" == ") < cursor.rest().find(" >= ");
    guard.kind = is_equal ? Guard::Kind::equal : Guard::Kind::at_least;
    guard.left = parse_index(cursor.until(is_equal ? " == " : " >= "), dims_);
    cursor.expect(is_equal ? "==" : ">=");
    guard.right = parse_index(cursor.until(" \""), dims_);
    guard.reason = cursor.quoted();
    if (cursor.take("when")) guard.condition = parse_index(cursor.until("\n"), dims_);
    program_.guards.push_back(std::move(guard));
  }

  void parse_draws() {
    program_.draws = true;
    for (const Symbol& symbol : {run_seed(), run_pass()}) dims_.insert_or_assign(symbol.name(), symbol);
  }

  // bind k_0, k_1 = b3
  void parse_binding(TextCursor& cursor) {
    SymbolBinding binding;
    do {
      std::string name(cursor.name());
      binding.symbols.push_back(symbol_of(name, cursor));
    } while (cursor.take(","));
    cursor.expect("=");
    binding.buffer = buffer_at(cursor);
    add_step(std::move(binding));
  }

  // loop round_0 < N while b4 carries b2, b3
  void parse_loop(TextCursor& cursor) {
    std::string name(cursor.name());
    LoopBegin loop{symbol_of(name, cursor), {}, -1, {}};
    cursor.expect("<");
    const std::string_view rest = cursor.rest();
    loop.count = parse_index(cursor.until(rest.find(" while ") != std::string_view::npos     ? " while "
                                          : rest.find(" carries ") != std::string_view::npos ? " carries "
                                                                                             : "\n"),
                             dims_);
    if (cursor.take("while")) loop.condition = buffer_at(cursor);
    if (cursor.take("carries")) loop.carried = parse_ids(cursor);
    add_step(std::move(loop));
  }

  // b2 temporary float32 [N, 64, 2*D] layout 0 1/16 2 1%16 "conv1"
  void parse_buffer(TextCursor& cursor) {
    const BufferId id = cursor.buffer_id();
    if (static_cast<size_t>(id) != program_.buffers.size()) cursor.fail("the next number");
    Buffer buffer;
    std::optional<BufferKind> kind = parse_buffer_kind(cursor.name());
    if (!kind) cursor.fail("a kind of buffer");
    buffer.kind = *kind;
    std::optional<DType> dtype = parse_dtype(cursor.name());
    if (!dtype) cursor.fail("a dtype");
    buffer.dtype = *dtype;
    buffer.shape = parse_shape(cursor.bracketed('[', ']'), dims_);
    buffer.layout = cursor.take("layout") ? parse_layout(cursor) : Layout::row_major(buffer.shape.size());
    if (cursor.take("view")) {
      const BufferId parent = cursor.buffer_id();
      buffer.view = Buffer::View{parent, parse_shape(cursor.bracketed('[', ']'), dims_)};
    }
    if (cursor.take("alias")) buffer.alias = Buffer::Alias{cursor.buffer_id()};
    if (cursor.take("packs")) {
      const std::optional<DType> packs = parse_dtype(cursor.name());
      if (!packs) cursor.fail("a dtype");
      buffer.packs = Buffer::Elements{*packs, parse_shape(cursor.bracketed('[', ']'), dims_)};
    }
    buffer.is_packed = cursor.take("packed");
    if (cursor.take("=")) buffer.constant = parse_constant(buffer, cursor);
    buffer.name = cursor.quoted();
    program_.add(std::move(buffer));
  }

  // Views and aliases may stand before what they are laid over.
  void check_parents() const {
    for (size_t id = 0; id < program_.buffers.size(); ++id) {
      const Buffer& buffer = program_.buffers[id];
      const BufferId parent = buffer.view ? buffer.view->parent : buffer.alias ? buffer.alias->parent : 0;
      user_check(parent >= 0 && static_cast<size_t>(parent) < program_.buffers.size(),
                 "b{} is laid over b{}, which does not exist", id, parent);
    }
  }

  // 0 1/16 2 1%16
  static Layout parse_layout(TextCursor& cursor) {
    Layout layout;
    while (cursor.peek() >= '0' && cursor.peek() <= '9') {
      PhysicalAxis axis{static_cast<size_t>(cursor.integer())};
      if (cursor.take("/"))
        axis.part = PhysicalAxis::Part::blocks;
      else if (cursor.take("%"))
        axis.part = PhysicalAxis::Part::within_block;
      if (axis.part != PhysicalAxis::Part::whole) layout.block_size = cursor.integer();
      layout.axes.push_back(axis);
    }
    return layout;
  }

  // {1, 2.5, -3}, as numbers whatever the dtype
  static Tensor parse_constant(const Buffer& buffer, TextCursor& cursor) {
    std::optional<std::vector<int64_t>> dims = constant_dims(buffer.shape);
    if (!dims) cursor.fail("a constant shape");
    Tensor tensor = Tensor::zeros(buffer.dtype, *dims);
    const StoreFunction store = store_function(buffer.dtype);
    const UnaryFunction convert =
        cast_function(buffer.dtype, is_floating(buffer.dtype) ? DType::float64 : DType::int64);
    std::vector<std::string_view> numbers = split_at_commas(cursor.bracketed('{', '}'));
    if (static_cast<int64_t>(numbers.size()) != tensor.size()) cursor.fail("as many elements as the shape says");
    std::byte* to = tensor.mutable_bytes();
    for (std::string_view number : numbers) {
      ScalarValue value;
      if (is_floating(buffer.dtype))
        value.number = std::strtod(std::string(number).c_str(), nullptr);
      else
        value.integer = TextCursor(number, cursor.line_number()).integer();
      store(to, convert(value));
      to += element_size(buffer.dtype);
    }
    return tensor;
  }

  void add_step(Work work) {
    program_.steps.push_back({std::move(work), std::move(origins_), std::exchange(condition_, 1)});
    origins_.clear();
  }

  std::vector<std::string_view> lines_;
  Program program_;
  DimNames dims_;
  // The origins of the step that comes next.
  std::vector<Origin> origins_;
  Expr condition_ = 1;
};

}  // namespace

Program parse_program(std::string_view text) { return ProgramParser(text).parse(); }

}  // namespace onnxc
