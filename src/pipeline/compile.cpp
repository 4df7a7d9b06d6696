// The pipeline: the way of a model from the file to the shared object, a stage a line.
#include "pipeline/compile.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <new>
#include <span>
#include <system_error>

#include "codegen/cpu/cpu_target.h"
#include "codegen/hip/emit.h"
#include "codegen/hip/hip_target.h"
#include "codegen/model/emit.h"
#include "frontend/import.h"
#include "ir/node_pattern.h"
#include "passes/graph/reduce_precision.h"
#include "passes/lowering/lower.h"
#include "pipeline/pass_runner.h"
#include "pipeline/pass_table.h"
#include "report/graph_warnings.h"
#include "report/nodes.h"
#include "report/report.h"
#include "report/shape_difference.h"
#include "report/shapes.h"
#include "support/count_text.h"
#include "support/diagnostics.h"
#include "support/list_text.h"
#include "support/safe_file.h"
#include "support/text.h"
#include "toolchain/build_commands.h"
#include "toolchain/device_commands.h"
#include "toolchain/library_needs.h"
#include "toolchain/toolchain.h"

namespace onnxc {
namespace {

// The files that the command line names; those that a model names are known after its import.
InputFiles named_inputs(const CompileRequest& request) {
  InputFiles inputs;
  if (!request.model_bytes) inputs.add("MODEL", request.options.model);
  if (!request.options.against.empty()) inputs.add("--against", request.options.against);
  return inputs;
}

void check_output(const char* option, const std::filesystem::path& output, const InputFiles& inputs) {
  inputs.check_output(option, output);
  check_folder_of(option, output);
}

void check_outputs(const Options& options, const InputFiles& inputs) {
  if (options.dump_shapes && !options.dump_shapes->empty()) check_output("--dump-shapes", *options.dump_shapes, inputs);
  if (options.report && !options.report->empty()) check_output("--report", *options.report, inputs);
  if (options.output.empty()) return;
  check_output("-o", options.output, inputs);
  if (options.emit != Emit::source) return;
  for (const char* suffix : source_suffixes) inputs.check_output("-o", options.output.string() + suffix);
}

void check_external_files(const Options& options, const ImportedModel& model, const char* role, InputFiles& inputs) {
  for (const std::filesystem::path& file : model.external_files) inputs.add(role, file);
  check_outputs(options, inputs);
}

bool only_shows_shapes(const Options& options) {
  return options.dump_shapes && options.output.empty() && !options.dump_ir && !options.report;
}

// A model may give a reason for each of its nodes.
void warn(const MessageSink& messages, const std::vector<std::string>& warnings) {
  for (const std::string& warning : std::span(warnings).first(std::min(warnings.size(), most_listed)))
    messages(MessageKind::warning, warning);
  if (warnings.size() > most_listed)
    messages(MessageKind::warning,
             fmt::format("and {} like these", counted(warnings.size() - most_listed, "more warning")));
}

// `bytes`: the model, if it is in memory.
ImportedModel import(const CompileRequest& request, const std::filesystem::path& file,
                     std::optional<std::string_view> bytes) {
  const Options& options = request.options;
  ImportOptions import_options;
  import_options.model_bytes = bytes;
  import_options.limits = options.limits;
  import_options.dims = options.dims;
  import_options.outputs = options.outputs;
  // The shapes of a model that cannot be compiled can still be seen, up to the node that stops it.
  import_options.keep_unsupported = only_shows_shapes(options);
  ImportedModel model = import_model(file, import_options);
  warn(request.messages, model.warnings);
  return model;
}

// `table` and `json` make the texts of what is shown.
template <class Shown>
void dump(const CompileRequest& request, const Shown& shown, std::string (*table)(const Shown&),
          std::string (*json)(const Shown&)) {
  const Options& options = request.options;
  if (options.dump_shapes->empty())
    request.messages(MessageKind::output, options.json ? json(shown) : table(shown));
  else
    write_file(*options.dump_shapes, json(shown));
}

void dump_shapes(const CompileRequest& request, const ShownShapes& shown) {
  dump(request, shown, shapes_table, shapes_json);
}

// Why a model cannot be compiled: all operators that it lacks, as the import found them, and all other faults.
std::string reasons_to_stop(const std::string& unsupported, const std::vector<ShapeFaults::Fault>& faults) {
  std::vector<ShapeFaults::Fault> others;
  for (const ShapeFaults::Fault& fault : faults)
    if (fault.node->op != nullptr) others.push_back(fault);
  if (unsupported.empty() || others.empty()) return unsupported.empty() ? ShapeFaults::text_of(others) : unsupported;
  return unsupported + "\n" + ShapeFaults::text_of(others);
}

// Why the shapes of a model could not all be inferred; "" if they were.
struct Inference {
  std::vector<ShapeFaults::Fault> faults;
  std::string stop;
};

Inference infer_shapes(PassRunner& passes, const ImportedModel& model) {
  try {
    for (const GraphPass& pass : shape_passes()) passes.run(pass, *model.graph);
    return {};
  } catch (const ShapeFaults& found) {
    return {found.faults, reasons_to_stop(model.facts.unsupported, found.faults)};
  } catch (const UserError& error) {
    return {{}, error.what()};
  }
}

// A model that cannot be compiled is shown as far as its shapes are known.
void infer_and_dump_shapes(const CompileRequest& request, PassRunner& passes, const ImportedModel& model) {
  const auto [faults, stop] = infer_shapes(passes, model);
  if (request.options.dump_shapes)
    dump_shapes(request, {*model.graph, ShapeView(*model.graph, request.options.shape_request), faults, stop});
  if (!stop.empty()) throw UserError(stop);
}

void dump_difference(const CompileRequest& request, PassRunner& passes, const ImportedModel& model,
                     InputFiles& inputs) {
  const Options& options = request.options;
  const ImportedModel other = import(request, options.against, std::nullopt);
  check_external_files(options, other, "external data of --against", inputs);
  const ComparedGraph before{options.against.string(), *other.graph, infer_shapes(passes, other).stop};
  const ComparedGraph after{options.model.string(), *model.graph, infer_shapes(passes, model).stop};
  const ShapeDifference difference = compare_shapes(before, after, ShapeView(*model.graph, options.shape_request));
  dump(request, difference, difference_table, difference_json);
}

StoragePrecision precision_of(const Options& options) {
  return {*parse_dtype(options.precision), options.keep_float32};
}

// The targets of a compile: the CPUs, the least capable first, then the GPU.
std::vector<Target> targets_of(const Options& options, const std::vector<CpuMachine>& machines) {
  std::vector<Target> targets;
  if (options.for_cpu()) std::ranges::transform(machines, std::back_inserter(targets), cpu_target);
  if (options.for_gpu()) targets.push_back(hip_target(float32_products(options.fp32), options.gpus));
  return targets;
}

PassConditions conditions_of(const Options& options, std::span<const Target> targets) {
  return {options.optimization > 0, precision_of(options).dtype != DType::float32, targets};
}

template <class Pass>
bool runs(const Pass& pass, const PassConditions& conditions, const Options& options) {
  return applies(pass.when, conditions) &&
         std::ranges::find(options.skipped_passes, pass.name) == options.skipped_passes.end();
}

// Graph to graph, for all targets.
void optimize_graph(const Options& options, PassRunner& passes, Graph& graph, std::span<const Target> targets) {
  const PassConditions conditions = conditions_of(options, targets);
  for (const GraphPass& pass : graph_passes())
    if (runs(pass, conditions, options)) passes.run(pass, graph);
  // Last, since the passes above compute weights, and expect a node's types to be those that ONNX allows.
  if (conditions.narrows)
    passes.run("reduce_precision", graph, [&] { reduce_precision(graph, precision_of(options)); });
}

// Graph to program, and program to program. `report`, if there is one, hears of the choice of kernels.
Program lower_graph(const Options& options, PassRunner& passes, const Graph& graph, const Target& target,
                    Report* report) {
  const bool optimizes = options.optimization > 0;
  const KernelChoices choices = optimizes ? passes.choose_kernels(graph, target) : KernelChoices();
  if (report != nullptr) report->add_offers(target.name, graph, choices);
  Program program = passes.lower([&] { return lower(graph, choices); });
  const PassConditions conditions = conditions_of(options, {&target, 1});
  for (const ProgramPass& pass : program_passes())
    if (runs(pass, conditions, options)) passes.run(pass, program, target);
  return program;
}

// A program for each target, from the same graph.
struct Programs {
  std::optional<Program> cpu, gpu;
  std::vector<CpuVariant> variants;  // for the CPUs after the first
};

Programs lower_for_all(const Options& options, PassRunner& passes, const Graph& graph, std::span<const Target> targets,
                       Report& report) {
  Programs programs;
  for (const Target& target : targets) {
    auto lowered = [&](Report* hears) { return lower_graph(options, passes, graph, target, hears); };
    const auto* cpu = std::get_if<CpuMachine>(&target.machine);
    if (cpu != nullptr && programs.cpu)
      programs.variants.push_back({*cpu, lowered(nullptr)});
    else if (cpu != nullptr)
      programs.cpu = lowered(&report);
    else if (options.emit != Emit::ir || !programs.cpu)
      programs.gpu = lowered(&report);
  }
  return programs;
}

// Returns what the compilers said.
std::string write_output(const Options& options, const EmittedModel& emitted, const ToolchainOptions& toolchain) {
  switch (options.emit) {
    case Emit::shared_object:
      return build_shared_object(emitted, toolchain, options.output);
    case Emit::object:
      return build_object(emitted, toolchain, options.output);
    case Emit::source:
      write_source(emitted, options.output);
      return {};
    case Emit::ir:
      internal_error("IR is written before anything is emitted");
  }
}

std::string names_of(const std::vector<CpuMachine>& machines, const char* separator) {
  std::vector<std::string> names;
  for (const CpuMachine& machine : machines) names.push_back(machine.march);
  return fmt::format("{}", fmt::join(names, separator));
}

// The command-line options that shape the result, for the header of the source.
std::string describe(const Options& options, const std::vector<CpuMachine>& machines) {
  std::string text =
      fmt::format("--target {} --march {} -O{}", options.target, names_of(machines, ","), options.optimization);
  if (options.gpus != Options().gpus) text += fmt::format(" --gpu-arch {}", fmt::join(options.gpus, ","));
  if (options.fp32 != "ieee") text += " --fp32 " + options.fp32;
  if (options.precision != "float32") text += " --precision " + options.precision;
  for (const std::string& pattern : options.keep_float32) text += " --keep-float32 " + pattern;
  for (const auto& [name, bounds] : options.dims)
    text += fmt::format(" --dim {}={}..{}", name, bounds.minimum, bounds.maximum);
  for (const std::string& output : options.outputs) text += " --outputs " + output;
  for (const std::string& pass : options.skipped_passes) text += " --skip-pass " + pass;
  return text;
}

// The file, its size, its target and the legal sizes: "wrote unet.so: 21.8 MB, cpu x86-64-v4 (of this machine), ...".
std::string result_line(const Options& options, const Program& program, const std::vector<CpuMachine>& machines) {
  std::error_code error;
  const double megabytes = static_cast<double>(std::filesystem::file_size(options.output, error)) / 1e6;
  const std::string glibc = needs_of(options.output).glibc;
  std::string line =
      fmt::format("wrote {}: {:.1f} MB, {}{} {}{}, glibc {} or newer", quote(options.output.string()), megabytes,
                  options.for_gpu() ? fmt::format("GPU {}, ", fmt::join(options.gpus, " and ")) : "",
                  options.for_cpu() ? "cpu" : "host code for cpu", names_of(machines, " and "),
                  options.marches == Options().marches ? " (this machine's; --march chooses)" : "",
                  glibc.empty() ? "2.2.5" : glibc);
  std::map<std::string, std::string> symbols_of_rule;  // one entry for D, H and W alike
  for (const SizeRule& rule : program.size_rules)
    symbols_of_rule[printable(rule.legal)] +=
        (symbols_of_rule[printable(rule.legal)].empty() ? "" : ", ") + printable(rule.symbol.name());
  for (const auto& [legal, symbols] : symbols_of_rule) line += fmt::format("; {} = {}", symbols, legal);
  return line;
}

NarrowProducts narrow_products(const Options& options, const Graph& graph) {
  NarrowProducts products{.bfloat16 = precision_of(options).dtype == DType::bfloat16};
  for (const auto& value : graph.values()) {
    products.bfloat16 |= value->dtype == DType::bfloat16;
    products.int8 |= value->dtype == DType::int8 || value->dtype == DType::uint8;
  }
  return products;
}

void compile_model(const CompileRequest& request, const Compiler& compiler, PassRunner& passes,
                   const ImportedModel& model) {
  const Options& options = request.options;
  Graph& graph = *model.graph;
  Report report({options.report, options.json}, "Report of " + options.model.filename().string(), origins(graph),
                [&](std::string_view text) { request.messages(MessageKind::output, text); });
  // Everything after asks for shapes.
  infer_and_dump_shapes(request, passes, model);
  report.add_graph(graph);
  warn(request.messages, empty_windows(graph));
  warn(request.messages, baked_sizes(graph));
  if (only_shows_shapes(options)) return;
  check_patterns("--keep-float32", options.keep_float32, graph);
  const std::vector<CpuMachine> machines =
      resolve_marches(options.marches, options.compiler, narrow_products(options, graph));
  const CpuMachine& machine = machines.front();
  const std::vector<Target> targets = targets_of(options, machines);
  optimize_graph(options, passes, graph, targets);
  if (options.for_gpu()) check_types_for_gpu(graph);

  // The graph is not looked at beyond this point.
  const auto [cpu_program, device_program, variants] = lower_for_all(options, passes, graph, targets, report);
  passes.check_dump();
  // The program that the runtime binds before it asks for a target.
  const Program& program = cpu_program ? *cpu_program : *device_program;
  if (cpu_program) report.add_cpu(variants.empty() ? *cpu_program : variants.back().program);
  const bool reports_kernels = options.report && options.for_gpu() && options.emit != Emit::ir;
  if (options.output.empty() && !reports_kernels) return report.finish();
  if (options.emit == Emit::ir) {
    report.finish();
    return write_file(options.output, to_string(program));
  }

  const std::string described = describe(options, machines);
  std::optional<EmittedDevice> device;
  if (device_program) {
    // The runtime counts levels for both.
    internal_check(std::ranges::count_if(device_program->steps, begins_level) ==
                       std::ranges::count_if(program.steps, begins_level),
                   "as many levels on the GPU as on the CPU");
    passes.time("emit for hip", [&] {
      device = emit_hip(*device_program, {std::get<machine::GpuMachine>(targets.back().machine), options.gpus,
                                          model.facts.sha256, described, device_build_lines(options.gpus)});
    });
    report.add_gpu(fmt::format("{}", fmt::join(options.gpus, ",")), *device_program);
  }
  const std::vector<DeviceKernel> device_kernels = device ? device->kernels : std::vector<DeviceKernel>();
  if (options.output.empty()) {
    report.add_kernels(device_kernels, {});
    return report.finish();
  }
  EmittedModel emitted;
  passes.time("emit", [&] {
    emitted = emit_model(program, {machine, model.facts.sha256, described, build_lines(machine), std::move(device),
                                   cpu_program.has_value(), variants});
  });
  const ToolchainOptions toolchain{machine,
                                   options.jobs,
                                   options.optimization,
                                   reports_kernels,
                                   options.keep_refused,
                                   compiler,
                                   options.limits.process_memory(),
                                   passes.deadline()};
  if (compiles_libraries_first(compiler))
    request.messages(MessageKind::progress, "zig compiles its own libraries first, once: 20 to 30 s");
  std::string said;
  passes.time("clang", [&] { said = write_output(options, emitted, toolchain); });
  if (reports_kernels) report.add_kernels(device_kernels, parse_resources(said));
  report.finish();
  if (options.emit != Emit::shared_object) return;
  try {
    request.messages(MessageKind::progress, result_line(options, program, machines));
  } catch (const UserError& error) {  // it is written, and whole
    request.messages(MessageKind::warning, error.what());
  }
}

// Before any work: a machine without one is told so at once.
Compiler choose_compiler(const CompileRequest& request) {
  const Options& options = request.options;
  if (options.output.empty() || options.emit == Emit::source || options.emit == Emit::ir) return {};
  Compiler compiler = find_compiler(options.compiler);
  check_is_clang(compiler);
  if (options.for_gpu()) check_compiles_hip(compiler);
  request.messages(MessageKind::detail, "compiler: " + compiler.describe());
  return compiler;
}

void run(const CompileRequest& request) {
  const Options& options = request.options;
  InputFiles inputs = named_inputs(request);
  check_outputs(options, inputs);
  const Compiler compiler = choose_compiler(request);
  PassRunner passes(options, request.messages);
  ImportedModel model;
  passes.time("import", [&] { model = import(request, options.model, request.model_bytes); });
  check_external_files(options, model, "external data of MODEL", inputs);
  if (!options.against.empty()) return dump_difference(request, passes, model, inputs);
  try {
    compile_model(request, compiler, passes, model);
  } catch (const UserError& error) {
    // The import names the file itself.
    throw UserError(fmt::format("{}: {}", quote(options.model.string()), error.what()));
  }
  if (options.time_passes) passes.report();
}

}  // namespace

Outcome compile(const CompileRequest& request) {
  return outcome_of([&] {
    try {
      run(request);
    } catch (const std::bad_alloc&) {
      user_error("{}: out of memory; a process of the compile may use {} bytes (--max-memory)",
                 quote(request.options.model.string()), request.options.limits.process_memory());
    }
  });
}

}  // namespace onnxc
