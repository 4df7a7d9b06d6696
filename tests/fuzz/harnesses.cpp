#include "fuzz/harnesses.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "command_line.h"
#include "frontend/import.h"
#include "gfx942sim/code/code_object.h"
#include "ir/expr/parser.h"
#include "ir/program/parser.h"
#include "onnxc_run/files/npy.h"
#include "pass_table.h"
#include "support/diagnostics.h"

namespace onnxc::fuzz {
namespace {

std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// What is refused is no finding.
template <class Work>
void refusing(const Work& work) {
  try {
    work();
  } catch (const UserError&) {
  } catch (const UsageError&) {
  }
}

// One symbol a name, as in a model.
class Symbols {
 public:
  Expr operator()(std::string_view name) {
    return known_.try_emplace(std::string(name), Symbol::dim(std::string(name))).first->second;
  }
  // Sizes that differ from each other.
  std::map<Symbol, int64_t> values(int64_t first) const {
    std::map<Symbol, int64_t> result;
    for (const auto& [name, symbol] : known_) result.emplace(symbol, first += 3);
    return result;
  }

 private:
  std::map<std::string, Symbol> known_;
};

// The value, or nothing where it does not fit into 64 bits or is divided by 0.
std::optional<int64_t> value_of(const Expr& expr, const std::map<Symbol, int64_t>& values) {
  try {
    return expr.evaluate(values);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

void run_expression(std::string_view text) {
  refusing([&] {
    Symbols symbols;
    const auto resolve = [&](std::string_view name) { return symbols(name); };
    const Expr expr = parse_expr(text, resolve);
    const Expr again = parse_expr(expr.to_string(), resolve);
    const Bounds bounds = expr.bounds();
    for (int64_t first : {0, 1, 5, 64}) {
      const auto values = symbols.values(first);
      const std::optional<int64_t> value = value_of(expr, values), other = value_of(again, values);
      internal_check(!value || !other || value == other, "an expression reads back as what it was");
      internal_check(!value || (bounds.minimum <= *value && *value <= bounds.maximum), "a value within its bounds");
    }
  });
}

void run_program(std::string_view text) {
  refusing([&] {
    const std::string printed = to_string(parse_program(text));
    internal_check(to_string(parse_program(printed)) == printed, "a program reads back as what it was");
  });
}

void run_model(std::string_view bytes) {
  refusing([&] {
    ImportOptions options;
    options.model_bytes = bytes;
    options.limits.max_memory = int64_t{64} << 20;
    options.limits.max_nodes = 10'000;
    const ImportedModel model = import_model("/nonexistent/model.onnx", options);
    for (const GraphPass& pass : shape_passes()) pass.run(*model.graph, options.limits);
    verify(*model.graph);
  });
}

void run_npy(std::string_view bytes) {
  refusing([&] {
    const Tensor tensor = onnxc::read_npy(as_bytes(bytes), "fuzz.npy");
    if (!has_npy_type(tensor.dtype())) return;
    const std::string written = write_npy(tensor);
    const Tensor again = read_npy(as_bytes(written), "again.npy");
    internal_check(again.dims() == tensor.dims() && std::ranges::equal(again.bytes(), tensor.bytes()),
                   "an array reads back as what it was");
  });
}

void run_command_line(std::string_view text) {
  refusing([&] {
    std::vector<std::string> words;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      words.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    parse_command_line(words);
  });
}

void run_code_object(std::string_view bytes) {
  refusing([&] { gfx942sim::CodeObject::parse(as_bytes(bytes)); });
}

constexpr std::array all = {
    Harness{"expression", run_expression},
    Harness{"program", run_program},
    Harness{"model", run_model},
    Harness{"npy", run_npy},
    Harness{"command_line", run_command_line},
    Harness{"code_object", run_code_object},
};

}  // namespace

std::span<const Harness> harnesses() { return all; }

const Harness* find_harness(std::string_view name) {
  const auto found = std::ranges::find(all, name, &Harness::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace onnxc::fuzz
