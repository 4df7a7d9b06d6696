// The pipeline: the way of a model from the file to the shared object, in six stages.
#include "pipeline/compile.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "codegen/hip/emit.h"
#include "codegen/hip/hip_target.h"
#include "codegen/model/emit.h"
#include "frontend/import.h"
#include "ir/node_pattern.h"
#include "passes/states/narrow_states.h"
#include "pipeline/graph_files.h"
#include "pipeline/output_files.h"
#include "pipeline/pass_runner.h"
#include "pipeline/programs.h"
#include "pipeline/result_text.h"
#include "pipeline/shapes.h"
#include "pipeline/states.h"
#include "report/nodes.h"
#include "report/report.h"
#include "report/warnings.h"
#include "support/diagnostics.h"
#include "support/safe_file.h"
#include "support/text.h"
#include "toolchain/build_commands.h"
#include "toolchain/device_commands.h"
#include "toolchain/ptxas.h"
#include "toolchain/toolchain.h"

namespace onnxc {
namespace {

enum class Stage { import, infer, optimize, lower, emit, build };

bool only_shows_shapes(const Options& options) {
  return options.dump_shapes && options.output.empty() && !options.dump_ir && !options.report;
}

// The last stage that the options ask for.
Stage last_stage(const Options& options) {
  if (!options.against.empty()) return Stage::import;
  if (only_shows_shapes(options)) return Stage::infer;
  if (options.emit == Emit::ir) return Stage::lower;
  if (!options.output.empty()) return Stage::build;
  // The report of a GPU's kernels is made with their source.
  return options.report && options.for_gpu() ? Stage::emit : Stage::lower;
}

void warn(const MessageSink& messages, const std::vector<std::string>& warnings) {
  for (const std::string& warning : listed_warnings(warnings)) messages(MessageKind::warning, warning);
}

// `bytes`: the model, if it is in memory.
ImportedModel import_file(const CompileRequest& request, const std::filesystem::path& file,
                          std::optional<std::string_view> bytes) {
  const Options& options = request.options;
  ImportOptions import_options;
  import_options.model_bytes = bytes;
  import_options.limits = options.limits;
  import_options.dims = options.dims;
  import_options.outputs = options.outputs;
  // --outputs chooses among those that the caller gets.
  for (const StateNames& state : options.states)
    if (!options.outputs.empty() && std::ranges::count(options.outputs, state.output) == 0)
      import_options.outputs.push_back(state.output);
  import_options.keep_unused_dims = !options.more_models.empty();
  // The shapes of a model that cannot be compiled can still be seen, up to the node that stops it.
  import_options.keep_unsupported = only_shows_shapes(options);
  ImportedModel model = import_model(file, import_options);
  warn(request.messages, model.warnings);
  return model;
}

// Fails before any work if no compiler is installed.
Compiler choose_compiler(const CompileRequest& request) {
  const Options& options = request.options;
  if (options.output.empty() || options.emit == Emit::source || options.emit == Emit::ir) return {};
  Compiler compiler = find_compiler(options.compiler);
  check_is_clang(compiler);
  if (options.for_gpu()) check_compiles_for_gpus(compiler, gpus_of(options));
  request.messages(MessageKind::detail, "compiler: " + compiler.describe());
  return compiler;
}

// The assembler of NVIDIA's code, if the compile needs it, or has it at hand for a report; else empty.
std::string choose_ptxas(const Options& options) {
  const bool writes_code = options.emit == Emit::shared_object || options.emit == Emit::object;
  if (options.output.empty() || !writes_code || !options.for_gpu()) return {};
  if (options.gpu_code == "cubin") return required_ptxas(options.compiler.ptxas);
  return options.report ? find_ptxas(options.compiler.ptxas).value_or("") : "";
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

// One of the graphs, on its way.
struct Work {
  GraphFile file;
  ImportedModel model = {};
  std::unique_ptr<Report> report = {};
  Programs programs = {};
  std::vector<EmittedDevice> devices = {};
};

// A compile: six stages. Each reads what the ones before it have made. Several graphs go together into the last two.
class Compilation {
 public:
  explicit Compilation(const CompileRequest& request)
      : request_(request),
        options_(request.options),
        last_(last_stage(options_)),
        files_(request),
        compiler_(choose_compiler(request)),
        ptxas_(choose_ptxas(options_)),
        passes_(options_, request.messages) {
    for (GraphFile& file : graph_files(options_)) graphs_.push_back({std::move(file)});
  }

  void run() {
    for (Work& work : graphs_) import(work);
    if (!options_.against.empty()) return compare();
    check_dims_used();
    check_state_names(options_.states, graphs());
    for (Work& work : graphs_) about(work.file.path, [&] { infer(work); });
    if (last_ >= Stage::optimize) choose_targets();
    for (Work& work : graphs_)
      about(work.file.path, [&] {
        if (last_ >= Stage::optimize) optimize(work);
        if (last_ >= Stage::lower) lower(work);
      });
    about(options_.model, [&] {
      if (last_ >= Stage::emit) emit();
      if (last_ >= Stage::build) build();
      finish();
    });
    if (options_.time_passes) passes_.report();
  }

 private:
  // Names the file in errors; the import does so itself.
  void about(const std::filesystem::path& file, const std::function<void()>& stage) {
    passes_.works_on(file);
    try {
      stage();
    } catch (const UserError& error) {
      throw UserError(fmt::format("{}: {}", quote(file.string()), error.what()));
    }
  }

  void import(Work& work) {
    const std::filesystem::path& file = work.file.path;
    const auto bytes = &work == &graphs_.front() ? request_.model_bytes : std::nullopt;
    passes_.time("import", [&] { work.model = import_file(request_, file, bytes); });
    files_.check_beside(work.model, "external data of MODEL");
  }

  void compare() {
    const ImportedModel other = import_file(request_, options_.against, std::nullopt);
    files_.check_beside(other, "external data of --against");
    dump_difference(request_, passes_, graphs_.front().model, other);
  }

  // The import has said so of a lone graph.
  void check_dims_used() const {
    for (const std::string& name : graphs_.front().model.unused_dims) {
      const auto lacks = [&](const Work& work) { return std::ranges::count(work.model.unused_dims, name) > 0; };
      if (std::ranges::all_of(graphs_, lacks))
        throw UsageError(fmt::format("--dim {}: the inputs of the models have no dim of this name", printable(name)));
    }
  }

  // A model that cannot be compiled is shown as far as its shapes are known.
  void infer(Work& work) {
    const Graph& graph = *work.model.graph;
    work.report = std::make_unique<Report>(
        ReportRequest{options_.report, options_.json}, "Report of " + work.file.path.filename().string(),
        origins(graph), [&](std::string_view text) { request_.messages(MessageKind::output, text); });
    const Inference inference = infer_shapes(passes_, work.model);
    if (options_.dump_shapes) dump_shapes(request_, work.model, inference);
    if (!inference.stop.empty()) throw UserError(inference.stop);
    check_states(options_.states, *work.model.graph);
    warn(request_.messages, empty_windows(graph));
    warn(request_.messages, baked_sizes(graph));
    if (last_ == Stage::infer) work.report->add_graph(graph);
  }

  std::vector<const Graph*> graphs() const {
    std::vector<const Graph*> graphs;
    for (const Work& work : graphs_) graphs.push_back(work.model.graph.get());
    return graphs;
  }

  // Once for all graphs, since their code becomes one file.
  void choose_targets() {
    check_patterns("--keep-float32", options_.keep_float32, graphs());
    machines_ = machines_of(options_, graphs());
    targets_ = targets_of(options_, machines_);
  }

  void optimize(Work& work) {
    Graph& graph = *work.model.graph;
    if (graphs_.size() > 1 && options_.report) request_.messages(MessageKind::output, work.file.path.string() + "\n");
    work.report->add_graph(graph);
    optimize_graph(options_, passes_, graph, targets_);
    if (options_.for_gpu()) check_types_for_gpu(graph);
  }

  // Nothing is kept of the graph: one of several at a time takes memory, and equal weights take it once.
  void lower(Work& work) {
    work.programs = lower_for_all(options_, passes_, *work.model.graph, targets_, *work.report);
    passes_.check_dump();
    if (work.programs.cpu) work.report->add_cpu(work.programs.best_cpu());
    if (options_.emit == Emit::ir) write_file(options_.output, to_string(work.programs.bound()));
    work.model.graph.reset();
    if (graphs_.size() == 1) return;
    for (Program* program : work.programs.all()) constants_.share(*program);
  }

  std::vector<const Program*> programs() const {
    std::vector<const Program*> programs;
    for (const Work& work : graphs_) programs.push_back(&work.programs.bound());
    return programs;
  }

  std::vector<Program*> all_programs() {
    std::vector<Program*> programs;
    for (Work& work : graphs_) std::ranges::copy(work.programs.all(), std::back_inserter(programs));
    return programs;
  }

  void emit() {
    const std::string described = describe(options_, machines_);
    if (options_.optimization > 0) narrow_states(all_programs());
    check_shared_states(programs());
    device_weights_.resize(graphs_.front().programs.gpus.size());
    for (size_t entry = 0; entry < graphs_.size(); ++entry)
      if (!device_weights_.empty()) emit_devices(entry, described);
    if (last_ == Stage::emit) return graphs_.front().report->add_kernels(kernels_, {});  // only planned
    const CpuMachine& machine = machines_.front();
    passes_.time("emit", [&] {
      std::vector<ModelEntry> entries;
      for (Work& work : graphs_)
        entries.push_back({work.file.entry, work.model.facts.sha256, work.programs.bound(), std::move(work.devices),
                           work.programs.variants});
      emitted_ = emit_model(std::move(entries),
                            {machine, described, build_lines(machine), options_.for_cpu(), options_.states},
                            std::move(device_weights_));
    });
  }

  // The report tells of the first card.
  void emit_devices(size_t entry, const std::string& described) {
    Work& work = graphs_[entry];
    passes_.time("emit for hip", [&] {
      for (const auto& [gpu, program] : work.programs.gpus) {
        const bool is_cubin = options_.makes_cubin(gpu);
        const size_t card = work.devices.size(), index = entry * work.programs.gpus.size() + card;
        const DeviceSuffixes suffixes = device_suffixes(gpu, index, is_cubin, entry);
        const std::vector<std::string> lines = device_build_lines(gpu, suffixes);
        work.devices.push_back(emit_hip(
            program, {gpu, work.model.facts.sha256, described, lines, is_cubin, card, entry}, device_weights_[card]));
      }
    });
    const EmittedDevice& first = work.devices.front();
    work.report->add_gpu(options_.gpus.front(), target_text(first.machine, first.is_cubin),
                         work.programs.gpus.front().program);
    if (entry == 0) kernels_ = first.kernels;
  }

  void build() {
    const bool reports_kernels = options_.report && options_.for_gpu();
    const ToolchainOptions toolchain{machines_.front(),
                                     options_.jobs,
                                     options_.optimization,
                                     reports_kernels,
                                     options_.keep_refused,
                                     compiler_,
                                     ptxas_,
                                     options_.limits.process_memory(),
                                     passes_.deadline()};
    if (compiles_libraries_first(compiler_))
      request_.messages(MessageKind::progress, "zig compiles its own libraries first, once: 20 to 30 s");
    std::string said;
    passes_.time("clang", [&] { said = write_output(options_, emitted_, toolchain); });
    if (reports_kernels) graphs_.front().report->add_kernels(kernels_, parse_resources(said));
  }

  void finish() {
    for (Work& work : graphs_) work.report->finish();
    if (last_ != Stage::build || options_.emit != Emit::shared_object) return;
    try {
      request_.messages(MessageKind::progress, result_line(options_, programs(), machines_));
    } catch (const UserError& error) {  // it is written, and whole
      request_.messages(MessageKind::warning, error.what());
    }
  }

  const CompileRequest& request_;
  const Options& options_;
  const Stage last_;
  OutputFiles files_;
  const Compiler compiler_;
  const std::string ptxas_;
  PassRunner passes_;
  std::vector<Work> graphs_;
  SharedConstants constants_;
  std::vector<CpuMachine> machines_;
  std::vector<Target> targets_;
  std::vector<WeightBytes> device_weights_;  // of each card
  EmittedModel emitted_;
  std::vector<DeviceKernel> kernels_;  // of the first GPU
};

}  // namespace

Outcome compile(const CompileRequest& request) {
  return outcome_of([&] {
    try {
      Compilation(request).run();
    } catch (const std::bad_alloc&) {
      user_error("{}: out of memory; a process of the compile may use {} bytes (--max-memory)",
                 quote(request.options.model.string()), request.options.limits.process_memory());
    }
  });
}

}  // namespace onnxc
