#include "command/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <vector>

#include "command/option_table.h"
#include "machine/gpu_machines.h"
#include "pipeline/graph_files.h"
#include "pipeline/outcome.h"
#include "pipeline/pass_table.h"
#include "support/diagnostics.h"
#include "support/text.h"
#include "toolchain/native_gpu.h"

namespace onnxc {
namespace {

std::optional<int64_t> parse_number(std::string_view digits) {
  if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) return {};
  return std::stoll(std::string(digits));
}

// N=4 or N=1..8.
void parse_dim(const std::string& text, std::map<std::string, Bounds>& dims) {
  const size_t equals = text.rfind('=');
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  const size_t dots = value.find("..");
  const std::optional<int64_t> minimum = parse_number(value.substr(0, dots));
  const std::optional<int64_t> maximum = dots == std::string::npos ? minimum : parse_number(value.substr(dots + 2));
  if (equals == 0 || !minimum || !maximum || *minimum > *maximum)
    throw UsageError("--dim " + text + ": NAME=4 or NAME=1..8 is expected");
  dims[text.substr(0, equals)] = {*minimum, *maximum};
}

// D=96.
void parse_size(const std::string& text, std::map<std::string, int64_t>& sizes) {
  const size_t equals = text.rfind('=');
  const std::optional<int64_t> size = parse_number(equals == std::string::npos ? "" : text.substr(equals + 1));
  if (equals == 0 || !size) throw UsageError("--at " + text + ": NAME=SIZE is expected, such as D=96");
  sizes[text.substr(0, equals)] = *size;
}

// cache=next_cache.
void parse_state(const std::string& text, std::vector<StateNames>& states) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw UsageError("--state " + text + ": INPUT=OUTPUT is expected, such as cache=next_cache");
  const StateNames names{text.substr(0, equals), text.substr(equals + 1)};
  for (const StateNames& other : states) {
    if (other.input == names.input) throw UsageError("--state names the input " + quote(names.input) + " twice");
    if (other.output == names.output) throw UsageError("--state names the output " + quote(names.output) + " twice");
  }
  states.push_back(names);
}

const std::map<std::string, Emit> emits{
    {"so", Emit::shared_object}, {"source", Emit::source}, {"obj", Emit::object}, {"ir", Emit::ir}};

const CLI::Validator not_negative(
    [](const std::string& text) {
      return text.starts_with("-") ? "a number that is not negative is expected, found " + quote(text) : "";
    },
    "");

// Instead of CLI11's own, which names all of its units if a text is not a size.
const CLI::Validator size_in_bytes(
    [](std::string& text) -> std::string {
      const std::string given = text;
      try {
        if (CLI::AsSizeValue(false)(text).empty()) return {};
      } catch (const CLI::Error&) {  // which the message below tells
      }
      return "a size such as 8GB or 512MB is expected, found " + quote(given);
    },
    "");

// Takes other names of some words.
CLI::Validator renamed(std::map<std::string, std::string> names) {
  return {[names = std::move(names)](std::string& text) -> std::string {
            if (const auto found = names.find(text); found != names.end()) text = found->second;
            return {};
          },
          ""};
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names{"native"};
  for (const machine::GpuMachine& gpu : machine::gpu_machines) {
    if (machine::is_default_card(gpu)) names.emplace_back(gpu.architecture);
    names.emplace_back(gpu.name);
  }
  return names;
}

void check_gpus(const Options& options) {
  std::set<std::string> seen;
  for (const std::string& gpu : options.gpus) {
    const machine::GpuMachine& row = *machine::find_gpu(gpu);
    if (!seen.insert(row.name).second) throw UsageError("--gpu-arch names " + gpu + " twice");
    if (options.fp32 == "xf32" && !row.has_xf32)
      throw UsageError("--fp32 xf32: " + gpu + " has no such products; give --fp32 bf16x3, or leave it out");
  }
}

void check_gpu_code(const Options& options) {
  if (options.gpu_code != "cubin") return;
  const bool has_nvidia = std::ranges::any_of(
      options.gpus, [&](const std::string& gpu) { return options.makes_cubin(*machine::find_gpu(gpu)); });
  if (!has_nvidia) throw UsageError("--gpu-code cubin is for NVIDIA's GPUs, and --gpu-arch names none; give sm_80");
}

void check_marches(const Options& options) {
  if (options.marches.size() == 1) return;
  if (!options.for_cpu()) throw UsageError("--march names several CPUs, and --target gpu has no code for any");
  if (options.emit == Emit::source || options.emit == Emit::ir)
    throw UsageError("--march names several CPUs, whose code is several files; give one with --emit source or ir");
}

// The compiler that a compile would use is part of it.
std::string version_text() {
  std::string compiler;
  const Outcome found = outcome_of([&] { compiler = find_compiler().describe(); });
  return fmt::format("onnxc {}\ncompiles with {}", ONNXC_VERSION, found.succeeded() ? compiler : found.message);
}

constexpr const char* on_standard_output = "-";  // a report whose file is left out

// The options as they are written, before their parts are read.
struct Words {
  CommandLine& command;
  Options& options = command.options;
  std::vector<std::string> models = {}, dims = {}, sizes = {}, states = {};
  std::string emit = "so";
  bool insists_on_sandbox = false, leaves_out_sandbox = false;

  void add_to(OptionTable& table) {
    table.option("MODEL", models, "the ONNX file; of several, each becomes an entry of the model.so").word("...");
    table.option("-o,--output", options.output, "the file to write").word("FILE");
    add_targets(table);
    add_toolchain(table);
    add_model(table);
    add_work(table);
    add_limits(table);
    table.group("Reports (on stdout; without -o the model is not compiled)");
    add_shapes(table);
    add_reports(table);
    table.group("Messages (on stderr)");
    table.flag("--time-passes", options.time_passes, "print how long each stage took");
    table.flag("-v,--verbose", command.verbosity, "print each stage as it ends").without({"--quiet"});
    table.flag("-q,--quiet", command.quiet, "print errors only");
  }

  void add_targets(OptionTable& table) {
    table.option("--target", options.target, "what to compile for: cpu (default), gpu (only a GPU) or cpu,gpu (both)")
        .shows_default()
        .one_of({"cpu", "gpu", "cpu,gpu"})
        .changed_by(renamed({{"hip", "gpu"}, {"cpu,hip", "cpu,gpu"}}))
        .word("NAME");
    table
        .option("--gpu-arch", options.gpus,
                "GPUs of --target gpu, one or several, with commas: native (this machine's), gfx942 (default), gfx90a, "
                "gfx950, "
                "gfx1100, gfx1101, gfx1102, gfx1150, gfx1151, gfx1200, gfx1201, gfx11-generic, gfx12-generic, sm_80, "
                "sm_90a. Or cards: mi300x, "
                "mi300x-cpx, mi300a, mi250x, mi355x, rx7900xtx, rx7800xt, rx7600, radeon890m, radeon8060s, rx9070xt, "
                "rx9070, rx9060xt, a100, l4, rtx4090, h100, h200, b200, rtx5090")
        .one_of(gpu_names())
        .with_commas()
        .with({"--target=gpu"})
        .word("A,B");
    table
        .option("--gpu-code", options.gpu_code,
                "code for NVIDIA's GPUs: ptx (default), which the driver compiles at the first load and which runs on "
                "newer GPUs too, or cubin, which only loads, made by ptxas for the GPUs that --gpu-arch names")
        .one_of({"ptx", "cubin"})
        .with({"--target=gpu"})
        .word("KIND");
    table
        .option("--fp32", options.fp32,
                "precision of float32 matrix products on the GPU: ieee (default), xf32 (10 bits of mantissa; also "
                "tf32) or bf16x3 (16)")
        .one_of({"ieee", "xf32", "bf16x3"})
        .changed_by(renamed({{"tf32", "xf32"}}))
        .with({"--target=gpu"})
        .word("KIND");
    table
        .option("--precision", options.precision,
                "store values between nodes as bfloat16 or float16 (float32: as the model says; the default)")
        .shows_default()
        .one_of({"float32", "bfloat16", "float16"})
        .word("TYPE");
    table
        .option("--keep-float32", options.keep_float32,
                "with --precision: nodes that stay float32, as --node names them ('*up*'); may be repeated")
        .with({"--precision=bfloat16", "--precision=float16"})
        .word("PATTERN");
    table
        .option("--weights", options.weights,
                "weights of convolutions on the CPU: fast (default) holds up to six times those of the model if that "
                "saves time, compact holds them once")
        .one_of({"fast", "compact"})
        .word("FORM");
  }

  void add_toolchain(OptionTable& table) {
    table
        .option("--march", options.marches,
                "CPUs, by clang's names: native (default), x86-64-v3, x86-64-v4, znver4, ...; of several, with commas, "
                "the model chooses when it is loaded")
        .with_commas()
        .word("A,B");
    table
        .option("--compiler", options.compiler.compiler,
                "C++ compiler: a command such as clang++-20, or zig (default: clang 19 or newer, else zig)")
        .word("NAME");
    table
        .option("--glibc", options.compiler.glibc,
                "oldest glibc that the result must run with, such as 2.28; needs zig")
        .with({"--output"})
        .word("VERSION");
  }

  void add_model(OptionTable& table) {
    table.option("--dim", dims, "value (N=4) or range (N=1..8) of a symbolic dim; may be repeated")
        .repeated()
        .word("NAME=SIZE");
    table.option("--outputs", options.outputs, "keep these outputs of the model only").with_commas().word("A,B");
    table
        .option("--state", states,
                "bind an output to the memory of an input, for the next run to read: a cache, which the model.so then "
                "holds itself; may be repeated")
        .repeated()
        .without({"--run-pass", "--against"})
        .word("INPUT=OUTPUT");
  }

  void add_work(OptionTable& table) {
    table.option("--emit", emit, "kind of file to write: so (default), source, obj or ir")
        .one_of({std::views::keys(emits).begin(), std::views::keys(emits).end()})
        .with({"--output"})
        .word("KIND");
    table.option("-O", options.optimization, "optimisation: 0 none (plain loops, nothing fused); 1 to 3 (default) all")
        .between(0, 3)
        .word("LEVEL");
    table
        .option("--skip-pass", options.skipped_passes,
                "leave out a pass that optimises, to find which one is at fault; may be repeated")
        .one_of(optional_passes())
        .repeated()
        .word("PASS");
    table.option("-j,--jobs", options.jobs, "number of clang processes at a time (default: one per core)")
        .between(1, 1024)
        .with({"--output"})
        .word("N");
    table
        .flag("--keep-refused", options.keep_refused,
              "keep the generated source if clang rejects it, and print its path")
        .with({"--output"});
  }

  void add_limits(OptionTable& table) {
    table
        .option("--max-memory", options.limits.max_memory,
                "limit on the memory of the compile, such as 8GB; a model that needs more is refused")
        .changed_by(size_in_bytes)
        .checked_by(not_negative)
        .word("SIZE");
    table.option("--max-seconds", options.limits.max_seconds, "limit on the seconds of the compile (default: 3600)")
        .between(1, 1'000'000)
        .word("N");
    table.option("--max-nodes", options.limits.max_nodes, "limit on the number of nodes")
        .checked_by(not_negative)
        .word("N");
    table
        .flag("--sandbox", insists_on_sandbox,
              "fail if the kernel has no sandbox for the compile (default: go on without)")
        .without({"--no-sandbox"});
    table.flag("--no-sandbox", leaves_out_sandbox, "let the compile reach every file and the network");
  }

  void add_shapes(OptionTable& table) {
    table
        .option("--dump-shapes", options.dump_shapes,
                "print the shape of every tensor; with =FILE.json write them to that file")
        .without_value(on_standard_output)
        .word("[=FILE.json]");
    table
        .option("--node", options.shape_request.nodes,
                "with --dump-shapes: only nodes whose name, operator, PyTorch module or source line fits this pattern "
                "('*up*'); may be repeated")
        .repeated()
        .with({"--dump-shapes"})
        .word("PATTERN");
    table.option("--at", sizes, "with --dump-shapes: also each shape for these sizes of the inputs' dims")
        .with_commas()
        .with({"--dump-shapes"})
        .without({"--against"})
        .word("D=96,H=96");
    table
        .option("--against", options.against,
                "with --dump-shapes: print only what differs from the shapes of this other model")
        .with({"--dump-shapes"})
        .without({"--output", "--report", "--dump-ir", "--run-pass"})
        .word("OTHER.onnx");
  }

  void add_reports(OptionTable& table) {
    table
        .option("--dump-ir", options.dump_ir,
                "print the intermediate representation after this pass, or after each (default)")
        .without_value("all")
        .word("[=PASS]");
    table
        .option("--run-pass", options.run_pass,
                "run a single pass on MODEL: a program's text, or an ONNX file for a pass on graphs")
        .without({"--output", "--dump-shapes", "--dump-ir", "--report", "--skip-pass", "--time-passes"})
        .word("PASS");
    table
        .option("--list-operators", options.list_operators,
                "print how each operator of ONNX is compiled; takes no MODEL")
        .without_value("table")
        .one_of({"table", "json"})
        .without({"MODEL", "--output", "--json", "--dump-shapes", "--dump-ir", "--report", "--run-pass"})
        .word("[=json]");
    table
        .option("--report", options.report,
                "print what each node became: a kernel, loops, or part of another node's; with =FILE.html write a page")
        .without_value(on_standard_output)
        .word("[=FILE.html]");
    table.flag("--json", options.json, "print --dump-shapes and --report as JSON").with({"--dump-shapes", "--report"});
  }

  void check() {
    for (const std::string& dim : dims) parse_dim(dim, options.dims);
    for (const std::string& size : sizes) parse_size(size, options.shape_request.sizes);
    for (const std::string& state : states) parse_state(state, options.states);
    options.emit = emits.at(emit);
    if (insists_on_sandbox || leaves_out_sandbox) options.sandbox = insists_on_sandbox;
    if (options.list_operators) return;
    if (models.empty()) throw UsageError("MODEL is required");
    options.model = models.front();
    options.more_models.assign(models.begin() + 1, models.end());
    if (options.dump_shapes == on_standard_output) options.dump_shapes = "";
    if (options.report == on_standard_output) options.report = "";
    for (std::string& gpu : options.gpus)
      if (gpu == "native") gpu = native_gpu(options.gpu_code == "cubin").name;
    check_gpus(options);
    check_gpu_code(options);
    check_marches(options);
    graph_files(options);  // refuses what is for one graph
    const bool prints_only = options.dump_shapes || options.dump_ir || options.report || options.run_pass;
    if (options.output.empty() && !prints_only)
      throw UsageError("nothing to do: give -o FILE, --dump-shapes, --report or --dump-ir");
  }
};

constexpr const char* description =
    "onnxc compiles an ONNX model to one shared library, which needs nothing else installed to run.";

constexpr const char* footer =
    "Exit codes: 0 success; 1 error in the model, an input or the machine; 2 error in the command line;\n"
    "3 bug in onnxc. Environment variables: ONNXC_CXX (C++ compiler), NO_COLOR, TMPDIR.";

// Throws CLI::Success for --help and --version.
void parse(CLI::App& app, std::span<const std::string> words, CommandLine& command) {
  app.set_version_flag("--version", version_text);
  app.footer(footer);
  OptionTable table(app);
  Words written{command};
  written.add_to(table);
  table.parse(words);
  table.check_effects();
  written.check();
}

}  // namespace

std::optional<int> parse_command_line(int argc, const char* const* argv, CommandLine& command) {
  CLI::App app{description, "onnxc"};
  try {
    parse(app, std::vector<std::string>(argv + 1, argv + std::max(argc, 1)), command);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  }
  return std::nullopt;
}

CommandLine parse_command_line(std::span<const std::string> given) {
  CLI::App app{description};
  CommandLine command;
  try {
    parse(app, given, command);
  } catch (const CLI::Success& asked) {
    throw UsageError(asked.what());
  }
  return command;
}

}  // namespace onnxc
