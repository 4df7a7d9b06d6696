#include "codegen/cpu/call/epilogue_printer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "codegen/text/scalar_printer.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

enum class Access { none, element, channel_block, channel_row, row, uniform };

std::vector<Expr> identity(const Epilogue& epilogue) {
  std::vector<Expr> indices;
  for (const Axis& axis : epilogue.axes) indices.emplace_back(axis.symbol);
  return indices;
}

// Whether an expression varies with none of the epilogue's axes but those of `allowed`.
bool varies_only_with(const Expr& expr, const Epilogue& epilogue, std::initializer_list<size_t> allowed) {
  for (size_t i = 0; i < epilogue.axes.size(); ++i) {
    const bool is_allowed = epilogue.axes[i].extent.is_constant(1) || std::ranges::find(allowed, i) != allowed.end();
    if (!is_allowed && expr.symbols().contains(epilogue.axes[i].symbol)) return false;
  }
  return true;
}

bool has_extents(const Shape& shape, const Epilogue& epilogue) {
  for (size_t i = 0; i < shape.size(); ++i)
    if (!proven_equal(shape[i], epilogue.axes[i].extent)) return false;
  return true;
}

// How one vector of a load is found. Indices are within the buffer whatever a select around the load says: both of its
// sides are computed.
Access classify_block(const Program& program, const ScalarNode& load, const Epilogue& epilogue,
                      const machine::VectorUnit& vectors) {
  const Buffer& buffer = program.buffer(load.buffer);
  const Layout blocked = Layout::channel_blocked(std::max<size_t>(epilogue.axes.size(), 2), vectors.lanes);
  if (buffer.layout == blocked && load.indices == identity(epilogue))
    return has_extents(buffer.shape, epilogue) ? Access::element : Access::none;
  const Symbol& channel = epilogue.axes.at(1).symbol;
  int channel_indices = 0;
  for (size_t i = 0; i < load.indices.size(); ++i) {
    const Expr& index = load.indices[i];
    if (!varies_only_with(index, epilogue, {0, 1})) return Access::none;
    if (!index.symbols().contains(channel)) {
      if (!proven_at_least(index, 0) || !proven_at_least(buffer.shape[i], index + 1)) return Access::none;
      continue;
    }
    if (index != Expr(channel) || !proven_equal(buffer.shape[i], epilogue.axes[1].extent)) return Access::none;
    const bool is_blocked = buffer.layout.is_blocked(i);
    if (is_blocked && (i != 1 || buffer.layout.block_size != vectors.lanes || buffer.layout.axes.back().axis != 1))
      return Access::none;
    ++channel_indices;
    if (!is_blocked) {
      // Consecutive channels must stand next to each other.
      std::vector<Expr> next = load.indices;
      next[i] += 1;
      const Expr step = program.offset(load.buffer, next) - program.offset(load.buffer, load.indices);
      if (!step.is_constant(1)) return Access::none;
    }
  }
  if (channel_indices > 1) return Access::none;
  if (channel_indices == 0) return Access::uniform;
  return buffer.layout.is_row_major() ? Access::channel_row : Access::channel_block;
}

// The same for a vector of the last axis of a row-major output. A vector may have fewer lanes than there are in a
// register: only those are loaded.
Access classify_row(const Program& program, const ScalarNode& load, const Epilogue& epilogue) {
  const Buffer& buffer = program.buffer(load.buffer);
  for (size_t i = 0; i < load.indices.size(); ++i) {
    const Expr& index = load.indices[i];
    const bool is_axis = std::ranges::any_of(epilogue.axes, [&](const Axis& axis) {
      return index == Expr(axis.symbol) && proven_equal(buffer.shape[i], axis.extent);
    });
    if (!is_axis && !(proven_at_least(index, 0) && proven_at_least(buffer.shape[i], index + 1))) return Access::none;
  }
  const Symbol& column = epilogue.axes.back().symbol;
  std::vector<Expr> next = load.indices;
  for (Expr& index : next) index = index.substitute({{column, Expr(column) + 1}});
  const Expr step = program.offset(load.buffer, next) - program.offset(load.buffer, load.indices);
  return step.is_constant(1) ? Access::row : step.is_constant(0) ? Access::uniform : Access::none;
}

Access classify(const Program& program, const ScalarNode& load, const Epilogue& epilogue, EpilogueForm form,
                const machine::VectorUnit& vectors) {
  return form == EpilogueForm::rows ? classify_row(program, load, epilogue)
                                    : classify_block(program, load, epilogue, vectors);
}

// Kernels of integer sums (integers.h) hold this type in vectors of int32.
bool is_vector_integer(DType dtype) { return dtype == DType::int32 || dtype == DType::int8 || dtype == DType::uint8; }

// Arithmetic on bytes would have to wrap around in eight bits.
bool has_integer_form(const ScalarNode& node) {
  switch (node.op) {
    case ScalarOp::load:
    case ScalarOp::constant:
    case ScalarOp::accumulator:
      return true;
    case ScalarOp::cast:
      return is_kernel_type(node.operands[0].dtype()) || node.dtype == DType::int32;
    case ScalarOp::add:
    case ScalarOp::subtract:
    case ScalarOp::multiply:
      return node.dtype == DType::int32;
    default:
      return false;
  }
}

bool has_vector_form(const ScalarNode& node, bool has_integers) {
  if (has_integers && is_vector_integer(node.dtype)) return has_integer_form(node);
  switch (node.op) {
    case ScalarOp::index:
    case ScalarOp::reinterpret:
    case ScalarOp::bitwise_not:
    case ScalarOp::bitwise_and:
    case ScalarOp::bitwise_or:
    case ScalarOp::bitwise_xor:
    case ScalarOp::shift_left:
    case ScalarOp::shift_right:
      return false;
    default:
      break;
  }
  const bool is_float = is_kernel_type(node.dtype);
  if (node.op == ScalarOp::load || node.op == ScalarOp::constant || node.op == ScalarOp::cast) return is_float;
  return is_float || node.dtype == DType::boolean;
}

DType accumulator_type(const Epilogue& epilogue) {
  DType type = DType::float32;
  visit(epilogue.value, [&](const ScalarNode& node) {
    if (node.op == ScalarOp::accumulator) type = node.dtype;
  });
  return type;
}

bool has_vector_form(const Program& program, const Epilogue& epilogue, EpilogueForm form,
                     const machine::VectorUnit& vectors, bool has_integers) {
  const auto is_vector = [&](DType dtype) {
    return is_kernel_type(dtype) || (has_integers && is_vector_integer(dtype));
  };
  bool fits = true;
  visit(epilogue.value, [&](const ScalarNode& node) {
    fits &= has_vector_form(node, has_integers);
    if (node.op == ScalarOp::load) fits &= classify(program, node, epilogue, form, vectors) != Access::none;
    for (const Scalar& operand : node.operands) fits &= operand.dtype() == DType::boolean || is_vector(operand.dtype());
  });
  return fits && is_vector(epilogue.value.dtype());
}

// Vectors of floats: the functions are those of floats, overloaded for vec (kernels/cpu/vector/math.h). Integers are
// vectors of int32 (integers.h).
class VectorDialect : public ScalarDialect {
 public:
  std::string value_type(DType dtype) const override {
    return dtype == DType::boolean ? "vec_mask" : is_vector_integer(dtype) ? "vec_int32" : "vec";
  }
  std::string constant(const ScalarNode& node) const override {
    return fmt::format("splat({})", ScalarDialect::constant(node));
  }
  std::string load(DType, const std::string& pointer, const std::string&) const override { return pointer; }
  std::string operation(const ScalarNode& node, std::span<const std::string> operands) const override {
    if (node.op == ScalarOp::cast) return cast(node, operands[0]);
    if (node.op == ScalarOp::logical_not) return fmt::format("~{}", operands[0]);
    return ScalarDialect::operation(node, operands);
  }
  std::string select(const std::string& condition, const std::string& if_true,
                     const std::string& if_false) const override {
    return fmt::format("select({}, {}, {})", condition, if_true, if_false);
  }
  // See classify.
  bool loads_early(const ScalarNode& /*load*/) const override { return true; }

 private:
  static std::string cast(const ScalarNode& node, const std::string& operand) {
    const DType from = node.operands[0].dtype();
    if (from == DType::boolean) return fmt::format("select({}, splat(1.0f), splat(0.0f))", operand);
    if (is_vector_integer(node.dtype))
      return is_vector_integer(from) ? operand : fmt::format("saturated<{}>({})", info(node.dtype).c_type, operand);
    const std::string number = is_vector_integer(from) ? fmt::format("to_float({})", operand) : operand;
    return is_computed_wider(node.dtype) ? fmt::format("round_to_{}({})", info(node.dtype).name, number) : number;
  }
};

class EpiloguePrinter {
 public:
  EpiloguePrinter(TextWriter& writer, const EmitContext& context, const Epilogue& epilogue, EpilogueForm form,
                  const machine::VectorUnit& vectors, std::string name)
      : writer_(writer),
        context_(context),
        program_(context.program),
        epilogue_(epilogue),
        form_(form),
        vectors_(vectors),
        name_(std::move(name)) {}

  std::string print() {
    place_axes();
    std::vector<std::string> initializers;
    auto structure = writer_.scope("struct " + name_, ";");
    declare_members(initializers);
    if (is_light(epilogue_.value, form_)) writer_.line("static constexpr bool is_light = true;");
    writer_.line("");
    print_operator();
    return fmt::format("{{{}}}", fmt::join(initializers, ", "));
  }

 private:
  void place_axes() {
    names_ = context_.names.symbols;
    for (size_t i = 0; i < epilogue_.axes.size(); ++i)
      names_[epilogue_.axes[i].symbol] = form_ == EpilogueForm::rows ? matrix_axis(i) : block_axis(i);
  }

  // As the kernel counts them: batch, blocks of channels, and up to three spatial axes that end with w.
  std::string block_axis(size_t axis) const {
    constexpr std::array spatial = {"position.d", "position.h", "position.w"};
    if (axis == 0) return "position.n";
    if (axis == 1) return fmt::format("(position.channel_block * {})", vectors_.lanes);
    return spatial.at(3 - (epilogue_.axes.size() - 2) + (axis - 2));
  }

  // Up to four batch axes (leading ones may be missing), rows and columns.
  std::string matrix_axis(size_t axis) const {
    const size_t from_end = epilogue_.axes.size() - axis;
    if (from_end == 1) return "position.column";
    if (from_end == 2) return "position.row";
    return fmt::format("position.batch[{}]", 6 - from_end);
  }

  void declare_members(std::vector<std::string>& initializers) {
    std::vector<BufferId> buffers;
    std::set<Symbol> dims;
    visit(epilogue_.value, [&](const ScalarNode& node) {
      if (node.op != ScalarOp::load) return;
      const bool is_new = members_.emplace(node.buffer, fmt::format("p{}", members_.size())).second;
      if (is_new) buffers.push_back(node.buffer);
      dims.merge(program_.offset(node.buffer, node.indices).symbols());
    });
    dims.merge(epilogue_.axes[1].extent.symbols());
    for (BufferId id : buffers) {
      const std::string type = "const " + dialect_.storage_type(program_.buffer(id).dtype);
      writer_.line(fmt::format("{}* {};", type, members_.at(id)));
      initializers.push_back(fmt::format("static_cast<{}*>(frame.buffers[{}])", type, context_.place(id)));
    }
    for (const Symbol& symbol : context_.symbols) {
      if (!dims.contains(symbol)) continue;
      const std::string& name = context_.names.symbols.at(symbol);
      writer_.line(fmt::format("int64_t {};", name));
      initializers.push_back(fmt::format("frame.symbols[{}]", context_.names.places.at(symbol)));
    }
  }

  // The text that loads one vector; it takes the place of the pointer.
  std::string load_text(const ScalarNode& load) const {
    const std::string pointer = fmt::format("{} + {}", members_.at(load.buffer), vector_offset(load));
    switch (classify(program_, load, epilogue_, form_, vectors_)) {
      case Access::element:
      case Access::channel_block:
        return fmt::format("load({})", pointer);
      case Access::uniform:
        return fmt::format("load_splat({})", pointer);
      case Access::row:
        return fmt::format("load_partial({}, position.count)", pointer);
      case Access::channel_row:
        break;
      case Access::none:
        internal_error("an epilogue that the kernel takes");
    }
    const Expr& channels = epilogue_.axes[1].extent;
    if (mod(channels, vectors_.lanes).is_constant(0)) return fmt::format("load({})", pointer);
    const std::string rest =
        fmt::format("{} - position.channel_block * {}", print_expr(channels, names_), vectors_.lanes);
    return fmt::format("load_partial({}, minimum<int64_t>({}, {}))", pointer, vectors_.lanes, rest);
  }

  // The offset of the first lane: the channel axis stands for the first channel of its block.
  std::string vector_offset(const ScalarNode& load) const {
    if (form_ == EpilogueForm::rows) return print_expr(program_.offset(load.buffer, load.indices), names_);
    const Axis& channel = epilogue_.axes[1];
    const Symbol block = Symbol::axis("block", ceil_div(channel.extent, vectors_.lanes));
    std::vector<Expr> indices = load.indices;
    for (Expr& index : indices) index = index.substitute({{channel.symbol, Expr(block) * vectors_.lanes}});
    const Expr offset = program_.offset(load.buffer, indices);
    SymbolNames names = names_;
    names[block] = "position.channel_block";
    return print_expr(offset, names);
  }

  void print_operator() {
    auto function = writer_.scope(
        fmt::format("[[gnu::always_inline]] {} operator()({} accumulator, const {}& position) const",
                    dialect_.value_type(epilogue_.value.dtype()), dialect_.value_type(accumulator_type(epilogue_)),
                    form_ == EpilogueForm::rows ? "MatrixPosition" : "Position"));
    // Each load becomes a buffer of its own, whose "pointer" is the text that loads a vector.
    std::map<BufferId, std::string> loads;
    const Scalar value = replace_loads(epilogue_.value, [&](const ScalarNode& load) {
      const auto id = static_cast<BufferId>(loads.size());
      loads.emplace(id, load_text(load));
      return scalar::load(load.dtype, id, {Expr(0)});
    });
    ScalarPrinter printer(writer_, dialect_, names_, loads);
    printer.set_accumulator(0, "accumulator");
    writer_.line(fmt::format("return {};", printer.value(value)));
  }

  TextWriter& writer_;
  const EmitContext& context_;
  const Program& program_;
  const Epilogue& epilogue_;
  EpilogueForm form_;
  machine::VectorUnit vectors_;
  std::string name_;
  SymbolNames names_;
  // The pointers, numbered in the order in which they are read: epilogues that do the same become equal.
  std::map<BufferId, std::string> members_;
  VectorDialect dialect_;
};

}  // namespace

bool is_light(const Scalar& value, EpilogueForm form) {
  const int most_operators = form == EpilogueForm::rows ? 8 : 6;
  int operators = 0;
  bool is_simple = true;
  visit(value, [&](const ScalarNode& node) {
    operators += node.operands.empty() ? 0 : 1;
    switch (node.op) {
      case ScalarOp::constant:
      case ScalarOp::load:
      case ScalarOp::accumulator:
      case ScalarOp::negate:
      case ScalarOp::absolute:
      case ScalarOp::add:
      case ScalarOp::subtract:
      case ScalarOp::multiply:
      case ScalarOp::minimum:
      case ScalarOp::maximum:
      case ScalarOp::cast:
        is_simple &= node.dtype == DType::float32;
        break;
      case ScalarOp::equal:
      case ScalarOp::less:
      case ScalarOp::less_or_equal:
      case ScalarOp::logical_not:
      case ScalarOp::select:
        is_simple &= form == EpilogueForm::rows;
        break;
      default:
        is_simple = false;
    }
  });
  return is_simple && operators <= most_operators;
}

bool fits_epilogue(const Program& program, const Epilogue& epilogue, BufferId output, EpilogueForm form,
                   const machine::VectorUnit& vectors) {
  const size_t rank = epilogue.axes.size();
  const Layout& layout = program.buffer(output).layout;
  const bool fits_output = form == EpilogueForm::rows
                               ? rank >= 2 && rank <= 6 && layout.is_row_major()
                               : rank >= 2 && rank <= 5 && layout == Layout::channel_blocked(rank, vectors.lanes);
  return fits_output && has_vector_form(program, epilogue, form, vectors, accumulator_type(epilogue) == DType::int32);
}

bool epilogue_takes_blocks(const Program& program, const Epilogue& epilogue, const machine::VectorUnit& vectors) {
  const size_t rank = epilogue.axes.size();
  return rank >= 2 && rank <= 5 &&
         has_vector_form(program, epilogue, EpilogueForm::blocks, vectors, is_vector_integer(epilogue.value.dtype()));
}

std::string print_epilogue(TextWriter& writer, const EmitContext& context, const Epilogue& epilogue, EpilogueForm form,
                           const machine::VectorUnit& vectors, const std::string& name) {
  return EpiloguePrinter(writer, context, epilogue, form, vectors, name).print();
}

}  // namespace onnxc
