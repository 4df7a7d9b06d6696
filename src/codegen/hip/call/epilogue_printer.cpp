#include "codegen/hip/call/epilogue_printer.h"

#include <fmt/ranges.h>

#include "codegen/text/scalar_printer.h"

namespace onnxc {
namespace {

class EpiloguePrinter {
 public:
  EpiloguePrinter(TextWriter& writer, const EmitContext& context, const Epilogue& epilogue,
                  const std::vector<std::string>& coordinates)
      : writer_(writer), context_(context), program_(context.program), epilogue_(epilogue), coordinates_(coordinates) {}

  std::string print(const std::string& name, EpilogueSide side) {
    auto structure = writer_.scope("struct " + name, ";");
    const std::string initializer = declare_members();
    if (side == EpilogueSide::device) print_operator();
    return initializer;
  }

 private:
  std::string declare_members() {
    std::set<Symbol> used;
    std::vector<std::string> initializers;
    visit(epilogue_.value, [&](const ScalarNode& node) {
      used.merge(node.expr.symbols());
      if (node.op != ScalarOp::load) return;
      used.merge(program_.offset(node.buffer, node.indices).symbols());
      const BufferId storage = program_.storage(node.buffer);
      if (!pointers_.emplace(storage, fmt::format("p{}", pointers_.size())).second) return;
      const std::string type = "const " + dialect_.storage_type(program_.buffer(storage).dtype);
      writer_.line(fmt::format("{}* {};", type, pointers_.at(storage)));
      initializers.push_back(fmt::format("static_cast<{}*>(frame.buffers[{}])", type, context_.place(storage)));
    });
    for (const Symbol& symbol : context_.symbols) {
      if (!used.contains(symbol)) continue;
      writer_.line(fmt::format("int64_t {};", context_.names.symbols.at(symbol)));
      initializers.push_back(fmt::format("frame.symbols[{}]", context_.names.places.at(symbol)));
    }
    return fmt::format("{{{}}}", fmt::join(initializers, ", "));
  }

  DType accumulator_type() const {
    DType type = DType::float32;
    visit(epilogue_.value, [&](const ScalarNode& node) {
      if (node.op == ScalarOp::accumulator) type = node.dtype;
    });
    return type;
  }

  SymbolNames place_axes() const {
    SymbolNames names = context_.names.symbols;
    for (size_t i = 0; i < epilogue_.axes.size(); ++i) names[epilogue_.axes[i].symbol] = coordinates_.at(i);
    return names;
  }

  void print_operator() {
    auto function = writer_.scope(
        fmt::format("__device__ {} operator()({} accumulator, int64_t n, int64_t g, int64_t c, int64_t d, int64_t h, "
                    "int64_t w) const",
                    dialect_.value_type(epilogue_.value.dtype()), dialect_.value_type(accumulator_type())));
    const Scalar value = replace_loads(epilogue_.value, [&](const ScalarNode& load) {
      return scalar::load(load.dtype, program_.storage(load.buffer), {program_.offset(load.buffer, load.indices)});
    });
    const SymbolNames names = place_axes();
    ScalarPrinter printer(writer_, dialect_, names, pointers_);
    printer.set_accumulator(0, "accumulator");
    writer_.line(fmt::format("return {};", printer.value(value)));
  }

  TextWriter& writer_;
  const EmitContext& context_;
  const Program& program_;
  const Epilogue& epilogue_;
  const std::vector<std::string>& coordinates_;
  // In the order in which they are read: epilogues that do the same become equal.
  std::map<BufferId, std::string> pointers_;
  ScalarDialect dialect_;
};

}  // namespace

std::string print_device_epilogue(TextWriter& writer, const EmitContext& context, const Epilogue& epilogue,
                                  const std::vector<std::string>& coordinates, const std::string& name,
                                  EpilogueSide side) {
  return EpiloguePrinter(writer, context, epilogue, coordinates).print(name, side);
}

}  // namespace onnxc
