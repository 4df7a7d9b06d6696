#include "toolchain/toolchain.h"

#include <fmt/ranges.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <list>
#include <set>

#include "machine/gpu_machine.h"
#include "support/diagnostics.h"
#include "support/parallel.h"
#include "support/processes/subprocess.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"
#include "support/text.h"
#include "toolchain/build_commands.h"
#include "toolchain/device_commands.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;

// -------------------------------------------------------------------------------------------------------- machine

struct Feature {
  std::string_view macro;  // that clang defines when it may use the feature
  const char* name;        // of __builtin_cpu_supports
  bool (*is_here)();       // whether the machine that compiles has it
};

// Features beyond those of x86-64-v3 and v4 that clang may make vector code for (bmi, lzcnt, movbe, avx512cd). Each by
// itself:
// __builtin_cpu_supports takes no variable.
constexpr std::array features = {
    Feature{"__AVX2__", "avx2", [] { return __builtin_cpu_supports("avx2") != 0; }},
    Feature{"__FMA__", "fma", [] { return __builtin_cpu_supports("fma") != 0; }},
    Feature{"__F16C__", "f16c", [] { return __builtin_cpu_supports("f16c") != 0; }},
    Feature{"__BMI2__", "bmi2", [] { return __builtin_cpu_supports("bmi2") != 0; }},
    Feature{"__AVX512F__", "avx512f", [] { return __builtin_cpu_supports("avx512f") != 0; }},
    Feature{"__AVX512BW__", "avx512bw", [] { return __builtin_cpu_supports("avx512bw") != 0; }},
    Feature{"__AVX512DQ__", "avx512dq", [] { return __builtin_cpu_supports("avx512dq") != 0; }},
    Feature{"__AVX512VL__", "avx512vl", [] { return __builtin_cpu_supports("avx512vl") != 0; }},
    Feature{"__AVX512VNNI__", "avx512vnni", [] { return __builtin_cpu_supports("avx512vnni") != 0; }},
    Feature{"__AVX512BF16__", "avx512bf16", [] { return __builtin_cpu_supports("avx512bf16") != 0; }},
    Feature{"__AVX512FP16__", "avx512fp16", [] { return __builtin_cpu_supports("avx512fp16") != 0; }},
    Feature{"__AVXVNNI__", "avxvnni", [] { return __builtin_cpu_supports("avxvnni") != 0; }},
    Feature{"__AVX512IFMA__", "avx512ifma", [] { return __builtin_cpu_supports("avx512ifma") != 0; }},
    Feature{"__AVX512VBMI__", "avx512vbmi", [] { return __builtin_cpu_supports("avx512vbmi") != 0; }},
    Feature{"__AVX512VBMI2__", "avx512vbmi2", [] { return __builtin_cpu_supports("avx512vbmi2") != 0; }},
    Feature{"__AVX512BITALG__", "avx512bitalg", [] { return __builtin_cpu_supports("avx512bitalg") != 0; }},
    Feature{"__AVX512VPOPCNTDQ__", "avx512vpopcntdq", [] { return __builtin_cpu_supports("avx512vpopcntdq") != 0; }},
    Feature{"__GFNI__", "gfni", [] { return __builtin_cpu_supports("gfni") != 0; }},
    Feature{"__VAES__", "vaes", [] { return __builtin_cpu_supports("vaes") != 0; }},
    Feature{"__VPCLMULQDQ__", "vpclmulqdq", [] { return __builtin_cpu_supports("vpclmulqdq") != 0; }},
    Feature{"__AVXIFMA__", "avxifma", [] { return __builtin_cpu_supports("avxifma") != 0; }},
    Feature{"__AVXVNNIINT8__", "avxvnniint8", [] { return __builtin_cpu_supports("avxvnniint8") != 0; }},
    Feature{"__AVXNECONVERT__", "avxneconvert", [] { return __builtin_cpu_supports("avxneconvert") != 0; }},
    Feature{"__AVXVNNIINT16__", "avxvnniint16", [] { return __builtin_cpu_supports("avxvnniint16") != 0; }},
};

// Features that clang never uses by itself.
constexpr std::array tile_features = {
    Feature{"__AMX_TILE__", "amx-tile", [] { return __builtin_cpu_supports("amx-tile") != 0; }},
    Feature{"__AMX_BF16__", "amx-bf16", [] { return __builtin_cpu_supports("amx-bf16") != 0; }},
    Feature{"__AMX_INT8__", "amx-int8", [] { return __builtin_cpu_supports("amx-int8") != 0; }},
};

bool has_all(const std::vector<std::string>& names, std::span<const Feature> known) {
  return std::ranges::all_of(names, [&](const std::string& name) {
    const auto found = std::ranges::find(known, name, &Feature::name);
    return found != known.end() && found->is_here();
  });
}

// The most capable row whose features this CPU has: a processor's own if that is faster, else an x86-64 one.
CpuMachine native_machine(const NarrowProducts& products) {
  std::optional<CpuMachine> baseline, processor;
  for (const CpuMachine& machine : cpu_machines()) {
    if (!machine.emulated_on.empty() || !has_all(machine.features, features)) continue;
    (machine.march.starts_with("x86-64") ? baseline : processor) = machine;
  }
  user_check(baseline.has_value(), "this CPU lacks AVX2, FMA or F16C, which onnxc's CPU code needs at least");
  if (!processor) return *baseline;
  const ConvolutionCosts& costs = processor->convolution;
  const bool has_tiles = !processor->tile_features.empty() && has_all(processor->tile_features, tile_features);
  const bool gains = (products.bfloat16 && (costs.bfloat16_products > 0 || has_tiles)) ||
                     (products.int8 && (costs.int8_products > 0 || has_tiles));
  if (!gains) return *baseline;
  // Without its tiles (a virtual machine may hide them) a model that asks for them would not run.
  if (!has_tiles) processor->convolution.bfloat16_tile_products = processor->convolution.int8_tile_products = 0;
  return *processor;
}

// ------------------------------------------------------------------------------------------------------ compiling

class Build {
 public:
  Build(const EmittedModel& model, const ToolchainOptions& options)
      : model_(model), options_(options), parts_(find_parts()) {}

  // Compiles everything and links it; returns what the compilers said.
  std::string run(bool shared, const fs::path& output) {
    compile_all(shared);
    OutputFile file(output, shared ? OutputFile::Kind::executable : OutputFile::Kind::data);
    std::vector<std::string> command = linker_.empty() ? link_command_of(shared) : linker_;
    std::ranges::replace(command, linked_path(), file.temporary_path().string());
    run(command);
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
    add_data("onnxc_model_weights", model_.weights);
    if (model_.device) {
      write_file(path("device.hip"), model_.device->source);
      const DeviceToolchain device = find_device_toolchain(options_.compiler);
      for (const std::string& gpu : model_.device->gpus) {
        check_compiles_for(gpu, device.compiler);
        commands_.push_back(device_compile_command(device.compiler, gpu, device_libraries(device, gpu),
                                                   parts_.include_folders, path("device.hip").string(),
                                                   path(device_code_file("device", gpu)).string()));
        // Only the first GPU, since one report has one set of registers.
        if (options_.reports_kernels && gpu == model_.device->gpus.front())
          commands_.back().emplace_back("-Rpass-analysis=kernel-resource-usage");
      }
      add_data("onnxc_device_weights", model_.device->weights);
    }
    if (model_.device) {
      said_ = fmt::format("{}", fmt::join(run_all(), ""));
      commands_.clear();
      // The code objects are data of the host's file.
      for (const std::string& gpu : model_.device->gpus)
        add_assembly(device_code_symbol(gpu), path(device_code_file("device", gpu)));
    }
    // Meanwhile the driver is asked how it would link: it takes as long to start as the linker to run. It wants to see
    // its inputs. Zig does not show it.
    if (options_.compiler.is_zig()) {
      said_ += fmt::format("{}", fmt::join(run_all(), ""));
      return;
    }
    for (const std::string& object : objects_)
      if (!fs::exists(object)) write_file(object, "");
    commands_.push_back(dry_run(link_command_of(shared)));
    std::vector<std::string> said = run_all();
    linker_ = command_of_dry_run(said.back());
    said.pop_back();
    said_ += fmt::format("{}", fmt::join(said, ""));
  }

  // The link command's output until that has its final name.
  std::string linked_path() const { return path("linked").string(); }
  std::vector<std::string> link_command_of(bool shared) const {
    std::vector<std::string> command = shared ? link_shared_command(options_.compiler, objects_, parts_, linked_path())
                                              : link_command(options_.compiler, objects_, linked_path());
    // lld aborts if it asks for threads and gets none.
    if (!options_.compiler.is_zig() && start_threads(1, [](int64_t) {}).empty()) command.push_back("-Wl,--threads=1");
    return command;
  }

  // Clang 19 knows all but the newest.
  void check_compiles_for(const std::string& gpu, const Compiler& compiler) {
    if (gpu == machine::default_gpu.name) return;
    std::vector<std::string> command = compiler.command;
    command.insert(command.end(), {"--target=amdgcn-amd-amdhsa", "-mcpu=" + gpu, "-nogpulib", "-x", "c", "-c",
                                   "/dev/null", "-o", path("nothing.o").string()});
    const ProcessResult result =
        run_process(command, {.environment = environment(), .deadline = options_.deadline, .memory = options_.memory});
    user_check(
        result.succeeded(),
        "{} does not compile for {}: give --compiler clang++-20 or newer, or set ROCM_PATH to a ROCm that has it",
        compiler.command.front(), gpu);
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

  void add_assembly(const std::string& symbol, const fs::path& file) {
    const fs::path assembly = path(symbol + ".s");
    write_file(assembly, data_assembly(symbol, file.string()));
    objects_.push_back(path(symbol + ".o").string());
    commands_.push_back(assemble_command(options_.compiler, assembly.string(), objects_.back()));
  }

  void add_data(const std::string& symbol, const WeightBytes& bytes) {
    OutputFile file(path(symbol + ".bin"));
    bytes.write(file);
    file.commit();
    add_assembly(symbol, path(symbol + ".bin"));
  }

  // Zig keeps what it compiles; only its own libraries are worth that.
  std::vector<std::string> environment() const {
    if (!options_.compiler.is_zig()) return {};
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
  std::vector<std::string> linker_;  // its command, if the driver showed one
  std::string said_;                 // by the compilers, in the order of their commands
};

}  // namespace

CpuMachine resolve_march(const std::string& march, const CompilerRequest& request, const NarrowProducts& products) {
  if (march == "native") return native_machine(products);
  // Asking clang would take a tenth of a small model's compile.
  const std::optional<CpuMachine> known = find_cpu_machine(march);
  return known ? *known : ask_compiler(march, find_compiler(request));
}

std::vector<CpuMachine> resolve_marches(const std::vector<std::string>& marches, const CompilerRequest& request,
                                        const NarrowProducts& products) {
  std::vector<CpuMachine> machines;
  for (const std::string& march : marches) {
    CpuMachine machine = resolve_march(march, request, products);
    if (std::ranges::find(machines, machine.march, &CpuMachine::march) != machines.end())
      throw UsageError(fmt::format("--march names {} twice", quote(machine.march)));
    machines.push_back(std::move(machine));
  }
  std::ranges::sort(machines, {},
                    [](const CpuMachine& machine) { return std::pair(machine.features.size(), machine.march); });
  const auto sorted_features = [](const CpuMachine& machine) {
    return std::set<std::string>(machine.features.begin(), machine.features.end());
  };
  const CpuMachine& least = machines.front();
  for (const CpuMachine& machine : machines)
    if (!std::ranges::includes(sorted_features(machine), sorted_features(least)))
      throw UsageError(
          fmt::format("--march: {} has features that {} lacks; add a CPU whose features both have, such as x86-64-v3",
                      quote(least.march), quote(machine.march)));
  return machines;
}

CpuMachine ask_compiler(const std::string& march, const Compiler& compiler) {
  std::vector<std::string> command = compiler.command;
  command.insert(command.end(), {compiler.cpu_option(march), "-dM", "-E", "-x", "c++", "/dev/null"});
  const ProcessResult result = run_process(command);
  if (result.errors.find("unknown") != std::string::npos)  // the names of all CPUs stand after it
    throw UsageError(
        fmt::format("--march {}: {} does not know this CPU; native, x86-64-v3, x86-64-v4 and znver4 are such names",
                    quote(march), command.front()));
  user_check(result.succeeded(), "--march {}: {} failed: {}", quote(march), command.front(),
             printable_message(result.errors));
  auto defines = [&](std::string_view macro) {
    return result.output.find(fmt::format("#define {} ", macro)) != std::string::npos;
  };
  if (!defines("__AVX2__") || !defines("__FMA__") || !defines("__F16C__"))
    throw UsageError(
        fmt::format("--march {}: onnxc's CPU code needs at least AVX2, FMA and F16C (x86-64-v3)", quote(march)));
  const auto defined = [&](std::span<const Feature> known) {
    std::vector<std::string> names;
    for (const Feature& feature : known)
      if (defines(feature.macro)) names.emplace_back(feature.name);
    return names;
  };
  bool is_wide =
      defines("__AVX512F__") && defines("__AVX512BW__") && defines("__AVX512VL__") && defines("__AVX512DQ__");
  return cpu_machine_with(is_wide ? machine::avx512 : machine::avx2, march, defined(features), defined(tile_features));
}

std::string build_shared_object(const EmittedModel& model, const ToolchainOptions& options, const fs::path& output) {
  return Build(model, options).run(true, output);
}

std::string build_object(const EmittedModel& model, const ToolchainOptions& options, const fs::path& output) {
  return Build(model, options).run(false, output);
}

void write_source(const EmittedModel& model, const fs::path& output) {
  const std::string name = output.filename().string();
  std::string data = data_assembly("onnxc_model_weights", name + ".weights");
  std::list<OutputFile> files;
  const auto open = [&](const char* suffix) -> OutputFile& { return files.emplace_back(output.string() + suffix); };
  model.weights.write(open(".weights"));
  if (model.device) {
    open(".device.hip").write(model.device->source);
    model.device->weights.write(open(".device.weights"));
    data += data_assembly("onnxc_device_weights", name + ".device.weights");
    for (const std::string& gpu : model.device->gpus)
      data += data_assembly(device_code_symbol(gpu), device_code_file(name, gpu));
  }
  open(".data.s").write(data);
  open("").write(model.source);
  // Nothing is left behind when one of them cannot be written.
  for (OutputFile& file : files) file.commit();
}

}  // namespace onnxc
