// The pipeline: the way of a model from the file to the shared object, in six stages.
#include "pipeline/compile.h"

#include <fmt/ranges.h>

#include <new>
#include <optional>
#include <utility>

#include "codegen/hip/emit.h"
#include "codegen/hip/hip_target.h"
#include "codegen/model/emit.h"
#include "frontend/import.h"
#include "ir/node_pattern.h"
#include "pipeline/output_files.h"
#include "pipeline/pass_runner.h"
#include "pipeline/programs.h"
#include "pipeline/result_text.h"
#include "pipeline/shapes.h"
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

// A compile: six stages. Each reads what the ones before it have made.
class Compilation {
 public:
  explicit Compilation(const CompileRequest& request)
      : request_(request),
        options_(request.options),
        last_(last_stage(options_)),
        files_(request),
        compiler_(choose_compiler(request)),
        ptxas_(choose_ptxas(options_)),
        passes_(options_, request.messages) {}

  void run() {
    import();
    if (!options_.against.empty()) return compare();
    try {
      const std::pair<Stage, void (Compilation::*)()> stages[] = {
          {Stage::infer, &Compilation::infer}, {Stage::optimize, &Compilation::optimize},
          {Stage::lower, &Compilation::lower}, {Stage::emit, &Compilation::emit},
          {Stage::build, &Compilation::build},
      };
      for (const auto& [stage, run] : stages)
        if (stage <= last_) (this->*run)();
      finish();
    } catch (const UserError& error) {  // the import names the file itself
      throw UserError(fmt::format("{}: {}", quote(options_.model.string()), error.what()));
    }
    if (options_.time_passes) passes_.report();
  }

 private:
  void import() {
    passes_.time("import", [&] { model_ = import_file(request_, options_.model, request_.model_bytes); });
    files_.check_beside(model_, "external data of MODEL");
  }

  void compare() {
    const ImportedModel other = import_file(request_, options_.against, std::nullopt);
    files_.check_beside(other, "external data of --against");
    dump_difference(request_, passes_, model_, other);
  }

  // A model that cannot be compiled is shown as far as its shapes are known.
  void infer() {
    report_.emplace(ReportRequest{options_.report, options_.json}, "Report of " + options_.model.filename().string(),
                    origins(graph()), [&](std::string_view text) { request_.messages(MessageKind::output, text); });
    const Inference inference = infer_shapes(passes_, model_);
    if (options_.dump_shapes) dump_shapes(request_, model_, inference);
    if (!inference.stop.empty()) throw UserError(inference.stop);
    report_->add_graph(graph());
    warn(request_.messages, empty_windows(graph()));
    warn(request_.messages, baked_sizes(graph()));
  }

  void optimize() {
    check_patterns("--keep-float32", options_.keep_float32, graph());
    machines_ = machines_of(options_, graph());
    targets_ = targets_of(options_, machines_);
    optimize_graph(options_, passes_, graph(), targets_);
    if (options_.for_gpu()) check_types_for_gpu(graph());
  }

  // The graph is not looked at after it.
  void lower() {
    programs_ = lower_for_all(options_, passes_, graph(), targets_, *report_);
    passes_.check_dump();
    if (programs_.cpu) report_->add_cpu(programs_.best_cpu());
    if (options_.emit == Emit::ir) write_file(options_.output, to_string(programs_.bound()));
  }

  void emit() {
    const std::string described = describe(options_, machines_);
    std::vector<EmittedDevice> devices;
    if (!programs_.gpus.empty()) devices = emit_devices(described);
    if (last_ == Stage::emit) return report_->add_kernels(kernels_, {});  // only planned
    const CpuMachine& machine = machines_.front();
    passes_.time("emit", [&] {
      emitted_ = emit_model(programs_.bound(), {machine, model_.facts.sha256, described, build_lines(machine),
                                                std::move(devices), programs_.cpu.has_value(), programs_.variants});
    });
  }

  // The report tells of the first.
  std::vector<EmittedDevice> emit_devices(const std::string& described) {
    std::vector<EmittedDevice> devices;
    passes_.time("emit for hip", [&] {
      for (const auto& [gpu, program] : programs_.gpus) {
        const bool is_cubin = options_.makes_cubin(gpu);
        const DeviceSuffixes suffixes = device_suffixes(gpu, devices.size(), is_cubin);
        const std::vector<std::string> lines = device_build_lines(gpu, suffixes);
        devices.push_back(emit_hip(program, {gpu, model_.facts.sha256, described, lines, devices, is_cubin}));
      }
    });
    report_->add_gpu(options_.gpus.front(), target_text(devices.front().machine, devices.front().is_cubin),
                     programs_.gpus.front().program);
    kernels_ = devices.front().kernels;
    return devices;
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
    if (reports_kernels) report_->add_kernels(kernels_, parse_resources(said));
  }

  void finish() {
    report_->finish();
    if (last_ != Stage::build || options_.emit != Emit::shared_object) return;
    try {
      request_.messages(MessageKind::progress, result_line(options_, programs_.bound(), machines_));
    } catch (const UserError& error) {  // it is written, and whole
      request_.messages(MessageKind::warning, error.what());
    }
  }

  Graph& graph() { return *model_.graph; }

  const CompileRequest& request_;
  const Options& options_;
  const Stage last_;
  OutputFiles files_;
  const Compiler compiler_;
  const std::string ptxas_;
  PassRunner passes_;
  ImportedModel model_;
  std::optional<Report> report_;
  std::vector<CpuMachine> machines_;
  std::vector<Target> targets_;
  Programs programs_;
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
