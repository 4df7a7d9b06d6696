#include "fuzz/harnesses.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "command/command_line.h"
#include "frontend/import.h"
#include "fuzz/run_calls.h"
#include "gfx942sim/code/code_object.h"
#include "ir/expr/parser.h"
#include "ir/program/parser.h"
#include "onnxc_run/files/npy.h"
#include "onnxc_run/files/tensor_files.h"
#include "onnxc_run/volume/nifti.h"
#include "passes/lowering/guard_accesses.h"
#include "passes/lowering/lower.h"
#include "passes/lowering/text_target.h"
#include "pipeline/compile.h"
#include "pipeline/pass_table.h"
#include "support/diagnostics.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"
#include "support/text.h"

namespace onnxc::fuzz {
namespace {

std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// A refusal is not a finding.
template <class Work>
bool accepts(const Work& work) {
  try {
    work();
    return true;
  } catch (const UserError&) {
    return false;
  } catch (const UsageError&) {
    return false;
  }
}

bool is_shown_as_it_is(char c) { return c == '\n' || (c >= ' ' && c <= '~'); }

// One symbol a name, as in a model.
class Symbols {
 public:
  Expr operator()(std::string_view name) {
    return known_.try_emplace(std::string(name), Symbol::dim(std::string(name))).first->second;
  }
  bool are_printable() const {
    return std::ranges::all_of(known_, [](const auto& entry) { return printable(entry.first) == entry.first; });
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

// The value, or nothing if it does not fit into 64 bits or is divided by 0.
std::optional<int64_t> value_of(const Expr& expr, const std::map<Symbol, int64_t>& values) {
  try {
    return expr.evaluate(values);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

bool run_expression(std::string_view text) {
  return accepts([&] {
    Symbols symbols;
    const auto resolve = [&](std::string_view name) { return symbols(name); };
    const Expr expr = parse_expr(text, resolve);
    if (!symbols.are_printable()) return;  // such names are shown escaped
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

// As --run-pass reads it: an unlawful program is refused as well.
Program lawful_program(std::string_view text) {
  try {
    Program program = parse_program(text);
    verify(program);
    return program;
  } catch (const std::logic_error& error) {
    throw UserError(error.what());
  }
}

// Each pass makes a lawful program of a lawful one, whatever its target grants; as in a compile, accesses that it moved
// away from their proof get a test.
void run_passes(Program program) {
  const Target target = text_target();
  for (const ProgramPass& pass : program_passes()) {
    pass.run(program, target);
    guard_accesses(program);
    verify(program);
  }
}

bool run_program(std::string_view text) {
  return accepts([&] {
    const std::string printed = to_string(lawful_program(text));
    if (!std::ranges::all_of(text, is_shown_as_it_is)) return;
    const Program again = parse_program(printed);
    internal_check(to_string(again) == printed, "a program reads back as what it was");
    run_passes(parse_program(text));
  });
}

// Each definition as loop nests, and the passes over them: no kernel is chosen, as those are a target's.
void lower_by_definitions(const Graph& graph) {
  Program program = lower(graph, {});
  verify(program);
  run_passes(std::move(program));
}

// The limits of a small input.
Limits small_limits() {
  Limits limits;
  limits.max_memory = int64_t{16} << 20;
  limits.max_nodes = 1'000;
  return limits;
}

// The name of a model beside which lies the file that models with external data name (make_inputs.py), 64 KiB.
const std::filesystem::path& model_file() {
  static const TemporaryFolder folder("fuzz");
  static const std::filesystem::path file = [] {
    std::string weights;
    for (int i = 0; i < 16'384; ++i) weights.append({static_cast<char>(i), static_cast<char>(i / 3), 0, 63});
    write_file(folder.path() / "weights", weights);
    return folder.path() / "model.onnx";
  }();
  return file;
}

bool run_model(std::string_view bytes) {
  return accepts([&] {
    ImportOptions options;
    options.model_bytes = bytes;
    options.limits = small_limits();
    const ImportedModel model = import_model(model_file(), options);
    Graph& graph = *model.graph;
    for (const auto passes : {shape_passes(), graph_passes()})
      for (const GraphPass& pass : passes) {
        pass.run(graph, options.limits);
        verify(graph);
      }
    lower_by_definitions(graph);
  });
}

// A file of this process that holds the bytes, for readers that open a name.
std::filesystem::path file_of(std::string_view bytes, const char* name) {
  static const TemporaryFolder folder("fuzz");
  std::filesystem::path file = folder.path() / name;
  write_file(file, bytes);
  return file;
}

// The options that take turns: by the input, so that it fails again as it did.
Options options_for(std::string_view bytes) {
  Options options;
  switch (std::hash<std::string_view>()(bytes) % 6) {
    case 0:
      options.optimization = 0;
      break;
    case 1:
      options.precision = "bfloat16";
      break;
    case 2:
      options.precision = "float16";
      break;
    case 3:
      options.fp32 = "bf16x3";
      break;
    default:
      break;
  }
  options.marches = {bytes.size() % 3 == 0 ? "x86-64-v3" : "x86-64-v4"};
  options.target = bytes.size() % 2 == 0 ? "cpu" : "hip";
  return options;
}

// The compile of a command, without running the compilers.
bool run_source(std::string_view bytes) {
  Options options = options_for(bytes);
  options.model = model_file();
  options.output = model_file().parent_path() / "model.cpp";
  options.emit = Emit::source;
  options.limits = small_limits();
  const Outcome outcome = compile({options, bytes});
  if (outcome.fault == Fault::compiler) internal_error(outcome.message);
  if (!outcome.succeeded()) return false;
  // Not by map_file, which keeps what is read from being written again.
  std::ifstream source(options.output, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(source), {}};
  internal_check(std::ranges::all_of(text, is_shown_as_it_is), "no name reaches the source unescaped");
  return true;
}

bool run_tensor(std::string_view bytes) {
  const std::filesystem::path file = file_of(bytes, "fuzz.pb");
  return accepts([&] { read_tensor(file); });
}

// Compressed files as well: the name says nothing that the bytes do not.
bool run_nifti(std::string_view bytes) {
  const std::filesystem::path file = file_of(bytes, bytes.starts_with("\x1f\x8b") ? "fuzz.nii.gz" : "fuzz.nii");
  return accepts([&] {
    const NiftiHeader header(file);
    constexpr int64_t most_bytes = int64_t{16} << 20;  // what the header says is checked against the file before
    if (header.is_compressed() && header.bytes() <= most_bytes) header.read_data();
    header.header_of(header.dims(), header.dtype(), {ResultAxis{}, ResultAxis{.step = 2, .origin = 0.5}, ResultAxis{}});
  });
}

bool run_npy(std::string_view bytes) {
  return accepts([&] {
    const Tensor tensor = onnxc::read_npy(as_bytes(bytes), "fuzz.npy");
    if (!has_npy_type(tensor.dtype())) return;
    const std::string written = write_npy(tensor);
    const Tensor again = read_npy(as_bytes(written), "again.npy");
    internal_check(again.dims() == tensor.dims() && std::ranges::equal(again.bytes(), tensor.bytes()),
                   "an array reads back as what it was");
  });
}

bool run_command_line(std::string_view text) {
  return accepts([&] {
    std::vector<std::string> words;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      words.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    parse_command_line(words);
  });
}

bool run_code_object(std::string_view bytes) {
  return accepts([&] { gfx942sim::CodeObject::parse(as_bytes(bytes)); });
}

constexpr std::array all = {
    Harness{"expression", run_expression},
    Harness{"program", run_program},
    Harness{"model", run_model},
    Harness{"source", run_source, "model"},
    Harness{"npy", run_npy},
    Harness{"tensor", run_tensor},
    Harness{"nifti", run_nifti},
    Harness{"command_line", run_command_line},
    Harness{"code_object", run_code_object},
    Harness{"run", run_calls},
};

}  // namespace

std::span<const Harness> harnesses() { return all; }

const Harness* find_harness(std::string_view name) {
  const auto found = std::ranges::find(all, name, &Harness::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace onnxc::fuzz
