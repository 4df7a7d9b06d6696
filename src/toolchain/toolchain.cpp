#include "toolchain/toolchain.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <list>

#include "machine/gpu_machines.h"
#include "support/diagnostics.h"
#include "support/parallel.h"
#include "support/processes/subprocess.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"
#include "support/text.h"
#include "toolchain/build_commands.h"
#include "toolchain/device_commands.h"
#include "toolchain/ptxas.h"
#include "toolchain/weights_section.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;

std::string numbered(const char* stem, size_t index) { return index == 0 ? stem : fmt::format("{}{}", stem, index); }

DeviceSuffixes device_suffixes(const EmittedDevice& device, size_t index) {
  return onnxc::device_suffixes(device.machine, index, device.is_cubin, device.entry);
}

class Build {
 public:
  Build(const EmittedModel& model, const ToolchainOptions& options)
      : model_(model), options_(options), parts_(find_parts()) {}

  // Compiles everything and links it; returns what the compilers said.
  std::string run(bool shared, const fs::path& output) {
    compile_all(shared);
    run(linker_.empty() ? link_command_of(shared, objects_) : linker_);
    OutputFile file(output, shared ? OutputFile::Kind::executable : OutputFile::Kind::data);
    weights_.write(std::string(map_file(linked_path())->text()), file);
    file.commit();
    return said_;
  }

 private:
  fs::path path(const std::string& name) const { return folder_.path() / name; }

  void compile_all(bool shared) {
    const fs::path source = path("model.cpp");
    write_file(source, model_.source);
    compile_parts(source, model_.parts, options_.machine);
    for (const EmittedSource& variant : model_.variants) compile_variant(variant);
    add_weights();
    if (!model_.devices.empty()) compile_devices();
    // Meanwhile the driver is asked how it would link: it takes as long to start as the linker to run. It wants to see
    // its inputs, and a compiler may remove an object before it writes it: a file stands in for all. Zig does not show
    // it.
    if (options_.compiler.is_zig()) {
      said_ += fmt::format("{}", fmt::join(run_all(), ""));
      return;
    }
    const std::string stand_in = path("objects.o").string();
    write_file(stand_in, "");
    commands_.push_back(dry_run(link_command_of(shared, {stand_in})));
    std::vector<std::string> said = run_all();
    linker_ = command_of_dry_run(said.back());
    if (const auto place = std::ranges::find(linker_, stand_in); place != linker_.end())
      linker_.insert(linker_.erase(place), objects_.begin(), objects_.end());
    said.pop_back();
    said_ += fmt::format("{}", fmt::join(said, ""));
  }

  void compile_devices() {
    for (size_t i = 0; i < model_.devices.size(); ++i) {
      const EmittedDevice& device = model_.devices[i];
      const machine::GpuMachine& gpu = device.machine;
      const DeviceToolchain toolchain = find_device_toolchain(options_.compiler, gpu.vendor);
      const DeviceSuffixes suffixes = suffixes_of(i);
      write_file(path("model" + suffixes.source), device.source);
      check_compiles_for(gpu, toolchain.compiler);
      commands_.push_back(device_compile_command(toolchain.compiler, gpu, device_libraries(toolchain, gpu),
                                                 parts_.include_folders, path("model" + suffixes.source).string(),
                                                 path("model" + suffixes.compiled).string()));
      // Only of the first GPU, as the report is. Ptxas tells of PTX.
      if (options_.reports_kernels && i == 0 && gpu.vendor == machine::Vendor::amd)
        commands_.back().emplace_back("-Rpass-analysis=kernel-resource-usage");
    }
    said_ = fmt::format("{}", fmt::join(run_all(), ""));
    commands_.clear();
    assemble_ptx();
    // The code is data of the host's file.
    for (size_t i = 0; i < model_.devices.size(); ++i) add_device_code(i);
  }

  void add_device_code(size_t index) {
    const std::string symbol = device_code_symbol(model_.devices[index].machine, model_.devices[index].entry);
    add_assembly(symbol, data_assembly(device_code_section, symbol, path("model" + suffixes_of(index).code).string()));
  }

  DeviceSuffixes suffixes_of(size_t index) const { return device_suffixes(model_.devices[index], index); }

  // To cubins, and for the report of the first GPU, whose cubin is then thrown away.
  void assemble_ptx() {
    std::vector<size_t> assembled;
    for (size_t i = 0; i < model_.devices.size(); ++i)
      if (model_.devices[i].is_cubin || (i == 0 && tells_of_ptx())) assembled.push_back(i);
    std::vector<std::string> said(assembled.size());
    const auto assemble_one = [&](int64_t i) {
      const auto index = static_cast<size_t>(i);
      said[index] = assemble(assembled[index]);
    };
    parallel_for(static_cast<int64_t>(assembled.size()), assemble_one, options_.jobs);
    if (!said.empty() && assembled.front() == 0) said_ += said.front();
  }

  bool tells_of_ptx() const {
    return options_.reports_kernels && !options_.ptxas.empty() &&
           model_.devices.front().machine.vendor == machine::Vendor::nvidia;
  }

  std::string assemble(size_t index) {
    const machine::GpuMachine& gpu = model_.devices[index].machine;
    const std::string stem = path("model" + suffixes_of(index).compiled).string();
    const std::string cubin = path("model" + suffixes_of(index).code).string();
    const std::vector<std::string> command = ptxas_command(options_.ptxas, gpu, stem, cubin);
    ProcessResult result = run_process(command, {.deadline = options_.deadline, .memory = options_.memory});
    user_check(!result.timed_out,
               "the compile takes longer than is allowed (--max-seconds): ptxas did not end in time");
    if (result.succeeded()) return result.output + result.errors;
    const std::string said = result.output + result.errors, advice = advice_on_ptxas(said, gpu);
    user_check(advice.empty(), "{}: {}; it says: {}", quote(options_.ptxas), advice, printable_message(said));
    throw InternalError(fmt::format("ptxas refused generated code ({}):\n{}\nIt was run as: {}", result.describe(),
                                    printable_message(said), fmt::join(command, " ")));
  }

  // The linker's output has no bytes of weights yet.
  std::string linked_path() const { return path("linked").string(); }
  std::vector<std::string> link_command_of(bool shared, const std::vector<std::string>& objects) const {
    std::vector<std::string> command = shared ? link_shared_command(options_.compiler, objects, parts_, linked_path())
                                              : link_command(options_.compiler, objects, linked_path());
    // lld aborts if it asks for threads and gets none.
    if (!options_.compiler.is_zig() && start_threads(1, [](int64_t) {}).empty()) command.push_back("-Wl,--threads=1");
    return command;
  }

  // Clang 19 knows all but the newest.
  void check_compiles_for(const machine::GpuMachine& gpu, const Compiler& compiler) {
    if (gpu.architecture == std::string_view(machine::default_gpu.architecture)) return;
    const ProcessResult result =
        run_process(probing_command(compiler, gpu, path("nothing.o").string()),
                    {.environment = environment(), .deadline = options_.deadline, .memory = options_.memory});
    user_check(result.succeeded(), "{} does not compile for {}: {}", compiler.command.front(), gpu.architecture,
               advice_on_compilers(gpu));
  }

  void compile(const fs::path& source, const CpuMachine& machine) {
    objects_.push_back(path(fmt::format("model{}.o", objects_.size())).string());
    commands_.push_back(compile_command(options_.compiler, machine, parts_, source.string(), objects_.back()));
  }

  void compile_parts(const fs::path& source, int parts, const CpuMachine& machine) {
    for (int part = 0; part < parts; ++part) {
      compile(source, machine);
      if (parts > 1) commands_.back().push_back(fmt::format("-DONNXC_PART={}", part));
    }
  }

  // All that a variant's files define is in its own namespace. So the functions that the runtime holds for the model's
  // own file are compiled once more.
  void compile_variant(const EmittedSource& variant) {
    const size_t first = commands_.size();
    const fs::path source = path(variant.machine.march + ".cpp"),
                   kernels = path(variant.machine.march + "-kernels.cpp");
    write_file(source, variant.text);
    compile_parts(source, variant.parts, variant.machine);
    write_file(kernels, kernel_instances(parts_));
    compile(kernels, variant.machine);
    for (size_t i = first; i < commands_.size(); ++i) commands_[i].push_back(namespace_option(variant.machine));
  }

  void add_weights() {
    weights_.add("onnxc_model_weights", model_.weights);
    for (const EmittedWeights& weights : model_.device_weights) weights_.add(weights.symbol, weights.bytes);
    add_assembly("weights", weights_.assembly());
  }

  void add_assembly(const std::string& name, const std::string& text) {
    const fs::path assembly = path(name + ".s");
    write_file(assembly, text);
    objects_.push_back(path(name + ".o").string());
    commands_.push_back(assemble_command(options_.compiler, assembly.string(), objects_.back()));
  }

  // A compiler that is ccache under clang's name would write outside of the sandbox, and would find nothing again: the
  // build folder has a new name each time. Zig keeps what it compiles; only its own libraries are worth that.
  std::vector<std::string> environment() const {
    if (!options_.compiler.is_zig()) return {"CCACHE_DISABLE=1"};
    std::vector<std::string> result{"ZIG_LOCAL_CACHE_DIR=" + path("zig").string()};
    if (std::getenv("HOME") == nullptr && std::getenv("XDG_CACHE_HOME") == nullptr &&
        std::getenv("ZIG_GLOBAL_CACHE_DIR") == nullptr)
      result.push_back("ZIG_GLOBAL_CACHE_DIR=" + path("zig").string());
    return result;
  }

  // Returns what the compiler said.
  std::string run(const std::vector<std::string>& command) {
    ProcessResult result =
        run_process(command, {.environment = environment(), .deadline = options_.deadline, .memory = options_.memory});
    user_check(!result.timed_out,
               "the compile takes longer than is allowed (--max-seconds): clang did not end in time");
    if (result.succeeded()) return std::move(result.errors);
    if (result.errors.find("No space left on device") != std::string::npos)
      user_error("the disk is full: {}", printable_message(result.errors));
    for (const char* lack : {"out of memory", "Cannot allocate memory", "std::bad_alloc", "loading shared libraries",
                             "Resource temporarily unavailable", "Too many open files", "File too large",
                             "File size limit exceeded", "Read-only file system", "error: cannot open"})
      user_check(result.errors.find(lack) == std::string::npos, "the C++ compiler could not run: {}",
                 printable_message(result.errors));
    for (const char* lack : {"No available targets are compatible with triple", "language not recognized: 'hip'"})
      user_check(result.errors.find(lack) == std::string::npos,
                 "the C++ compiler {} does not compile HIP for AMD's GPUs; take clang 19 or newer with that target: {}",
                 quote(command.front()), usable_compilers(true));
    user_check(result.signal != SIGKILL,
               "the C++ compiler was killed, probably because memory ran out; give it more, or compile fewer parts at "
               "once (-j 1)");
    if (options_.keeps_refused) folder_.keep();
    const std::string next = options_.keeps_refused
                                 ? fmt::format("The source is kept; repeat with:\n{}", fmt::join(command, " "))
                                 : "With --keep-refused its source is kept.";
    throw InternalError(fmt::format("the C++ compiler refused generated code ({}):\n{}\n{}", result.describe(),
                                    printable_message(result.errors), next));
  }

  // Runs the commands, `jobs` at once; the first failure, in their order, is thrown. Returns what each said.
  std::vector<std::string> run_all() {
    std::vector<std::string> said(commands_.size());
    const auto run_one = [&](int64_t i) { said[static_cast<size_t>(i)] = run(commands_[static_cast<size_t>(i)]); };
    parallel_for(static_cast<int64_t>(commands_.size()), run_one, options_.jobs);
    return said;
  }

  const EmittedModel& model_;
  const ToolchainOptions& options_;
  BuildParts parts_;
  TemporaryFolder folder_{"build"};
  std::vector<std::vector<std::string>> commands_;
  std::vector<std::string> objects_;
  WeightsSection weights_;
  std::vector<std::string> linker_;  // its command, if the driver showed one
  std::string said_;                 // by the compilers, in the order of their commands
};

}  // namespace

std::string build_shared_object(const EmittedModel& model, const ToolchainOptions& options, const fs::path& output) {
  return Build(model, options).run(true, output);
}

std::string build_object(const EmittedModel& model, const ToolchainOptions& options, const fs::path& output) {
  return Build(model, options).run(false, output);
}

DeviceSuffixes device_suffixes(const machine::GpuMachine& gpu, size_t index, bool is_cubin, size_t entry) {
  const char* const name = machine::is_default_card(gpu) ? gpu.architecture : gpu.name;
  const std::string start = entry == 0 ? fmt::format(".{}.", name) : fmt::format(".entry{}.{}.", entry, name);
  const std::string compiled = start + (gpu.vendor == machine::Vendor::nvidia ? "ptx" : "co");
  return {numbered(".device", index) + ".hip", compiled, is_cubin ? start + "cubin" : compiled};
}

std::string device_weights_suffix(size_t index) { return numbered(".device", index) + ".weights"; }

void write_source(const EmittedModel& model, const fs::path& output) {
  const std::string name = output.filename().string();
  std::string data = data_assembly(weights_section, "onnxc_model_weights", name + ".weights");
  std::list<OutputFile> files;
  const auto open = [&](const std::string& suffix) -> OutputFile& {
    return files.emplace_back(output.string() + suffix);
  };
  model.weights.write(open(".weights"));
  for (size_t i = 0; i < model.device_weights.size(); ++i) {
    const EmittedWeights& weights = model.device_weights[i];
    weights.bytes.write(open(device_weights_suffix(i)));
    data += data_assembly(weights_section, weights.symbol, name + device_weights_suffix(i));
  }
  for (size_t i = 0; i < model.devices.size(); ++i) {
    const EmittedDevice& device = model.devices[i];
    const DeviceSuffixes suffixes = device_suffixes(device, i);
    open(suffixes.source).write(device.source);
    data += data_assembly(device_code_section, device_code_symbol(device.machine, device.entry), name + suffixes.code);
  }
  open(".data.s").write(data);
  open("").write(model.source);
  // Nothing is left behind when one of them cannot be written.
  for (OutputFile& file : files) file.commit();
}

}  // namespace onnxc
