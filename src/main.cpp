// The command line of onnxc: options in, exit code out.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <system_error>

#include "compile.h"
#include "run_pass.h"
#include "support/diagnostics.h"
#include "support/process_end.h"
#include "support/standard_output.h"
#include "support/text.h"

namespace {

using onnxc::Options;

// N=4 or N=1..8.
void parse_dim(const std::string& text, std::map<std::string, onnxc::Bounds>& dims) {
  size_t equals = text.rfind('=');
  auto fail = [&] { throw onnxc::UsageError("--dim " + text + ": NAME=4 or NAME=1..8 is expected"); };
  if (equals == std::string::npos || equals == 0) fail();
  auto number = [&](const std::string& digits) -> int64_t {
    if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) fail();
    return std::stoll(digits);
  };
  std::string value = text.substr(equals + 1);
  size_t dots = value.find("..");
  onnxc::Bounds bounds;
  bounds.minimum = number(value.substr(0, dots));
  bounds.maximum = dots == std::string::npos ? bounds.minimum : number(value.substr(dots + 2));
  if (bounds.minimum > bounds.maximum) fail();
  dims[text.substr(0, equals)] = bounds;
}

const std::map<std::string, onnxc::Emit> emits{{"so", onnxc::Emit::shared_object},
                                               {"source", onnxc::Emit::source},
                                               {"obj", onnxc::Emit::object},
                                               {"ir", onnxc::Emit::ir}};

const CLI::Validator not_negative(
    [](const std::string& text) {
      return text.starts_with("-") ? "a number that is not negative is expected, found " + onnxc::quote(text) : "";
    },
    "");

struct CommandLine {
  Options options;
  int verbosity = 0;
  bool quiet = false;
  std::vector<std::string> dims;
  std::string emit = "so";

  void add_options(CLI::App& app) {
    app.set_version_flag("--version", "onnxc " ONNXC_VERSION);
    app.add_option("MODEL", options.model, "the ONNX file")->required()->option_text(" ");
    app.add_option("-o,--output", options.output, "the file to write")->option_text("FILE");

    app.add_option("--target", options.target, "what to compile for: cpu, or hip for both")
        ->check(CLI::IsMember({"cpu", "hip"}))
        ->option_text("NAME");
    app.add_option("--gpu-arch", options.gpu_arch,
                   fmt::format("GPU of --target hip: {}", onnxc::machine::target_gpu.name))
        ->check(CLI::IsMember({std::string(onnxc::machine::target_gpu.name)}))
        ->option_text("NAME");
    app.add_option("--fp32", options.fp32,
                   "products of float32 on the GPU: ieee (default), xf32 (10 bits) or bf16x3 (16 bits)")
        ->check(CLI::IsMember({"ieee", "xf32", "bf16x3"}))
        ->option_text("KIND");
    app.add_option("--march", options.march, "CPU: native (default), x86-64-v3, x86-64-v4 or another that clang knows")
        ->option_text("NAME");
    app.add_option("--dim", dims, "a symbolic dim's value (N=4) or range (N=1..8); may be repeated")
        ->option_text("NAME=SIZE");
    app.add_option("--outputs", options.outputs, "compile for these outputs only")->delimiter(',')->option_text("A,B");
    app.add_option("--emit", emit, "what to write: so (default), source, obj or ir")
        ->check(CLI::IsMember(emits))
        ->option_text("KIND");
    app.add_option("-O", options.optimization, "0: default schedules, nothing fused; 1 to 3 (default): everything")
        ->check(CLI::Range(0, 3))
        ->option_text("LEVEL");
    app.add_option("-j,--jobs", options.jobs, "run this many compilers at once (default: one a core)")
        ->check(CLI::Range(1, 1024))
        ->option_text("N");
    app.add_flag("--keep-refused", options.keep_refused,
                 "keep the generated sources where a compiler refuses them, and say where");
    app.add_option("--max-memory", options.limits.max_memory, "refuse a model that needs more to compile, such as 8GB")
        ->transform(CLI::AsSizeValue(false))
        ->check(not_negative)
        ->option_text("SIZE");
    app.add_option("--max-nodes", options.limits.max_nodes, "refuse a model of more nodes")
        ->check(not_negative)
        ->option_text("N");

    constexpr const char* reports = "Reports, on stdout; without -o nothing is compiled";
    app.add_option("--dump-shapes", options.dump_shapes, "every shape as a table, or as JSON in a file")
        ->expected(0, 1)
        ->default_str("")
        ->option_text("[=FILE.json]")
        ->group(reports);
    app.add_option("--dump-ir", options.dump_ir, "the graph or program after a pass, or after all (default)")
        ->expected(0, 1)
        ->default_str("all")
        ->option_text("[=PASS]")
        ->group(reports);
    app.add_option("--run-pass", options.run_pass,
                   "one pass alone: MODEL is the text of a program, or an ONNX file for a pass of graphs")
        ->option_text("PASS")
        ->group(reports);
    app.add_flag("--report", options.report, "what became of each node")->group(reports);
    app.add_flag("--json", options.json, "--dump-shapes and --report as JSON")->group(reports);

    constexpr const char* messages = "Messages, on stderr";
    app.add_flag("--time-passes", options.time_passes, "the time of each stage")->group(messages);
    app.add_flag("-v,--verbose", verbosity, "each stage as it ends")->group(messages);
    app.add_flag("-q,--quiet", quiet, "say only errors")->group(messages);
    app.footer(
        "Exit codes: 0 done; 1 the model, the input or the machine is at fault; 2 the command line is;\n"
        "3 a bug of onnxc. Environment: NO_COLOR, TMPDIR.");
  }

  // Returns an exit code when the command ends here (--help, --version, a mistake).
  std::optional<int> parse(int argc, char** argv) {
    CLI::App app{"onnxc compiles an ONNX model into one shared object that runs with nothing else installed."};
    add_options(app);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app.exit(error) == 0 ? 0 : 2;
    }
    for (const std::string& dim : dims) parse_dim(dim, options.dims);
    options.emit = emits.at(emit);
    bool prints_only = options.dump_shapes || options.dump_ir || options.report || options.run_pass;
    if (options.output.empty() && !prints_only)
      throw onnxc::UsageError("nothing to do: give -o FILE, or --dump-shapes");
    if (options.run_pass && !options.output.empty())
      throw onnxc::UsageError("--run-pass prints its result and compiles nothing; leave out -o");
    return std::nullopt;
  }
};

// Messages go to stderr; stdout is data.
void set_up_messages(const CommandLine& command) {
  auto mode = std::getenv("NO_COLOR") == nullptr ? spdlog::color_mode::automatic : spdlog::color_mode::never;
  auto logger = spdlog::stderr_color_mt("onnxc", mode);
  logger->set_pattern("%n: %^%l%$: %v");
  spdlog::set_default_logger(logger);
  auto usual = isatty(STDERR_FILENO) != 0 ? spdlog::level::info : spdlog::level::warn;
  spdlog::set_level(command.quiet ? spdlog::level::err : (command.verbosity > 0 ? spdlog::level::debug : usual));
}

}  // namespace

int main(int argc, char** argv) {
  using onnxc::printable_message, onnxc::write_error;
  CommandLine command;
  try {
    onnxc::keep_standard_streams();
    onnxc::tidy_up_on_signals();
    if (std::optional<int> code = command.parse(argc, argv)) return *code;
    set_up_messages(command);
    if (command.options.run_pass)
      onnxc::run_pass(command.options);
    else
      onnxc::compile(command.options);
    onnxc::finish_standard_output();
    return 0;
  } catch (const onnxc::UsageError& error) {
    write_error(fmt::format("onnxc: error: {}\n", printable_message(error.what())));
    return 2;
  } catch (const onnxc::UserError& error) {
    write_error(fmt::format("onnxc: error: {}\n", printable_message(error.what())));
    return 1;
  } catch (const std::system_error& error) {  // fmt's, of a standard output that cannot be written
    write_error(fmt::format("onnxc: error: standard output: {}\n", printable_message(error.what())));
    return 1;
  } catch (const std::bad_alloc&) {
    write_error("onnxc: error: out of memory\n");
    return 1;
  } catch (const std::exception& error) {
    write_error(
        fmt::format("onnxc: internal error: {}\nThis is a bug of onnxc {}. Please report it with the model, or with "
                    "what --dump-ir prints.\n",
                    printable_message(error.what()), ONNXC_VERSION));
    return 3;
  }
}
