#include "onnxc_run/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "command/option_table.h"
#include "onnxc_run/volume/volume_command_line.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

[[noreturn]] void usage_error(std::string_view option, std::string_view text, std::string_view expected) {
  throw UsageError(fmt::format("{} {}: expected {}", option, printable(text), expected));
}

}  // namespace

void parse_dim(const std::string& text, std::map<std::string, int64_t>& dims) {
  size_t equals = text.rfind('=');
  std::optional<int64_t> value;
  if (equals != std::string::npos && equals > 0)
    value = parse_number<int64_t>(std::string_view(text).substr(equals + 1));
  if (!value || *value < 0) usage_error("--dim", text, "NAME=SIZE, such as N=4");
  dims[text.substr(0, equals)] = *value;
}

Device parse_device(const std::string& text) {
  if (text == "cpu") return {};
  const size_t colon = text.find(':');
  const std::string_view kind = std::string_view(text).substr(0, colon);
  std::optional<int32_t> index = 0;
  if (colon != std::string::npos) index = parse_number<int32_t>(std::string_view(text).substr(colon + 1));
  if ((kind != "gpu" && kind != "hip") || !index || *index < 0)
    usage_error("--device", text, "cpu, gpu, or gpu:N, the GPU of number N, such as gpu:1");
  return {text, true, *index};
}

void parse_shapes(const std::string& text, std::map<std::string, std::vector<int64_t>>& shapes) {
  auto fail = [&] { usage_error("--shapes", text, "NAME:DIMS, such as x:1x1x96x96x96"); };
  std::string name;
  for (std::string_view part : split(text, ',')) {
    size_t colon = part.rfind(':');
    if (colon != std::string_view::npos) {
      name = part.substr(0, colon);
      if (shapes.contains(name)) fail();
      part.remove_prefix(colon + 1);
    }
    if (name.empty()) fail();
    std::vector<int64_t>& dims = shapes[name];
    if (part.empty() && colon != std::string_view::npos) continue;  // "x:" is a scalar
    for (std::string_view digits : split(part, 'x')) {
      std::optional<int64_t> dim = parse_number<int64_t>(digits);
      if (!dim || *dim < 0) fail();
      dims.push_back(*dim);
    }
  }
}

void parse_tolerance(const std::string& option, const std::string& text, std::optional<double>& all,
                     std::map<std::string, double>& by_name) {
  for (std::string_view part : split(text, ',')) {
    size_t colon = part.rfind(':');
    std::optional<double> value = parse_number<double>(colon == std::string_view::npos ? part : part.substr(colon + 1));
    if (!value || !(*value >= 0)) usage_error(option, text, "a number, or NAME:NUMBER, such as 1e-4 or out0:1e-4");
    if (colon == std::string_view::npos) {
      all = *value;
    } else {
      by_name[std::string(part.substr(0, colon))] = *value;
    }
  }
}

namespace {

constexpr const char* on_standard_output = "-";  // a profile whose file is left out

constexpr const char* footer =
    "Exit codes: 0 success; 1 error in the model, an input or the machine; 2 error in the command line;\n"
    "3 bug in onnxc; 4 an output differs from what was expected. Data goes to stdout, messages to stderr.\n"
    "Environment variables: ONNXC_THREADS, OMP_NUM_THREADS (number of threads), ONNXC_POISON (fill memory with "
    "NaN),\n"
    "ONNXC_MARCH (which of the model's CPUs it takes this one for), TMPDIR.";

// The options as they are written, before their parts are read.
struct Words {
  RunOptions& options;
  std::vector<std::string> dims = {}, shapes = {}, relative = {}, absolute = {};
  std::string device = "cpu";

  void add_to(OptionTable& table) {
    table.option("MODEL", options.model, "the compiled model, such as model.so");
    table
        .option("TESTS", options.tests,
                "folder of test data: input_0.pb, output_0.pb, ..., or folders of these named test_data_set_N; "
                "runs the model on each and compares the outputs")
        .without({"--input", "--random", "--expect", "--volume", "--info"});
    table
        .option("--entry", options.entry,
                "the graph to run, of a model that was compiled from several (default: the first)")
        .word("NAME");
    add_inputs(table);
    add_comparisons(table);
    add_verification(table);
    add_reports(table);
    add_machine(table);
    table.flag("--info", options.information, "print the model's inputs, outputs, target and options")
        .without({"--output", "--trace", "--profile", "--trace-events", "--bench", "--volume"});
    table.flag("--json", options.json, "print --info, --bench, --profile, --trace and comparisons as JSON")
        .with({"--info", "--bench", "--profile", "--trace", "--expect", "--verify", "TESTS", "--volume"});
  }

  void add_inputs(OptionTable& table) {
    table
        .option("--input", options.inputs,
                "NAME=FILE: read an input from a .npy file, or from a TensorProto in a .pb file")
        .repeated()
        .without({"--volume", "--info"});
    table.option("--random", options.random_seed, "SEED: fill the inputs without a file with random values")
        .without({"--volume", "--info"});
    table
        .option("--dim", dims,
                "NAME=SIZE: size of a symbolic dim of the random inputs (default: 1 for a batch, else a legal size "
                "near 64)")
        .repeated()
        .with({"--random", "--info", "--bench", "--profile", "--trace-events", "--shapes"})
        .without({"--volume"});
    table.option("--shapes", shapes, "NAME:DIMS: dims of a random input, such as x:1x1x96x96x96")
        .repeated()
        .without({"--volume", "--info"});
  }

  void add_comparisons(OptionTable& table) {
    table.option("--output", options.output,
                 "DIR: write each output to DIR/NAME.npy (.pb for a type that numpy lacks)");
    table.option("--expect", options.expected, "NAME=FILE: compare an output with a .npy or .pb file")
        .repeated()
        .without({"--volume", "--info"});
    table
        .option("--rtol", relative,
                "tolerance relative to the largest magnitude of the tensor, for all outputs or NAME:VALUE (default by "
                "dtype: "
                "1e-4, half types 1e-2)")
        .repeated()
        .with({"--expect", "--verify", "TESTS"});
    table
        .option("--atol", absolute,
                "absolute tolerance, for all outputs or NAME:VALUE (default by dtype: 1e-5, half types 1e-2)")
        .repeated()
        .with({"--expect", "--verify", "TESTS"});
    table.flag("--equal-nan", options.tolerance.equal_nan, "treat NaN as equal to NaN, and an infinity to itself")
        .with({"--expect", "TESTS"});
  }

  void add_verification(OptionTable& table) {
    table
        .option("--verify", options.verify,
                "MODEL.onnx: compile this model with -O0, compare every tensor, and print the first node that differs")
        .without({"--volume", "--info", "TESTS"});
    table
        .option("--verify-with", options.verify_with,
                "who computes the tensors of --verify: onnxc (default, with -O0) or onnxruntime, through python3")
        .one_of({"onnxc", "onnxruntime"})
        .with({"--verify"})
        .word("NAME");
    table
        .option("--trace", options.trace,
                "DIR: write every intermediate tensor, and print its minimum, maximum, mean, NaN and infinities")
        .without({"--volume", "TESTS"});
  }

  void add_reports(OptionTable& table) {
    table
        .option("--profile", options.profile,
                "print the time of each kernel, and the layers that it computes; with =FILE.html write a page")
        .without_value(on_standard_output)
        .without({"--volume", "TESTS"})
        .word("[=FILE.html]");
    table
        .option("--against", options.against,
                "with --profile=FILE.html: compare on the page with an earlier run, which --profile --json wrote")
        .with({"--profile=FILE"})
        .word("BEFORE.json");
    table
        .flag("--compare-anyway", options.compares_anyway,
              "compare a run of other input sizes, threads or precision (--against), or another model (--verify), too")
        .with({"--against", "--verify"});
    table
        .option("--trace-events", options.trace_events,
                "FILE.json: write the times of one run for ui.perfetto.dev and chrome://tracing")
        .without({"--volume", "TESTS"});
    table.option("--bench", options.benchmark_runs, "N: benchmark: at least N runs, 10 runs and 3 seconds")
        .without_value("10", true)
        .between(1, 1'000'000'000)
        .without({"--volume", "TESTS"});
  }

  void add_machine(OptionTable& table) {
    table
        .option("--threads", options.threads,
                "number of threads (default, as 0 and -1: as many as the CPUs that the process may use)")
        .between(-1, 1024);
    table.option("--device", device, "device to run on: cpu, gpu, or gpu:N, the GPU of number N, from 0").word("NAME");
    table.flag("--hip-graph", options.hip_graph,
               "launch the kernels of a run as one HIP graph, if no size or condition depends on the data");
  }

  void read() {
    for (const std::string& text : dims) parse_dim(text, options.dims);
    for (const std::string& text : shapes) parse_shapes(text, options.shapes);
    for (const std::string& text : relative)
      parse_tolerance("--rtol", text, options.tolerance.relative, options.tolerance.relative_by_name);
    for (const std::string& text : absolute)
      parse_tolerance("--atol", text, options.tolerance.absolute, options.tolerance.absolute_by_name);
    options.device = parse_device(device);
    options.threads = std::max(options.threads, 0);
    if (options.profile == on_standard_output) options.profile = "";
    if (options.hip_graph && !options.device.is_gpu) throw UsageError("--hip-graph: give --device gpu as well");
  }
};

}  // namespace

std::variant<RunOptions, int> parse_command_line(int argc, char** argv) {
  RunOptions options;
  CLI::App app{"onnxc-run runs, checks and measures a model that onnxc compiled.", "onnxc-run"};
  app.footer(footer);
  app.set_version_flag("--version", "onnxc-run " ONNXC_VERSION);
  OptionTable table(app);
  Words words{options};
  words.add_to(table);
  VolumeWords volume_words{options.volume};
  volume_words.add_to(table);
  try {
    table.parse(std::vector<std::string>(argv + 1, argv + std::max(argc, 1)));
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  }
  if (options.model.empty())
    throw UsageError(
        options.volume.volumes.empty()
            ? "MODEL is required"
            : "MODEL is required; --volume takes all words that follow it, so that the model stands before it");
  table.check_effects();
  words.read();
  volume_words.read();
  return options;
}

}  // namespace onnxc
